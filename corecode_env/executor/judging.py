"""Judging: one task and one program become one judgement.

    Task + program  ->  a process per test (or one for all calls)  ->  Judgement

Expected values, checkers and test code never meet the program: outputs are compared here
or in a judge's process, where no byte of a program has run. A test that was not run, or
whose evidence is missing, is not passed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Function,
    ScoreTest,
    StdioTest,
    Task,
    Test,
)
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.executor.bench import Bench
from corecode_env.executor.calls import judge_calls
from corecode_env.executor.compare import compare_output, validate_options, validate_values
from corecode_env.executor.conversation import judge_assert
from corecode_env.executor.language import Language
from corecode_env.executor.messages import judge_message
from corecode_env.executor.reports import ask_judge
from corecode_env.executor.slot import PROGRAM, Outcome, Run, sealed
from corecode_env.executor.submission import (
    SANDBOX_FAILED,
    Submission,
    judge_fairly,
)
from corecode_env.executor.suites import judge_suite, suite_program
from corecode_env.executor.verdicts import fault, one_line

_TOO_LONG: Final = "the program is too long to be compiled"
_OF_REPORT: Final = {
    "passed": Verdict.AC,
    "failed": Verdict.WA,
    "raised": Verdict.RE,
    "test_broken": Verdict.SE,
}
"""Verdicts of what checkers, scorers and comparers of literals report."""


def judge(task: Task, program: str, bench: Bench, language: Language) -> Judgement:
    """Judge a program on all tests of a task, in the task's order.

    Args:
        task: The task.
        program: What was handed in.
        bench: Where processes run.
        language: Language of the program.

    Raises:
        BadConfig: If the task's checker, an option of it, or an expected value cannot work.
        UnknownName: If the task's checker has an unknown name.
    """
    # A task that cannot be judged is its author's mistake, and no verdict on a program.
    validate_options(task)
    results = _results(task, program, bench, language)
    public = len(task.public_tests)
    marked = tuple(
        replace(result, public=index < public) for index, result in enumerate(results)
    )
    return Judgement(task.id, marked, bench.isolation)


def _results(task: Task, program: str, bench: Bench, language: Language) -> list[TestResult]:
    if task.kind == "io_prediction":
        public = len(task.public_tests)
        return [
            _literal(task, test, program, bench, public=index < public)
            for index, test in enumerate(task.tests)
        ]
    if task.kind == "commit_message":
        return [judge_message(task, program)]
    if task.kind == "unit_tests":
        program = suite_program(task, program)
    preamble = task.interface.preamble if isinstance(task.interface, Function) else ""
    packed = language.pack(program, preamble)
    if packed is None:
        return [TestResult(Verdict.CE, note=_TOO_LONG) for _ in task.tests]
    payload = sealed(packed)
    try:
        kind = language.warm_process((program, preamble))
        slot = bench.slot_for("candidate", kind, task.limits)
        return _Judge(Submission(task, payload, bench, slot)).all()
    finally:
        os.close(payload)


class _Judge:
    """Judges one submission, test by test."""

    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.task, self.bench = submission.task, submission.bench

    def all(self) -> list[TestResult]:
        """Return one result per test, in order."""
        results: dict[int, TestResult] = {}
        tests = self.task.tests
        calls = [index for index, test in enumerate(tests) if isinstance(test, CallTest)]
        for index, test in enumerate(tests):
            if index in results:
                continue
            if isinstance(test, CallTest):
                results |= judge_calls(self.submission, calls)
            else:
                results[index] = self.one(test, public=index < len(self.task.public_tests))
            if results[index].verdict is Verdict.CE:
                # Compilation does not depend on the test.
                return [results[index]] * len(tests)
        # What yielded no result was not judged, so it is not passed.
        missing = TestResult(Verdict.SE, note="the test was not judged")
        return [results.get(index, missing) for index in range(len(tests))]

    def one(self, test: Test, *, public: bool) -> TestResult:
        """Judge one test that has a process of its own."""
        judge_test: Callable[[float], TestResult]
        if isinstance(test, StdioTest):
            judge_test = partial(self.stdio, test, public)
        elif isinstance(test, ScoreTest) and self.task.kind == "unit_tests":
            judge_test = partial(judge_suite, self.submission, test)
        elif isinstance(test, ScoreTest):
            judge_test = partial(self.score, test, public)
        elif isinstance(test, AssertTest):
            judge_test = partial(judge_assert, self.submission, test, public)
        else:
            raise TypeError(f"no rule judges a {type(test).__name__}")
        return judge_fairly(self.bench, self.task.limits, judge_test)

    # ----------------------------------------------------------- printed results
    def stdio(self, test: StdioTest, public: bool, cpu_seconds: float) -> TestResult:
        """Feed a test's input; compare what is printed."""
        outcome, result = self.run(test.input, public, cpu_seconds)
        if outcome is None or result.verdict is not Verdict.AC:
            return result
        checker = self.task.checker
        if public and checker.options.get("keep_output"):
            result = replace(result, output=outcome.stdout.decode("utf-8", "replace"))
        if not checker.source:
            found = compare_output(outcome.stdout, test.output, checker)
            note = one_line(found.note) if public else ""
            return replace(result, verdict=found.verdict, score=found.score, note=note)
        arguments = [checker.source, test.input, outcome.stdout, test.output]
        report = ask_judge(self.bench, "run_checker", arguments, [checker.source])
        verdict = _OF_REPORT[report.outcome]
        note = one_line(report.note) if public or verdict is Verdict.SE else ""
        score = report.score if verdict is Verdict.WA else None
        return replace(result, verdict=verdict, score=score, note=note)

    def score(self, test: ScoreTest, public: bool, cpu_seconds: float) -> TestResult:
        """Feed an instance; have what is printed scored."""
        outcome, result = self.run(test.instance, public, cpu_seconds)
        if outcome is None or result.verdict is not Verdict.AC:
            return replace(result, score=0.0)
        source = self.task.checker.source
        arguments = [source, test.instance, outcome.stdout]
        report = ask_judge(self.bench, "run_scorer", arguments, [source])
        verdict = _OF_REPORT[report.outcome]
        value = 0.0 if report.score is None else report.score
        if verdict is Verdict.AC and test.reference:
            value /= test.reference
        if verdict is Verdict.AC and not abs(value) < float("inf"):
            verdict, value = Verdict.WA, 0.0
        note = one_line(report.note) if public or verdict is Verdict.SE else ""
        return replace(
            result, verdict=verdict, score=value if verdict is Verdict.AC else 0.0, note=note
        )

    def run(
        self, given: str, public: bool, cpu_seconds: float
    ) -> tuple[Outcome | None, TestResult]:
        """Run the program on an input; the result is AC if nothing is wrong so far."""
        submission, limits = self.submission, self.task.limits
        run = Run(
            submission.payload,
            stdin=given.encode("utf-8", "surrogatepass"),
            limits=limits,
            kind=PROGRAM,
            cpu_seconds=cpu_seconds,
        )
        outcome = self.bench.run(submission.slot, run)
        if outcome is None:
            return None, SANDBOX_FAILED
        ignore_exit = bool(self.task.checker.options.get("ignore_exit", False))
        verdict = fault(outcome, limits, ignore_exit=ignore_exit)
        return outcome, submission.describe(outcome, verdict or Verdict.AC, public=public)


def _literal(task: Task, test: Test, text: str, bench: Bench, *, public: bool) -> TestResult:
    """Compare a submission that is a literal with what a call test expects."""
    if not isinstance(test, CallTest):
        kind = type(test).__name__
        return TestResult(Verdict.SE, note=f"a task of kind io_prediction has a {kind}")
    validate_values(task, test)
    arguments = [text, test.expected, dict(task.checker.options)]
    report = ask_judge(bench, "check_literal", arguments)
    verdict = _OF_REPORT[report.outcome]
    note = one_line(report.note) if public or verdict is Verdict.SE else ""
    return TestResult(verdict, note=note)
