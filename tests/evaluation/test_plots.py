"""What plots promise: a picture for every input that makes sense, and a refusal otherwise."""

from pathlib import Path

import pytest

from corecode_env.core.errors import BadConfig
from corecode_env.core.verdict import Verdict
from corecode_env.evaluation.collaboration import gains_by_group
from corecode_env.evaluation.plots import (
    Curve,
    gain_by_group,
    learning_curves,
    verdicts_over_time,
)
from tests.evaluation.samples import rates

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_curve_of_several_runs_is_their_mean_inside_its_interval() -> None:
    curve = Curve.of_runs(
        "full", [{0: 0.1, 10: 0.5, 20: 0.9}, {0: 0.3, 10: 0.7}, {0: 0.2, 10: 0.3}]
    )
    assert curve.steps == (0, 10)
    assert curve.values == pytest.approx((0.2, 0.5))
    assert curve.runs == 3
    for low, value, high in zip(curve.low, curve.values, curve.high, strict=True):
        assert low < value < high


def test_a_curve_of_one_run_has_no_interval() -> None:
    curve = Curve.of_runs("one", [{0: 0.1, 1: 0.2}])
    assert curve.low == curve.values == curve.high


@pytest.mark.parametrize("runs", [[], [{0: 1.0}, {1: 1.0}], [{}]])
def test_runs_without_a_step_in_common_are_refused(runs: list[dict[float, float]]) -> None:
    with pytest.raises(BadConfig, match="in common"):
        Curve.of_runs("none", runs)


def test_pictures_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curves = [Curve.of_runs("full", [{0: 0.1, 1: 0.5}, {0: 0.2, 1: 0.4}])]
    learning_curves(curves, tmp_path / "new" / "curve.png")
    verdicts_over_time(
        [0, 1, 2], {Verdict.AC: [1, 2, 3], Verdict.WA: [3, 2, 1]}, tmp_path / "verdicts.png"
    )
    gains = gains_by_group(
        rates(a="1", b="1", c="0"), rates(a="1", b="0", c="0"), {"a": "x", "b": "y", "c": "x"}
    )
    gain_by_group(gains, tmp_path / "gain.png")
    for name in ("new/curve.png", "verdicts.png", "gain.png"):
        assert (tmp_path / name).read_bytes().startswith(PNG)


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.png"
    with pytest.raises(BadConfig, match="one share for each of 2 steps"):
        verdicts_over_time([0, 1], {Verdict.AC: [1.0]}, file)
    with pytest.raises(BadConfig, match="got one without"):
        verdicts_over_time([0, 1], {Verdict.AC: [1.0, 0.0]}, file)
    with pytest.raises(BadConfig, match="got none"):
        gain_by_group({}, file)
