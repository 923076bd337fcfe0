"""What the executor says about the references of the bundled sets and their big sisters.

Every twentieth task always, all of them with `-m slow`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corecode_env.core.task import Limits
from corecode_env.executor.local import LocalExecutor
from corecode_env.tasks import TaskSet, load_tasks

DATA = Path(__file__).resolve().parents[1] / "data"
SETS = {
    "humaneval": 164,
    "humanevalplus": 164,
    "mbpp": 974,
    "mbpp-sanitized": 427,
    "cruxeval": 800,
    "humanevalpack": 164,
}
FILES = {
    "humanevalplus/HumanEvalPlus.jsonl.gz": 164,
    "humanevalplus/HumanEvalPlus-OriginFmt.jsonl.gz": 164,
    "mbppplus/MbppPlus.jsonl.gz": 378,
    "mbppplus/MbppPlus-OriginFmt.jsonl.gz": 378,
}


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    # Verdicts on our own programs do not depend on how well the machine can isolate.
    with LocalExecutor(min_isolation="L0") as made:
        yield made


def rejected(executor: LocalExecutor, tasks: TaskSet) -> list[tuple[str, str]]:
    """Return the tasks whose reference is not accepted on every test, and why."""
    judged = executor.map((task, task.reference_program or "") for task in tasks)
    return [(j.task_id, j.verdict.value) for j in judged if not j.passed]


def accepted_bugs(executor: LocalExecutor, tasks: TaskSet) -> list[str]:
    """Return the repair tasks whose buggy program is accepted."""
    # Some bugs are endless loops: all tests of one must not take minutes.
    short = Limits(cpu_seconds=0.5, wall_seconds=10)
    jobs = [(task.with_limits(short), task.metadata["buggy_program"]) for task in tasks]
    judged = executor.map(jobs)
    return [judgement.task_id for judgement in judged if judgement.passed]


@pytest.mark.parametrize("name", SETS)
def test_a_sample_of_references_is_accepted(executor: LocalExecutor, name: str) -> None:
    sample = load_tasks(name)[::20]
    assert len(sample) >= 9
    assert rejected(executor, sample) == []


def test_a_sample_of_bugs_is_not_accepted(executor: LocalExecutor) -> None:
    assert accepted_bugs(executor, load_tasks("humanevalpack")[1::20]) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), SETS.items())
def test_every_reference_of_a_bundled_set_is_accepted(
    executor: LocalExecutor, name: str, size: int
) -> None:
    tasks = load_tasks(name)
    assert len(tasks) == size
    assert rejected(executor, tasks) == []


@pytest.mark.slow
@pytest.mark.parametrize(("path", "size"), FILES.items())
def test_every_reference_of_the_full_evalplus_files_is_accepted(
    executor: LocalExecutor, path: str, size: int
) -> None:
    tasks = load_tasks(DATA / path)
    assert len(tasks) == size
    assert rejected(executor, tasks) == []


@pytest.mark.slow
def test_no_bug_of_humanevalpack_is_accepted(executor: LocalExecutor) -> None:
    assert accepted_bugs(executor, load_tasks("humanevalpack")) == []
