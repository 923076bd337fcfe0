"""Canaries: values planted in what agents must not see, to be looked for in what they do.

    Task  ->  planted copy  ->  an episode  ->  where a canary turned up

A canary bird in a mine showed that gas was there; a value that stands in a hidden test
alone, and then in a prompt, shows that hidden tests reach the agents.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from corecode_env.core.task import AssertTest, CallTest, ScoreTest, StdioTest, Task, Test
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.executor.testing import InstantExecutor

CANARY_TEXT: Final = "canary-e7b1f3"
CANARY_NUMBER: Final = 730_514_926
CANARIES: Final = (CANARY_TEXT, str(CANARY_NUMBER))


def planted(task: Task) -> Task:
    """Return a copy of a task whose hidden tests and references are canaries.

    The hidden tests are of the form that the task's tests have; everything that agents
    may see is as it was.
    """
    forms = {type(test): test for test in task.tests}
    return replace(
        task,
        hidden_tests=tuple(_planted_test(test) for test in forms.values()),
        reference_program=f"# {CANARY_TEXT} {CANARY_NUMBER}\n",
        reference_plan=f"{CANARY_TEXT} {CANARY_NUMBER}",
    )


def _planted_test(test: Test) -> Test:
    line = f"{CANARY_TEXT} {CANARY_NUMBER}\n"
    match test:
        case StdioTest():
            return StdioTest(line, line)
        case CallTest():
            return CallTest((CANARY_NUMBER, CANARY_TEXT), {}, CANARY_TEXT)
        case AssertTest():
            return AssertTest(f"assert {CANARY_NUMBER} == {CANARY_TEXT!r}")
        case ScoreTest():
            return ScoreTest(line, CANARY_TEXT, float(CANARY_NUMBER))


def talkative(public: Verdict, hidden: Verdict) -> InstantExecutor:
    """Return an executor that writes canaries wherever a hidden result has room for them.

    Args:
        public: The verdict of every public test.
        hidden: The verdict of every hidden one.
    """

    def judge(task: Task, program: str) -> Judgement:
        shown = [TestResult(public, public=True)] * len(task.public_tests)
        kept = TestResult(hidden, note=" ".join(CANARIES), flags=CANARIES, output=CANARY_TEXT)
        return Judgement(task.id, (*shown, *[kept] * len(task.hidden_tests)))

    return InstantExecutor(judge)


def found_in(value: Any) -> str | None:
    """Return the canary that stands in a value's text, None if there is none.

    >>> found_in({"prompt": "hidden: 730514926"})
    '730514926'
    """
    text = repr(value)
    return next((canary for canary in CANARIES if canary in text), None)
