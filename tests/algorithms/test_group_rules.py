"""What a plan is worth, out of all the programs written from it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.algorithms.group_rules import (
    AGGREGATES,
    PlannerReward,
    harmonic_mean,
    plain_mean,
    sigmoid_mean,
    softmax_mean,
)
from corecode_env.core.episode import Turn
from corecode_env.core.tree import Node, Tree
from corecode_env.core.verdict import Judgement, TestResult, Verdict

# Pass rates are fractions of tests.
rates = st.lists(st.integers(0, 20), min_size=1, max_size=6).map(lambda n: np.array(n) / 20)


def judged(*verdicts: Verdict, cpu: float = 0.0) -> Judgement:
    return Judgement("t", tuple(TestResult(v, cpu_seconds=cpu) for v in verdicts))


def test_the_worked_softmax() -> None:
    # weights e^0 : e^2, so (0 * 1 + 1 * e^2) / (1 + e^2)
    assert softmax_mean(np.array([0.0, 1.0])) == pytest.approx(math.e**2 / (1 + math.e**2))


def test_the_worked_sigmoid() -> None:
    low, high = 1 / (1 + math.exp(5)), 1 / (1 + math.exp(-5))
    assert sigmoid_mean(np.array([0.0, 1.0])) == pytest.approx(high / (low + high))


def test_the_worked_means() -> None:
    assert plain_mean(np.array([0.25, 0.75])) == 0.5
    assert harmonic_mean(np.array([0.25, 0.75])) == pytest.approx(0.375)
    assert harmonic_mean(np.array([0.0, 1.0])) == 0.0


@given(rates, st.sampled_from(sorted(AGGREGATES)))
def test_every_aggregate_stays_between_worst_and_best(values: np.ndarray, name: str) -> None:
    assert values.min() - 1e-9 <= AGGREGATES[name](values) <= values.max() + 1e-9


@given(rates)
def test_softmax_never_falls_below_the_plain_mean(values: np.ndarray) -> None:
    assert softmax_mean(values) >= plain_mean(values) - 1e-9


def test_a_plan_of_right_programs_is_worth_one_and_a_tenth() -> None:
    assert PlannerReward().of([judged(Verdict.AC), judged(Verdict.AC)]) == pytest.approx(1.1)


def test_one_crash_anywhere_costs_the_bonus() -> None:
    wrong, crashed = judged(Verdict.WA), judged(Verdict.RE)
    assert PlannerReward().of([wrong, wrong]) == pytest.approx(0.1)
    assert PlannerReward().of([wrong, crashed]) == pytest.approx(0.0)


def test_time_is_paid_for_right_programs_only() -> None:
    rule = PlannerReward(time=0.1)
    right, wrong = judged(Verdict.AC, cpu=1.0), judged(Verdict.WA, cpu=0.0)
    expected = softmax_mean(np.array([1.0, 0.0])) + 0.1 + 0.1 * math.exp(-3.0)
    assert rule.of([right, wrong]) == pytest.approx(expected)
    assert rule.of([wrong, wrong]) == pytest.approx(0.1)


def test_programs_that_the_sandbox_failed_on_do_not_count() -> None:
    plans = [Node(Turn("planner_0", 0, {}, name), None) for name in "ab"]

    def program(judgement: Judgement, parent: int) -> Node:
        return Node(Turn("coder_0", 0, {}, "p", None, judgement), parent)

    broken = judged(Verdict.SE)
    programs = [program(judged(Verdict.AC), 0), program(broken, 0), program(broken, 1)]
    tree = Tree("t", 0, ("planner_0", "coder_0"), (*plans, *programs))
    values = PlannerReward()(tree, "planner_0")
    assert values[0] == pytest.approx(1.1)
    assert math.isnan(values[1])


def test_bad_knobs_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="aggregate must be one of"):
        PlannerReward(aggregate="median")
    with pytest.raises(ValueError, match="temperature must be positive"):
        softmax_mean(np.array([1.0]), 0.0)
