"""What the task sets promise, bundled or kept for tests: right programs pass, wrong ones do not.

Every exception stands, with its reason, in `known_failures.json` or `known_passes.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from corecode_env.agents import FAULTS, FaultyAgent
from corecode_env.core.seams import Executor
from corecode_env.evaluation import (
    CheckReport,
    check_degenerate,
    check_faulty,
    check_references,
)
from corecode_env.executor.local import LocalExecutor
from tests.evaluation.bundled import BUNDLED, OF_FILES, first_tasks

SETS = BUNDLED + OF_FILES
FAULTY = {
    f"faulty:{name}": FaultyAgent(name)
    for name in FAULTS
    if FAULTS[name].spoil and not FAULTS[name].rare
}


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with LocalExecutor(min_isolation="L0") as found:
        yield found


def assert_sound(report: CheckReport) -> None:
    shown = "\n".join(f"{c.task_id} {c.answer} {c.verdict}: {c.note}" for c in report.failures)
    assert report.ok, f"{report.summary()}\n{shown}"
    assert not report.stale, f"listed as known, but not found: {report.stale}"


@pytest.mark.parametrize("name", SETS)
def test_the_first_tasks_of_every_set_are_sound(name: str, executor: Executor) -> None:
    tasks = first_tasks(name, 2)
    assert_sound(check_references(tasks, executor))
    assert_sound(check_degenerate(tasks, executor))
    assert_sound(check_faulty(tasks, executor, FAULTY))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_references_are_accepted(name: str, executor: Executor) -> None:
    assert_sound(check_references(first_tasks(name, 10_000), executor))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_answers_that_solve_nothing_are_refused(name: str, executor: Executor) -> None:
    assert_sound(check_degenerate(first_tasks(name, 10_000), executor))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_programs_that_are_wrong_on_purpose_are_refused(name: str, executor: Executor) -> None:
    assert_sound(check_faulty(first_tasks(name, 10_000), executor, FAULTY))
