"""What the debug team promises: a Debugger who speaks where a program failed, and mends it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from corecode_env.agents import make_agent
from corecode_env.core.errors import BadConfig
from corecode_env.core.task import Task
from corecode_env.environments import debug_team_v0
from corecode_env.environments.engine import TeamEnv
from corecode_env.rollout import collect, play

Play = Callable[..., TeamEnv]


@pytest.fixture
def team(tasks: list[Task], executor: Any) -> Play:
    """Return a function that plays turns of the team and returns the environment."""

    def with_turns(*turns: str, **options: Any) -> TeamEnv:
        env = debug_team_v0.raw_env(tasks=tasks, executor=executor, **options)
        env.reset(seed=0)
        for turn in turns:
            env.step(turn)
        return env

    return with_turns


def over(env: TeamEnv) -> bool:
    return all(env.terminations.values())


def test_the_debugger_sees_plan_program_and_public_feedback(
    team: Play, say: SimpleNamespace
) -> None:
    env = team("add them up", say.wrong)
    assert env.agent_selection == "debugger_0"
    prompt = env.observe("debugger_0")["prompt"]
    assert prompt.startswith("You debug programs.")
    for part in ("add them up", "return None", "0 of 1 passed", "solve([1, 2]) == 3"):
        assert part in prompt


@pytest.mark.parametrize("kind", ["code", "repair", "optimize"])
def test_programs_are_mended_in_every_kind_of_task(
    kind: str, executor: Any, say: SimpleNamespace
) -> None:
    env = debug_team_v0.raw_env(tasks=[say.task(kind=kind)], executor=executor)
    env.reset(seed=0)
    assert env.observe("debugger_0")["prompt"].startswith("You debug programs.")


def test_of_a_value_the_debugger_is_asked_for_the_right_one(
    executor: Any, say: SimpleNamespace
) -> None:
    env = debug_team_v0.raw_env(tasks=[say.task(kind="io_prediction")], executor=executor)
    env.reset(seed=0)
    assert env.observe("debugger_0")["prompt"].startswith("You check values.")


def test_a_right_program_leaves_nothing_to_debug(team: Play, say: SimpleNamespace) -> None:
    env = team("p", say.right)
    assert over(env)
    assert env.episode.returns == pytest.approx(
        {"planner_0": 1.1, "coder_0": 1.3, "debugger_0": 0.0}
    )


def test_everybody_is_paid_for_its_own_program(team: Play, say: SimpleNamespace) -> None:
    """The Coder, and its Planner, gain nothing by what the Debugger mends."""
    env = team("p", say.wrong, say.right)
    assert over(env)
    assert env.episode.returns == pytest.approx(
        {"planner_0": 0.1, "coder_0": 0.1, "debugger_0": 1.3}
    )


@pytest.mark.parametrize("repairs", [1, 3])
def test_the_debugger_has_so_many_tries_in_a_round(
    repairs: int, team: Play, say: SimpleNamespace
) -> None:
    env = team("p", *[say.wrong] * repairs, repairs=repairs, max_cycles=2)
    assert env.agent_selection == "debugger_0"
    env.step(say.wrong)
    assert env.agent_selection == "planner_0"
    agents = [turn.agent for turn in env.episode.turns]
    assert agents == ["planner_0", "coder_0", *["debugger_0"] * repairs]
    assert env.observe("planner_0")["round"] == 1


def test_each_try_sees_the_one_before(team: Play, say: SimpleNamespace) -> None:
    env = team("p", say.wrong, "still_wrong()", repairs=2)
    assert env.observe("debugger_0")["program"] == "still_wrong()"


@pytest.mark.parametrize("repairs", [0, -1, 1.5, True, "2"])
def test_a_number_of_tries_that_is_none_is_refused(repairs: Any, team: Play) -> None:
    with pytest.raises(BadConfig, match="repairs must be a whole number of at least 1"):
        team(repairs=repairs)


def test_own_rewards_take_the_place_of_the_default(team: Play, say: SimpleNamespace) -> None:
    def one(turn: Any, episode: Any) -> float:
        return 1.0

    env = team("p", say.wrong, rewards=[one])
    assert set(env.episode.returns.values()) == {2.0}


def test_mends_of_one_failing_program_form_a_group(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    agents: dict[str, Any] = {
        "planner": make_agent("reference"),
        "coder": lambda observation: say.wrong,
        "debugger": make_agent("reference"),
    }

    def make_env() -> Any:
        return debug_team_v0.env(tasks=tasks, executor=executor)

    (tree,) = collect(make_env, agents, ["sums/1"], samples={"debugger": 3}, seed=0)
    (group,) = tree.groups("debugger_0")
    assert len(group.indices) == 3
    assert tree.rewards("debugger_0") == pytest.approx([1.3] * 3)


def test_a_faulty_coder_and_a_reference_debugger_solve_it(
    tasks: list[Task], executor: Any
) -> None:
    env = debug_team_v0.env(tasks=tasks, executor=executor)
    agents = {role: make_agent("reference") for role in ("planner", "debugger")}
    episode = play(env, {**agents, "coder": make_agent("faulty:off_by_one")}, seed=0)
    assert [turn.agent for turn in episode.turns] == ["planner_0", "coder_0", "debugger_0"]
    assert episode.judgement is not None
    assert episode.judgement.passed
