"""Conversations: test code that talks to the program it tests.

    AssertTest  ->  judge's process  <== two pipes ==>  the program's process

One process for the program and one for the test, joined by two pipes; the parent holds
neither end and only watches both. The verdict comes from the judge's report and from the
kernel's numbers, whatever the test's own code swallowed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from corecode_env.core.task import AssertTest, Function, Limits, Task
from corecode_env.core.verdict import TestResult, Verdict
from corecode_env.executor.compare import longest_reply
from corecode_env.executor.inside.tester import Report
from corecode_env.executor.reports import JUDGE_LIMITS, JudgeProcess, judge_slot, request_of
from corecode_env.executor.scratch import Scratch
from corecode_env.executor.slot import (
    LONGEST_WALL,
    SERVE,
    Loop,
    Outcome,
    Process,
    Run,
    SlotDied,
)
from corecode_env.executor.submission import SANDBOX_FAILED, Submission
from corecode_env.executor.verdicts import fault, one_line

HARD: Final = (Verdict.SE, Verdict.CE, Verdict.SV, Verdict.OLE, Verdict.MLE, Verdict.TLE)
"""Faults of the program that decide whatever the test reports."""

_OF_REPORT: Final = {
    "passed": Verdict.AC,
    "failed": Verdict.WA,
    "raised": Verdict.RE,
    "nocall": Verdict.NOCALL,
    "candidate_gone": Verdict.RE,
    "candidate_garbled": Verdict.RE,
    "candidate_raised": Verdict.RE,
    "test_broken": Verdict.SE,
}


def judge_assert(
    submission: Submission, test: AssertTest, public: bool, cpu_seconds: float
) -> TestResult:
    """Judge one piece of test code against the program.

    Args:
        submission: The program.
        test: The test.
        public: Whether the note may hold what the program wrote.
        cpu_seconds: Where the kernel stops the program.
    """
    request = _request(submission.task, test)
    ended = converse(submission, request, (test.code,), cpu_seconds, public=public)
    if isinstance(ended, TestResult):
        return ended
    return _result(submission, ended.report, ended.heard, ended.program, public=public)


class Ended(NamedTuple):
    """How a conversation ended."""

    report: Report | None
    """What the judge's process reported, None if it ended without a report."""
    heard: bool
    """Whether the program had said anything by then."""
    program: Outcome
    """How the program's process ended."""
    judge: Outcome
    """How the judge's process ended."""


def converse(
    submission: Submission,
    request: Mapping[str, Any],
    sources: Sequence[str],
    cpu_seconds: float,
    *,
    public: bool,
) -> Ended | TestResult:
    """Let a function of `tester` talk to the program; once more if the sandbox failed.

    Args:
        submission: The program.
        request: What the judge's process is to call; its first arguments will be the
            pipes to the program.
        sources: Code that the judge's process will run.
        cpu_seconds: Where the kernel stops the program.
        public: Whether a note may hold what the program wrote.

    Returns:
        How it ended; a result with verdict SE if the sandbox failed twice.
    """
    for _ in range(2):
        try:
            with submission.bench.scratch(submission.task.limits) as scratch:
                ended = _converse(submission, request, sources, cpu_seconds, scratch)
        except SlotDied:
            submission.bench.check()
            continue
        submission.bench.check()
        program = ended.program
        spoke = ended.report is not None or ended.judge.started
        if program.ready and not program.broken and spoke:
            return ended
        if program.broken:
            return submission.describe(program, Verdict.SE, public=public)
    return SANDBOX_FAILED


def _converse(
    submission: Submission,
    request: Mapping[str, Any],
    sources: Sequence[str],
    cpu_seconds: float,
    scratch: Scratch | None,
) -> Ended:
    """Run both sides."""
    task, loop = submission.task, Loop()
    requests, replies = os.pipe(), os.pipe()
    program: Process | None = None
    judge: JudgeProcess | None = None
    try:
        run = Run(
            submission.payload,
            limits=task.limits,
            kind=SERVE,
            extra=(requests[0], replies[1]),
            cpu_seconds=cpu_seconds,
            scratch=scratch,
        )
        # Both warm processes come first: the program's clock must not run while one starts.
        slot = judge_slot(submission.bench, sources, task.limits)
        slot.start()
        program = submission.slot.open(run, loop)
        judge = JudgeProcess(
            slot,
            loop,
            request,
            ends=(requests[1], replies[0]),
            limits=_judge_limits(task.limits),
            scratch=scratch,
        )
        # Now each end has one holder, so either side sees when the other is gone.
        _close(requests, replies)
        requests = replies = (-1, -1)
        report = judge.report()
        heard = judge.has_heard
        judge_outcome = judge.process.outcome()
        program.await_start()  # the test may have come to its end without it
        if report is None or report.outcome == "candidate_gone":
            program.settle()
        return Ended(report, heard, program.outcome(), judge_outcome)
    finally:
        _close(requests, replies)
        if judge is not None:
            judge.close()
        if program is not None:
            program.close()


def _request(task: Task, test: AssertTest) -> dict[str, object]:
    entry = task.interface.name if isinstance(task.interface, Function) else ""
    changes = bool(task.checker.options.get("mutates_arguments", False))
    options = {"mutates_arguments": changes, "reply_bytes": longest_reply(task.limits)}
    return request_of("run_test", (test.code, entry), options)


def _judge_limits(limits: Limits) -> Limits:
    # The program's clocks must run out first: a judge that waits is not at fault.
    return replace(
        JUDGE_LIMITS,
        cpu_seconds=max(JUDGE_LIMITS.cpu_seconds, 2 * limits.cpu_seconds),
        wall_seconds=LONGEST_WALL * limits.wall_seconds + JUDGE_LIMITS.wall_seconds,
        memory_bytes=max(JUDGE_LIMITS.memory_bytes, 2 * int(limits.memory_bytes)),
        scratch_bytes=limits.scratch_bytes,
    )


def _close(*pipes: Sequence[int]) -> None:
    for descriptor in (end for pipe in pipes for end in pipe if end >= 0):
        os.close(descriptor)


def _result(
    submission: Submission,
    report: Report | None,
    heard: bool,
    program: Outcome,
    *,
    public: bool,
) -> TestResult:
    limits = submission.task.limits
    found = fault(program, limits)
    verdict = _verdict(report, heard, found)
    if verdict is Verdict.SE and found is not Verdict.SE and limits.scratch_bytes:
        # What the program lays in the folder may bring a test down before the first word.
        verdict = Verdict.RE
    result = submission.describe(program, verdict, public=public)
    if report is None or verdict is found or report.outcome == "candidate_gone":
        return result
    # The program was still in its loop of calls: how we ended it says nothing.
    tell = verdict is not Verdict.AC and (public or verdict is Verdict.SE)
    note = one_line(report.note) if tell else ""
    return replace(result, note=note, exit=None, signal=None)


def _verdict(report: Report | None, heard: bool, found: Verdict | None) -> Verdict:
    if found is not None and found in HARD:
        return found
    if report is None:
        # The judge died of what it was told, or (before the first word) of itself.
        return found or (Verdict.RE if heard else Verdict.SE)
    if report.outcome == "candidate_gone":
        return found or Verdict.RE
    if report.outcome == "candidate_raised" and report.note.startswith("MemoryError"):
        return Verdict.MLE
    return _OF_REPORT[report.outcome]
