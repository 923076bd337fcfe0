"""No environment touches the random streams that belong to whoever uses it.

Over every registered environment and each way to use it: the global state of `random`, numpy
and torch is the same after reset and step as before. And all that play one group (equal
seeds, forks, branches of a tree) play the same task and instance.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import corecode_env
from corecode_env.agents import ReferenceAgent
from corecode_env.core.seams import Request
from corecode_env.core.task import Task
from corecode_env.environments import ENVIRONMENTS, fork, make_vector
from corecode_env.environments.seat_env import reference_answer
from corecode_env.executor.testing import InstantExecutor
from corecode_env.rollout import collect

STDIO_ONLY = ("solvita_v0",)


def global_states() -> list[Any]:
    """Return the state of every global random stream there is here."""
    states: list[Any] = [random.getstate(), repr(np.random.get_state())]
    if find_spec("torch") is not None:
        import torch

        states.append(torch.get_rng_state().tolist())
    return states


@pytest.fixture(params=sorted(ENVIRONMENTS))
def env_id(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def options(env_id: str, say: Any, executor: InstantExecutor) -> dict[str, Any]:
    """What an environment is made with: small tasks that differ, and no processes."""
    make_task = say.stdio_task if env_id in STDIO_ONLY else say.task
    tasks = [
        make_task(number, reference_plan=f"1. add up\n2. return it: {number}")
        if env_id != "planner_coder_discrete_v0"
        else make_task(
            number, reference_plan=f"plan {number}", reference_program=f"x = {number}\n"
        )
        for number in range(8)
    ]
    return {"tasks": tasks, "executor": executor, "max_cycles": 2}


def play_out(env: Any) -> list[str]:
    """Play an episode by the reference, and return what was said."""
    engine = env.unwrapped
    while env.agents:
        agent = env.agent_selection
        _, _, terminated, truncated, _ = env.last()
        done = terminated or truncated
        env.step(None if done else reference_answer(engine.task, engine.role_of(agent)))
    return [turn.action for turn in engine.episode.turns]


def by_turns(env_id: str, options: dict[str, Any]) -> None:
    env: Any = corecode_env.make(env_id, **options)
    for seed in (3, None, 3):
        env.reset(seed=seed)
        env.unwrapped.np_random.random()
        play_out(fork(env, 1)[0])
        play_out(env)
    env.close()


def in_parallel(env_id: str, options: dict[str, Any]) -> None:
    env: Any = corecode_env.make(env_id, api="parallel", **options)
    env.reset(seed=3)
    while env.agents:
        role = env.unwrapped.role_of(env.active_agent)
        env.step({env.active_agent: reference_answer(env.unwrapped.task, role)})
    env.reset()
    env.close()


def many_seats(env_id: str, options: dict[str, Any]) -> None:
    seat = corecode_env.make(env_id, **options).possible_agents[0]
    envs: Any = make_vector(env_id, 3, seat=seat, autoreset_mode="SameStep", **options)
    for seed in (3, None):
        envs.reset(seed=seed)
        engines = envs.get_attr("engine")
        envs.step(tuple(reference_answer(e.task, e.role_of(seat)) for e in engines))
    envs.close()


@pytest.mark.parametrize("use", [by_turns, in_parallel, many_seats])
def test_global_random_streams_are_left_alone(
    use: Callable[[str, dict[str, Any]], None], env_id: str, options: dict[str, Any]
) -> None:
    before = global_states()
    use(env_id, options)
    assert global_states() == before


def test_what_others_draw_globally_changes_no_episode(
    env_id: str, options: dict[str, Any]
) -> None:
    env: Any = corecode_env.make(env_id, **options)
    episodes = []
    for seed in (0, 1):
        random.seed(seed)
        np.random.seed(seed)
        env.reset(seed=5)
        play_out(env)
        episodes.append(env.unwrapped.episode)
    assert episodes[0] == episodes[1]


def test_equal_seeds_play_the_same_task_and_instance(
    env_id: str, options: dict[str, Any]
) -> None:
    members: list[Any] = [corecode_env.make(env_id, **options) for _ in range(4)]
    met = set()
    for seed in range(6):
        for env in members:
            env.reset(seed=seed)
        for env in (*members, *fork(members[0], 2)):
            assert env.unwrapped.task == members[0].unwrapped.task
            seen = env.observe(env.agent_selection)
            assert repr(seen) == repr(members[0].observe(env.agent_selection))
        assert len({repr(play_out(env)) for env in members}) == 1
        met.add(members[0].unwrapped.task.id)
    assert len(met) > 1  # other seeds, other tasks


class Counting(ReferenceAgent):
    """The reference agent, which keeps the tasks it was asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Task | None]] = []

    def act(self, requests: Any) -> list[str]:
        asked: list[Request] = list(requests)
        self.asked += [(request.task_id, request.task) for request in asked]
        return super().act(asked)


def test_all_members_of_a_collected_group_play_one_task(
    tasks: list[Task], executor: Any
) -> None:
    agent = Counting()
    trees = list(
        collect(
            lambda: corecode_env.make("planner_coder_v0", tasks=tasks, executor=executor),
            {"planner": agent, "coder": agent},
            tasks[:3],
            samples={"planner": 3, "coder": 2},
            seed=1,
        )
    )
    for tree in trees:
        assert {episode.task_id for episode in tree.episodes()} == {tree.task_id}
        assert len(tree.episodes()) == 6
        asked = [task for task_id, task in agent.asked if task_id == tree.task_id]
        assert len(asked) == 3 + 6
        assert all(task == asked[0] for task in asked)
