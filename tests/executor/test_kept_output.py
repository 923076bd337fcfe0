"""What the checker option `keep_output` promises: what a program printed, on public tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from corecode_env.core.task import Checker, Stdio, StdioTest, Task
from corecode_env.core.verdict import Judgement, Verdict
from corecode_env.executor import LocalExecutor

ECHO = "print(input()[::-1])"


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(1, min_isolation="L0") as made:
        yield made


def task(*, keep: bool) -> Task:
    return Task(
        "reversed",
        "Print a line backwards.",
        Stdio(),
        public_tests=(StdioTest("abc\n", "cba\n"), StdioTest("x\n", "y\n")),
        hidden_tests=(StdioTest("hidden\n", "neddih\n"),),
        checker=Checker("lines", {"keep_output": keep}),
    )


def test_right_and_wrong_output_is_kept_on_public_tests_alone(executor: LocalExecutor) -> None:
    results = executor.judge(task(keep=True), ECHO).results
    assert [result.output for result in results] == ["cba\n", "x\n", None]
    assert [result.verdict for result in results] == [Verdict.AC, Verdict.WA, Verdict.AC]


def test_nothing_is_kept_without_the_option(executor: LocalExecutor) -> None:
    results = executor.judge(task(keep=False), ECHO).results
    assert [result.output for result in results] == [None] * 3


def test_a_program_that_did_not_end_well_has_no_output(executor: LocalExecutor) -> None:
    results = executor.judge(task(keep=True), f"{ECHO}\nraise SystemExit(3)").results
    assert [result.output for result in results] == [None] * 3


def test_bytes_that_are_no_text_come_out_as_such(executor: LocalExecutor) -> None:
    program = "import os; os.write(1, b'\\xff!')"
    assert executor.judge(task(keep=True), program).results[0].output == "\ufffd!"


@pytest.mark.parametrize("keep", [True, False])
def test_a_judgement_keeps_it_on_disk(executor: LocalExecutor, keep: bool) -> None:
    judgement = executor.judge(task(keep=keep), ECHO)
    record = judgement.to_json()
    assert ["output" in result for result in record["results"]] == [keep, keep, False]
    assert Judgement.from_json(record) == judgement
