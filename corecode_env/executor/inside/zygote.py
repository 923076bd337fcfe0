"""Zygote: one warm, single-threaded interpreter that forks a fresh child per program.

    settings, then jobs (descriptors + limits)  ->  fork  ->  the kernel's numbers

It is started by a fresh exec with an empty environment, so it holds nothing of the
trainer. It never reads a program, an input or a test: only its children do, after the
fork, so no earlier program's text lies in the heap of the next. It ends when its socket
does. Every message carries the number of the job that it is about.
"""

from __future__ import annotations

import array
import builtins
import gc
import importlib
import io
import json
import os
import select
import signal
import site
import socket
import struct
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from corecode_env.executor.inside import child as child_room
from corecode_env.executor.inside.floor import Floor, FloorSettings
from corecode_env.executor.inside.warmup import warm_up

JOB = struct.Struct("=IB3xdQQQ")
"""Job number, kind, CPU seconds, memory bytes, stack bytes, file bytes."""
KILL = struct.Struct("=4sI")
"""b"kill" and the job number: a kill that comes late must not hit the next job."""
RESULT = struct.Struct("=IiddQ")
"""Job number, wait status, user and system CPU seconds, peak resident bytes."""
NOT_FORKED = -1
"""Wait status of a job for which the kernel gave no process."""

SOCKET_AT = 100
RECORDS_AT = 101
MOST_DESCRIPTORS = 8
THREAD_STACK = 8 * 2**20

Serve = Callable[[int, int, dict[str, Any]], None]


class Warm(NamedTuple):
    """What a child takes over from the zygote, made once before the first fork."""

    floor: Floor
    main: types.ModuleType
    streams: tuple[io.TextIOWrapper, io.TextIOWrapper, io.TextIOWrapper]
    serve: Serve | None
    """Serves calls to a candidate; only in the zygote of candidates."""
    tester: types.ModuleType | None
    """Runs test code; only in the zygote of judges."""
    records: int
    """Where start records are written."""


def main(control: int, records: int, register_at_fork: Callable[..., None]) -> None:
    """Prepare everything that children share, then serve jobs for ever.

    Args:
        control: Descriptor of the control socket (SEQPACKET).
        records: Descriptor of the socket for start records.
        register_at_fork: What `os.register_at_fork` is for programs.
    """
    control, records = _move(control, SOCKET_AT), _move(records, RECORDS_AT)
    os.closerange(3, SOCKET_AT)
    os.closerange(RECORDS_AT + 1, 2**31 - 1)
    os.chdir("/")
    os.environ.pop("LD_BIND_NOW", None)
    sock = socket.socket(fileno=control)
    settings = json.loads(sock.recv(1 << 16))
    _preload(settings["preload"], settings["paths"])
    serve, tester = _role(settings["role"])
    os.register_at_fork = register_at_fork
    floor = Floor.prepare(FloorSettings(**_floor_fields(settings["floor"])))
    streams = _standard_streams()
    module = _fresh_main()
    warm = Warm(floor, module, streams, serve, tester, records)
    warm_up(tester)
    _forget_ourselves()
    ready = {"python": sys.version, "layers": dict(floor.layers)}
    gc.collect()
    gc.freeze()
    os.write(records, child_room.RECORD.pack(b"Z", 0, 0, 0))
    sock.send(json.dumps(ready).encode())
    _serve_jobs(sock, warm)


def _move(descriptor: int, target: int) -> int:
    os.dup2(descriptor, target, inheritable=False)
    return target


def _floor_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        **fields,
        "readable": tuple(fields["readable"]),
        "disabled": frozenset(fields["disabled"]),
    }


def _preload(modules: list[str], paths: list[str]) -> None:
    # The paths stand in sys.path only here: later imports find the standard library,
    # and the submodules of packages that are loaded already.
    sys.path[:0] = paths
    for name in modules:
        importlib.import_module(name)
    del sys.path[: len(paths)]
    # What the epilogue and a failing program need anyway.
    for name in ("atexit", "traceback", "linecache", "tokenize", "encodings.idna"):
        importlib.import_module(name)
    # `site` is not run (it would open the way to installed packages); programs expect
    # its builtins.
    site.setquit()
    site.setcopyright()
    site.sethelper()


def _role(role: str) -> tuple[Serve | None, types.ModuleType | None]:
    if role == "candidate":
        from corecode_env.executor.inside import candidate

        return candidate.serve, None
    return None, importlib.import_module("corecode_env.executor.inside.tester")


def _standard_streams() -> tuple[io.TextIOWrapper, io.TextIOWrapper, io.TextIOWrapper]:
    """Make sys.stdin, stdout and stderr over descriptors 0 to 2, as the interpreter does."""
    # While they are made the descriptors are pipes, so that the streams know that they
    # cannot seek; each child puts its own pipes there.
    reading, writing = os.pipe()
    for target, source in ((0, reading), (1, writing), (2, writing)):
        os.dup2(source, target)
    made = []
    for number, (name, mode) in enumerate(
        (("<stdin>", "r"), ("<stdout>", "w"), ("<stderr>", "w"))
    ):
        raw = io.FileIO(number, mode, closefd=False)
        raw.name = name
        buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
        errors = "backslashreplace" if number == 2 else "surrogateescape"
        text = io.TextIOWrapper(
            buffer, "utf-8", errors, newline="\n", line_buffering=number == 2
        )
        text.mode = mode  # type: ignore[misc]
        made.append(text)
    nothing = os.open("/dev/null", os.O_RDWR)
    for target in (0, 1, 2):
        os.dup2(nothing, target)
    for descriptor in (reading, writing, nothing):
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = made
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = made  # type: ignore[misc]
    return made[0], made[1], made[2]


def _fresh_main() -> types.ModuleType:
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    module.__file__ = "main.py"
    sys.modules["__main__"] = module
    sys.argv[:] = ["main.py"]
    sys.orig_argv[:] = ["python", "main.py"]
    # Threads would otherwise reserve as much as the main thread's raised stack limit.
    threading.stack_size(THREAD_STACK)
    return module


def _forget_ourselves() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "corecode_env"]:
        del sys.modules[name]


def _serve_jobs(sock: socket.socket, warm: Warm) -> None:
    poller = select.poll()
    poller.register(sock.fileno(), select.POLLIN)
    while True:
        message, descriptors = _receive(sock)
        if not message:
            os._exit(0)
        if len(message) != JOB.size:  # a kill that came after its job had ended
            continue
        fields = JOB.unpack(message)
        try:
            pid = os.fork()
        except OSError:
            # No process now may mean one later: the zygote lives on.
            _close(descriptors)
            _reply(sock, RESULT.pack(fields[0], NOT_FORKED, 0.0, 0.0, 0))
            continue
        if pid == 0:
            child_room.main(fields, descriptors, warm)
        _close(descriptors)
        _reply(sock, RESULT.pack(fields[0], *_wait(pid, fields[0], sock, poller)))


def _receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    descriptors = array.array("i")
    space = socket.CMSG_SPACE(MOST_DESCRIPTORS * descriptors.itemsize)
    try:
        message, ancillary, _, _ = sock.recvmsg(JOB.size, space)
    except OSError:
        return b"", []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    return message, descriptors.tolist()


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _reply(sock: socket.socket, message: bytes) -> None:
    try:
        sock.send(message)
    except OSError:
        os._exit(0)


def _wait(
    pid: int, job: int, sock: socket.socket, poller: select.poll
) -> tuple[int, float, float, int]:
    """Wait for a child, killing it when told to; return what the kernel measured."""
    pidfd = os.pidfd_open(pid)
    poller.register(pidfd, select.POLLIN)
    while not any(descriptor == pidfd for descriptor, _ in poller.poll()):
        try:
            message = sock.recv(JOB.size)
        except OSError:
            message = b""
        if not message:  # the trainer is gone
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.waitpid(pid, 0)  # left to nobody else, who might never reap it
            os._exit(0)
        if len(message) == KILL.size and KILL.unpack(message)[1] == job:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    poller.unregister(pidfd)
    _, status, usage = os.wait4(pid, 0)
    os.close(pidfd)
    return status, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024
