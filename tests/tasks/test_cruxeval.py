"""What the CRUXEval loader promises."""

from __future__ import annotations

import pytest

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import CallTest, Script
from corecode_env.tasks import load_tasks
from corecode_env.tasks.cruxeval import CRUXEVAL
from corecode_env.tasks.formats import Where

RECORD = {
    "id": "sample_0",
    "code": "def f(a):\n    return (a, {a})",
    "input": "3",
    "output": "(3, {3})",
}
WHERE = Where("cruxeval.jsonl", 1)


def test_a_record_becomes_a_prediction_task() -> None:
    task = CRUXEVAL.read(RECORD, WHERE)
    assert (task.kind, task.interface) == ("io_prediction", Script())
    assert task.hidden_tests == (CallTest((), expected=(3, {3})),)
    assert task.public_tests == ()
    assert task.reference_program == "(3, {3})"
    assert "f(3)" in task.statement and "(3, {3})" not in task.statement


@pytest.mark.parametrize("output", ["f(3)", "(3,", "", "__import__('os').getcwd()"])
def test_an_output_that_is_no_literal_is_an_error_and_never_run(output: str) -> None:
    with pytest.raises(
        BadRecord, match=r"^cruxeval\.jsonl:1: field 'output' must be a Python"
    ):
        CRUXEVAL.read({**RECORD, "output": output}, WHERE)


def test_the_set_has_800_tasks_for_evaluation() -> None:
    assert load_tasks("cruxeval").split("test").ids() == [f"sample_{n}" for n in range(800)]
