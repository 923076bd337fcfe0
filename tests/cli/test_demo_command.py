"""What `corecode demo` promises: measured before and after, and everything written down."""

import json
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import Result

from corecode_env.agents import ReferenceAgent
from corecode_env.cli.demo_game import Game, NoPlan, ReversedPlan, demo_tasks, solved
from corecode_env.cli.demo_report import plot, verdict
from corecode_env.cli.demo_view import bars, curve
from corecode_env.core.episode import Episode
from corecode_env.core.verdict import Verdict
from corecode_env.executor.testing import InstantExecutor
from corecode_env.records import read_episodes

Run = Callable[..., Result]
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs the extra train")
BY_PLAN = {
    "Planner's plan": "planners-plan",
    "reference plan": "reference-plan",
    "no plan": "no-plan",
    "reversed plan": "reversed-plan",
}
"""Names in the table, and in file names."""


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_the_command_names_the_extra(run: Run, tmp_path: Path) -> None:
    result = run("demo", "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert "pip install 'corecode-env[train]'" in result.stderr
    assert not (tmp_path / "run").exists()


@needs_torch
def test_a_run_leaves_its_table_curve_episodes_and_summary(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = run("demo", "--out", folder, "--steps", 1, "--held-out", 1)
    assert result.exit_code == 0, result.stderr
    assert all(name in result.stdout for name in BY_PLAN)
    assert str(folder) in result.stderr
    summary = json.loads((folder / "summary.json").read_text())
    assert {"before", "best", "after", "seconds", "seed"} <= summary.keys()
    assert (folder / "curve.png").exists() == (find_spec("matplotlib") is not None)
    shares = json.loads((folder / "by_plan.json").read_text())
    assert shares.keys() == BY_PLAN.keys()
    for name, slug in BY_PLAN.items():
        for moment in ("before", "after"):
            played = read_episodes(folder / "episodes" / f"{moment}-{slug}.jsonl").episodes
            assert solved(played) == shares[name][moment]


@needs_torch
def test_a_folder_that_holds_a_run_is_refused_before_anything_is_played(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text("")
    result = run("demo", "--out", tmp_path, "--steps", 1, "--held-out", 1)
    assert result.exit_code == 2
    assert "choose another folder" in result.stderr
    assert "measuring" not in result.stderr


def test_reversed_plans_tell_the_right_steps_in_the_wrong_order() -> None:
    game = Game(demo_tasks("test", 2), InstantExecutor())
    for episode in game.play(ReversedPlan(), ReferenceAgent(), seed=0):
        assert episode.task is not None
        told = episode.turns[0].action.splitlines()
        right = str(episode.task.reference_plan).splitlines()
        assert told[-1] == right[-1]
        assert [line.partition(". ")[2] for line in told[-2::-1]] == [
            line.partition(". ")[2] for line in right[:-1]
        ]


def test_held_out_tasks_are_equally_many_of_each_level_and_of_the_test_split() -> None:
    tasks = demo_tasks("test", 3)
    assert {task.metadata["split"] for task in tasks} == {"test"}
    levels = Counter(task.metadata["difficulty"] for task in tasks)
    assert levels == {"level 1": 3, "level 2": 3, "level 3": 3}


def test_the_coder_of_the_game_sees_no_statement() -> None:
    game = Game(demo_tasks("test", 1), InstantExecutor())
    for episode in game.play(NoPlan(), ReferenceAgent(), seed=0):
        assert episode.task is not None
        assert episode.task.statement not in str(episode.turns[1].observation)


def test_the_share_solved_counts_programs_that_pass_every_test() -> None:
    game = Game(demo_tasks("test", 1), InstantExecutor())
    assert solved(game.play(ReferenceAgent(), ReferenceAgent(), seed=0)) == 1.0
    assert solved(game.play(ReferenceAgent(), NoPlan(), seed=0)) == 0.0


def played(good: int, bad: int) -> list[Episode]:
    """Return episodes of the same tasks, of which the first `good` are solved."""
    game = Game(demo_tasks("test", 10), InstantExecutor())
    right = game.play(ReferenceAgent(), ReferenceAgent(), seed=0)
    wrong = game.play(ReferenceAgent(), NoPlan(), seed=0)
    return [*right[:good], *wrong[good : good + bad]]


def test_a_run_that_gained_says_so_with_its_numbers() -> None:
    best, last = {"step": 8.0, "pass@1": 0.8}, {"step": 9.0, "pass@1": 0.78}
    said = verdict(played(5, 25), played(20, 10), best, last)
    assert said == "the pair learned: 0.17 before, 0.67 after (15 tasks won, 0 lost)"


@pytest.mark.parametrize("after", [4, 5, 7])
def test_a_run_that_gained_no_more_than_chance_says_that_it_did_not_learn(after: int) -> None:
    said = verdict(played(5, 25), played(after, 30 - after))
    assert said.startswith("this run did not learn")


def test_a_run_that_slid_back_names_the_step_at_which_it_was_best() -> None:
    best, last = {"step": 8.0, "pass@1": 0.8}, {"step": 9.0, "pass@1": 0.7}
    said = verdict(played(5, 25), played(20, 10), best, last)
    assert "slid back from 0.80 after step 8, whose checkpoint is kept, to 0.70" in said


def test_a_curve_has_a_block_for_each_step_and_rises_with_the_share() -> None:
    assert curve([0.0, 0.5, 1.0]).plain.endswith(" ▄█")


def test_bars_stand_in_the_order_of_their_number() -> None:
    table = bars(Counter({Verdict.AC: 1, Verdict.WA: 3}))
    assert list(table.columns[0].cells) == ["WA", "AC"]
    assert list(table.columns[2].cells) == ["75%", "25%"]


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs the extra plots")
def test_the_plot_is_a_picture(tmp_path: Path) -> None:
    steps = [{"step": 0.0, "eval/pass@1": 0.2}, {"step": 1.0, "solved": 0.3}]
    assert plot(tmp_path / "curve.png", steps)
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
