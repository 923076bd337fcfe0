"""What a run folder promises: what could spoil a run is said before it begins."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from corecode_env.algorithms.config import (
    TeamGRPOConfig,
    from_record,
    to_record,
    to_toml,
)
from corecode_env.algorithms.run_folder import RunFolder
from corecode_env.core.errors import BadConfig, UnknownName


def tables(**changes: Any) -> dict[str, Any]:
    return {"training": to_record(from_record(TeamGRPOConfig, changes))}


def opened(path: Path, resume: bool = False, **changes: Any) -> RunFolder:
    folder = RunFolder(path)
    folder.open(tables(**changes), resume=resume)
    return folder


# --------------------------------------------------------------------------------- opening
def test_a_new_folder_says_what_it_was_made_with(tmp_path: Path) -> None:
    opened(tmp_path / "a" / "run", steps=7)
    written = tomllib.loads((tmp_path / "a" / "run" / "config.toml").read_text())
    assert from_record(TeamGRPOConfig, written["training"]) == TeamGRPOConfig(steps=7)
    assert json.loads((tmp_path / "a" / "run" / "versions.json").read_text())["torch"]


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "run", Path("/proc/run")):
        with pytest.raises(BadConfig, match="must be one that can be written to"):
            opened(path)


def test_a_disk_without_room_for_the_checkpoints_is_refused(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with pytest.raises(BadConfig, match=r"about 3\.0 GiB, got 1\.0 MiB"):
        folder.open(
            tables(), resume=False, bytes_needed=3 * 2**30, free_bytes=lambda path: 2**20
        )
    assert not (tmp_path / "config.toml").exists()


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path: Path) -> None:
    opened(tmp_path)
    with pytest.raises(BadConfig, match="must be a new one"):
        opened(tmp_path)


def test_a_run_is_resumed_under_its_own_settings_only(tmp_path: Path) -> None:
    opened(tmp_path, steps=3, seed=1)
    opened(tmp_path, resume=True, steps=9, seed=1, keep_last=4)
    with pytest.raises(
        BadConfig, match=r"got others for training\.learning_rate, training\.seed"
    ):
        opened(tmp_path, resume=True, seed=2, learning_rate=1.0)
    with pytest.raises(BadConfig, match=r"got others for training\.loss"):
        opened(tmp_path, resume=True, seed=1, loss={"clip_low": 0.1})


# --------------------------------------------------------------------------------- metrics
def test_metrics_after_the_checkpoint_are_forgotten(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    for step in range(4):
        folder.add_metrics({"step": step, "loss": 0.5})
    (tmp_path / "episodes").mkdir()
    for name in ("step-000002", "step-000003", "evaluation-000003"):
        (tmp_path / "episodes" / f"{name}.jsonl").write_text("")
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "lo')  # the process was killed here
    folder.go_on_after(2)
    assert [line["step"] for line in folder.metrics()] == [0, 1, 2]
    assert [path.name for path in (tmp_path / "episodes").iterdir()] == ["step-000002.jsonl"]
    folder.close()


def test_metrics_go_to_tensorboard_where_it_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    folder = opened(tmp_path)
    folder.go_on_after(-1)
    with folder:
        folder.add_metrics({"step": 1, "loss": 0.5})
    (events,) = (tmp_path / "tensorboard").iterdir()
    assert b"loss" in events.read_bytes()


def test_a_metric_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        opened(tmp_path).add_metrics({"step": 1, "loss": float("nan")})


# ---------------------------------------------------------------------------------- config
def test_a_config_survives_its_file() -> None:
    config = TeamGRPOConfig(samples={"planner": 3, "coder_0": 2}, learning_rate=3e-4)
    assert from_record(TeamGRPOConfig, tomllib.loads(to_toml(to_record(config)))) == config
    off = from_record(TeamGRPOConfig, {"loss": {"dual_clip": "none"}})
    assert off.loss.dual_clip is None
    assert from_record(TeamGRPOConfig, tomllib.loads(to_toml(to_record(off)))) == off


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"learning_rat": 1.0}, "did you mean 'learning_rate'"),
        ({"loss": {"clip_hihg": 0.1}}, r"a setting of \[loss\]; did you mean 'clip_high'"),
        ({"planner": {"agregate": "mean"}}, "did you mean 'aggregate'"),
    ],
)
def test_a_misspelt_setting_is_an_error_with_the_right_name(record: Any, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        from_record(TeamGRPOConfig, record)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"stage": "both"}, "stage must be one of"),
        ({"steps": 1.5}, "steps must be of type int, got 1.5"),
        ({"steps": True}, "steps must be of type int, got True"),
        ({"steps": -1}, "steps must be a finite number of at least 0"),
        ({"micro_batch": 0}, "micro_batch must be a finite number of at least 1"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number above 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be a finite number above 0"),
        ({"samples": {"coder": 0}}, "samples.coder must be a finite number of at least 1"),
        ({"samples": 3}, "samples must be a table"),
        ({"loss": 3}, "loss must be a table"),
        ({"loss": {"loss_type": "ppo"}}, "loss.loss_type must be one of"),
        ({"loss": {"clip_low": 2.0}}, "clip_low must lie in"),
        (
            {"advantages": {"floor": -1.0}},
            "advantages.floor must be a finite number of at least",
        ),
        ({"advantages": {"ddof": 2}}, "advantages.ddof must be one of"),
        ({"planner": {"aggregate": "max"}}, "aggregate must be one of"),
        ({"truncated": "drop"}, "truncated must be one of"),
    ],
    ids=str,
)
def test_a_setting_that_cannot_work_is_refused(record: Any, message: str) -> None:
    with pytest.raises(BadConfig, match=message):
        from_record(TeamGRPOConfig, record)


def test_the_learning_rate_warms_up() -> None:
    config = TeamGRPOConfig(learning_rate=1.0, warmup_steps=4)
    assert [config.rate_at(step) for step in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_the_learning_rate_decays_over_the_last_steps_and_not_to_nothing() -> None:
    config = TeamGRPOConfig(learning_rate=1.0, steps=6, warmup_steps=2, decay_steps=4)
    assert [config.rate_at(step) for step in range(6)] == [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
