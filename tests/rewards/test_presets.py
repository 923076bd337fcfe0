"""What the presets pay, worked by hand from the papers' formulas."""

from __future__ import annotations

from math import exp

import pytest

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.rewards import (
    Rewards,
    all_pass,
    corecode,
    corecode_efficiency,
    pass_rate,
    score,
)

MIB = 2**20


def results(*verdicts: str, cpu: float = 0.0, mib: int = 0) -> Judgement:
    tests = (
        TestResult(Verdict(verdict), cpu_seconds=cpu, peak_bytes=mib * MIB)
        for verdict in verdicts
    )
    return Judgement("t", tuple(tests))


def paid(rewards: Rewards, judgement: Judgement | None) -> tuple[float, float]:
    """Return what (planner, coder) get for the Coder's turn."""
    turn = Turn("coder_0", 0, {}, "x", judgement=judgement)
    episode = Episode("t", 0, ("planner_0", "coder_0"), (turn,))
    terms = rewards(turn, episode)
    turn = Turn("coder_0", 0, {}, "x", judgement=judgement, reward_terms=terms)
    return turn.reward("planner_0"), turn.reward("coder_0")


@pytest.mark.parametrize(
    ("judgement", "planner", "coder"),
    [
        (results("AC", "AC", "AC", "AC"), 1.1, 1.3),  # 1 + 0.1; 1 + 0.1 + 0.2
        (results("AC", "WA", "AC", "PE"), 0.6, 0.6),  # 2/4 + 0.1
        (results("AC", "AC", "AC", "RE"), 0.75, 0.75),  # 3/4, an error
        (results("TLE", "TLE"), 0.0, 0.0),
        (results("CE", "CE"), 0.0, 0.0),
        (results("WA", "WA"), 0.1, 0.1),  # wrong, yet no error
        (results("AC", "NOCALL"), 0.5, 0.5),
    ],
)
def test_corecode_pays_accuracy_error_free_and_all_pass(
    judgement: Judgement, planner: float, coder: float
) -> None:
    assert paid(corecode(), judgement) == pytest.approx((planner, coder))


def test_a_turn_without_a_program_pays_nothing() -> None:
    for rewards in (corecode(), corecode_efficiency(), pass_rate(), all_pass()):
        assert paid(rewards, None) == (0.0, 0.0)


def test_terms_that_do_not_apply_are_kept_as_none() -> None:
    turn = Turn("planner_0", 0, {}, "a plan")
    episode = Episode("t", 0, ("planner_0", "coder_0"), (turn,))
    assert corecode()(turn, episode) == {
        "planner_0": {"accuracy": None, "error_free": None},
        "coder_0": {"accuracy": None, "error_free": None, "all_pass": None},
    }


def test_corecode_reads_no_clock_and_no_gauge() -> None:
    fast, slow = results("AC", cpu=0.0), results("AC", cpu=9.0, mib=400)
    assert paid(corecode(), fast) == paid(corecode(), slow)


def test_a_right_program_is_paid_for_speed_and_thrift() -> None:
    judgement = results("AC", "AC", cpu=0.5, mib=10)
    time, memory = 0.1 * exp(-1.5), 0.1 * exp(-1.0)
    expected = (1.0 + 0.1 + time, 1.0 + time + memory)
    assert paid(corecode_efficiency(), judgement) == pytest.approx(expected)


def test_speed_and_thrift_are_means_over_tests() -> None:
    tests = (
        TestResult(Verdict.AC, cpu_seconds=0.1, peak_bytes=0),
        TestResult(Verdict.AC, cpu_seconds=0.3, peak_bytes=20 * MIB),
    )
    _, coder = paid(corecode_efficiency(), Judgement("t", tests))
    assert coder == pytest.approx(1.0 + 0.1 * exp(-0.6) + 0.1 * exp(-1.0))


def test_a_wrong_program_is_not_paid_for_being_fast() -> None:
    planner, coder = paid(corecode_efficiency(), results("AC", "WA"))
    assert (planner, coder) == pytest.approx((0.6, 0.5))


def test_efficiency_can_pay_the_two_bonuses_as_well() -> None:
    rewards = corecode_efficiency(
        coder_error_free=0.1, coder_all_pass=0.2, coder_time=0.0, coder_memory=0.1
    )
    assert paid(rewards, results("AC"))[1] == pytest.approx(1.4)


def test_every_coefficient_is_a_parameter() -> None:
    rewards = corecode(
        coder_accuracy=2.0,
        coder_error_free=0.5,
        coder_all_pass=0.0,
        planner_accuracy=3.0,
        planner_error_free=0.0,
    )
    assert paid(rewards, results("AC")) == pytest.approx((3.0, 2.5))
    assert [term.name for term in rewards.terms] == ["accuracy", "error_free", "accuracy"]


def test_rates_are_parameters() -> None:
    rewards = corecode_efficiency(time_rate=1.0, memory_rate=0.5)
    _, coder = paid(rewards, results("AC", cpu=2.0, mib=4))
    assert coder == pytest.approx(1.0 + 0.1 * exp(-2.0) + 0.1 * exp(-2.0))


def test_pass_rate_and_all_pass_pay_everybody_alike() -> None:
    judgement = results("AC", "AC", "WA", "RE")
    assert paid(pass_rate(), judgement) == (0.5, 0.5)
    assert paid(all_pass(), judgement) == (0.0, 0.0)
    assert paid(all_pass(weight=2.0), results("AC")) == (2.0, 2.0)


def test_score_pays_the_score_and_where_there_is_none_the_fraction_of_tests() -> None:
    scored = (TestResult(Verdict.AC, score=0.25), TestResult(Verdict.AC, score=1.5))
    assert paid(score(), Judgement("t", scored)) == (0.875, 0.875)
    assert paid(pass_rate(), Judgement("t", scored)) == (1.0, 1.0)
    assert paid(score(weight=2.0), results("AC", "WA")) == (1.0, 1.0)


def test_partial_credit_of_a_test_counts_as_accuracy() -> None:
    judgement = Judgement("t", (TestResult(Verdict.WA, score=0.75),))
    assert paid(corecode(), judgement) == pytest.approx((0.85, 0.85))
