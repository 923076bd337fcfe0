"""What comparing promises: pair by pair, with p-values that are what they say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.errors import BadConfig
from corecode_env.evaluation.compare import compare, mcnemar
from tests.evaluation.samples import rates


def many(letters: str) -> dict[str, str]:
    return {f"t{place:03}": letter for place, letter in enumerate(letters)}


def test_a_run_does_not_differ_from_itself() -> None:
    run = rates(a="110", b="000", c="111")
    found = compare(run, run)
    assert found.difference[:3] == (0.0, 0.0, 0.0)
    assert found.bootstrap_p == found.mcnemar_p == 1.0
    assert (found.won, found.lost, found.changes) == (0, 0, ())


def test_it_counts_what_was_won_and_lost() -> None:
    found = compare(rates(a="1", b="0", c="0", d="1"), rates(a="1", b="1", c="1", d="0"))
    assert (found.won, found.lost) == (2, 1)
    assert found.difference.value == 0.25
    assert [change.task_id for change in found.changes] == ["b", "c", "d"]


def test_tasks_that_one_run_lacks_do_not_count() -> None:
    found = compare(rates(a="1", b="0", x="1"), rates(b="1", a="1", y="0", z="0"))
    assert (found.tasks, found.only_a, found.only_b) == (2, 1, 2)
    assert (found.a.value, found.b.value) == (0.5, 1.0)
    with pytest.raises(BadConfig, match="in common"):
        compare(rates(a="1"), rates(b="1"))


def test_a_clear_difference_is_found_and_chance_is_not() -> None:
    clear = compare(rates(**many("0" * 30 + "1" * 10)), rates(**many("1" * 40)))
    assert clear.bootstrap_p < 0.01 and clear.mcnemar_p < 0.001
    assert clear.difference.low is not None and clear.difference.low > 0.5
    chance = compare(rates(**many("01" * 20)), rates(**many("10" * 20)))
    assert chance.bootstrap_p > 0.5 and chance.mcnemar_p == 1.0


def test_turning_the_runs_round_turns_the_sign_only() -> None:
    a, b = rates(**many("0011010011")), rates(**many("1011011011"))
    there, back = compare(a, b), compare(b, a)
    assert there.difference.value == -back.difference.value
    assert (there.won, there.lost) == (back.lost, back.won)
    assert there.mcnemar_p == back.mcnemar_p
    assert there.bootstrap_p == back.bootstrap_p


def test_under_no_difference_one_in_twenty_is_significant_at_five_per_cent() -> None:
    rng = np.random.default_rng(0)
    significant = 0
    for seed in range(200):
        runs = ["".join(map(str, rng.integers(0, 2, size=60))) for _ in range(2)]
        a, b = (rates(**many(letters)) for letters in runs)
        significant += compare(a, b, resamples=400, seed=seed).bootstrap_p < 0.05
    assert 2 <= significant <= 24


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_two_sided_binomial_test(won: int, lost: int) -> None:
    changed = won + lost
    weights = [math.comb(changed, i) for i in range(changed + 1)]
    # Two-sided: all outcomes that are no likelier than this one.
    exact = sum(w for w in weights if w <= weights[won]) / 2**changed
    assert mcnemar(won, lost) == pytest.approx(exact)


def test_mcnemar_can_count_many_tasks() -> None:
    assert mcnemar(3000, 2800) == pytest.approx(0.00896, abs=3e-4)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(BadConfig, match="negative"):
        mcnemar(-1, 2)


def test_everything_goes_to_json() -> None:
    record = compare(rates(a="1", b="0"), rates(a="1", b="1")).to_json()
    assert record["schema"] == "corecode/comparison/1"
    assert record["changes"] == [{"task_id": "b", "a": 0.0, "b": 1.0}]
    assert set(record["difference"]) == {"value", "low", "high", "n"}
