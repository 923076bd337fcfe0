"""What credit rules promise: who of a team is paid what, by hand-worked steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import RewardError
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.rewards.credit import (
    PaidStep,
    PerTurn,
    PotentialShaping,
    Split,
    apply_rule,
    check_rule,
    difference,
    shared,
    solved_fraction,
    team_return,
    to_actor,
)

TEAM = ("planner_0", "coder_0")
Rule = Any


def turn(agent: str, passed: int | None = None, action: str = "") -> Turn:
    """Return a turn; with `passed`, one whose program passed so many of four tests."""
    judgement = None
    if passed is not None:
        verdicts = [Verdict.AC] * passed + [Verdict.WA] * (4 - passed)
        judgement = Judgement("t", tuple(TestResult(v, False) for v in verdicts), "L2")
    return Turn(agent, 0, {}, action, judgement=judgement)


def step(
    rewards: Mapping[str, float], *turns: Turn, ended: bool = False, agents: Any = TEAM
) -> PaidStep:
    played = turns or (turn("coder_0", 4),)
    return PaidStep(rewards, Episode("t", 0, agents, played), ended)


PAID = step({"planner_0": 0.5, "coder_0": 1.0})


def test_shared_pays_everybody_the_sum() -> None:
    assert apply_rule(shared, PAID) == {"planner_0": 1.5, "coder_0": 1.5}


def test_to_actor_pays_the_sum_to_who_acted() -> None:
    assert apply_rule(to_actor, PAID) == {"planner_0": 0.0, "coder_0": 1.5}


def test_split_gives_equal_parts_or_those_that_were_said() -> None:
    assert apply_rule(Split(), PAID) == {"planner_0": 0.75, "coder_0": 0.75}
    assert apply_rule(Split({"planner": 1, "coder_0": 2}), PAID) == {
        "planner_0": 0.5,
        "coder_0": 1.0,
    }
    assert apply_rule(Split({"coder": 7}), PAID) == {"planner_0": 0.0, "coder_0": 1.5}


def test_an_agents_own_share_goes_before_its_roles() -> None:
    coders = ("coder_0", "coder_1")
    paid = step({"coder_0": 1.0, "coder_1": 1.0}, turn("coder_0"), agents=coders)
    assert Split({"coder": 1, "coder_1": 3})(paid) == {"coder_0": 0.5, "coder_1": 1.5}


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2),
    st.lists(st.floats(0.01, 1e3), min_size=2, max_size=2),
)
def test_split_and_to_actor_neither_make_nor_lose_reward(
    rewards: list[float], parts: list[float]
) -> None:
    paid = step(dict(zip(TEAM, rewards, strict=True)))
    for rule in (Split(dict(zip(TEAM, parts, strict=True))), to_actor):
        assert sum(apply_rule(rule, paid).values()) == pytest.approx(paid.total, abs=1e-6)


def test_a_difference_reward_is_what_the_team_got_more() -> None:
    assert difference(2.4, 0.2) == pytest.approx(2.2)


def test_the_return_of_a_team_is_the_sum_of_its_agents() -> None:
    paid = Turn(
        "coder_0", 0, {}, "", reward_terms={"coder_0": {"a": 1.0}, "planner_0": {"a": 0.5}}
    )
    assert team_return(Episode("t", 0, TEAM, (paid, paid))) == 3.0


# ---------------------------------------------------------------------------- potential
def length(episode: Episode) -> float:
    """How much has been said: 10 at the start."""
    return 10.0 + sum(len(turn.action) for turn in episode.turns)


def test_shaping_adds_the_change_of_the_potential() -> None:
    first = step({"planner_0": 0.0, "coder_0": 0.0}, turn("planner_0", action="abc"))
    # 0.5 * 13 - 10
    assert PotentialShaping(length, gamma=0.5)(first) == {"planner_0": -3.5, "coder_0": -3.5}
    for_one = PotentialShaping(length, pays="planner")
    assert for_one(first) == {"planner_0": 3.0, "coder_0": 0.0}


def test_the_potential_after_the_end_is_0() -> None:
    last = step({"planner_0": 1.0, "coder_0": 2.0}, turn("coder_0", action="ab"), ended=True)
    assert PotentialShaping(length)(last) == {"planner_0": -9.0, "coder_0": -8.0}


@given(
    st.lists(st.text(max_size=5), min_size=1, max_size=6),
    st.sampled_from([1.0, 0.9, 0.5]),
)
def test_shaping_changes_the_return_by_the_same_constant_whatever_is_done(
    actions: list[str], gamma: float
) -> None:
    rule = PotentialShaping(length, gamma=gamma)
    changed = 0.0
    for number in range(len(actions)):
        turns = [turn(TEAM[i % 2], action=actions[i]) for i in range(number + 1)]
        ended = number + 1 == len(actions)
        paid = rule(step({"planner_0": 0.25, "coder_0": 1.0}, *turns, ended=ended))
        changed += gamma**number * (paid["coder_0"] - 1.0)
    assert changed == pytest.approx(-length(Episode("t", 0, TEAM)))


# ----------------------------------------------------------------------------- per turn
def test_each_turn_is_paid_what_it_changed() -> None:
    turns = [
        turn("planner_0"),
        turn("coder_0", 1),
        turn("planner_0"),
        turn("coder_0", 4),
    ]
    steps = [
        PerTurn()(step({"planner_0": 9.0, "coder_0": 9.0}, *turns[: i + 1])) for i in range(4)
    ]
    assert steps == [
        {"planner_0": 0.0, "coder_0": 0.0},
        {"planner_0": 0.0, "coder_0": 0.25},
        {"planner_0": 0.0, "coder_0": 0.0},
        {"planner_0": 0.0, "coder_0": 0.75},
    ]


def test_a_turn_that_spoils_something_is_paid_less_than_nothing() -> None:
    worse = step({"planner_0": 0.0, "coder_0": 0.0}, turn("coder_0", 4), turn("coder_0", 2))
    assert PerTurn()(worse)["coder_0"] == -0.5
    assert solved_fraction(worse.before) == 1.0 and solved_fraction(worse.episode) == 0.5


def test_per_turn_takes_any_value() -> None:
    said = step({"planner_0": 1.0, "coder_0": 0.0}, turn("planner_0", action="abcd"))
    assert PerTurn(length)(said) == {"planner_0": 4.0, "coder_0": 0.0}


# ------------------------------------------------------------------------------ misuse
@pytest.mark.parametrize(
    ("paid", "problem"),
    [
        (1.0, "must return a dict, got 1.0"),
        (None, "must return a dict, got None"),
        ({"planner_0": 1.0}, "must pay every agent, got nothing for coder_0"),
        (
            {"planner_0": 1.0, "coder_0": 1.0, "coder": 1.0},
            "got 'coder': 'coder' is not the name of an agent here; did you mean 'coder_0'",
        ),
        ({"planner_0": float("nan"), "coder_0": 1.0}, "pays 'planner_0' must be finite"),
        ({"planner_0": float("inf"), "coder_0": 1.0}, "pays 'planner_0' must be finite"),
        ({"planner_0": 1.0, "coder_0": "1"}, "pays 'coder_0' must be a finite number"),
        ({"planner_0": 1.0, "coder_0": None}, "pays 'coder_0' must be a finite number"),
    ],
)
def test_a_rule_that_pays_nonsense_is_an_error_with_the_form(paid: Any, problem: str) -> None:
    def mine(step: PaidStep) -> Any:
        return paid

    with pytest.raises(RewardError, match=problem) as caught:
        apply_rule(mine, PAID)
    assert "'mine'" in str(caught.value)
    assert "the form is fn(step) -> {agent: reward}" in str(caught.value)


async def waits(step: PaidStep) -> dict[str, float]:
    return {}


@pytest.mark.parametrize(
    "rule", [lambda: {}, lambda rewards, episode: {}, lambda *, step: {}, 3, None, waits]
)
def test_a_rule_of_another_form_is_refused_at_once(rule: Any) -> None:
    with pytest.raises(RewardError, match=r"write fn\(step\) -> \{agent: reward\}"):
        check_rule(rule)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Split({}), "must not all be 0"),
        (lambda: Split({"coder": 0}), "must not all be 0"),
        (lambda: Split({"coder": -1}), "share of 'coder' must not be negative"),
        (lambda: Split({"coder": float("nan")}), "share of 'coder' must be finite"),
        (lambda: Split({"coder": "half"}), r"write Split\(\{'planner': 1, 'coder': 3\}\)"),  # type: ignore[dict-item]
        (lambda: Split([1, 2]), "shares must be a dict"),  # type: ignore[arg-type]
        (lambda: PotentialShaping(lambda: 0.0), r"write fn\(episode\) -> float"),  # type: ignore[arg-type, misc]
        (lambda: PotentialShaping(3), "phi must be a function"),  # type: ignore[arg-type]
        (lambda: PotentialShaping(length, gamma=0.0), r"gamma must lie in \(0, 1\]"),
        (lambda: PotentialShaping(length, gamma=1.1), r"gamma must lie in \(0, 1\]"),
        (lambda: PotentialShaping(length, gamma=float("nan")), "gamma must be finite"),
        (lambda: PerTurn(lambda a, b: 0.0), r"value must take \(episode\)"),  # type: ignore[arg-type, misc]
    ],
)
def test_arguments_that_cannot_work_are_refused_at_once(make: Any, problem: str) -> None:
    with pytest.raises(RewardError, match=problem):
        make()


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (Split({"codr": 1}), "shares must name agents or roles.*did you mean 'coder'"),
        (PotentialShaping(length, pays=("planer",)), "did you mean 'planner'"),
        (PotentialShaping(lambda episode: float("nan")), "what phi gives must be finite"),
        (PerTurn(lambda episode: "much"), "what value gives must be a finite number"),  # type: ignore[arg-type, return-value]
    ],
)
def test_what_only_shows_in_a_step_is_an_error_there(rule: Rule, problem: str) -> None:
    with pytest.raises(RewardError, match=problem):
        apply_rule(rule, PAID)
