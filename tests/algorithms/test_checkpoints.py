"""What checkpoints promise: a folder that is there is whole, and the best is never lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from corecode_env.algorithms.checkpoints import Checkpoints


def holding(text: str) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        (folder / "model").mkdir()
        (folder / "model" / "weights").write_text(text)

    return fill


def steps(checkpoints: Checkpoints) -> list[int]:
    return [checkpoint.step for checkpoint in checkpoints.all()]


def test_what_was_written_is_found_again(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints", keep_last=2)
    assert checkpoints.latest() is None
    checkpoints.write(3, {"seed": 1}, holding("three"))
    latest = checkpoints.latest()
    assert latest is not None and latest.step == 3
    assert latest.state == {"seed": 1}
    assert (latest.path / "model" / "weights").read_text() == "three"


def test_the_last_few_and_the_best_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep_last=2)
    for step in range(1, 7):
        checkpoints.write(step, {}, holding("x"), best=2 if step >= 2 else None)
    assert steps(checkpoints) == [2, 5, 6]


def test_a_checkpoint_that_could_not_be_written_leaves_the_others_alone(
    tmp_path: Path,
) -> None:
    def full(folder: Path) -> None:
        holding("half")(folder)
        raise OSError(28, "No space left on device")

    checkpoints = Checkpoints(tmp_path, keep_last=1)
    checkpoints.write(1, {}, holding("whole"))
    with pytest.raises(OSError, match="No space left"):
        checkpoints.write(2, {}, full)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]


@pytest.mark.parametrize("damage", ["cut", "missing", "no marker", "garbled marker"])
def test_a_damaged_checkpoint_is_passed_over_and_cleared_away(
    tmp_path: Path, damage: str
) -> None:
    checkpoints = Checkpoints(tmp_path, keep_last=5)
    checkpoints.write(1, {}, holding("whole"))
    path = checkpoints.write(2, {}, holding("whole")).path
    match damage:
        case "cut":
            (path / "model" / "weights").write_text("wh")
        case "missing":
            (path / "model" / "weights").unlink()
        case "no marker":
            (path / "complete.json").unlink()
        case _:
            (path / "complete.json").write_text('{"model/wei')
    (tmp_path / ".unfinished-000003").mkdir()
    latest = checkpoints.latest()
    assert latest is not None and latest.step == 1
    checkpoints.clear_unfinished()
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]


def test_strange_files_beside_checkpoints_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "step-by-step").mkdir()
    checkpoints = Checkpoints(tmp_path, keep_last=1)
    checkpoints.write(1, {}, holding("x"))
    checkpoints.clear_unfinished()
    assert {path.name for path in tmp_path.iterdir()} == {
        "notes.txt",
        "step-by-step",
        "step-000001",
    }


def test_a_step_that_is_done_again_replaces_its_checkpoint(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep_last=1)
    checkpoints.write(1, {}, holding("old"))
    path = checkpoints.write(1, {"again": True}, holding("new")).path
    assert (path / "model" / "weights").read_text() == "new"
    assert json.loads((path / "state.json").read_text()) == {"again": True}
