"""What a checker that cannot judge comes to: an error of the task, never a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from corecode_env.core.errors import BadConfig, UnknownName
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Checker,
    Function,
    ScoreTest,
    Script,
    Stdio,
    StdioTest,
    Task,
)
from corecode_env.executor import LocalExecutor

PRINTS = Task("prints", "", Stdio(), hidden_tests=(StdioTest("", "1"),))
CALLS = Task("calls", "", Function("f"), hidden_tests=(CallTest((1,), {}, 1),))
ASSERTS = Task("asserts", "", Function("f"), hidden_tests=(AssertTest("assert f(1) == 1"),))
SCORES = Task("scores", "", Stdio(), hidden_tests=(ScoreTest("1"),), kind="optimize")
GUESSES = Task(
    "guesses", "", Script(), hidden_tests=(CallTest((), {}, 1),), kind="io_prediction"
)
OBJECT = CallTest((object(),), {}, 1)


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(1) as made:
        yield made


@pytest.mark.parametrize(
    ("task", "error", "message"),
    [
        (replace(PRINTS, checker=Checker("lnes")), UnknownName, "did you mean 'lines'"),
        (replace(PRINTS, checker=Checker(options={"as_set": True})), BadConfig, "'prints'"),
        (replace(CALLS, checker=Checker("tokens")), UnknownName, "known: default"),
        (replace(CALLS, checker=Checker(options={"abs": -1})), BadConfig, "abs >= 0"),
        (replace(ASSERTS, checker=Checker(options={"exact": True})), BadConfig, "'exact'"),
        (SCORES, BadConfig, "source of score"),
        (replace(GUESSES, checker=Checker("float")), UnknownName, "known: default"),
        (replace(CALLS, hidden_tests=(OBJECT,)), BadConfig, "'calls' must compare plain"),
        (
            replace(GUESSES, hidden_tests=(replace(OBJECT, args=(), expected=object()),)),
            BadConfig,
            "'guesses' must compare plain",
        ),
    ],
)
def test_a_task_that_cannot_be_judged_is_refused_with_the_way_out(
    task: Task, error: type[Exception], message: str, executor: LocalExecutor
) -> None:
    with pytest.raises(error, match=message):
        executor.judge(task, "def f(x): return x")
    with pytest.raises(error, match=message):
        list(executor.map([(task, "1")]))
    assert executor.judge(PRINTS, "print(1)").passed
