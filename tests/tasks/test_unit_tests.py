"""What tasks that ask for tests promise: made from known programs, sound, complete."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from corecode_env.core.errors import UnknownName
from corecode_env.core.subject import Subject
from corecode_env.core.task import CallTest, Function, ScoreTest, Stdio, StdioTest, Task
from corecode_env.executor.compare import validate_checker
from corecode_env.executor.local import LocalExecutor
from corecode_env.tasks import load_tasks
from corecode_env.tasks.unit_tests import (
    LEFT_OUT,
    MUTANTS,
    STORED,
    find_faults,
    unit_test_tasks,
)

ABS = Task(
    id="size",
    statement="Return the size of a number.",
    interface=Function("size"),
    hidden_tests=(CallTest((3,), {}, 3), CallTest((-2,), {}, 2), CallTest((), {"x": 0}, 0)),
    reference_program="def size(x):\n    if x < 0:\n        return -x\n    return x\n",
)
SILENT = Task(
    id="silent",
    statement="Print 1.",
    interface=Stdio(),
    hidden_tests=(StdioTest("", "1\n"),),
    reference_program="print(1)\n",
)


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    # Verdicts on our own programs do not depend on how well the machine can isolate.
    with LocalExecutor(workers=1, min_isolation="L0") as made:
        yield made


def subject_of(task: Task) -> Subject:
    (test,) = task.tests
    assert isinstance(test, ScoreTest)
    return Subject.from_text(test.instance)


stored = pytest.mark.parametrize("name", STORED)


@stored
def test_bundled_tasks_can_be_judged_and_keep_the_split_of_their_program(name: str) -> None:
    origin, tasks = load_tasks(name), load_tasks(f"unit_tests/{name}")
    assert len(tasks) > 0.95 * len(origin)
    for task in tasks:
        validate_checker(task)
        program = origin.get(task.id.removeprefix(f"unit_tests/{name}/"))
        assert task.metadata["split"] == program.metadata["split"]
        assert (program.reference_program or "").rstrip() in task.statement
        assert 1 <= len(subject_of(task).mutations) <= MUTANTS


@stored
def test_the_stored_faults_are_those_that_are_found_anew(
    executor: LocalExecutor, name: str
) -> None:
    origin = load_tasks(name)[3:6]
    found = find_faults(origin, executor)
    for task in origin:
        made = load_tasks(f"unit_tests/{name}/{task.id}")[0]
        assert list(subject_of(made).mutations) == found[task.id]


@stored
def test_references_of_bundled_tasks_are_accepted(executor: LocalExecutor, name: str) -> None:
    tasks = load_tasks(f"unit_tests/{name}").shuffle(seed=0).head(10)
    judged = executor.map((task, task.reference_program or "") for task in tasks)
    assert [judgement.task_id for judgement in judged if not judgement.passed] == []


@pytest.mark.parametrize("task_id", LEFT_OUT)
def test_a_task_that_calls_alone_would_solve_is_left_out(task_id: str) -> None:
    name = STORED[task_id.startswith("Mbpp")]
    load_tasks(name).get(task_id)
    with pytest.raises(UnknownName):
        load_tasks(f"unit_tests/{name}/{task_id}")


@pytest.mark.slow
@stored
def test_all_references_of_bundled_tasks_are_accepted(
    executor: LocalExecutor, name: str
) -> None:
    tasks = load_tasks(f"unit_tests/{name}")
    judged = executor.map((task, task.reference_program or "") for task in tasks)
    assert [judgement.task_id for judgement in judged if not judgement.passed] == []


def test_tasks_of_a_users_own_set_are_made_from_its_programs(executor: LocalExecutor) -> None:
    faults = find_faults([ABS, SILENT], executor)
    program = ABS.reference_program or ""
    texts = {fault.apply(program).split("\n", 1)[1] for fault in faults["size"]}
    # Neither `x <= 0` nor `x < 1` changes what is returned, so no test could notice it.
    assert texts == {
        "    if x < 0:\n        return None\n    return x\n",
        "    if x < 0:\n        return -x\n    return None\n",
    }
    tasks = unit_test_tasks([ABS, SILENT], faults, name="mine", weights={"mutation": 1.0})
    assert tasks.ids() == ["mine/size"]
    assert "faults found count 100%" in tasks[0].statement
    assert executor.judge(tasks[0], "assert size(-3) == 3").score == 0.5


def test_the_draw_of_faults_follows_from_its_seed(executor: LocalExecutor) -> None:
    tasks = load_tasks("mbpp-sanitized").head(4)
    once, again, other = (
        find_faults(tasks, executor, most=2, seed=seed) for seed in (1, 1, 5)
    )
    assert once == again != other
    assert all(len(faults) <= 2 for faults in once.values())


def test_tasks_are_the_same_in_another_process() -> None:
    code = (
        "from corecode_env.tasks import load_tasks;"
        "print(load_tasks('unit_tests/humaneval/HumanEval/3')[0].to_json())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    task = load_tasks("unit_tests/humaneval/HumanEval/3")[0]
    assert run.stdout.strip() == str(task.to_json())
    assert Task.from_json(task.to_json()) == task


@pytest.mark.parametrize(
    "name", ["unit_tests", "unit_tests/humanevil", "unit_tests/humaneval/HumanEval/999"]
)
def test_an_unknown_set_or_task_is_refused_with_the_nearest(name: str) -> None:
    with pytest.raises(UnknownName, match=r"did you mean|known: "):
        load_tasks(name)


@pytest.mark.parametrize("id_", ["602", "Mbpp/602"])
def test_a_task_is_found_by_its_programs_id(id_: str) -> None:
    assert load_tasks(f"unit_tests/mbpp-sanitized/{id_}").ids() == [
        "unit_tests/mbpp-sanitized/Mbpp/602"
    ]
