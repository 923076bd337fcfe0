"""The environments pass PettingZoo's and Gymnasium's own suites.

Of all warnings only the five that PettingZoo gives for any space that is no array pass by,
each by its text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env

from corecode_env.environments import solo_coder_v0
from corecode_env.environments.registration import ENVIRONMENTS
from corecode_env.executor import LocalExecutor

with warnings.catch_warnings():
    # Where pygame is there, PettingZoo's suites import its own games by their old paths.
    warnings.filterwarnings("ignore", message="The old environment creation API")
    suite: Any = import_module("pettingzoo.test")

Made = Callable[..., SimpleNamespace]

# PettingZoo warns of every space, observation and state that is no array; text never is one.
PETTINGZOO_WARNINGS = pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy array:UserWarning",
    "ignore:Observation space for each agent probably should be:UserWarning",
    "ignore:Action space for each agent probably should be:UserWarning",
    "ignore:State space for each environment probably should be:UserWarning",
    "ignore:State is not NumPy array:UserWarning",
)
UNKNOWN_OPTION = "reset options must be among task, prefix"
"""Our own warning; PettingZoo's suites send an option that nobody knows."""


@PETTINGZOO_WARNINGS
@pytest.mark.parametrize("max_cycles", [1, 3])
@pytest.mark.parametrize("constructor", ["env", "raw_env"])
def test_the_aec_interface(made: Made, constructor: str, max_cycles: int) -> None:
    env = getattr(made(max_cycles=max_cycles), constructor)()
    with pytest.warns(UserWarning, match=UNKNOWN_OPTION):
        suite.api_test(env, num_cycles=50)


@PETTINGZOO_WARNINGS
@pytest.mark.parametrize("max_cycles", [1, 3])
def test_the_parallel_interface(made: Made, max_cycles: int) -> None:
    with pytest.warns(UserWarning, match=UNKNOWN_OPTION):
        suite.parallel_api_test(made(max_cycles=max_cycles).parallel_env(), num_cycles=50)


def test_equal_seeds_give_equal_games(made: Made) -> None:
    suite.seed_test(made(max_cycles=3).env, num_cycles=10)
    suite.parallel_seed_test(made(max_cycles=3).parallel_env, num_cycles=10)


def test_every_render_mode_returns_what_it_must(made: Made) -> None:
    suite.render_test(made(max_cycles=4).env)


@PETTINGZOO_WARNINGS
def test_the_state_lies_in_its_space(made: Made) -> None:
    suite.state_test(made().env(), made().parallel_env())


def test_the_solo_coder_plays_as_many_cycles_as_it_is_told() -> None:
    """With its default tasks and in the real sandbox: random text must not end it early."""
    with LocalExecutor(workers=1, min_isolation="L0") as executor:
        suite.max_cycles_test(
            SimpleNamespace(
                env=partial(solo_coder_v0.env, executor=executor),
                parallel_env=partial(solo_coder_v0.parallel_env, executor=executor),
            )
        )


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_a_team_plays_its_rounds_and_a_parallel_step_is_one_turn(
    made: Made, rounds: int, say: SimpleNamespace
) -> None:
    env = made(max_cycles=rounds).parallel_env()
    env.reset(seed=1)
    # A Hacker has no turn on a program that fails its public tests.
    order = [agent for agent in env.possible_agents if agent != "hacker_0"]
    steps = 0
    while env.agents:
        assert env.active_agent == order[steps % len(order)]
        env.step({agent: say.wrong for agent in env.agents})
        steps += 1
    assert steps == rounds * len(order)
    assert [turn.round for turn in env.unwrapped.episode.turns] == [
        step // len(order) for step in range(steps)
    ]


SEATS = [
    ("PlannerCoder-v0", "planner_0"),
    ("PlannerCoder-v0", "coder_0"),
    ("SoloCoder-v0", "coder_0"),
    ("SoloCoder-v0", None),
    ("DebugTeam-v0", "planner_0"),
    ("DebugTeam-v0", "coder_0"),
    ("DebugTeam-v0", "debugger_0"),
    ("RetrievalTeam-v0", "retriever_0"),
    ("RetrievalTeam-v0", "planner_0"),
    ("RetrievalTeam-v0", "coder_0"),
    ("HelperMain-v0", "helper_0"),
    ("HelperMain-v0", "main_0"),
    ("TreeSearch-v0", "coder_0"),
    ("TreeSearch-v0", "coder_1"),
    ("Solvita-v0", "planner_0"),
    ("Solvita-v0", "oracle_0"),
    ("Solvita-v0", "solver_0"),
    ("Solvita-v0", "hacker_0"),
]


@pytest.mark.parametrize(("env_id", "seat"), SEATS)
@pytest.mark.parametrize("max_cycles", [1, 3])
def test_every_seat_is_a_gymnasium_environment(
    env_id: str, seat: str | None, max_cycles: int, say: SimpleNamespace, executor: Any
) -> None:
    # These have a turn only where the Coder before them erred.
    second = seat in ("debugger_0", "coder_1")
    partners = {"coder_0": lambda observation: "wrong"} if second else {}
    make_task = say.stdio_task if env_id == "Solvita-v0" else say.task
    env = gymnasium.make(
        f"corecode/{env_id}",
        seat=seat,
        partners=partners,
        tasks=[make_task(number) for number in range(8)],
        executor=executor,
        max_cycles=max_cycles,
    )
    check_env(env.unwrapped)


def test_no_seat_of_an_environment_is_left_out(
    module: ModuleType, executor: Any, tasks: list[Any]
) -> None:
    env = module.env(tasks=tasks, executor=executor)
    named = {seat for env_id, seat in SEATS if env_id == ENVIRONMENTS[str(env)]}
    assert named - {None} == set(env.possible_agents)


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_pettingzoo_makes_them_by_name(
    api: Any, module: ModuleType, own_tasks: list[Any], executor: Any
) -> None:
    name = module.__name__.rpartition(".")[2]
    env = pettingzoo.make(
        api, f"corecode/{name}", tasks=own_tasks, executor=executor, max_cycles=2
    )
    env.reset(seed=0)
    assert env.unwrapped.max_cycles == 2
    assert str(env.unwrapped) == name


def test_gymnasium_vectorises_seats_in_one_process(tasks: list[Any], executor: Any) -> None:
    envs = gymnasium.make_vec(
        "corecode/SoloCoder-v0",
        num_envs=3,
        vectorization_mode="sync",
        tasks=tasks,
        executor=executor,
    )
    observations, _ = envs.reset(seed=5)
    texts = observations["statement"]
    assert len(texts) == 3
    assert all(text.startswith("Return the sum") for text in texts)
    _, rewards, terminated, _, _ = envs.step(("no", "no", "no"))
    assert rewards.tolist() == pytest.approx([0.1] * 3)
    assert terminated.all()
    envs.close()
