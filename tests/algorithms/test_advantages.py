"""What group advantages promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.algorithms.advantages import by_group, group_advantages, leave_one_out
from corecode_env.core.episode import Turn
from corecode_env.core.tree import Node, Tree

groups = st.lists(st.floats(-10, 10), min_size=2, max_size=8).map(np.array)


def test_the_worked_case() -> None:
    # mean 1, population deviation sqrt(2/3), eps as CoRe-Code's authors have it
    out = group_advantages(np.array([0.0, 1.0, 2.0]))
    size = 1.0 / (math.sqrt(2.0 / 3.0) + 1e-6)
    assert out == pytest.approx([-size, 0.0, size], abs=1e-12)


def test_the_worked_case_under_the_sample_deviation() -> None:
    out = group_advantages(np.array([0.0, 1.0, 2.0]), ddof=1, eps=1e-4)
    assert out == pytest.approx([-1 / 1.0001, 0.0, 1 / 1.0001], abs=1e-12)


@given(groups)
def test_a_group_has_no_favourites_on_average(rewards: np.ndarray) -> None:
    assert group_advantages(rewards, floor=0.1).sum() == pytest.approx(0.0, abs=1e-6)


@given(groups)
def test_a_better_answer_never_gets_the_smaller_advantage(rewards: np.ndarray) -> None:
    order = np.argsort(rewards)
    assert (np.diff(group_advantages(rewards)[order]) >= -1e-9).all()


def test_equal_answers_teach_nothing() -> None:
    assert group_advantages(np.full(4, 0.7)).tolist() == [0.0] * 4
    assert np.isnan(group_advantages(np.full(4, 0.7), flat="mask")).all()


def test_a_lone_answer_has_nobody_to_be_compared_with() -> None:
    assert group_advantages(np.array([0.7])).tolist() == [0.0]
    assert leave_one_out(np.array([0.7])).tolist() == [0.0]


def test_a_floor_keeps_noise_as_small_as_it_is() -> None:
    noise = np.array([0.00, 0.01])
    assert np.abs(group_advantages(noise)).max() == pytest.approx(1.0, abs=1e-3)
    assert np.abs(group_advantages(noise, floor=0.1)).max() == pytest.approx(0.05, abs=1e-3)


def test_a_masked_answer_is_in_no_mean() -> None:
    out = group_advantages(np.array([0.0, math.nan, 1.0]), scale="none")
    assert out[[0, 2]].tolist() == [-0.5, 0.5]
    assert math.isnan(out[1])
    assert np.isnan(group_advantages(np.full(2, math.nan))).all()


def test_leave_one_out_compares_with_the_others() -> None:
    assert leave_one_out(np.array([0.0, 0.5, 1.0])).tolist() == [-0.75, 0.0, 0.75]
    assert leave_one_out(np.array([0.0, math.nan, 1.0]))[[0, 2]].tolist() == [-1.0, 1.0]


def test_only_siblings_are_compared() -> None:
    def turn(agent: str, reward: float) -> Turn:
        return Turn(agent, 0, {}, "", reward_terms={agent: {"r": reward}})

    plans = [Node(turn("planner_0", 0.0), None)] * 2
    programs = [
        Node(turn("coder_0", reward), parent)
        for reward, parent in [(0.0, 0), (1.0, 0), (5.0, 1), (7.0, 1)]
    ]
    tree = Tree("t", 0, ("planner_0", "coder_0"), (*plans, *programs))
    rule = by_group(lambda t, a: t.rewards(a), lambda r: group_advantages(r, scale="none"))
    assert rule(tree, "coder_0").tolist() == [-0.5, 0.5, -1.0, 1.0]


@pytest.mark.parametrize(
    ("rewards", "options", "words"),
    [
        (np.zeros((2, 2)), {}, "shape"),
        (np.array([0.0, math.inf]), {}, "finite or NaN"),
        (np.zeros(2), {"scale": "max"}, "scale must be one of"),
        (np.zeros(2), {"flat": "drop"}, "flat must be one of"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    rewards: np.ndarray, options: dict[str, str], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        group_advantages(rewards, **options)  # type: ignore[arg-type]
