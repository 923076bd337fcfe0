"""What playing an episode promises: everybody asked in turn, everything recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import BaseWrapper

from corecode_env.agents import FaultyAgent, RandomAgent, ReferenceAgent, ScriptedAgent
from corecode_env.core.errors import BadConfig, EpisodeError
from corecode_env.core.seams import Reply, Request
from corecode_env.core.task import CallTest, Function, Task
from corecode_env.core.verdict import Verdict
from corecode_env.environments import planner_coder_v0, solo_coder_v0
from corecode_env.executor.testing import InstantExecutor
from corecode_env.rollout import Players, play

TASKS = tuple(
    Task(
        id=f"t/{n}",
        statement=f"Add {n}.",
        interface=Function("f"),
        public_tests=(CallTest((0,), {}, n),),
        hidden_tests=(CallTest((1,), {}, n + 1),),
        reference_program=f"def f(x):\n    return x + {n}\n",
        reference_plan=f"1. add {n}",
    )
    for n in range(3)
)


class Recording:
    """Says one thing and remembers what it was asked."""

    def __init__(self, answer: str | Reply = "hm") -> None:
        self.answer = answer
        self.asked: list[Request] = []

    def act(self, requests: Sequence[Request]) -> list[str | Reply]:
        self.asked += requests
        return [self.answer for _ in requests]


def team(**options: Any) -> Any:
    options = {"tasks": TASKS, "executor": InstantExecutor(), **options}
    return planner_coder_v0.env(**options)


def test_reference_agents_solve_a_task_in_two_turns() -> None:
    reference = ReferenceAgent()
    episode = play(team(), {"planner": reference, "coder": reference}, seed=1)
    assert [turn.agent for turn in episode.turns] == ["planner_0", "coder_0"]
    assert episode.judgement is not None
    assert episode.judgement.passed
    assert episode.returns == pytest.approx({"planner_0": 1.1, "coder_0": 1.3})


def test_equal_seeds_and_agents_play_equal_episodes() -> None:
    agents = {"planner": RandomAgent(), "coder": RandomAgent()}
    one, same, other = (play(team(max_cycles=3), agents, seed=seed) for seed in (5, 5, 6))
    assert one == same
    assert one != other
    assert len(one.turns) == 6


def test_an_agents_name_goes_before_its_role() -> None:
    by_role, by_name = ScriptedAgent("role"), ScriptedAgent("name")
    episode = play(team(), {"planner": by_role, "coder": by_role, "coder_0": by_name})
    assert [turn.action for turn in episode.turns] == ["role", "name"]


def test_a_function_of_the_observation_plays_too() -> None:
    def repeat(observation: Mapping[str, Any]) -> str:
        return str(observation["plan"])

    episode = play(team(), {"planner": ScriptedAgent("a plan"), "coder": repeat})
    assert episode.turns[1].action == "a plan"


def test_a_request_brings_prompt_messages_seed_and_task() -> None:
    coder = Recording()
    play(team(max_cycles=2), {"planner": ReferenceAgent(), "coder": coder}, seed=3)
    first, second = coder.asked
    assert (first.agent, first.role) == ("coder_0", "coder")
    assert first.task in TASKS
    assert first.messages[-1]["content"] == first.observation["prompt"]
    assert first.seed != second.seed


def test_what_a_model_says_of_its_tokens_is_recorded() -> None:
    reply = Reply("x", token_ids=(1, 2), logprobs=(-0.1, -0.2), finish_reason="length")
    episode = play(team(), {"planner": ReferenceAgent(), "coder": Recording(reply)})
    plan, code = episode.turns
    assert (code.token_ids, code.logprobs, code.finish_reason) == (
        (1, 2),
        (-0.1, -0.2),
        "length",
    )
    assert (plan.token_ids, plan.finish_reason) == (None, None)


def test_stored_turns_are_not_asked_for_again() -> None:
    planner, coder = Recording(), Recording(Reply("x", finish_reason="stop"))
    options = {"task": "t/2", "prefix": [("planner_0", "a stored plan")]}
    episode = play(team(), {"planner": planner, "coder": coder}, seed=0, options=options)
    assert planner.asked == []
    assert episode.task_id == "t/2"
    assert [turn.action for turn in episode.turns] == ["a stored plan", "x"]
    assert [turn.finish_reason for turn in episode.turns] == [None, "stop"]


def test_agents_see_what_wrappers_make_of_an_observation() -> None:
    class Shout(BaseWrapper[str, Any, Any]):
        def observe(self, agent: str) -> Any:
            observation = super().observe(agent)
            assert observation is not None
            return {**observation, "prompt": "SHOUT"}

    coder = Recording()
    play(Shout(team()), {"planner": ReferenceAgent(), "coder": coder})
    assert coder.asked[0].observation["prompt"] == "SHOUT"
    assert coder.asked[0].messages == ({"role": "user", "content": "SHOUT"},)


def test_an_episode_ends_when_the_sandbox_fails_and_nobody_is_paid() -> None:
    agents: Players = {"planner": ReferenceAgent(), "coder": FaultyAgent("crash")}
    broken = InstantExecutor(lambda task, program: Verdict.SE)
    episode = play(team(executor=broken, max_cycles=3), agents)
    assert not episode.valid
    assert len(episode.turns) == 2
    assert episode.returns == {"planner_0": 0.0, "coder_0": 0.0}


def test_a_lone_coder_plays_by_the_same_call() -> None:
    env = solo_coder_v0.env(tasks=TASKS, executor=InstantExecutor())
    episode = play(env, {"coder": ReferenceAgent()}, seed=0)
    assert episode.judgement is not None
    assert episode.judgement.passed


def test_an_environment_can_be_played_again() -> None:
    env, reference = team(), ReferenceAgent()
    agents = {"planner": reference, "coder": reference}
    episodes = [play(env, agents, seed=4), play(env, agents), play(env, agents, seed=4)]
    assert episodes[0] == episodes[2]
    assert episodes[1].seed is None


def test_a_missing_player_is_named() -> None:
    with pytest.raises(BadConfig, match="who plays 'coder_0'"):
        play(team(), {"planner": ReferenceAgent()})


def test_something_that_is_no_agent_is_refused_before_the_first_turn() -> None:
    with pytest.raises(BadConfig, match="an agent must be"):
        play(team(), {"planner": ReferenceAgent(), "coder": "reference"})  # type: ignore[dict-item]


@pytest.mark.parametrize("answers", [[], ["a", "b"], "text", [None]])
def test_an_agent_must_give_one_text(answers: Any) -> None:
    class Odd:
        def act(self, requests: Sequence[Request]) -> Any:
            return answers

    with pytest.raises(EpisodeError, match="planner_0 must answer"):
        play(team(), {"planner": Odd(), "coder": ReferenceAgent()})


def test_other_peoples_environments_are_refused() -> None:
    class Foreign(AECEnv[str, Any, Any]):
        pass

    with pytest.raises(BadConfig, match="of this package, got Foreign"):
        play(Foreign(), {"player": ReferenceAgent()})  # type: ignore[no-untyped-call]
