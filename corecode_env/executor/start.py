"""Start: how a zygote comes to be, and how it ends.

    ZygoteSettings  ->  exec of a bare interpreter  ->  Zygote (socket, records, pidfd)

The zygote is executed afresh, with an empty environment and none of the trainer's
descriptors: it can hold nothing of the trainer, whose threads and memory do not matter.
`posix_spawn` is used because it runs no Python between fork and exec.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from corecode_env.core.errors import ExecutorError
from corecode_env.executor.cgroups import Group

START_SECONDS: Final = 60.0
"""How long a zygote may take to be ready: a first start on a loaded machine is slow."""
ASK_SECONDS: Final = 1.0
"""How long a zygote may take to end by itself, before it is killed."""
END_SECONDS: Final = 5.0
STACK_BYTES: Final = 512 * 2**20
"""Soft limit of the main thread's stack when the zygote is executed: it decides where
the kernel puts mappings, and so how deep C code may recurse."""
_SENDER: Final = struct.Struct("=iII")
"""Process, user and group, in the kernel's word on who wrote a message."""
_SENDER_SPACE: Final = socket.CMSG_SPACE(_SENDER.size)

PRELOAD: Final[tuple[str, ...]] = tuple(
    (
        "sys os io re math cmath json string random collections itertools functools operator "
        "heapq bisect copy datetime decimal fractions statistics typing dataclasses enum abc "
        "array contextlib threading traceback queue time calendar textwrap hashlib struct "
        "numbers types unicodedata"
    ).split()
)
"""Modules that a zygote has loaded before the first program comes."""

_BOOT: Final = """
import os, resource, sys, types
stack = int(sys.argv[2])
soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
if hard != resource.RLIM_INFINITY:
    stack = min(stack, hard)
if soft != stack:
    resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
    os.execv(sys.executable, sys.orig_argv)
register, os.register_at_fork = os.register_at_fork, lambda **hooks: None
for name in ("", ".core", ".executor"):
    package = types.ModuleType("corecode_env" + name)
    package.__path__ = [sys.argv[1] + name.replace(".", "/")]
    sys.modules[package.__name__] = package
from corecode_env.executor.inside.zygote import main
main(3, 4, register)
"""
"""First lines of a zygote: raise the stack limit and execute once more, then stand in for
our packages, so that nothing but `inside` is imported. What modules want done after a fork
is not registered: it costs each child some 160 page faults, and the zygote, whose only
thread holds no lock, needs none of it (children seed `random` anew by themselves)."""


@dataclass(frozen=True, slots=True)
class ZygoteSettings:
    """What a zygote is made with."""

    role: str = "candidate"
    """`candidate` or `judge`."""
    preload: tuple[str, ...] = PRELOAD
    paths: tuple[str, ...] = ()
    """Folders that `sys.path` has while the modules are loaded."""
    floor: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `FloorSettings`, as JSON has them."""
    stack_bytes: int = STACK_BYTES


class StartKilled(ExecutorError):
    """A zygote was killed while it started, and had said nothing of a fault of its own."""


class Zygote:
    """A running zygote: its control socket, its records, its group, its end.

    Attributes:
        pid: Its process number.
        ready: What it said when it was ready.
    """

    def __init__(self, settings: ZygoteSettings) -> None:
        """Start it and wait until it is ready.

        Raises:
            StartKilled: If someone (the kernel, short of memory) killed it meanwhile.
            ExecutorError: If it does not come up.
        """
        self.owner = os.getpid()
        self._diagnosis = os.memfd_create("corecode-zygote", os.MFD_CLOEXEC)
        self.group = Group(frozenset(settings.floor.get("disabled", ())))
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._records, records = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._records.setblocking(False)
        self._records.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            self._first = self._spawn(theirs.fileno(), records.fileno(), settings)
        except BaseException:
            self.socket.close()
            self._records.close()
            os.close(self._diagnosis)
            self.group.remove()
            raise
        finally:
            theirs.close()
            records.close()
        self.closed = False
        self._pidfd = os.pidfd_open(self._first)
        try:
            self.ready: Mapping[str, Any] = self._await_ready(settings)
            # Not always the process that was started: see `become_first_process`.
            self.pid = next(self.records())[2]
            # One that was killed before the zygote asked to end with it leaves it behind.
            if self._ends_within(0.0):
                raise StartKilled("a zygote of the executor lost the process that started it")
        except BaseException:  # Ctrl-C too: nobody else knows of this zygote yet
            self.close()
            raise

    def _spawn(self, control: int, records: int, settings: ZygoteSettings) -> int:
        root = str(Path(__file__).resolve().parent.parent)
        arguments = [sys.executable, "-s", "-S", "-P", "-c", _BOOT, root]
        arguments.append(str(settings.stack_bytes))
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        # Copies above 4 cannot be overwritten before they are moved to 0 to 4.
        sources = [
            fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 5)
            for descriptor in (null, null, self._diagnosis, control, records)
        ]
        actions = [(os.POSIX_SPAWN_DUP2, source, at) for at, source in enumerate(sources)]
        try:
            return os.posix_spawn(
                sys.executable,
                arguments,
                _environment(),
                file_actions=actions,
                setsid=True,
                setsigmask=(),
                setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
            )
        except OSError as error:
            raise ExecutorError(
                f"the executor must be able to start {sys.executable!r}, got: {error}; run it "
                "from an ordinary Python interpreter"
            ) from error
        finally:
            for descriptor in (null, *sources):
                os.close(descriptor)

    def _await_ready(self, settings: ZygoteSettings) -> Mapping[str, Any]:
        self.group.add(self._first)
        message = json.dumps(
            {
                "role": settings.role,
                "preload": list(settings.preload),
                "paths": list(settings.paths),
                "floor": dict(settings.floor),
            }
        )
        self.send(message.encode())
        poller = select.poll()
        poller.register(self.socket.fileno(), select.POLLIN)
        answer = b""
        if spoke := poller.poll(START_SECONDS * 1000):
            try:
                answer = self.socket.recv(1 << 16)
            except OSError:
                answer = b""
        if not answer:
            said = os.pread(self._diagnosis, 1 << 14, 0).decode("utf-8", "replace").strip()
            self.close()
            if spoke and not said:
                raise StartKilled("a zygote of the executor was killed while it started")
            last = said.splitlines()[-1] if said else f"no word within {START_SECONDS:.0f} s"
            raise ExecutorError(f"a zygote of the executor did not start: {last}")
        ready: dict[str, Any] = json.loads(answer)
        ready["layers"] |= self.group.layers
        return ready

    def send(self, message: bytes) -> None:
        """Send a message; a dead zygote shows itself where its answer is awaited."""
        try:
            self.socket.send(message)
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ECONNRESET, errno.EBADF):
                raise

    def records(self) -> Iterator[tuple[bytes, int, int, int, int]]:
        """Yield the records that have come since the last look.

        Each is its kind, the job, the number of the process that wrote it (as this process
        sees it, by the kernel's word), CPU nanoseconds and peak bytes.
        """
        from corecode_env.executor.inside.child import RECORD

        while True:
            try:
                data, sender, _, _ = self._records.recvmsg(RECORD.size, _SENDER_SPACE)
            except BlockingIOError:
                return
            if not data:  # whoever could write is gone
                return
            kind, job, nanoseconds, peak = RECORD.unpack(data)
            yield kind, job, _SENDER.unpack(sender[0][2])[0], nanoseconds, peak

    def close(self) -> None:
        """End it and reap it; bounded in time, idempotent."""
        if os.getpid() != self.owner:
            self.abandon()
        if self.closed:
            return
        self.closed = True
        # Asked first: it reaps its children, which a killed one would leave to others.
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError as error:
            if error.errno not in (errno.ENOTCONN, errno.EBADF):
                raise
        if not self._ends_within(ASK_SECONDS):
            try:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it is gone already
            self._ends_within(END_SECONDS)
        try:
            os.waitpid(self._first, os.WNOHANG)
        except ChildProcessError:
            pass  # the trainer ignores SIGCHLD, or has reaped it itself
        self._release()
        self.group.remove()

    def _ends_within(self, seconds: float) -> bool:
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        deadline = time.monotonic() + seconds
        while not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
            if time.monotonic() >= deadline:
                return False
        return True

    def abandon(self) -> None:
        """Let go of the descriptors only: the zygote belongs to another process."""
        if not self.closed:
            self.closed = True
            self._release()

    def _release(self) -> None:
        self.socket.close()
        self._records.close()
        for descriptor in (self._pidfd, self._diagnosis):
            os.close(descriptor)


def _environment() -> dict[str, str]:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "1",
        # Functions are looked up once here, not by each child; programs do not see this.
        "LD_BIND_NOW": "1",
    }
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        if name in os.environ:
            environment[name] = os.environ[name]
    return environment
