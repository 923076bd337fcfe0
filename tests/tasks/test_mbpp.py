"""What the MBPP loader promises, for the full and the sanitized schema."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import AssertTest, Function
from corecode_env.tasks import load_tasks
from corecode_env.tasks.formats import Where
from corecode_env.tasks.mbpp import MBPP

WHERE = Where("mbpp.jsonl", 2)
FULL: dict[str, Any] = {
    "text": "Write a function to double a number. ",
    "code": "import math\r\ndef helper(x):\r\n\treturn x\r\ndef double(x):\r\n\treturn 2*helper(x)",
    "task_id": 700,
    "test_setup_code": "",
    "test_list": [
        "assert double(2) == 4",
        "assert double(3)==6 ",
        "assert set([double(1)]) == {2}",
    ],
    "challenge_test_list": ["assert double(0) == 0"],
}
SANITIZED: dict[str, Any] = {
    "source_file": "x.ipynb",
    "task_id": 20,
    "prompt": "Write a function to double a number.",
    "code": "def double(x):\n  return 2*x",
    "test_imports": ["import math"],
    "test_list": ["assert double(2) == 4", "assert math.isclose(double(0.5), 1)"],
}


def codes(tests: tuple[Any, ...]) -> list[str]:
    assert all(isinstance(test, AssertTest) for test in tests)
    return [test.code for test in tests]


def test_a_full_record_becomes_a_task() -> None:
    task = MBPP.read(FULL, WHERE)
    assert (task.id, task.interface) == ("Mbpp/700", Function("double"))
    assert task.statement.startswith("Write a function to double a number.\n")
    assert "assert double(2) == 4" in task.statement
    assert codes(task.public_tests) == ["assert double(2) == 4\n"]
    assert codes(task.hidden_tests) == [
        "assert double(3)==6\n",
        "assert set([double(1)]) == {2}\n",
        "assert double(0) == 0\n",
    ]
    assert task.metadata["split"] == "train"


def test_a_sanitized_record_has_its_imports_before_each_test() -> None:
    task = MBPP.read(SANITIZED, WHERE)
    assert codes(task.tests) == [
        "import math\nassert double(2) == 4\n",
        "import math\nassert math.isclose(double(0.5), 1)\n",
    ]
    assert task.metadata["split"] == "test"


def test_set_up_code_stands_before_each_test() -> None:
    record = {**FULL, "test_setup_code": "root = 2 \r\nroot += 1"}
    assert (
        codes(MBPP.read(record, WHERE).tests)[0]
        == "root = 2 \nroot += 1\nassert double(2) == 4\n"
    )


def test_code_is_shown_with_plain_line_ends_and_spaces() -> None:
    reference = MBPP.read(FULL, WHERE).reference_program or ""
    assert "\r" not in reference and "\t" not in reference


def test_the_statement_shows_no_hidden_test_and_no_solution() -> None:
    statement = MBPP.read(FULL, WHERE).statement
    assert "double(3)" not in statement and "helper" not in statement


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("task_id", "700", "'task_id' must be an integer, got '700'"),
        ("test_list", [], r"'test_list' must be at least one assert line, got \[\]"),
        ("test_list", "assert double(1)", "'test_list' must be a list of strings"),
        ("test_list", ["double(2) == 4"], r"'test_list\[0\]' must be one assert statement"),
        ("test_list", ["assert double(2) =="], r"'test_list\[0\]' must be an assert"),
        ("test_list", ["assert triple(2) == 6"], "'test_list' must be asserts that all call"),
        ("code", "def double(x:", "'code' must be a Python program"),
        ("text", None, "'text' must be a string, got None"),
    ],
)
def test_a_bad_field_is_named_with_its_file_and_line(
    field: str, value: object, message: str
) -> None:
    with pytest.raises(BadRecord, match=f"^mbpp.jsonl:2: field {message}"):
        MBPP.read({**FULL, field: value}, WHERE)


def test_a_helper_class_that_the_tests_use_is_not_the_entry_point() -> None:
    assert load_tasks("mbpp").get("601").interface == Function("max_chain_length")


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("mbpp", {"train": 384, "validation": 90, "test": 500}),
        ("mbpp-sanitized", {"train": 127, "validation": 43, "test": 257}),
    ],
)
def test_the_splits_are_those_of_the_paper(name: str, sizes: dict[str, int]) -> None:
    tasks = load_tasks(name)
    assert dict(Counter(task.metadata["split"] for task in tasks)) == sizes
    assert len(tasks.split("train").require_trainable()) == sizes["train"]


def test_the_slow_task_has_a_wider_limit() -> None:
    tasks = load_tasks("mbpp")
    assert tasks.get("Mbpp/123").limits.cpu_seconds > tasks.get("Mbpp/124").limits.cpu_seconds
