"""What one reward term promises: checked when built, loud when it fails."""

from __future__ import annotations

import math
import traceback
from typing import Any

import numpy as np
import pytest

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import RewardError
from corecode_env.rewards import Rewards, Term

TURN = Turn(agent="coder_0", round=0, observation={}, action="print(1)")
EPISODE = Episode("t", seed=0, agents=("planner_0", "coder_0"), turns=(TURN,))


def one(turn: Turn, episode: Episode) -> float:
    return 1.0


def test_a_term_weighs_what_its_function_returns() -> None:
    assert Term("half", one, weight=0.5).value(TURN, EPISODE) == 0.5


def test_none_means_does_not_apply_and_is_not_weighted() -> None:
    assert Term("never", lambda turn, episode: None, weight=3.0).value(TURN, EPISODE) is None


@pytest.mark.parametrize("value", [True, 1, np.float32(1.0), np.int64(1), np.bool_(True)])
def test_every_plain_number_will_do(value: Any) -> None:
    assert Term("number", lambda turn, episode: value).value(TURN, EPISODE) == 1.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, np.float64("nan")])
def test_a_value_that_is_not_finite_is_an_error_with_the_name(value: Any) -> None:
    with pytest.raises(RewardError, match="'bad' must be finite"):
        Term("bad", lambda turn, episode: value).value(TURN, EPISODE)


def test_a_value_that_overflows_by_its_weight_is_an_error() -> None:
    with pytest.raises(RewardError, match="weighted value"):
        Term("huge", lambda turn, episode: 1e308, weight=10.0).value(TURN, EPISODE)


@pytest.mark.parametrize("value", ["1", [1.0], np.array([1.0]), 1j])
def test_a_value_that_is_no_number_is_an_error_with_the_name(value: Any) -> None:
    with pytest.raises(RewardError, match="'bad' must be a finite number"):
        Term("bad", lambda turn, episode: value).value(TURN, EPISODE)


def broken_on_purpose(turn: Turn, episode: Episode) -> float:
    return 1.0 / len(turn.observation)


def test_an_exception_surfaces_with_the_name_and_its_own_traceback() -> None:
    with pytest.raises(
        RewardError, match=r"'ratio' must not raise, got ZeroDivision"
    ) as caught:
        Term("ratio", broken_on_purpose).value(TURN, EPISODE)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert "broken_on_purpose" in "".join(traceback.format_exception(cause))


def too_few(turn: Turn) -> float:
    return 1.0


def too_many(turn: Turn, episode: Episode, extra: int) -> float:
    return 1.0


def by_keyword(*, turn: Turn, episode: Episode) -> float:
    return 1.0


async def asynchronous(turn: Turn, episode: Episode) -> float:
    return 1.0


@pytest.mark.parametrize("fn", [too_few, too_many, by_keyword, asynchronous, 1.0, None])
def test_a_wrong_signature_is_refused_when_the_term_is_built(fn: Any) -> None:
    with pytest.raises(RewardError, match=r"write fn\(turn, episode\)"):
        Term("wrong", fn)


def test_a_defaulted_third_parameter_is_no_obstacle() -> None:
    def scaled(turn: Turn, episode: Episode, scale: float = 2.0) -> float:
        return scale

    assert Term("scaled", scaled).value(TURN, EPISODE) == 2.0


@pytest.mark.parametrize("weight", [math.nan, math.inf, "1", None])
def test_a_weight_must_be_a_finite_number(weight: Any) -> None:
    with pytest.raises(RewardError, match="weight of reward term 'w'"):
        Term("w", one, weight=weight)


@pytest.mark.parametrize("pays", ["coder", (), 5, None, (1,), ("",)])
def test_pays_must_be_a_tuple_with_somebody_in_it(pays: Any) -> None:
    with pytest.raises(RewardError, match=r"pays=\('coder',\)"):
        Term("p", one, pays=pays)


@pytest.mark.parametrize("name", ["", None])
def test_a_term_must_have_a_name(name: Any) -> None:
    with pytest.raises(RewardError, match="non-empty string"):
        Term(name, one)


@pytest.mark.parametrize(
    ("pays", "receivers"),
    [
        (("*",), {"planner_0", "coder_0"}),
        (("coder",), {"coder_0"}),
        (("planner_0",), {"planner_0"}),
        (("planner", "coder"), {"planner_0", "coder_0"}),
        (("debugger",), set()),
    ],
)
def test_a_term_pays_by_role_by_agent_or_everybody(
    pays: tuple[str, ...], receivers: set[str]
) -> None:
    paid = Rewards([Term("t", one, pays=pays)])(TURN, EPISODE)
    assert {agent for agent, terms in paid.items() if terms} == receivers
