"""What a team's rewards promise: every agent, every term, nothing hidden."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import RewardError
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.rewards import Rewards, Term, corecode, corecode_efficiency

FAILED_SANDBOX = Judgement("t", (TestResult(Verdict.SE),))


def brevity(turn: Turn, episode: Episode) -> float:
    return float(len(turn.action) < 80)


def first_turn_only(turn: Turn, episode: Episode) -> float | None:
    return 1.0 if len(episode.turns) == 1 else None


def episode_of(*turns: Turn) -> Episode:
    return Episode("t", seed=0, agents=("planner_0", "coder_0"), turns=turns)


def turn_of(agent: str, **fields: Any) -> Turn:
    return Turn(agent=agent, round=0, observation={}, action="x", **fields)


def test_a_plain_function_is_a_term_under_its_own_name() -> None:
    turn = turn_of("planner_0")
    paid = Rewards([brevity])(turn, episode_of(turn))
    assert paid == {"planner_0": {"brevity": 1.0}, "coder_0": {"brevity": 1.0}}


def test_a_turn_may_pay_others_than_the_one_who_acted() -> None:
    turn = turn_of("coder_0")
    rewards = Rewards([Term("thanks", brevity, weight=2.0, pays=("planner",))])
    assert rewards(turn, episode_of(turn)) == {"planner_0": {"thanks": 2.0}, "coder_0": {}}


def test_terms_see_the_episode_with_the_turn_just_played() -> None:
    first, second = turn_of("planner_0"), turn_of("coder_0")
    rewards = Rewards([first_turn_only])
    assert rewards(first, episode_of(first))["coder_0"] == {"first_turn_only": 1.0}
    assert rewards(second, episode_of(first, second))["coder_0"] == {"first_turn_only": None}


def test_what_is_paid_adds_up_in_the_turn() -> None:
    turn = turn_of("coder_0")
    rewards = Rewards([Term("a", brevity, weight=0.5), Term("b", brevity), first_turn_only])
    paid = rewards(turn, episode_of(turn, turn))
    assert turn_of("coder_0", reward_terms=paid).reward("coder_0") == 1.5


def test_no_term_is_called_when_the_sandbox_failed() -> None:
    def never(turn: Turn, episode: Episode) -> float:
        raise AssertionError("a term was called on a judgement that says nothing")

    turn = turn_of("coder_0", judgement=FAILED_SANDBOX)
    assert Rewards([never])(turn, episode_of(turn))["coder_0"] == {"never": None}


@pytest.mark.parametrize(
    ("one", "other"),
    [("*", "coder"), ("coder", "coder"), ("coder", "coder_0"), ("coder_0", "coder")],
)
def test_two_terms_of_one_name_for_one_agent_are_refused(one: str, other: str) -> None:
    with pytest.raises(RewardError, match="'same' twice"):
        Rewards([Term("same", brevity, pays=(one,)), Term("same", brevity, pays=(other,))])


def test_two_terms_of_one_name_for_different_agents_are_fine() -> None:
    turn = turn_of("coder_0")
    rewards = Rewards(
        [
            Term("same", brevity, pays=("coder",)),
            Term("same", brevity, weight=2.0, pays=("planner_0",)),
            Term("same", brevity, pays=("planner_1",)),
        ]
    )
    assert rewards(turn, episode_of(turn))["planner_0"] == {"same": 2.0}


def test_a_misspelt_receiver_is_refused_with_the_nearest_name() -> None:
    turn = turn_of("coder_0")
    with pytest.raises(RewardError, match="did you mean 'planner'"):
        Rewards([Term("t", brevity, pays=("planer",))])(turn, episode_of(turn))


def test_a_lone_term_is_refused_with_the_way_out() -> None:
    with pytest.raises(RewardError, match=r"write Rewards\(\[term\]\)"):
        Rewards(Term("t", brevity))  # type: ignore[arg-type]


@pytest.mark.parametrize("rewards", [corecode(), corecode_efficiency(), Rewards([brevity])])
def test_rewards_travel_between_processes(rewards: Rewards) -> None:
    assert pickle.loads(pickle.dumps(rewards)) == rewards


def test_rewards_say_whether_they_are_deterministic() -> None:
    assert corecode().deterministic
    assert not corecode_efficiency().deterministic


def test_rewards_show_their_terms() -> None:
    shown = repr(Rewards([Term("brief", brevity, weight=0.1, pays=("planner",))]))
    assert shown == "Rewards(brief*0.1 -> planner)"
