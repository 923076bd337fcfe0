"""Process: one job in a zygote, from being handed over to its end, seen from the parent.

    Run (program, input, limits)  ->  Process  ->  Outcome (what the kernel measured)

The parent's side runs no byte of a program and believes none: what a process writes is
data, how it ended comes from the kernel. No call here blocks for longer than a process's
limits: every wait is a poll with a deadline, and a zygote that does not answer is killed.
"""

from __future__ import annotations

import array
import fcntl
import os
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from corecode_env.core.errors import ExecutorError
from corecode_env.core.task import Limits
from corecode_env.executor.inside.child import JUDGE, PROGRAM
from corecode_env.executor.inside.zygote import JOB, KILL, NOT_FORKED, RESULT
from corecode_env.executor.loop import Loop
from corecode_env.executor.scratch import WATCH_SECONDS, Scratch
from corecode_env.executor.start import Zygote

STDIN_PIPE_BYTES: Final = 4096
"""Input up to this size goes through a pipe: a write that can never block."""
FILE_BYTES: Final = 2**24
GRACE_SECONDS: Final = 30.0
"""How long a killed process may take to be gone before its zygote is given up: long, since
a machine under heavy load is slow to say so, and giving up says "sandbox failed"."""
QUIET_SECONDS: Final = 0.005
"""Outputs are read at the end of a shorter run, and while a longer one goes on: a run
that is over in that time wakes the parent once."""
LONGEST_WALL: Final = 20.0
"""Times the wall limit that a process may last at most, where it had to wait for a core."""
_READ: Final = 1 << 16
_START_LOOK: Final = 0.001
_MOMENT: Final = 0.1


class SlotDied(ExecutorError):
    """The zygote ended under a job; says nothing about the program."""


@dataclass(frozen=True, slots=True)
class Run:
    """One process to run.

    Attributes:
        payload: Sealed memory file that the child reads (see `sealed`).
        stdin: What the process reads on descriptor 0.
        limits: What it may use.
        kind: `PROGRAM`, `SERVE` or `JUDGE`.
        extra: Descriptors that it gets besides 0 to 2, in order; the caller's to close.
        cpu_seconds: Where the kernel kills it; None: at the CPU limit.
        scratch: Folder in which it writes, to be watched; None if it has none.
    """

    payload: int
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)
    kind: int = PROGRAM
    extra: tuple[int, ...] = ()
    cpu_seconds: float | None = None
    scratch: Scratch | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one process ended.

    Attributes:
        ready: Its limits were set; False is the sandbox's fault.
        broken: The sandbox (or source that the task gives) failed in the child.
        started: The first byte of the program was about to run, so it had compiled.
        stdout: What it printed, cut at the output limit.
        stderr: The same for standard error.
        exit: Exit status; None if a signal ended it.
        signal: Signal that ended it; None if it ended by itself.
        cpu_seconds: CPU time, without that of setting the process up.
        wall_seconds: Time from handing it over to its end.
        peak_bytes: Peak memory above the bare interpreter's.
        overflow: It wrote more than the output limit.
        filled: Its files took more than its folder may hold.
        killed_by: Why we killed it: `wall`, `cpu`, `output`, `scratch`, `done`, `cancel`,
            or empty.
    """

    ready: bool
    broken: bool
    started: bool
    stdout: bytes
    stderr: bytes
    exit: int | None
    signal: int | None
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    overflow: bool = False
    filled: bool = False
    killed_by: str = ""


# ------------------------------------------------------------------------- payloads
def sealed(content: bytes) -> int:
    """Return a memory file that holds `content` and that nobody can change."""
    descriptor = os.memfd_create("corecode", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


_SEALS: Final = (
    fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
)


# -------------------------------------------------------------------------- process
class Process:
    """One running job: drains its outputs, keeps its limits, ends in an `Outcome`."""

    def __init__(
        self, zygote: Zygote, job: int, run: Run, loop: Loop, died: Callable[[], SlotDied]
    ) -> None:
        """Hand the job over to the zygote and watch it from now on.

        Args:
            zygote: Where it runs.
            job: Its number, which no other job of this zygote has.
            run: What to run.
            loop: Watches it.
            died: Gives the zygote up and returns the error to raise.
        """
        self._zygote, self._job, self._loop, self._died = zygote, job, loop, died
        self._limits, self._kind, self._scratch = run.limits, run.kind, run.scratch
        self._pid = 0
        self._start: tuple[float, int] | None = None
        self._kinds = b""
        self._result: tuple[int, float, float, int] | None = None
        self._draining = False
        self.killed_by = ""
        self.overflow = self.filled = False
        self._cpu_deadline: float | None = None
        self._buffers: dict[int, bytearray] = {}
        self._began = time.monotonic()
        self._ended = 0.0
        self._out, self._err = self._hand_over(run)
        self._buffers = {self._out: bytearray(), self._err: bytearray()}
        self._turn_began, self._wall_seconds = self._began, run.limits.wall_seconds
        self._wall_deadline = self._began + run.limits.wall_seconds
        self.next_check = self._began + QUIET_SECONDS
        loop.watch(zygote.socket.fileno(), self._on_word)
        loop.processes.append(self)

    @property
    def finished(self) -> bool:
        """Whether the process is gone and its numbers are known."""
        return self._result is not None

    def _hand_over(self, run: Run) -> tuple[int, int]:
        limits = run.limits
        try:
            self._zygote.group.room_for(limits)
        except OSError as error:
            raise self._died() from error
        message = JOB.pack(
            self._job,
            run.kind,
            limits.cpu_seconds if run.cpu_seconds is None else run.cpu_seconds,
            int(limits.memory_bytes),
            int(limits.memory_bytes),
            min(FILE_BYTES, limits.scratch_bytes or FILE_BYTES),
        )
        handed = [_stdin(run.stdin)]
        kept: list[int] = []
        try:
            for _ in range(2):
                reading, writing = _pipe()
                kept.append(reading)
                handed.append(writing)
            descriptors = array.array("i", (run.payload, *handed, *run.extra))
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
            self._send(message, ancillary)
        except BaseException:
            for descriptor in kept:
                os.close(descriptor)
            raise
        finally:
            for descriptor in handed:
                os.close(descriptor)
        return kept[0], kept[1]

    def _send(
        self, message: bytes, ancillary: list[tuple[int, int, array.array[int]]]
    ) -> None:
        try:
            self._zygote.socket.sendmsg([message], ancillary)
        except OSError as error:
            raise self._died() from error

    # ------------------------------------------------------------------- events
    def _on_word(self, events: int) -> None:
        try:
            message = self._zygote.socket.recv(256, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if len(message) != RESULT.size:
            raise self._died()
        job, status, user, system, peak = RESULT.unpack(message)
        if job != self._job:
            return
        self._ended = time.monotonic()
        self._read_records()
        self._result = (status, user, system, peak)
        self._drain_rest()
        self._look_at_scratch()
        self._leave_loop()

    def _on_output(self, descriptor: int) -> None:
        data = os.read(descriptor, _READ)
        if not data:
            self._loop.forget(descriptor)
            return
        self._take(descriptor, data)

    def _take(self, descriptor: int, data: bytes) -> None:
        buffer, cap = self._buffers[descriptor], int(self._limits.output_bytes)
        buffer += data
        if len(buffer) > cap:
            del buffer[cap:]
            # What a test prints is nobody's answer: it is dropped, not punished.
            if self._kind != JUDGE:
                self.overflow = True
                self.kill("output")

    def _drain_rest(self) -> None:
        """Read what is left in the pipes, without waiting for anyone who still holds them."""
        poller = select.poll()
        for descriptor in self._buffers:
            poller.register(descriptor, select.POLLIN)
        more = True
        while more and not self.overflow:
            more = False
            for descriptor, events in poller.poll(0):
                if events & select.POLLIN:
                    data = os.read(descriptor, _READ)
                    self._take(descriptor, data)
                    # A pipe holds no more than that: with its writers gone, it is empty.
                    more = more or len(data) == _READ or not events & select.POLLHUP

    def _look_at_scratch(self) -> None:
        if self._scratch is not None and self._scratch.over(self._limits.scratch_bytes):
            self.filled = True
            self.kill("scratch")

    def _read_records(self) -> None:
        for kind, job, pid, nanoseconds, peak in self._zygote.records():
            if job == self._job:
                self._kinds += kind
                if kind == b"R":
                    self._pid = pid
                    self._start = (nanoseconds / 1e9, peak)

    # ------------------------------------------------------------------- clocks
    def check(self, now: float) -> None:
        """Look at the clocks: begin to drain, kill what is over its limits."""
        if self._result is not None:
            return
        if not self._draining:
            self._draining = True
            for descriptor in self._buffers:
                self._watch_output(descriptor)
        if self.killed_by:
            if now >= self.next_check:
                # A killed process that is not gone, or a zygote that does not say so.
                raise self._died()
            return
        if now >= self._wall_deadline:
            self._read_records()
            self._wall_deadline = self._fair_deadline()
        if now >= self._wall_deadline:
            self.kill("wall")
            return
        self._look_at_scratch()
        if self.killed_by:
            return
        self.next_check = self._wall_deadline
        if self._scratch is not None:
            self.next_check = min(self.next_check, now + WATCH_SECONDS)
        if self._cpu_deadline is not None:
            left = self._cpu_deadline - self.cpu_now()
            if left <= 0:
                self.kill("cpu")
                return
            # Threads use CPU time faster than the clock on the wall runs.
            self.next_check = min(self.next_check, now + min(max(left, 0.001), 0.1))

    def _watch_output(self, descriptor: int) -> None:
        self._loop.watch(descriptor, lambda _events: self._on_output(descriptor))

    def cpu_now(self) -> float:
        """Return the CPU time used so far, in seconds; 0.0 if it is not running yet."""
        if self._start is None:
            self._read_records()
        if self._start is None or self._result is not None:
            return 0.0
        try:
            return time.clock_gettime((~self._pid << 3) | 2) - self._start[0]
        except OSError:
            return 0.0

    def _fair_deadline(self) -> float:
        """Return the wall deadline, put off by the time it waited for a core.

        A program that a busy machine did not let run is not idle.
        """
        try:
            with open(f"/proc/{self._pid}/schedstat", "rb") as file:
                waited = int(file.read().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            waited = 0.0  # gone, or a kernel that does not count it
        wall = self._wall_seconds
        return self._turn_began + min(wall + waited, LONGEST_WALL * wall)

    def allow(self, *, cpu_seconds: float, wall_seconds: float) -> None:
        """Give a process that answers calls its time for the next one."""
        if self.killed_by:
            return
        now = time.monotonic()
        self._turn_began, self._wall_seconds = now, wall_seconds
        self._wall_deadline = now + wall_seconds
        self._cpu_deadline = self.cpu_now() + cpu_seconds
        self.next_check = min(now + 0.1, self._wall_deadline)
        if not self._draining:
            self.check(now)

    def kill(self, reason: str) -> None:
        """Kill the process; the zygote does it through its pidfd."""
        if self._result is None and not self.killed_by:
            self.killed_by = reason
            self.next_check = time.monotonic() + GRACE_SECONDS
            self._zygote.send(KILL.pack(b"kill", self._job))

    # ---------------------------------------------------------------------- end
    def await_start(self) -> None:
        """Wait until the program starts, or it is known why it cannot.

        A process that is killed before says nothing: neither that its source compiled nor
        that it did not.
        """
        self._read_records()
        while self._result is None and not self.killed_by and self._kinds in (b"", b"R"):
            self._loop.step(time.monotonic() + _START_LOOK)
            self._read_records()

    def settle(self) -> None:
        """Give a process whose pipe has closed a moment to end as it was ending."""
        until = time.monotonic() + _MOMENT
        while self._result is None and time.monotonic() < until:
            self._loop.step(until)

    def outcome(self, reason: str = "done") -> Outcome:
        """Wait for the end (kill first, if `reason` says why) and tell how it was.

        Raises:
            SlotDied: If the zygote ended, or did not answer.
        """
        if reason:
            self.kill(reason)
        while self._result is None:
            self._loop.step(time.monotonic() + GRACE_SECONDS)
        status, user, system, peak = self._result
        cpu_at_start, peak_at_start = self._start or (0.0, 0)
        signalled = status != NOT_FORKED and os.WIFSIGNALED(status)
        return Outcome(
            ready=b"R" in self._kinds,
            broken=b"F" in self._kinds,
            started=b"S" in self._kinds,
            stdout=bytes(self._buffers[self._out]),
            stderr=bytes(self._buffers[self._err]),
            exit=None if signalled or status == NOT_FORKED else os.WEXITSTATUS(status),
            signal=os.WTERMSIG(status) if signalled else None,
            cpu_seconds=max(0.0, user + system - cpu_at_start),
            wall_seconds=self._ended - self._began,
            peak_bytes=max(0, peak - peak_at_start),
            overflow=self.overflow,
            filled=self.filled,
            killed_by=self.killed_by,
        )

    def _leave_loop(self) -> None:
        self._loop.forget(self._zygote.socket.fileno())
        for descriptor in self._buffers:
            self._loop.forget(descriptor)
        if self in self._loop.processes:
            self._loop.processes.remove(self)

    def close(self) -> None:
        """Let go of the process's descriptors; a process that still runs is killed."""
        if self._result is None and not self._zygote.closed:
            try:
                self.outcome()
            except SlotDied:
                pass  # the next job starts a new zygote
        self._leave_loop()
        for descriptor in self._buffers:
            os.close(descriptor)


def _stdin(content: bytes) -> int:
    if not content:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    if len(content) > STDIN_PIPE_BYTES:
        descriptor = sealed(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor
    reading, writing = _pipe()
    os.write(writing, content)
    os.close(writing)
    return reading


def _pipe() -> tuple[int, int]:
    """Return a pipe that a program under a user of its own can open as /dev/stdin.

    A pipe belongs to its maker; without a name, none but its holders can open it.
    """
    reading, writing = os.pipe()
    if os.geteuid() == 0:
        os.fchmod(writing, 0o666)
    return reading, writing
