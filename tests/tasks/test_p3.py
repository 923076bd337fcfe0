"""What the loader of P3 puzzles promises."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import AssertTest, Function, Limits, Task
from corecode_env.tasks.formats import Where
from corecode_env.tasks.p3 import LARGE, MANY_DIGITS, P3, SLOW_KINDS, hex_literals

DATA = Path(__file__).resolve().parents[1] / "data/p3/puzzles.json.gz"
with gzip.open(DATA, "rt", encoding="utf-8") as _file:
    RECORDS: list[dict[str, Any]] = json.load(_file)
TASKS = {
    task.id: task
    for task in (P3.read(r, Where(DATA.name, i)) for i, r in enumerate(RECORDS, 1))
}

RECORD: dict[str, Any] = {
    "name": "Root:3",
    "sat": "def sat(xs: List[int], n=49):\n    return xs[0] ** 2 == n",
    "ans_type": "List[int]",
    "sol_header": "def sol(n=49):",
    "sol_docstring": '    """Find a list that begins with a square root of n."""',
    "sol_bodies": ["    return [int(n ** 0.5)]"],
    "module": "study.py",
}


def solves(task: Task, program: str) -> bool:
    """Run a program of ours (no stranger's) and the task's test in one namespace."""
    assert isinstance(task.interface, Function)
    space: dict[str, Any] = {}
    exec(task.interface.preamble, space)
    exec(program, space)
    (test,) = task.tests
    assert isinstance(test, AssertTest)
    try:
        exec(test.code, space)
    except AssertionError:
        return False
    return True


def test_a_puzzle_is_solved_by_a_value_that_its_verifier_takes() -> None:
    task = P3.read(RECORD, Where("p3", 1))
    assert solves(task, task.reference_program or "")
    assert solves(task, "def sol(n=49): return [-7, 3]")
    assert not solves(task, "def sol(n=49): return [8]")


@pytest.mark.parametrize("answer", ["(7,)", "[7.0]", "[True, 7]", "7", "None", "iter([7])"])
def test_a_value_of_another_type_is_refused_before_the_verifier_sees_it(answer: str) -> None:
    task = P3.read(
        {**RECORD, "sat": "def sat(xs: List[int]):\n    return True"}, Where("p3", 1)
    )
    assert solves(task, "def sol(): return [7]")
    assert not solves(task, f"def sol(): return {answer}")


def test_a_verifier_must_return_true_itself() -> None:
    task = P3.read({**RECORD, "sat": "def sat(xs: List[int]):\n    return 1"}, Where("p3", 1))
    assert not solves(task, "def sol(): return [7]")


def test_a_program_may_call_the_verifier_that_it_was_shown() -> None:
    task = P3.read(RECORD, Where("p3", 1))
    search = "def sol(n=49):\n    return next([x] for x in range(99) if sat([x], n))"
    assert solves(task, search)


def test_the_test_brings_its_own_verifier() -> None:
    task = P3.read(RECORD, Where("p3", 1))
    assert not solves(task, "def sat(xs, n=49): return True\ndef sol(n=49): return [8]")


def test_the_statement_shows_verifier_header_and_task() -> None:
    task = P3.read(RECORD, Where("p3", 1))
    assert RECORD["sat"] in task.statement
    assert "def sol(n=49):" in task.statement
    assert "Find a list that begins with a square root of n." in task.statement
    assert "int(n ** 0.5)" not in task.statement


def test_all_puzzles_are_read_and_54_have_no_reference() -> None:
    assert len(TASKS) == len(RECORDS) == 1715
    missing = [name for name, task in TASKS.items() if task.reference_program is None]
    assert len(missing) == 54
    assert missing == [f"p3/{r['name']}" for r in RECORDS if not r["sol_bodies"]]
    assert all(P3.matches(record) for record in RECORDS)


def test_every_text_of_every_task_compiles_under_the_interpreters_own_limits() -> None:
    for task in TASKS.values():
        assert isinstance(task.interface, Function)
        compile(task.interface.preamble, task.id, "exec")
        compile(task.reference_program or "", task.id, "exec")
        for test in task.tests:
            assert isinstance(test, AssertTest)
            compile(test.code, task.id, "exec")


def test_integers_too_long_to_compile_are_written_in_hex_without_change() -> None:
    number = 3**20_000
    digits = "".join(str(d) for d in _digits(number))
    assert hex_literals(f"n = {digits}  # x1{digits}") == f"n = {number:#x}  # x1{digits}"


def _digits(number: int) -> list[int]:
    digits: list[int] = []
    while number:
        number, digit = divmod(number, 10)
        digits.append(digit)
    return digits[::-1]


def test_slow_and_long_kinds_are_named_with_reasons_and_have_their_limits() -> None:
    for kinds in (SLOW_KINDS, MANY_DIGITS):
        for kind, reason in kinds.items():
            assert reason and any(name.startswith(f"p3/{kind}:") for name in TASKS)
    for name, task in TASKS.items():
        slow = name.partition("/")[2].partition(":")[0] in SLOW_KINDS
        assert (task.limits.cpu_seconds > Limits().cpu_seconds) == slow


def test_puzzles_with_large_answers_are_named_with_reasons_and_have_their_limits() -> None:
    output_bytes = Limits().output_bytes
    large = {
        task.metadata["source_id"]
        for task in TASKS.values()
        if task.limits.output_bytes > output_bytes
    }
    assert large == set(LARGE) and all(LARGE.values())


def test_puzzles_made_from_humaneval_are_for_testing_and_kinds_stay_together() -> None:
    homes: dict[str, set[str]] = {}
    for record in RECORDS:
        split = TASKS[f"p3/{record['name']}"].metadata["split"]
        if record["module"] == "human_eval.py":
            assert split == "test"
        homes.setdefault(record["name"].partition(":")[0], set()).add(split)
    assert all(len(splits) == 1 for splits in homes.values())
    assert set.union(*homes.values()) == {"train", "validation", "test"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ans_type", "Set[int]"),
        ("ans_type", None),
        ("sol_bodies", "x"),
        ("sat", 3),
        ("name", []),
    ],
)
def test_a_broken_record_names_its_field(field: str, value: object) -> None:
    with pytest.raises(BadRecord) as caught:
        P3.read({**RECORD, field: value}, Where("p3.json", 5))
    assert (caught.value.field, caught.value.line) == (field, 5)


def test_a_task_survives_the_way_through_json() -> None:
    for task in list(TASKS.values())[::50]:
        assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
