"""What forks promise: the whole stack goes on from here, each copy on its own."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest
from pettingzoo.utils.wrappers import BaseWrapper

from corecode_env.core.errors import BadConfig
from corecode_env.core.task import Task
from corecode_env.environments import fork, planner_coder_v0, solo_coder_v0
from corecode_env.environments.engine import TeamEnv


class Counting(BaseWrapper[str, dict[str, Any], str | None]):
    """A user's wrapper with a state of its own."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.steps: list[str | None] = []

    def step(self, action: str | None) -> None:
        self.steps.append(action)
        super().step(action)


def engine(env: Any) -> TeamEnv:
    inner = env.unwrapped
    assert isinstance(inner, TeamEnv)
    return inner


def test_children_go_on_from_the_parents_turn_with_all_wrappers(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    parent = Counting(planner_coder_v0.env(tasks=tasks, executor=executor, max_cycles=2))
    parent.reset(seed=3)
    parent.step("one plan")
    children = fork(parent, 3)
    for child, program in zip(children, (say.right, say.half, say.wrong), strict=True):
        assert isinstance(child, Counting)
        assert child.agent_selection == "coder_0"
        assert child.observe("coder_0") == parent.observe("coder_0")
        child.step(program)
    assert [len(engine(child).episode.turns) for child in children] == [2, 2, 2]
    rewards = [child._cumulative_rewards["coder_0"] for child in children]
    assert rewards == pytest.approx([1.3, 1 / 3 + 0.1, 0.1])
    assert [child.steps for child in children] == [
        ["one plan", program] for program in (say.right, say.half, say.wrong)
    ]


def test_the_parent_is_untouched(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    parent = planner_coder_v0.env(tasks=tasks, executor=executor, max_cycles=2)
    parent.reset(seed=3)
    parent.step("one plan")
    before = (engine(parent).episode, parent.observe("coder_0"), parent.state())
    for child in fork(parent, 2):
        child.step(say.right)
        child.close()
    assert (engine(parent).episode, parent.observe("coder_0"), parent.state()) == before
    assert parent.agents == ["planner_0", "coder_0"]
    assert not any(parent.terminations.values())
    parent.step(say.wrong)
    assert engine(parent).episode.turns[-1].action == say.wrong


def test_executor_tasks_and_rewards_are_shared(tasks: list[Task], executor: Any) -> None:
    parent = planner_coder_v0.raw_env(tasks=tasks, executor=executor)
    parent.reset(seed=0)
    child = fork(parent, 1)[0]
    assert child.judges is parent.judges
    assert child.source is parent.source
    assert child.rewards_rule is parent.rewards_rule
    assert child.task is parent.task
    assert child.observation_space("coder_0") is not parent.observation_space("coder_0")


def test_children_draw_from_streams_of_their_own(tasks: list[Task], executor: Any) -> None:
    def streams() -> list[list[float]]:
        parent = planner_coder_v0.raw_env(tasks=tasks, executor=executor)
        parent.reset(seed=9)
        children = fork(parent, 2)
        family = [parent, *children, *fork(children[0], 2)]
        return [env.np_random.random(3).tolist() for env in family]

    assert streams() == streams()
    assert len({tuple(stream) for stream in streams()}) == 5


def test_a_forks_requests_and_later_tasks_differ_from_its_siblings(
    tasks: list[Task], executor: Any
) -> None:
    parent = planner_coder_v0.raw_env(tasks=tasks, executor=executor)
    parent.reset(seed=9)
    family = [parent, *fork(parent, 3)]
    assert len({env.request("planner_0").seed for env in family}) == 4
    later: list[tuple[str, ...]] = []
    for env in family:
        drawn = []
        for _ in range(12):
            env.reset()
            drawn.append(env.task.id)
        later.append(tuple(drawn))
    assert len(set(later)) == 4


def test_parallel_and_seat_views_fork_too(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    parallel = planner_coder_v0.parallel_env(tasks=tasks, executor=executor)
    parallel.reset(seed=1)
    parallel.step({"planner_0": "p"})
    one, two = fork(parallel, 2)
    assert one.step({"coder_0": say.right})[1]["coder_0"] == pytest.approx(1.3)
    assert two.active_agent == "coder_0"

    calls: list[str] = []

    def partner(observation: Any) -> str:
        calls.append("partner")
        return "a plan"

    seat: Any = gymnasium.make(
        "corecode/PlannerCoder-v0",
        seat="coder_0",
        partners={"planner_0": partner},
        tasks=tasks,
        executor=executor,
    )
    seat.reset(seed=1)
    child = fork(seat, 1)[0]
    assert child.step(say.right)[1] == pytest.approx(1.3)
    assert child.unwrapped.partners["planner_0"] is seat.unwrapped.partners["planner_0"]
    assert seat.step(say.wrong)[1] == pytest.approx(0.1)


@pytest.mark.parametrize("n", [-1, 1.5, "2"])
def test_a_number_that_is_none_is_refused(n: Any, tasks: list[Task], executor: Any) -> None:
    env = solo_coder_v0.env(tasks=tasks, executor=executor)
    env.reset(seed=0)
    with pytest.raises(BadConfig, match="whole number"):
        fork(env, n)
    assert fork(env, 0) == []


def test_other_environments_are_refused() -> None:
    with pytest.raises(BadConfig, match="environment of this package"):
        fork(gymnasium.Env(), 1)


def test_an_environment_goes_through_pickle_in_mid_episode(
    tasks: list[Task], say: SimpleNamespace
) -> None:
    env = planner_coder_v0.raw_env(tasks=tasks)
    env.reset(seed=2)
    env.step("a plan")
    copy = pickle.loads(pickle.dumps(env))
    assert copy.episode == env.episode
    assert copy.observe("coder_0") == env.observe("coder_0")
    assert copy.judges is not env.judges


# ----------------------------------------------------------------------------- who closes what
def test_a_given_executor_is_left_open(tasks: list[Task], executor: Any) -> None:
    env = solo_coder_v0.env(tasks=tasks, executor=executor)
    env.close()
    env.close()
    assert not executor.closed
