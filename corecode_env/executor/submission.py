"""Submission: one program on its way through the tests of a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from corecode_env.core.task import Limits, Task
from corecode_env.core.verdict import TestResult, Verdict
from corecode_env.executor.bench import Bench
from corecode_env.executor.slot import Outcome, Slot
from corecode_env.executor.verdicts import NEAR, how_it_ended, last_line, near_limit, one_line

RERUN: Final = "rerun"
SANDBOX_FAILED: Final = TestResult(Verdict.SE, note="the sandbox failed twice")


@dataclass(frozen=True, slots=True)
class Submission:
    """What all tests of one program share.

    Attributes:
        task: The task.
        payload: Sealed file that holds the program, as its language packs it.
        bench: Where its processes run.
        slot: The slot of the program's own kind of warm process.
    """

    task: Task
    payload: int
    bench: Bench
    slot: Slot

    def describe(self, outcome: Outcome, verdict: Verdict, *, public: bool) -> TestResult:
        """Return the result of a process that ended with a verdict.

        Nothing that the program wrote on a hidden test is told; how it compiled is, since
        that happens before it can see a test.
        """
        note = ""
        if verdict is Verdict.CE or (public and verdict in (Verdict.RE, Verdict.MLE)):
            note = last_line(outcome.stderr)
        if verdict is Verdict.RE:
            note = f"{note}; {how_it_ended(outcome)}" if note else how_it_ended(outcome)
        if verdict is Verdict.OLE and outcome.filled:
            note = "its files are more than its folder may hold"
        if verdict is Verdict.SE:
            note = last_line(outcome.stderr) or "the sandbox failed"
        flags = ["truncated"] if outcome.overflow else []
        if near_limit(outcome.cpu_seconds, self.task.limits):
            flags.append("near_limit")
        return TestResult(
            verdict,
            cpu_seconds=outcome.cpu_seconds,
            wall_seconds=outcome.wall_seconds,
            peak_bytes=outcome.peak_bytes,
            exit=outcome.exit,
            signal=outcome.signal,
            note=one_line(note),
            flags=tuple(flags),
        )


def enforced_cpu(bench: Bench, limits: Limits) -> float:
    """Return the CPU seconds at which the kernel stops a program now.

    On an overloaded machine a quarter more than stated: so a program that misses the limit
    narrowly is told from one that never ends.
    """
    return limits.cpu_seconds * (1 + NEAR if bench.overloaded() else 1)


def missed_narrowly(result: TestResult, limits: Limits) -> bool:
    """Return whether a program ended by itself, soon after its CPU limit."""
    return (
        result.verdict is Verdict.TLE
        and limits.cpu_seconds <= result.cpu_seconds < limits.cpu_seconds * (1 + NEAR)
        and result.signal is None
    )


def again_alone(bench: Bench, judge: Callable[[], TestResult]) -> TestResult:
    """Judge a test once more, with no other program of this executor beside it."""
    with bench.gate.alone():
        result = judge()
    return replace(result, flags=(*result.flags, RERUN))


def judge_fairly(
    bench: Bench, limits: Limits, judge: Callable[[float], TestResult]
) -> TestResult:
    """Judge a test; once more, alone, if only the machine's load may have cost it the time.

    Args:
        bench: Where it runs.
        limits: The limits that the task states.
        judge: Judges under a CPU limit, in seconds, that the kernel enforces.
    """
    enforced = enforced_cpu(bench, limits)
    with bench.gate.shared():
        result = judge(enforced)
    if enforced > limits.cpu_seconds and missed_narrowly(result, limits):
        return again_alone(bench, lambda: judge(limits.cpu_seconds))
    return result
