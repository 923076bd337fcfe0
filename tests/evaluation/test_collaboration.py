"""What the Collaboration Gain promises: what a plan is worth, also where that has no number."""

import pytest

from corecode_env.core.errors import BadConfig
from corecode_env.evaluation.collaboration import collaboration_gain, gains_by_group
from tests.evaluation.samples import rates


def test_it_is_the_difference_in_parts_of_what_the_coder_does_alone() -> None:
    gain = collaboration_gain(rates(a="11", b="10", c="00"), rates(a="10", b="10", c="00"))
    assert gain.with_plan.value == pytest.approx(1 / 2)
    assert gain.alone.value == pytest.approx(1 / 3)
    assert gain.difference.value == pytest.approx(1 / 6)
    assert gain.relative is not None
    assert gain.relative.value == pytest.approx(1 / 2)


def test_a_plan_that_misleads_has_a_negative_gain() -> None:
    gain = collaboration_gain(rates(a="00", b="10"), rates(a="11", b="11"))
    assert gain.relative is not None
    assert gain.relative.value == -0.75


def test_it_lies_in_its_interval_which_both_sides_draw_together() -> None:
    tasks = {f"t{i}": "1" if i % 3 else "0" for i in range(60)}
    same = collaboration_gain(rates(**tasks), rates(**tasks))
    assert same.relative is not None
    assert same.relative[:3] == (0.0, 0.0, 0.0)
    worse = {name: "0" if name in ("t1", "t2", "t4", "t5") else r for name, r in tasks.items()}
    gain = collaboration_gain(rates(**tasks), rates(**worse))
    assert gain.relative is not None and gain.relative.low is not None
    assert gain.relative.high is not None
    assert 0.0 <= gain.relative.low < gain.relative.value < gain.relative.high


def test_more_than_nothing_is_no_number_of_times_more() -> None:
    gain = collaboration_gain(rates(a="1", b="1"), rates(a="0", b="0"))
    assert gain.relative is None
    assert gain.difference.value == 1.0
    assert gain.to_json()["relative"] is None


def test_nothing_twice_is_no_gain() -> None:
    gain = collaboration_gain(rates(a="0", b="0"), rates(a="0", b="0"))
    assert gain.relative is not None
    assert gain.relative.value == 0.0


def test_an_end_of_the_interval_that_is_unbounded_is_left_open() -> None:
    gain = collaboration_gain(rates(a="1", b="1", c="1"), rates(a="1", b="0", c="0"))
    assert gain.relative is not None
    assert gain.relative.value == pytest.approx(2.0)
    assert gain.relative.low is not None
    assert gain.relative.high is None


def test_only_tasks_that_both_played_count() -> None:
    gain = collaboration_gain(rates(a="1", b="0"), rates(a="1", c="0"))
    assert gain.with_plan.value == gain.alone.value == 1.0
    assert gain.alone.n == 1
    with pytest.raises(BadConfig, match="in common"):
        collaboration_gain(rates(a="1"), rates(b="1"))


def test_groups_have_gains_of_their_own() -> None:
    groups = {"a": "level 1", "b": "level 2", "c": "level 9"}
    gains = gains_by_group(rates(a="1", b="1"), rates(a="1", b="0"), groups)
    assert list(gains) == ["level 1", "level 2"]
    assert gains["level 1"].difference.value == 0.0
    assert gains["level 2"].difference.value == 1.0
