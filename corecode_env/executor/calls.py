"""Calls: call tests, all in one process as long as the program lasts.

    CallTests  ->  one request at a time  ->  the program's process  ->  results

The next input is sent only after the last reply, and each call has clocks of its own. A
program that dies or hangs loses that test; a new process goes on with the next one. After
the last reply the process is killed, not waited for.
"""

from __future__ import annotations

import array
import fcntl
import os
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from corecode_env.core.errors import BadConfig
from corecode_env.core.task import CallTest, Checker, Function
from corecode_env.core.values import NotPlain
from corecode_env.core.verdict import TestResult, Verdict
from corecode_env.executor.compare import (
    compare_value,
    longest_reply,
    reply_cap,
    validate_values,
)
from corecode_env.executor.scratch import Scratch
from corecode_env.executor.session import CallReply, CallSession
from corecode_env.executor.slot import (
    LONGEST_WALL,
    SERVE,
    Loop,
    Outcome,
    Process,
    Run,
    SlotDied,
)
from corecode_env.executor.submission import (
    SANDBOX_FAILED,
    Submission,
    again_alone,
    enforced_cpu,
    missed_narrowly,
)
from corecode_env.executor.verdicts import fault, near_limit, one_line

_ALIVE: Final = ("value", "raised")
"""Kinds of reply after which the program goes on."""


def judge_calls(submission: Submission, indices: Sequence[int]) -> dict[int, TestResult]:
    """Judge call tests, given by their place in the task, and return a result for each."""
    results: dict[int, TestResult] = {}
    while len(results) < len(indices):
        results |= _some(submission, indices[len(results) :])
    return results


def _some(submission: Submission, indices: Sequence[int]) -> dict[int, TestResult]:
    """Judge some of the tests, at least the first, and rerun what was nearly in time."""
    limits, bench = submission.task.limits, submission.bench
    enforced = enforced_cpu(bench, limits)
    with bench.gate.shared():
        results = _in_one_process(submission, indices, enforced)
        last = results[list(results)[-1]]
        if len(results) > 1 and last.peak_bytes >= limits.memory_bytes:
            # Peak memory is the process's: see which of the tests takes so much alone.
            results = {}
            for index in indices:
                results |= _in_one_process(submission, [index], enforced)
    if enforced > limits.cpu_seconds:
        for index, result in results.items():
            if missed_narrowly(result, limits):
                results[index] = again_alone(
                    bench,
                    lambda i=index: _alone(submission, i),  # type: ignore[misc]
                )
    return results


def _alone(submission: Submission, index: int) -> TestResult:
    limits = submission.task.limits
    return _in_one_process(submission, [index], limits.cpu_seconds)[index]


def _in_one_process(
    submission: Submission, indices: Sequence[int], cpu_seconds: float
) -> dict[int, TestResult]:
    """Judge tests in one process until it ends; return results of at least the first."""
    for _ in range(2):
        try:
            with submission.bench.scratch(submission.task.limits) as scratch:
                results = _converse(submission, indices, cpu_seconds, scratch)
        except SlotDied:
            results = {}
        submission.bench.check()
        if results:
            return results
    return dict.fromkeys(indices, SANDBOX_FAILED)


def _converse(
    submission: Submission, indices: Sequence[int], cpu_seconds: float, scratch: Scratch | None
) -> dict[int, TestResult]:
    conversation = _Conversation(submission, len(indices) * cpu_seconds, scratch)
    try:
        return conversation.judge(indices, cpu_seconds)
    finally:
        conversation.close()


class _Conversation:
    """One process that serves calls, and the session with it."""

    def __init__(
        self, submission: Submission, cpu_seconds: float, scratch: Scratch | None
    ) -> None:
        """Start the process.

        Args:
            submission: The program.
            cpu_seconds: CPU time for all calls together: the kernel's backstop behind the
                clock of each call.
            scratch: Folder in which it writes.
        """
        self.submission = submission
        self.loop = Loop()
        self._spent = 0.0
        self.requests, self.replies = os.pipe(), os.pipe()
        limits = submission.task.limits
        run = Run(
            submission.payload,
            limits=limits,
            kind=SERVE,
            extra=(self.requests[0], self.replies[1]),
            cpu_seconds=cpu_seconds + 1.0,
            scratch=scratch,
        )
        try:
            self.process: Process = submission.slot.open(run, self.loop)
        except BaseException:
            self._close_pipes()
            raise
        # The program must be the only writer, so that its end is seen. The other pipe's
        # reading end is kept: what is left in it says whether requests were read.
        os.close(self.replies[1])
        self.replies = (self.replies[0], -1)
        options = submission.task.checker.options
        self.session = CallSession(
            self.requests[1],
            self.replies[0],
            mutates_arguments=bool(options.get("mutates_arguments", False)),
            reply_bytes=longest_reply(limits),
            wait=self._wait,
        )

    def close(self) -> None:
        """End the process and let go of all descriptors."""
        self.process.close()
        self._close_pipes()

    def _close_pipes(self) -> None:
        for end in (*self.requests, *self.replies):
            if end >= 0:
                os.close(end)

    def _wait(self, wanted: Mapping[int, int], until: float) -> Mapping[int, int]:
        """Wait for the pipes while the loop drains outputs and watches clocks."""
        ready: dict[int, int] = {}
        for descriptor, events in wanted.items():
            self.loop.watch(descriptor, _noting(ready, descriptor), events)
        try:
            while not ready and not self.process.finished:
                self.loop.step(until)
            return ready
        finally:
            for descriptor in wanted:
                self.loop.forget(descriptor)

    # -------------------------------------------------------------------- judging
    def judge(self, indices: Sequence[int], cpu_seconds: float) -> dict[int, TestResult]:
        """Judge tests until the process ends; empty if the sandbox failed."""
        results: dict[int, TestResult] = {}
        reply, result = CallReply("gone"), SANDBOX_FAILED  # what no test at all would find
        for index in indices:
            reply, result = self._one(index, cpu_seconds)
            if reply.kind not in _ALIVE:
                break
            results[index] = result
        unread = self._unread()
        if reply.kind == "gone":
            self.process.settle()
        outcome = self.process.outcome()
        if not outcome.ready:
            return {}
        if len(results) < len(indices):
            ended = self._ended(indices[len(results)], reply, result, outcome)
            if unread and not results:
                # It never came to read the first request, so the test cannot matter.
                return self._for_all(indices, ended)
            results[indices[len(results)]] = ended
        elif outcome.peak_bytes >= self.submission.task.limits.memory_bytes:
            last = indices[-1]
            results[last] = replace(results[last], verdict=Verdict.MLE)
        return {
            index: replace(result, peak_bytes=outcome.peak_bytes)
            for index, result in results.items()
        }

    def _one(self, index: int, cpu_seconds: float) -> tuple[CallReply, TestResult]:
        task = self.submission.task
        test, limits = task.tests[index], task.limits
        if not isinstance(test, CallTest) or not isinstance(task.interface, Function):
            raise BadConfig(
                f"task {task.id!r} must have an interface of kind function, got "
                f"{type(task.interface).__name__}: it has call tests, which call a name"
            )
        self._spent, began = self.process.cpu_now(), time.monotonic()
        self.process.allow(cpu_seconds=cpu_seconds, wall_seconds=limits.wall_seconds)
        try:
            reply = self.session.call(
                task.interface.name,
                test.args,
                test.kwargs,
                # Later than the process's own deadline, which decides.
                deadline=began + LONGEST_WALL * limits.wall_seconds + 60.0,
                max_bytes=reply_cap(test.expected),
            )
        except NotPlain:
            validate_values(task, test)  # says which task, and the way out
            raise
        used = self.process.cpu_now() - self._spent
        public = index < len(task.public_tests)
        verdict, note = _verdict(reply, test.expected, task.checker)
        if reply.kind in _ALIVE and used >= limits.cpu_seconds:
            verdict, note = Verdict.TLE, ""
        return reply, TestResult(
            verdict,
            cpu_seconds=max(0.0, used),
            wall_seconds=time.monotonic() - began,
            note=one_line(note) if public else "",
            flags=("near_limit",) if near_limit(used, limits) else (),
        )

    def _ended(
        self, index: int, reply: CallReply, result: TestResult, outcome: Outcome
    ) -> TestResult:
        """Return the result of the test under which the process ended."""
        limits = self.submission.task.limits
        public = index < len(self.submission.task.public_tests)
        # CPU time of earlier calls is not this call's.
        outcome = replace(outcome, cpu_seconds=max(0.0, outcome.cpu_seconds - self._spent))
        verdict = fault(outcome, limits) or result.verdict
        described = self.submission.describe(outcome, verdict, public=public)
        note = result.note if public and reply.kind == "oversized" else described.note
        return replace(described, note=note)

    def _for_all(self, indices: Sequence[int], ended: TestResult) -> dict[int, TestResult]:
        """Return the same end for all tests; hidden ones tell nothing of it."""
        public = len(self.submission.task.public_tests)
        quiet = ended if ended.verdict is Verdict.CE else replace(ended, note="")
        return {index: ended if index < public else quiet for index in indices}

    def _unread(self) -> bool:
        """Return whether requests lie in the pipe that the program never read."""
        count = array.array("i", [0])
        fcntl.ioctl(self.requests[0], termios.FIONREAD, count)
        return count[0] > 0


def _noting(ready: dict[int, int], descriptor: int) -> Callable[[int], None]:
    return lambda events: ready.__setitem__(descriptor, events)


def _verdict(reply: CallReply, expected: object, checker: Checker) -> tuple[Verdict, str]:
    """Return what a reply says by itself, and a note that may show the expected value."""
    if reply.kind == "value":
        found = compare_value(reply.value, expected, checker)
        return found.verdict, found.note
    if reply.kind == "oversized":
        return Verdict.WA, reply.note
    if reply.kind == "raised" and reply.error == "MemoryError":
        return Verdict.MLE, reply.note
    return Verdict.RE, reply.note
