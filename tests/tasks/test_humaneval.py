"""What the HumanEval and HumanEvalPack loaders promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import AssertTest, Function, Task
from corecode_env.tasks import TaskSet, load_tasks
from corecode_env.tasks.files import read_records
from corecode_env.tasks.formats import Where
from corecode_env.tasks.humaneval import HUMANEVAL
from corecode_env.tasks.humanevalpack import HUMANEVALPACK

BUILTIN = Path(__file__).resolve().parents[2] / "corecode_env/tasks/builtin"
WHERE = Where("HumanEval.jsonl", 7)
RECORD: dict[str, Any] = {
    "task_id": "HumanEval/0",
    "prompt": (
        "import math\n\n\ndef half(x):\n    return x / 2\n\n\n"
        "def halves(xs: list, k: int = 1) -> list:\n"
        '    """Halve each.\n    >>> halves([2.0])\n    [1.0]\n    """\n'
    ),
    "entry_point": "halves",
    "canonical_solution": "    return [half(x) for x in xs]\n",
    "test": (
        "METADATA = {}\n\ndef check(candidate):\n"
        "    assert candidate([2.0]) == [1.0]\n"
        "    assert candidate([6.0]) == [half(6.0)]\n"
    ),
}


def codes(tests: tuple[Any, ...]) -> list[str]:
    assert all(isinstance(test, AssertTest) for test in tests)
    return [test.code for test in tests]


@pytest.fixture(scope="module")
def humaneval() -> TaskSet:
    return load_tasks("humaneval")


def test_a_record_becomes_a_task() -> None:
    task = HUMANEVAL.read(RECORD, WHERE)
    assert task.id == "HumanEval/0"
    assert isinstance(task.interface, Function)
    assert task.interface.name == "halves"
    assert task.interface.signature == "def halves(xs: list, k: int=1) -> list:"
    assert task.interface.preamble == "import math\n\n\ndef half(x):\n    return x / 2\n"
    assert RECORD["prompt"].rstrip() in task.statement
    assert task.reference_program == RECORD["prompt"] + RECORD["canonical_solution"]
    assert task.metadata["split"] == "test"


def test_examples_are_public_and_the_other_asserts_hidden() -> None:
    task = HUMANEVAL.read(RECORD, WHERE)
    assert codes(task.public_tests) == ["assert halves([2.0]) == [1.0]\n"]
    assert len(task.hidden_tests) == 1


def test_a_test_brings_the_helper_that_sees_its_values() -> None:
    (hidden,) = codes(HUMANEVAL.read(RECORD, WHERE).hidden_tests)
    assert "def half(x):" in hidden
    assert hidden.endswith("assert halves([6.0]) == [half(6.0)]\n")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("task_id", 3, "'task_id' must be a string, got 3"),
        ("prompt", "def halves(", "'prompt' must be the start of a function"),
        ("entry_point", "thirds", "'entry_point' must be the name of a function that prompt"),
        ("test", "def test(): pass", "'test' must be Python source with a function check"),
        ("test", "def check(candidate):\n    pass\n", "asserts nothing"),
        ("canonical_solution", None, "'canonical_solution' must be a string, got None"),
    ],
)
def test_a_bad_field_is_named_with_its_file_and_line(
    field: str, value: object, message: str
) -> None:
    with pytest.raises(BadRecord, match=f"^HumanEval.jsonl:7: field .*{message}"):
        HUMANEVAL.read({**RECORD, field: value}, WHERE)


def test_crlf_and_tabs_are_normalised() -> None:
    record = dict(RECORD)
    record["prompt"] = RECORD["prompt"].replace("\n", "\r\n")
    record["canonical_solution"] = "\r\n\treturn [half(x) for x in xs]\r\n"
    task = HUMANEVAL.read(record, WHERE)
    assert "\r" not in task.statement + (task.reference_program or "")
    assert "\t" not in (task.reference_program or "")


def test_an_example_that_the_tests_contradict_is_not_shown_as_a_test() -> None:
    record = {**RECORD, "prompt": RECORD["prompt"].replace("[1.0]", "[7.0]")}
    assert HUMANEVAL.read(record, WHERE).public_tests == ()


# ------------------------------------------------------------------------ the real set
def test_the_set_has_164_tasks_for_evaluation(humaneval: TaskSet) -> None:
    assert humaneval.ids() == [f"HumanEval/{n}" for n in range(164)]
    assert len(humaneval.split("test")) == 164


def test_most_docstrings_give_public_tests(humaneval: TaskSet) -> None:
    without = [task.id for task in humaneval if not task.public_tests]
    assert len(without) <= 26
    assert sum(len(task.public_tests) for task in humaneval) >= 385


def test_no_test_is_both_public_and_hidden_unless_nothing_else_is_left(
    humaneval: TaskSet,
) -> None:
    for task in humaneval:
        hidden = [code.split(", 'This prints")[0].strip() for code in codes(task.hidden_tests)]
        both = {code.strip() for code in codes(task.public_tests)} & set(hidden)
        assert both in (set(), set(hidden))


@pytest.mark.parametrize("number", [32, 38, 44, 50, 53])
def test_the_loops_stay_whole(humaneval: TaskSet, number: int) -> None:
    task = humaneval.get(f"HumanEval/{number}")
    assert any("for " in code for code in codes(task.hidden_tests))


def test_tasks_go_to_json_and_back(humaneval: TaskSet) -> None:
    assert [Task.from_json(task.to_json()) for task in humaneval] == list(humaneval)


# ----------------------------------------------------------------------- HumanEvalPack
def test_a_repair_task_shows_the_buggy_program_and_knows_the_right_one() -> None:
    record = {
        **RECORD,
        "task_id": "Python/0",
        "buggy_solution": "    return [half(x) for x in xs[1:]]\n",
        "bug_type": "missing logic",
        "example_test": "def check(halves):\n    assert halves([2.0]) == [1.0]\ncheck(halves)\n",
        "test": "def check(halves):\n    assert halves([6.0]) == [3.0]\n\ncheck(halves)",
    }
    task = HUMANEVALPACK.read(record, WHERE)
    assert task.kind == "repair"
    assert "xs[1:]" in task.statement
    assert "xs[1:]" in task.metadata["buggy_program"]
    assert "xs[1:]" not in (task.reference_program or "")
    assert codes(task.public_tests) == ["assert halves([2.0]) == [1.0]\n"]
    assert codes(task.hidden_tests) == ["assert halves([6.0]) == [3.0]\n"]


def test_a_buggy_solution_that_is_missing_is_named() -> None:
    with pytest.raises(BadRecord, match="'buggy_solution' must be a string, got nothing"):
        HUMANEVALPACK.read({**RECORD, "example_test": ""}, WHERE)


def test_the_published_set_reads_whole_with_its_odd_records() -> None:
    tasks = load_tasks("humanevalpack")
    assert tasks.ids() == [f"Python/{n}" for n in range(164)]
    # Record 119 has part of a solution before its example test.
    assert len(tasks.get("Python/119").public_tests) == 2
    empty = [task.id for task in tasks if not task.public_tests]
    assert empty == [f"Python/{n}" for n in (38, 41, 50, 83, 84, 160)]


def test_both_schemas_are_told_apart() -> None:
    for name, format_, other in (
        ("HumanEval.jsonl.gz", HUMANEVAL, HUMANEVALPACK),
        ("humanevalpack-python.jsonl.gz", HUMANEVALPACK, HUMANEVAL),
    ):
        for _, record in read_records(BUILTIN / name):
            assert not isinstance(record, BadRecord)
            assert format_.matches(record) and not other.matches(record)
