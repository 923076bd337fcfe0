"""Selftest: small attacks that a sandboxed program must not bring off.

Each is a program of its own, run where real programs run. It says `held` if what it tried
was refused, and anything else (or nothing) counts as a breach. They try with harmless
arguments: what they would do if they succeeded is look, send signal 0, or write a file
that is then removed.
"""

from __future__ import annotations

import os
import signal
import tempfile
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from corecode_env.core.errors import ExecutorError


class RunOutcome(Protocol):
    """What is read of a run; `slot.Outcome` is one."""

    @property
    def stdout(self) -> bytes:
        """What the program printed."""
        ...

    @property
    def signal(self) -> int | None:
        """The signal that ended it."""


@dataclass(frozen=True, slots=True)
class SelfTestCase:
    """One attack.

    Attributes:
        name: What is tried.
        layer: The layer that refuses it.
        attempt: Source that raises when refused; `secret` is a readable file's path, `place`
            a writable folder's, `trainer` the number of the process that tests, `libc`
            calls C functions and raises when they fail.
        extra: Tried only where the layer is on; the others must hold everywhere.
    """

    name: str
    layer: str
    attempt: str
    extra: bool = False


@dataclass(frozen=True, slots=True)
class SelfTestReport:
    """What came of the attacks.

    Attributes:
        held: Names of those that were refused.
        breaches: Names of those that got through, or could not be tried.
    """

    held: tuple[str, ...] = ()
    breaches: tuple[str, ...] = ()


_FILES: Final = "landlock"
_CALLS: Final = "seccomp"
_LIMITS: Final = "rlimits"

SELF_TEST: Final[tuple[SelfTestCase, ...]] = (
    SelfTestCase("read a file", _FILES, "open(secret).read()"),
    SelfTestCase("read the list of users", _FILES, "open('/etc/passwd').read()"),
    SelfTestCase("list the root folder", _FILES, "os.listdir('/')"),
    SelfTestCase("write a new file", _FILES, "open(place + '/new', 'w')"),
    SelfTestCase("overwrite a file", _FILES, "open(secret, 'r+').write('x')"),
    SelfTestCase("truncate a file", _FILES, "os.truncate(secret, 0)"),
    SelfTestCase("change a file's mode", _CALLS, "os.chmod(secret, 0)"),
    SelfTestCase("remove a file", _FILES, "os.remove(secret)"),
    SelfTestCase("make a link", _FILES, "os.symlink('/', place + '/link')"),
    SelfTestCase(
        "read the parent's memory", _FILES, "open(f'/proc/{os.getppid()}/mem', 'rb')"
    ),
    SelfTestCase("read its environment", _FILES, "open(f'/proc/{os.getppid()}/environ')"),
    SelfTestCase("change the interpreter", _FILES, "open(os.__file__, 'r+')"),
    SelfTestCase("make an internet socket", _CALLS, "socket.socket()"),
    SelfTestCase("make a local socket", _CALLS, "socket.socket(socket.AF_UNIX)"),
    SelfTestCase("fork", _CALLS, "os.fork() or os._exit(0)"),
    SelfTestCase("start a program", _CALLS, "os.execv('/bin/true', ['true'])"),
    SelfTestCase("signal the parent", _CALLS, "os.kill(os.getppid(), 0)"),
    SelfTestCase(
        "signal one of the parent's threads", _CALLS, "libc('tgkill', *[os.getppid()] * 2, 0)"
    ),
    SelfTestCase("take hold of the parent", _CALLS, "os.pidfd_open(os.getppid())"),
    SelfTestCase("trace the parent", _CALLS, "libc('ptrace', 16, os.getppid(), 0, 0)"),
    SelfTestCase(
        "own signals of a pipe", _CALLS, "fcntl.fcntl(os.pipe()[0], 8, os.getppid())"
    ),
    SelfTestCase("lock a file", _CALLS, "fcntl.flock(os.pipe()[0], fcntl.LOCK_SH)"),
    SelfTestCase("share memory by number", _CALLS, "libc('shmget', 0, 4096, 0o1600)"),
    SelfTestCase("make memory that nobody counts", _CALLS, "os.memfd_create('x')"),
    SelfTestCase("enter new namespaces", _CALLS, "libc('unshare', 0x10000000)"),
    SelfTestCase("set up io_uring", _CALLS, "libc('syscall', 425, 1, bytes(120))"),
    SelfTestCase("change the user", _CALLS, "os.setuid(os.getuid())"),
    SelfTestCase(
        "raise a limit", _LIMITS, "resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))"
    ),
    SelfTestCase("open many files", _LIMITS, "[os.dup(0) for _ in range(100)]"),
    SelfTestCase("take 64 GB of memory", _LIMITS, "bytearray(1 << 36)"),
    SelfTestCase(
        "start a thousand threads",
        "process_limit",
        "[_thread.start_new_thread(time.sleep, (9,)) for _ in range(1000)]",
    ),
    SelfTestCase(
        "name the trainer's process",
        "pid_namespace",
        "want([] if trainer in (1, os.getpid()) else [os.getsid(trainer)])",
        extra=True,
    ),
    SelfTestCase(
        "inherit a descriptor", "descriptors", "want(filter(is_open, range(3, 4096)))"
    ),
    SelfTestCase("see the environment", "environment", "want(set(os.environ) - OWN)"),
)

_FRAME: Final = """\
import _thread, ctypes, fcntl, os, resource, socket, time
OWN = {{"PATH", "HOME", "LC_ALL", "PYTHONHASHSEED", "MALLOC_ARENA_MAX", "OMP_NUM_THREADS",
       "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}}
secret, place, trainer = {secret!r}, {place!r}, {trainer}
library = ctypes.CDLL(None)
def libc(name, *arguments):
    if getattr(library, name)(*arguments) < 0:
        raise OSError(name)
def is_open(descriptor):
    try:
        return bool(os.fstat(descriptor))
    except OSError:
        return False
def want(found):
    if not list(found):
        raise OSError("nothing found")
try:
{attempt}
except (AttributeError, NameError, SyntaxError, TypeError):
    print("could not be tried")
except BaseException as error:
    print("held", type(error).__name__)
else:
    print("got through")
"""


def run_self_test(
    run: Callable[[str], RunOutcome], layers: Mapping[str, str] = MappingProxyType({})
) -> SelfTestReport:
    """Try every attack and look at what it left behind.

    Args:
        run: Runs a program where real ones run.
        layers: "on" or the reason why not, by layer.
    """
    held: list[str] = []
    breaches: list[str] = []
    with tempfile.TemporaryDirectory(prefix="corecode-selftest-") as place:
        os.chmod(place, 0o1777)  # what protects it must be the sandbox, not the file's mode
        secret = Path(place, "secret")
        for case in SELF_TEST:
            if case.extra and layers.get(case.layer) != "on":
                continue
            secret.write_text("secret")
            secret.chmod(0o666)
            before = _look(place)
            attempt = textwrap.indent(case.attempt, "    ")
            program = _FRAME.format(
                secret=str(secret), place=place, trainer=os.getpid(), attempt=attempt
            )
            fine = _refused(run, program) and _look(place) == before
            (held if fine else breaches).append(case.name)
    return SelfTestReport(tuple(held), tuple(breaches))


def _refused(run: Callable[[str], RunOutcome], program: str) -> bool:
    try:
        outcome = run(program)
    except ExecutorError:  # it has brought its warm process down
        return False
    return outcome.stdout.startswith(b"held ") or outcome.signal == signal.SIGSYS


def _look(place: str) -> list[tuple[str, int, bytes]]:
    entries = sorted(Path(place).iterdir())
    return [
        (entry.name, entry.lstat().st_mode, entry.read_bytes() if entry.is_file() else b"")
        for entry in entries
    ]
