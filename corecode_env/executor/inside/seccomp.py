"""Seccomp: which system calls a program may make, as a filter that the kernel runs.

Two filters are stacked; a call goes through when both let it:

    base   in the zygote, once:  what a program may do, and what the zygote itself needs
    seal   in each child, last:  takes away what only the zygote needs

The base is large and costs nothing per program; the seal is small. Both are classic BPF,
searched as a balanced tree. What no table names answers EPERM: an allow-list, because a
list of what is dangerous is never complete.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from corecode_env.executor.inside import linux
from corecode_env.executor.inside.syscalls import NUMBERS

ALLOW: Final = 0x7FFF_0000
KILL: Final = 0x8000_0000
DENY: Final = 0x0005_0000 | errno.EPERM
ABSENT: Final = 0x0005_0000 | errno.ENOSYS

OWN_PID: Final = 0x7ABC_DE01
"""Stands in a rule for the number of the process that installs the filter."""


class OneOf(NamedTuple):
    """The argument, as 32 bits, must be one of these values."""

    argument: int
    values: tuple[int, ...]


class Masked(NamedTuple):
    """The argument's bits under the mask must have this value."""

    argument: int
    mask: int
    value: int


class Below(NamedTuple):
    """The argument, as 32 bits without sign, must be smaller than this."""

    argument: int
    bound: int


Check = OneOf | Masked | Below
Rule = tuple[Check, ...]
"""All checks must hold, else EPERM. Every argument checked here is an `int` to the kernel,
which ignores its upper half."""

_THREAD: Final = 0x0001_0F00  # VM | FS | FILES | SIGHAND | THREAD
_THREAD_EXTRAS: Final = 0x007C_0000  # SYSVSEM, SETTLS, *_TID, DETACHED: what libc adds
_UNSIGNED: Final = 0xFFFF_FFFF
_FIONREAD, _FIONBIO, _FIOCLEX, _FIONCLEX, _TCGETS = 0x541B, 0x5421, 0x5451, 0x5450, 0x5401
_F_DUPFD_CLOEXEC: Final = 1030
_SOCK_FLAGS: Final = 0x0008_0800  # NONBLOCK | CLOEXEC
_CLOSE_RANGE_UNSHARE: Final = 2
_CLOCKS: Final = (
    12  # clock ids from 12 up, and negative ones, are other processes' and devices'
)

_AT_EMPTY_PATH: Final = 0x1000
# libc's fstat is a newfstatat without a path. (With one, it tells a file's size at most.)
_FSTAT: Final[Rule] = (Masked(3, _AT_EMPTY_PATH, _AT_EMPTY_PATH),)

_RULED: Final[Mapping[str, Rule]] = {
    "clone": (Masked(0, _UNSIGNED & ~_THREAD_EXTRAS, _THREAD),),
    "close_range": (Masked(2, _CLOSE_RANGE_UNSHARE, 0),),
    "clock_gettime": (Below(0, _CLOCKS),),
    "clock_getres": (Below(0, _CLOCKS),),
    "clock_nanosleep": (Below(0, _CLOCKS),),
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL: no locks, leases, owners, pipe sizes.
    "fcntl": (OneOf(1, (0, 1, 2, 3, 4, _F_DUPFD_CLOEXEC)),),
    # isatty, and what sockets of asyncio and set_inheritable need; all on own descriptors.
    "ioctl": (OneOf(1, (_TCGETS, _FIONREAD, _FIONBIO, _FIOCLEX, _FIONCLEX)),),
    "kill": (OneOf(0, (OWN_PID,)),),
    "prctl": (OneOf(0, (linux.PR_SET_NAME,)),),
    "prlimit64": (OneOf(0, (0,)),),
    # AF_UNIX, SOCK_STREAM: the pair with which an asyncio loop wakes itself.
    "socketpair": (OneOf(0, (1,)), Masked(1, _UNSIGNED & ~_SOCK_FLAGS, 1), OneOf(2, (0,))),
    "tgkill": (OneOf(0, (OWN_PID,)),),
}

_ALLOWED: Final = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 sendfile lseek close
dup dup2 dup3 pipe pipe2 poll ppoll select pselect6
epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd2
sendto recvfrom shutdown getsockname getpeername getsockopt
fstat fsync fdatasync ftruncate fadvise64 fstatfs umask
mmap mprotect munmap mremap msync madvise brk
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend
sigaltstack pause alarm getitimer setitimer nanosleep restart_syscall
exit exit_group futex set_robust_list set_tid_address rseq gettid sched_yield
sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max
sched_get_priority_min getcpu getpriority
gettimeofday time times getrusage getrlimit sysinfo uname getrandom
getpid getppid getuid geteuid getgid getegid getgroups getresuid getresgid
getpgrp getpgid getsid
""".split()

PATH_CALLS: Final = """
open openat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat
statfs getdents getdents64 getcwd chdir fchdir
""".split()
"""Calls that look paths up: allowed, because Landlock or a private root decides what is
found; taken away where neither exists."""

PROGRAM: Final[Mapping[str, int | Rule]] = (
    dict.fromkeys(_ALLOWED, ALLOW) | dict.fromkeys(PATH_CALLS, ALLOW) | dict(_RULED)
)
"""What a sandboxed program may do; every other call is refused."""

_MAP_ANONYMOUS: Final = 0x20
_SET_ID: Final = 0o6000
SCRATCH: Final[Mapping[str, int | Rule]] = dict.fromkeys(
    "mkdir mkdirat rmdir unlink unlinkat rename renameat".split(), ALLOW
) | {
    "renameat2": (Masked(4, _UNSIGNED, 0),),
    # F_GETLK and F_SETLK too, without which no sqlite3 database opens; F_SETLKW waits.
    "fcntl": (OneOf(1, (0, 1, 2, 3, 4, 5, 6, _F_DUPFD_CLOEXEC)),),
    "open": (Masked(2, _SET_ID, 0),),
    "openat": (Masked(3, _SET_ID, 0),),
}
"""What a program with a scratch folder may do on top: make, rename and remove files and
folders, which Landlock or a private root confines to that folder; lock its files. Links,
fifos, devices, sockets, changes of mode and files with set-user-ID stay out."""
# A file that is mapped stays on the disk after its name and descriptor are gone: unseen, it
# would count for nothing. (Descriptors are few.)
_NO_FILES_MAPPED: Final[Rule] = (Masked(3, _MAP_ANONYMOUS, _MAP_ANONYMOUS),)

ZYGOTE: Final = """
clone fork wait4 waitid kill tgkill pidfd_open pidfd_send_signal sendmsg recvmsg
setsid setpgid setuid setresuid setresgid setgroups setfsuid capset
prctl seccomp timer_create timer_settime memfd_create setsockopt
""".split()
"""What the zygote needs on top, or without the rule that binds programs."""


class Filter:
    """A filter in memory that stays put, ready to be installed with one call."""

    def __init__(self, code: bytes) -> None:
        """Copy the filter's code to where the kernel will read it."""
        self._code = ctypes.create_string_buffer(code, len(code))
        self._header = ctypes.create_string_buffer(16)
        address = ctypes.addressof(self._code)
        struct.pack_into("=HxxxxxxQ", self._header, 0, len(code) // 8, address)
        mark = struct.pack("=I", OWN_PID)
        self._pid_places = tuple(
            offset // 4
            for offset in range(4, len(code), 8)
            if code[offset : offset + 4] == mark
        )
        self._words = memoryview(self._code).cast("B").cast("I")
        self._install = linux.prepared(
            "seccomp",
            ctypes.c_ulong(linux.SECCOMP_SET_MODE_FILTER),
            ctypes.c_ulong(_flags()),
            ctypes.byref(self._header),
        )

    def install(self) -> None:
        """Put this process under the filter for good; needs no_new_privs.

        Raises:
            OSError: If the kernel refuses.
        """
        pid = os.getpid()
        for place in self._pid_places:
            self._words[place] = pid
        if linux.syscall(*self._install) < 0:
            raise linux.failure("seccomp")


def _flags() -> int:
    """Return the flags to install filters with, as far as this kernel knows them."""
    # Before 5.16 a filter also slows speculation down, for the whole process. A kernel that
    # knows the flag stumbles over the missing filter, another one over the flag.
    wanted = linux.SECCOMP_FILTER_FLAG_SPEC_ALLOW
    mode = ctypes.c_ulong(linux.SECCOMP_SET_MODE_FILTER)
    try:
        linux.call("seccomp", mode, ctypes.c_ulong(wanted), None)
    except OSError as error:
        return wanted if error.errno == errno.EFAULT else 0
    return 0


def supported(machine: str = linux.MACHINE) -> bool:
    """Return whether there is a table of calls for this kind of machine."""
    return machine in NUMBERS


def base_code(machine: str = linux.MACHINE, *, scratch: bool = False) -> bytes:
    """Return the filter for the zygote: what programs may do, and what it needs itself.

    Args:
        machine: Kind of machine, as `platform.machine()` names it.
        scratch: Its programs have a folder to write in.
    """
    actions = dict(PROGRAM) | dict.fromkeys(ZYGOTE, ALLOW)
    if scratch:
        actions |= SCRATCH
    # glibc falls back to clone, whose flags a filter can see.
    actions["clone3"] = ABSENT
    return _assemble(actions, DENY, machine)


def seal_code(
    *, no_paths: bool = False, scratch: bool = False, machine: str = linux.MACHINE
) -> bytes:
    """Return the filter that turns the zygote's rights into a program's.

    Args:
        no_paths: Refuse every call that looks a path up.
        scratch: The program has a folder to write in.
        machine: Kind of machine, as `platform.machine()` names it.
    """
    actions = {name: PROGRAM.get(name, DENY) for name in ZYGOTE}
    if no_paths:
        actions |= dict.fromkeys(PATH_CALLS, DENY) | {"newfstatat": _FSTAT}
    if scratch:
        actions["mmap"] = _NO_FILES_MAPPED
    return _assemble(actions, ALLOW, machine)


_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP, _IF_EQUAL, _IF_AT_LEAST = 0x05, 0x15, 0x35
_ARCHITECTURES: Final = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_X32_BIT: Final = 0x4000_0000
_LONGEST_JUMP: Final = 255


class _Instruction(NamedTuple):
    code: int
    operand: int
    if_true: int = 0
    if_false: int = 0


def _assemble(actions: Mapping[str, int | Rule], otherwise: int, machine: str) -> bytes:
    numbers = NUMBERS[machine]
    by_number = {numbers[name]: act for name, act in actions.items() if name in numbers}
    program = [
        _Instruction(_LOAD, 4),
        _Instruction(_IF_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _Instruction(_RETURN, KILL),
        _Instruction(_LOAD, 0),
    ]
    if machine == "x86_64":  # x32: the same calls under other numbers
        program += [_Instruction(_IF_AT_LEAST, _X32_BIT, 0, 1), _Instruction(_RETURN, KILL)]
    program += _search(_segments(by_number, otherwise))
    packed = (
        struct.pack("=HBBI", step.code, step.if_true, step.if_false, step.operand)
        for step in program
    )
    return b"".join(packed)


_Segment = tuple[int, int | Rule]


def _segments(actions: Mapping[int, int | Rule], otherwise: int) -> list[_Segment]:
    """Cut the line of numbers into stretches of one action: (first number, action)."""
    segments: list[_Segment] = [(0, otherwise)]
    for number in sorted(actions):
        for start, action in ((number, actions[number]), (number + 1, otherwise)):
            if segments[-1][0] == start:
                segments.pop()
            if not segments or segments[-1][1] != action:
                segments.append((start, action))
    return segments


def _search(segments: Sequence[_Segment]) -> list[_Instruction]:
    if len(segments) == 1:
        action = segments[0][1]
        return [_Instruction(_RETURN, action)] if isinstance(action, int) else _check(action)
    middle = len(segments) // 2
    low, high = _search(segments[:middle]), _search(segments[middle:])
    bound = segments[middle][0]
    if len(low) <= _LONGEST_JUMP:
        return [_Instruction(_IF_AT_LEAST, bound, len(low), 0), *low, *high]
    skip = _Instruction(_JUMP, len(low))
    return [_Instruction(_IF_AT_LEAST, bound, 0, 1), skip, *low, *high]


def _check(rule: Iterable[Check]) -> list[_Instruction]:
    """Return code that answers for one call: each check refuses or falls through."""
    refuse = _Instruction(_RETURN, DENY)
    out: list[_Instruction] = []
    for check in rule:
        out.append(_Instruction(_LOAD, 16 + 8 * check.argument))
        if isinstance(check, OneOf):
            count = len(check.values)
            for index, value in enumerate(check.values):
                out.append(_Instruction(_IF_EQUAL, value, count - index, 0))
        elif isinstance(check, Masked):
            out.append(_Instruction(_AND, check.mask))
            out.append(_Instruction(_IF_EQUAL, check.value, 1, 0))
        else:
            out.append(_Instruction(_IF_AT_LEAST, check.bound, 0, 1))
        out.append(refuse)
    out.append(_Instruction(_RETURN, ALLOW))
    return out
