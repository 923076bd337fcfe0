"""Suites: judging tests that an agent wrote, by what they reach and which faults they find.

    tests + a program of ours  ->  one conversation with the program as it is,
    one with each faulty copy  ->  coverage and faults found  ->  a score in [0, 1]

As in every conversation there are two processes: the agent's text runs in one, the program
in the other, where coverage is counted and where no byte of an agent ever is. What the
tests say themselves is only whether they are content; to be worth something they have to
be content with the right program, and not with a faulty one.

A fault counts as found if the faulty copy answered a call otherwise than the right program
did, and the tests were not content. Tests that fail without having seen a difference have
found nothing. Each run is a process of its own, which cannot know which program it tests;
at the end the right program is tested once more, so tests that fail by chance are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from corecode_env.core.subject import Subject
from corecode_env.core.task import ScoreTest, Task
from corecode_env.core.verdict import TestResult, Verdict
from corecode_env.executor.conversation import HARD, Ended, converse
from corecode_env.executor.inside.tester import SUITE_ENTRY, Report
from corecode_env.executor.mixing import mix, weights_of
from corecode_env.executor.reports import request_of
from corecode_env.executor.submission import Submission
from corecode_env.executor.verdicts import fault, one_line

MOST_STEPS: Final = 1_000_000
"""Statements that the right program may execute in one run of the tests."""
MORE_STEPS: Final = 10
"""A faulty copy may execute so many times as many as the right program did, ..."""
LEAST_STEPS: Final = 10_000
"""... and at least this many."""

_PROGRAM: Final = """\
def {entry}(subject):
    from types import FunctionType
    try:
        code = compile({suite!r}, "tests.py", "exec")
    except BaseException as error:
        return ["compile", type(error).__name__, str(error)[:200]]
    names = {{"__name__": "tests", {name!r}: subject}}
    try:
        exec(code, names)
        if type(names.get("check")) is FunctionType and names["check"] is not subject:
            names["check"](subject)
        for name, test in list(names.items()):
            if name.startswith("test") and type(test) is FunctionType and test is not subject:
                test()
    except BaseException as error:
        return ["run", type(error).__name__, str(error)[:200]]
"""
_OF_REPORT: Final = {
    "failed": Verdict.WA,
    "nocall": Verdict.NOCALL,
    "candidate_gone": Verdict.RE,
    "candidate_garbled": Verdict.RE,
    "candidate_raised": Verdict.RE,
    "test_broken": Verdict.SE,
}


def suite_program(task: Task, suite: str) -> str:
    """Return the program that runs an agent's tests when it is asked to.

    Args:
        task: A task of kind `unit_tests`.
        suite: What the agent handed in.
    """
    subject = _subject(task.tests[0])
    return _PROGRAM.format(entry=SUITE_ENTRY, suite=suite, name=subject.entry)


def judge_suite(submission: Submission, test: ScoreTest, cpu_seconds: float) -> TestResult:
    """Judge tests against a program and its faulty copies.

    Args:
        submission: The tests, wrapped by `suite_program`.
        test: The test of the task, whose instance is a `Subject`.
        cpu_seconds: Where the kernel stops the tests, in each run.

    Returns:
        AC with score 1.0 if the tests reach and find all that there is; WA with a score
        below if they are right but not complete; another verdict, or WA, with score 0.0
        if they do not hold on the right program.
    """
    subject = _subject(test)
    runs = _Runs(submission, subject, cpu_seconds)
    first = runs.run(subject.program, subject.tests, MOST_STEPS)
    if isinstance(first, TestResult):
        return first
    refused = runs.refusal(first)
    if refused is not None:
        return refused
    assert first.report is not None, "what ended without a report was refused"
    right = first.report.details
    found = 0
    for mutation in subject.mutations:
        steps = max(LEAST_STEPS, MORE_STEPS * right["steps"])
        ended = runs.run(mutation.apply(subject.program), (), steps)
        if isinstance(ended, TestResult):
            return ended
        found += _notices(ended, right["calls"])
    if found:
        again = runs.run(subject.program, (), MOST_STEPS)
        if isinstance(again, TestResult):
            return again
        if not _is_same(again, right["calls"]):
            return replace(
                runs.described(again, Verdict.WA),
                note="the tests do not make the same calls and pass each time that they run",
            )
    return _scored(runs.described(first, Verdict.WA), right, found, submission.task, subject)


def _scored(
    result: TestResult, right: Mapping[str, Any], found: int, task: Task, subject: Subject
) -> TestResult:
    counts = {
        "line": right["line"],
        "branch": right["branch"],
        "mutation": [found, len(subject.mutations)],
    }
    measures = {name: mine / all_ if all_ else None for name, (mine, all_) in counts.items()}
    score = mix(measures, weights_of(task))
    named = {"line": "lines reached", "branch": "branches taken", "mutation": "faults found"}
    note = ", ".join(
        f"{mine} of {all_} {named[name]}" for name, (mine, all_) in counts.items() if all_
    )
    return replace(
        result,
        verdict=Verdict.AC if score == 1.0 else Verdict.WA,
        score=score,
        note=note,
        exit=None,
        signal=None,
    )


class _Runs:
    """Runs of one suite."""

    def __init__(self, submission: Submission, subject: Subject, cpu_seconds: float) -> None:
        self.submission, self.subject = submission, subject
        self.cpu_seconds = cpu_seconds

    def run(self, program: str, tests: Sequence[str], steps: int) -> Ended | TestResult:
        """Run the suite against a program; a result if the sandbox failed."""
        request = request_of(
            "run_suite", (program, self.subject.entry, list(tests)), {"most_steps": steps}
        )
        sources = (program, *tests)
        return converse(self.submission, request, sources, self.cpu_seconds, public=True)

    def described(self, ended: Ended, verdict: Verdict) -> TestResult:
        """Return the result of a run, worth nothing."""
        result = self.submission.describe(ended.program, verdict, public=True)
        return replace(result, score=0.0)

    def refusal(self, ended: Ended) -> TestResult | None:
        """Return why a suite does not hold on the right program; None if it does."""
        found = fault(ended.program, self.submission.task.limits)
        if found is not None and found in HARD:
            return self.described(ended, found)
        report = ended.report
        if report is None:
            # What the program was asked to do has brought its process down.
            verdict = Verdict.RE if ended.heard else Verdict.SE
            note = "the program did not survive what the tests asked of it"
            return replace(self.described(ended, verdict), note=note)
        if report.outcome == "passed":
            return None
        verdict = _verdict(report)
        result = self.described(ended, verdict)
        if report.outcome == "candidate_gone":
            return result
        told = one_line(f"on the right program: {report.note}" if report.note else "")
        return replace(result, note=told, exit=None, signal=None)


def _verdict(report: Report) -> Verdict:
    if report.outcome == "failed":
        if report.details["stage"] == "compile":
            return Verdict.CE
        if report.details["raised"] not in ("", "AssertionError"):
            return Verdict.RE
    return _OF_REPORT[report.outcome]


def _notices(ended: Ended, right: Sequence[str]) -> bool:
    """Return whether tests found a fault: they saw another answer, and were not content."""
    report = ended.report
    if report is None or report.outcome in ("passed", "nocall", "test_broken"):
        return False
    # Up to the first difference the calls must be those made to the right program.
    for mine, other in zip(report.details["calls"], right, strict=False):
        if mine != other:
            return bool(mine.partition(":")[0] == other.partition(":")[0])
    return False


def _is_same(ended: Ended, right: Sequence[str]) -> bool:
    report = ended.report
    return (
        report is not None and report.outcome == "passed" and report.details["calls"] == right
    )


def _subject(test: object) -> Subject:
    assert isinstance(test, ScoreTest), "validated before"
    return Subject.from_text(test.instance)
