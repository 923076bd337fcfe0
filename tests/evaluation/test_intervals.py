"""What intervals promise: they cover, they stand on tasks, and they never say too much."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.errors import BadConfig
from corecode_env.evaluation.intervals import (
    Estimate,
    percentiles,
    ratio_estimates,
    resampled_sums,
    sure_share,
    task_mean,
    wilson,
)


def test_wilson_equals_the_worked_example_of_newcombe() -> None:
    # Newcombe 1998, Statistics in Medicine 17:857, table I: 81 of 263.
    low, high = wilson(81 / 263, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


@given(st.integers(1, 1000), st.data())
def test_wilson_stays_inside_and_holds_the_mean(trials: int, data: st.DataObject) -> None:
    mean = data.draw(st.integers(0, trials)) / trials
    low, high = wilson(mean, trials)
    assert 0.0 <= low <= mean <= high <= 1.0
    assert low < high


@pytest.mark.parametrize(("mean", "trials"), [(0.5, 0), (1.5, 3), (-0.1, 3), (math.nan, 3)])
def test_wilson_refuses_what_is_no_proportion(mean: float, trials: int) -> None:
    with pytest.raises(BadConfig, match="proportion"):
        wilson(mean, trials)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_a_confidence_that_no_interval_has_is_refused(confidence: float) -> None:
    with pytest.raises(BadConfig, match="between 0 and 1"):
        wilson(0.5, 10, confidence)


def test_the_same_seed_draws_the_same_and_another_seed_draws_others() -> None:
    values = np.arange(20.0)[np.newaxis]
    first, again = resampled_sums(values, seed=1), resampled_sums(values, seed=1)
    assert (first == again).all()
    assert (first != resampled_sums(values, seed=2)).any()


def test_rows_are_drawn_together() -> None:
    values = np.arange(30.0)
    first, second = resampled_sums(np.stack([values, 2 * values]), resamples=700)
    assert second == pytest.approx(2 * first)


def test_the_bootstrap_of_a_mean_is_as_wide_as_its_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=(1, 400))
    (found,) = ratio_estimates(values, np.ones_like(values))
    assert found is not None and found.low is not None and found.high is not None
    error = values.std() / math.sqrt(400)
    assert (found.high - found.low) / (2 * 1.96 * error) == pytest.approx(1.0, abs=0.1)
    assert found.value == pytest.approx(values.mean())


def test_one_task_has_a_value_and_no_interval() -> None:
    (found,) = ratio_estimates(np.array([[3.0]]), np.array([[4.0]]))
    assert found == Estimate(0.75, None, None, 1)


def test_nothing_to_divide_by_is_no_estimate() -> None:
    assert ratio_estimates(np.zeros((1, 3)), np.zeros((1, 3))) == [None]
    assert ratio_estimates(np.zeros((2, 0)), np.zeros((2, 0))) == [None, None]


def test_draws_that_missed_all_that_counts_are_left_out() -> None:
    (found,) = ratio_estimates(
        np.array([[1.0, 3.0, 0.0, 0.0, 0.0, 0.0]]), np.array([[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    )
    assert found == Estimate(2.0, 1.0, 3.0, 2)


def test_infinite_draws_keep_their_place() -> None:
    assert percentiles(np.array([math.inf, 1.0, 2.0, math.inf]), 0.9) == (1.0, math.inf)


def test_only_shares_that_all_tasks_agree_on_get_another_interval() -> None:
    assert sure_share(Estimate(0.5, 0.4, 0.6, 9)) == Estimate(0.5, 0.4, 0.6, 9)
    low, high = sure_share(Estimate(0.0, 0.0, 0.0, 9))[1:3]
    assert low == 0.0 and high is not None and high > 0.2


def test_no_draws_are_refused() -> None:
    with pytest.raises(BadConfig, match="at least 1"):
        resampled_sums(np.ones((1, 2)), resamples=0)


def test_a_plain_yes_or_no_a_task_has_the_interval_of_a_proportion() -> None:
    found = task_mean(np.array([1.0, 1.0, 0.0, 1.0]))
    assert found == Estimate(0.75, *wilson(0.75, 4), 4)


def test_several_programs_a_task_make_the_interval_narrower() -> None:
    found = task_mean(np.array([0.4, 0.5, 0.6] * 10))
    low, high = wilson(0.5, 30)
    assert found.value == pytest.approx(0.5)
    assert found.low is not None and found.high is not None
    assert found.high - found.low < (high - low) / 3
