"""What the ablation table promises: fair comparisons, and intervals over seeds and tasks."""

import csv
import io
from collections.abc import Sequence

import pytest

from corecode_env.core.errors import BadConfig
from corecode_env.evaluation.ablation import ArmResult, ArmRuns, compare_arms
from corecode_env.evaluation.report import ablation_csv, ablation_markdown
from corecode_env.evaluation.samples import Sample
from tests.evaluation.samples import AC, WA, sample

PROGRAMS = 128


def played(rates: Sequence[float]) -> list[Sample]:
    """Return four programs for each task, of which a share is right."""
    return [
        sample(f"t{task}", AC if number < 4 * rate else WA)
        for task, rate in enumerate(rates)
        for number in range(4)
    ]


def arm(
    team: Sequence[Sequence[float]],
    alone: Sequence[Sequence[float]] | None = None,
    programs: int = PROGRAMS,
) -> ArmRuns:
    alone = [[0.0] * len(seed) for seed in team] if alone is None else alone
    return ArmRuns([programs] * len(team), [*map(played, team)], [*map(played, alone)])


def only(runs: ArmRuns) -> ArmResult:
    (result,) = compare_arms({"full": runs})
    return result


def test_the_numbers_are_means_over_seeds_and_tasks() -> None:
    result = only(arm([[1.0, 0.5], [0.5, 0.0]], [[0.5, 0.0], [0.5, 0.0]]))
    assert result.solved.value == 0.5 and result.alone.value == 0.25
    assert result.by_seed == (0.75, 0.25)
    assert result.gain is not None and result.gain.value == 1.0
    assert result.programs == PROGRAMS


def test_a_change_that_every_task_and_seed_shows_is_certain_though_the_tasks_differ() -> None:
    before = [[0.0, 0.25, 0.5, 0.75], [0.0, 0.25, 0.5, 0.75]]
    after = [[rate + 0.25 for rate in seed] for seed in before]
    results = compare_arms(
        {"no_rl": arm(before, programs=0), "full": arm(after)}, baseline="no_rl"
    )
    assert results[0].change is None
    change = results[1].change
    assert change is not None
    assert change[:3] == pytest.approx((0.25, 0.25, 0.25))
    low, high = results[1].solved.low, results[1].solved.high
    assert low is not None and high is not None and high - low > 0.3


def test_seeds_that_disagree_widen_the_interval() -> None:
    agree = only(arm([[0.5] * 8, [0.5] * 8]))
    disagree = only(arm([[0.75] * 8, [0.25] * 8]))
    assert agree.solved[:3] == pytest.approx((0.5, 0.5, 0.5))
    assert disagree.solved[:3] == pytest.approx((0.5, 0.25, 0.75))


def test_a_gain_over_nothing_has_no_number() -> None:
    assert only(arm([[0.5, 0.5]])).gain is None


def test_all_or_nothing_is_not_certain() -> None:
    result = only(arm([[1.0] * 4], [[1.0] * 4]))
    assert result.solved.low is not None and result.solved.low < 0.6
    assert result.solved.high == 1.0


def test_arms_that_learnt_from_more_programs_are_not_compared() -> None:
    rates = [[0.5, 0.5]]
    arms = {
        "no_rl": arm(rates, programs=0),
        "full": arm(rates),
        "coder_rl": arm(rates, programs=64),
    }
    with pytest.raises(BadConfig, match="equally many programs"):
        compare_arms(arms)
    del arms["coder_rl"]
    assert [result.programs for result in compare_arms(arms)] == [0, PROGRAMS]


def test_arms_without_a_common_task_are_not_compared() -> None:
    runs = arm([[0.5]])
    with pytest.raises(BadConfig, match="in common"):
        compare_arms({"full": ArmRuns(runs.programs, runs.team, [[sample("other", AC)]])})


def test_the_table_has_a_line_for_each_arm() -> None:
    arms = {"no_rl": arm([[0.5, 0.0]], programs=0), "full": arm([[1.0, 0.5]], [[0.5, 0.5]])}
    results = compare_arms(arms, baseline="no_rl")
    lines = ablation_markdown(results).splitlines()
    assert lines[3].startswith("| full | 128 programs | 75.0 % |")
    assert "| 50.0 % |" in lines[3]
    rows = list(csv.DictReader(io.StringIO(ablation_csv(results))))
    assert len(rows) == 8
    assert (rows[2]["metric"], rows[2]["value"]) == ("change", "")
    assert float(rows[6]["value"]) == 0.5 and rows[6]["arm"] == "full"
