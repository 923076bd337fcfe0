"""Linux: the raw calls that the standard library of Python 3.11 does not offer.

Everything goes through libc's `syscall` by ctypes. Calls hold the interpreter's lock
(`PyDLL`): the processes that use them have one thread, and letting go of the lock costs.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable
from typing import Final

MACHINE: Final = platform.machine()
SUPPORTED: Final = os.name == "posix" and platform.system() == "Linux"

# Namespaces (linux/sched.h).
CLONE_NEWNS: Final = 0x0002_0000
CLONE_NEWUTS: Final = 0x0400_0000
CLONE_NEWIPC: Final = 0x0800_0000
CLONE_NEWUSER: Final = 0x1000_0000
CLONE_NEWPID: Final = 0x2000_0000
CLONE_NEWNET: Final = 0x4000_0000

# Mounts (linux/mount.h).
MS_RDONLY: Final = 1
MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REMOUNT: Final = 32
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
MNT_DETACH: Final = 2

# prctl (linux/prctl.h).
PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_KEEPCAPS: Final = 8
PR_SET_NAME: Final = 15
PR_SET_NO_NEW_PRIVS: Final = 38
PR_CAP_AMBIENT: Final = 47
PR_CAP_AMBIENT_CLEAR_ALL: Final = 4

CAP_KILL: Final = 5
CAP_SETUID: Final = 7
_CAPABILITY_VERSION_3: Final = 0x2008_0522

SECCOMP_SET_MODE_FILTER: Final = 1
SECCOMP_FILTER_FLAG_SPEC_ALLOW: Final = 4

CLOCK_PROCESS_CPUTIME_ID: Final = 2
SIGEV_SIGNAL: Final = 0

# Numbers of the calls made here. Those from 424 on are the same on every machine.
_NUMBERS: Final[dict[str, dict[str, int]]] = {
    "x86_64": {
        "capset": 126,
        "pivot_root": 155,
        "prctl": 157,
        "setfsuid": 122,
        "timer_create": 222,
        "timer_settime": 223,
        "seccomp": 317,
    },
    "aarch64": {
        "capset": 91,
        "pivot_root": 41,
        "prctl": 167,
        "setfsuid": 151,
        "timer_create": 107,
        "timer_settime": 110,
        "seccomp": 277,
    },
}
NUMBERS: Final[dict[str, int]] = _NUMBERS.get(MACHINE, {}) | {
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}

if SUPPORTED:
    libc = ctypes.PyDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    syscall: Callable[..., int] = libc.syscall
    """libc's `syscall`; takes what `prepared` returns, gives -1 on failure."""


def failure(what: str) -> OSError:
    """Build the error for the raw call that has just failed."""
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


def call(name: str, *arguments: object) -> int:
    """Make a system call by name.

    Args:
        name: One of `NUMBERS`.
        arguments: ctypes objects, or bytes for pointers.

    Raises:
        OSError: If the call fails, or this machine's number for it is not known (ENOSYS).
    """
    number = NUMBERS.get(name)
    if number is None:
        raise OSError(38, f"{name}: its number on {MACHINE} is not known")
    result = int(libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        raise failure(name)
    return result


def prepared(name: str, *arguments: object) -> tuple[object, ...]:
    """Return what `syscall` takes for this call: made early, used where speed counts.

    Args:
        name: One of `NUMBERS`; if this machine's number is not known, the call will fail.
        arguments: ctypes objects.
    """
    return (ctypes.c_long(NUMBERS.get(name, -1)), *arguments)


def prctl(option: int, value: int = 0) -> None:
    """Set a property of this process.

    Raises:
        OSError: If the kernel refuses.
    """
    zero = ctypes.c_ulong(0)
    if libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero) < 0:
        raise failure(f"prctl({option})")


def name_process(name: bytes) -> None:
    """Let lists of processes call this one by a name of at most 15 bytes."""
    libc.prctl(ctypes.c_int(PR_SET_NAME), name)


def unshare(flags: int) -> None:
    """Leave namespaces for new ones.

    Raises:
        OSError: If the kernel refuses.
    """
    if libc.unshare(ctypes.c_int(flags)) < 0:
        raise failure(f"unshare({flags:#x})")


def mount(
    source: str | None, target: str, kind: str | None, flags: int, data: str | None = None
) -> None:
    """Mount or remount.

    Raises:
        OSError: If the kernel refuses.
    """
    paths = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    options = None if data is None else data.encode()
    if libc.mount(*paths, ctypes.c_ulong(flags), options) < 0:
        raise failure(f"mount {target}")


def pivot_root_here() -> None:
    """Make the working directory the root, and let go of the old one.

    Raises:
        OSError: If the kernel refuses.
    """
    # pivot_root(2): with both arguments ".", the old root is stacked upon the new one.
    call("pivot_root", b".", b".")
    if libc.umount2(b".", ctypes.c_int(MNT_DETACH)) < 0:
        raise failure("umount2 of the old root")
    os.chdir("/")


def set_capabilities(permitted: int, effective: int | None = None) -> None:
    """Keep these capabilities only; none of them can be inherited.

    Args:
        permitted: Bit set of capabilities below 64.
        effective: Those in force at once; the same if None.

    Raises:
        OSError: If more is asked for than the process has.
    """
    if libc.syscall(*prepared_capabilities(permitted, effective)) < 0:
        raise failure("capset")


def prepared_capabilities(permitted: int, effective: int | None = None) -> tuple[object, ...]:
    """Return what `syscall` takes for what `set_capabilities` does."""
    active = permitted if effective is None else effective
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    low, high = 0xFFFF_FFFF, 32
    data = (ctypes.c_uint32 * 6)(
        active & low, permitted & low, 0, active >> high, permitted >> high, 0
    )
    return prepared("capset", header, data)
