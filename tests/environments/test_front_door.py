"""The front door promises that every name it lists is there, and the rooms behind it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium
import pettingzoo
import pytest

import corecode_env
from corecode_env import environments
from corecode_env.core.errors import EpisodeError
from corecode_env.core.task import Task
from corecode_env.core.verdict import Verdict
from corecode_env.environments import planner_coder_v0
from corecode_env.environments.judge_service import JudgeService
from corecode_env.executor.testing import InstantExecutor


@pytest.mark.parametrize("door", [corecode_env, environments])
def test_every_listed_name_is_there(door: Any) -> None:
    assert all(getattr(door, name) is not None for name in door.__all__)


def test_names_are_listed_before_they_are_loaded() -> None:
    assert set(corecode_env.__all__) <= set(dir(corecode_env))
    strangers = {"Any", "TYPE_CHECKING", "import_module", "annotations", "register_all"}
    assert not strangers & set(dir(corecode_env))


def test_fork_is_the_function_whatever_was_imported_before() -> None:
    source = (
        "import corecode_env.environments.forking, corecode_env.environments as room; "
        "import corecode_env; assert callable(room.fork); "
        "assert corecode_env.fork is room.fork; assert callable(corecode_env.play)"
    )
    subprocess.run([sys.executable, "-c", source], check=True)


def test_importing_it_registers_every_environment_once() -> None:
    from corecode_env.environments.registration import ENVIRONMENTS, register_all

    register_all()  # a second time neither warns nor adds
    for ids in (pettingzoo.aec_registry, pettingzoo.parallel_registry):
        expected = {f"corecode/{name.replace('_v', '-v')}" for name in ENVIRONMENTS}
        assert {"corecode/planner_coder-v0", "corecode/debug_team-v0"} <= expected <= set(ids)
    seats = {f"corecode/{name}" for name in ENVIRONMENTS.values()}
    assert {"corecode/PlannerCoder-v0", "corecode/DebugTeam-v0"} <= seats
    assert seats <= set(gymnasium.registry)


@pytest.mark.parametrize("name", ["no/such", "Planner Coder", ""])
def test_ids_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(corecode_env.CorecodeError, match="not the name of an environment"):
        corecode_env.make(name)


# ------------------------------------------------------------- the executor that nobody gave
def test_an_environment_makes_its_executor_at_the_first_program_and_closes_it(
    tasks: list[Task],
) -> None:
    made: list[InstantExecutor] = []

    def make() -> InstantExecutor:
        made.append(InstantExecutor(lambda task, program: Verdict.AC))
        return made[-1]

    env = planner_coder_v0.raw_env(tasks=tasks, max_cycles=2)
    env.judges = JudgeService(make=make)
    env.reset(seed=0)
    env.step("a plan")
    assert made == []
    child = corecode_env.fork(env, 1)[0]
    for each in (child, env):
        each.step("a program")
    assert len(made) == 1
    child.close()
    assert not made[0].closed
    env.close()
    env.close()
    assert made[0].closed


def test_a_closed_environment_judges_no_more(tasks: list[Task]) -> None:
    service = JudgeService()
    service.close()
    with pytest.raises(EpisodeError, match="one that was closed"):
        service.judge(tasks[0], "x")
