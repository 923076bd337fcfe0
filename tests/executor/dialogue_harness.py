"""A plain harness: two processes and their pipes, no sandbox.

The program runs in one forked child, the test in another that holds the other ends of its
two pipes, as the executor's slots do it. Limits are a CPU limit and an alarm each.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from corecode_env.executor.inside.candidate import serve
from corecode_env.executor.inside.tester import Report, run_test
from corecode_env.executor.session import CallReply, CallSession


def _child(work: Callable[[], None], keep: tuple[int, ...], seconds: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(4 * seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (2**30, 2**30))
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w")
        for fd in range(3, 256):
            if fd not in keep:
                try:
                    os.close(fd)
                except OSError:
                    continue
        work()
    finally:
        os._exit(0)
    raise AssertionError("unreachable")


def _run_program(program: str, requests: int, replies: int, preamble: str) -> None:
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    namespace = vars(module)
    exec(compile(preamble, "preamble", "exec"), namespace)
    exec(compile(program, "main.py", "exec"), namespace)
    serve(requests, replies, namespace)


@contextmanager
def running(
    program: str, *, preamble: str = "", seconds: int = 5
) -> Iterator[tuple[int, int]]:
    """Run a program; yield the judge's ends: requests to write, replies to read."""
    requests_r, requests_w = os.pipe()
    replies_r, replies_w = os.pipe()

    def work() -> None:
        _run_program(program, requests_r, replies_w, preamble)

    pid = _child(work, (requests_r, replies_w), seconds)
    os.close(requests_r)
    os.close(replies_w)
    try:
        yield requests_w, replies_r
    finally:
        os.close(requests_w)
        os.close(replies_r)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def judge(
    program: str,
    source: str,
    entry: str = "f",
    *,
    preamble: str = "",
    seconds: int = 5,
    mutates_arguments: bool = False,
) -> Report:
    """Run test code against a program, as a judge slot does it.

    A judge that ends without a report had answered before: then the program made it end
    (`candidate_garbled`), else the test is broken.
    """
    with running(program, preamble=preamble, seconds=seconds) as (requests, replies):
        report_r, report_w = os.pipe()

        def work() -> None:
            report = run_test(
                requests,
                replies,
                source,
                entry,
                mutates_arguments=mutates_arguments,
                on_first_reply=lambda: write_all(report_w, b"+"),
            )
            write_all(report_w, json.dumps(report.to_json()).encode())

        pid = _child(work, (requests, replies, report_w), seconds)
        os.close(report_w)
        # The judge alone must hold the pipes, so that each side sees the other's end.
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, requests)
        os.dup2(null, replies)
        os.close(null)
        data = b""
        while part := os.read(report_r, 65536):
            data += part
        os.close(report_r)
        os.waitpid(pid, 0)
    replied, text = data[:1] == b"+", data.lstrip(b"+")
    if not text:
        return Report("candidate_garbled" if replied else "test_broken", "the judge ended")
    return Report.from_json(json.loads(text))


def write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def call(
    program: str, *args: Any, entry: str = "f", seconds: int = 5, **options: Any
) -> CallReply:
    """Call a program's function once."""
    with running(program, seconds=seconds) as (requests, replies):
        session = CallSession(requests, replies, **options)
        return session.call(entry, args, {}, deadline=time.monotonic() + 4 * seconds)
