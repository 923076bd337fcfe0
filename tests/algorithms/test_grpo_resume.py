"""What safe runs promise: whoever is stopped at any moment goes on as if nothing happened."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from corecode_env.algorithms.checkpoints import Checkpoints  # noqa: E402
from corecode_env.core.errors import BadConfig  # noqa: E402
from corecode_env.records import read_episodes  # noqa: E402
from tests.algorithms.train_toy import train  # noqa: E402

ROOT = Path(__file__).parents[2]
STEPS = 6


def learned(run_dir: Path) -> dict[str, Any]:
    """Return weights and optimisers of the last checkpoint."""
    latest = Checkpoints(run_dir / "checkpoints", keep_last=1).latest()
    assert latest is not None and latest.step == STEPS
    states: dict[str, Any] = torch.load(latest.path / "learners.pt", weights_only=True)
    return states


def metrics(run_dir: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.startswith("seconds")} for line in lines]


def assert_same_run(one: Path, other: Path) -> None:
    torch.testing.assert_close(learned(one), learned(other), rtol=0, atol=0)
    assert metrics(one) == metrics(other)
    summaries = [json.loads((path / "summary.json").read_text()) for path in (one, other)]
    for summary in summaries:
        assert summary.pop("seconds") > 0
    assert summaries[0] == summaries[1]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed."""
    run_dir = tmp_path_factory.mktemp("straight") / "run"
    train(str(run_dir), STEPS)
    return run_dir


def test_a_run_in_two_halves_equals_a_run_in_one_bit_for_bit(
    straight: Path, tmp_path: Path
) -> None:
    train(str(tmp_path / "run"), 4)
    train(str(tmp_path / "run"), STEPS)
    assert_same_run(tmp_path / "run", straight)


def test_a_run_killed_at_random_moments_equals_one_that_was_not(
    straight: Path, tmp_path: Path
) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.algorithms.train_toy",
        str(tmp_path / "run"),
        str(STEPS),
    ]
    moments = random.Random(3)
    for longest in (0.3, 1.0, 3.0):
        process = subprocess.Popen(command, cwd=ROOT)
        # The folder appears when the imports are done; what follows is a random moment.
        while process.poll() is None and not (tmp_path / "run" / "config.toml").exists():
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, longest))
        process.kill()
        process.wait()
    subprocess.run(command, cwd=ROOT, check=True)
    assert_same_run(tmp_path / "run", straight)


def test_a_folder_has_all_that_a_run_leaves(straight: Path) -> None:
    names = {path.name for path in straight.iterdir()} - {"tensorboard"}
    assert names == {
        "config.toml", "versions.json", "metrics.jsonl", "episodes", "checkpoints", "summary.json"
    }  # fmt: skip
    summary = json.loads((straight / "summary.json").read_text())
    assert set(summary) >= {"before", "best", "after", "seconds", "seed"}
    assert summary["after"]["pass@1"] == metrics(straight)[-1]["eval/pass@1"]
    assert [line["step"] for line in metrics(straight)] == list(range(STEPS + 1))
    read = read_episodes(straight / "episodes" / "step-000001.jsonl")
    assert len(read.episodes) == 12 and not read.problems
    assert {path.stem for path in (straight / "episodes").glob("evaluation-*")} == {
        f"evaluation-{step:06d}" for step in (0, 2, 4, 6)
    }


def test_a_checkpoint_has_a_folder_that_the_policy_can_load(straight: Path) -> None:
    latest = Checkpoints(straight / "checkpoints", keep_last=1).latest()
    assert latest is not None
    saved = torch.load(latest.path / "planner_0" / "weights.pt", weights_only=True)
    torch.testing.assert_close(saved, learned(straight)["planner_0"]["weights"])


def test_the_best_checkpoint_is_kept(straight: Path) -> None:
    best = json.loads((straight / "summary.json").read_text())["best"]["step"]
    kept = [c.step for c in Checkpoints(straight / "checkpoints", keep_last=1).all()]
    assert set(kept) == {best, STEPS - 1, STEPS} - {0}


def test_a_finished_run_that_is_resumed_says_the_same_again(straight: Path) -> None:
    before = (straight / "metrics.jsonl").read_bytes()
    summary = train(str(straight), STEPS)
    assert summary.step == STEPS
    assert (straight / "metrics.jsonl").read_bytes() == before


def test_a_run_is_not_resumed_with_other_settings(straight: Path) -> None:
    with pytest.raises(BadConfig, match=r"got others for training\.learning_rate"):
        train(str(straight), STEPS, learning_rate=0.2)
    with pytest.raises(BadConfig, match="must be a new one"):
        train(str(straight), STEPS, resume=False)
