"""What `corecode ablate` promises: arms that differ in who learns, run once, compared fairly."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
needs_torch = pytest.mark.skipif(
    not all(find_spec(name) for name in ("torch", "transformers", "trl")),
    reason="needs the extra train",
)
FILE = """
[environment]
coder_sees = "plan"
rewards = "all_pass"
prompts = { planner = "tiny", coder = "tiny" }

[tasks]
source = "pipelines/1"

[evaluation]
source = "pipelines/1"
split = "validation"
limit = 3

[policies.planner]
model = "tiny"
max_new_tokens = 48

[policies.coder]
model = "tiny"
max_new_tokens = 48

[training]
steps = 1
tasks_per_step = 2
samples = { planner = 2, coder = 2 }
learning_rate = 1e-4
planner_reward = "environment"

[training.loss]
kl_weight = 0.0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pair.toml"
    path.write_text(FILE)
    return path


@needs_torch
def test_arms_differ_in_who_learns_and_in_nothing_else(file: Path) -> None:
    from corecode_env.cli.ablation import arm_config
    from corecode_env.cli.training_file import read_training_file

    config = read_training_file(file, ()).training
    made = {
        arm: arm_config(config, arm, 7)
        for arm in ("planner_rl", "coder_rl", "full", "one_model")
    }
    assert [found.stage for found in made.values()] == ["planner", "coder", "joint", "joint"]
    for found in made.values():
        assert (found.seed, found.samples, found.steps) == (7, config.samples, config.steps)
    own = read_training_file(
        file, ("training.stage=alternate", "training.samples={}")
    ).training
    assert arm_config(own, "full", 0).stage == "alternate"
    assert arm_config(own, "full", 0).samples == arm_config(own, "coder_rl", 0).samples != {}


@needs_torch
@pytest.mark.slow
def test_arms_are_run_once_and_compared(run: Run, file: Path) -> None:
    out = file.parent / "runs"
    asked = ("ablate", file, "--out", out, "--seeds", "0", "--samples", 1, "--json")
    first = run(*asked, "--arm", "no_rl", "--arm", "full")
    assert first.exit_code == 0, first.stderr
    record = json.loads(first.stdout)
    assert record == json.loads((out / "table.json").read_text())
    assert [arm["arm"] for arm in record["arms"]] == ["no_rl", "full"]
    assert [arm["programs"] for arm in record["arms"]] == [0, 2 * 2 * 2]
    assert {"table.csv", "table.md", "config.toml"} <= {path.name for path in out.iterdir()}

    written = (out / "full" / "seed-0" / "training" / "metrics.jsonl").stat().st_mtime_ns
    again = run(*asked)
    assert again.exit_code == 0, again.stderr
    record = json.loads(again.stdout)
    assert {arm["programs"] for arm in record["arms"]} == {0, 8}
    assert "one_model, seed 0: training" in again.stderr and "full" not in again.stderr
    assert (
        out / "full" / "seed-0" / "training" / "metrics.jsonl"
    ).stat().st_mtime_ns == written

    other = run(*asked, "--set", "training.learning_rate=1e-3")
    assert other.exit_code == 2 and "training.learning_rate" in other.stderr
    longer = run(
        *asked,
        "--set",
        "training.steps=2",
        "--arm",
        "planner_rl",
        "--seeds",
        "1",
        "--arm",
        "full",
    )
    assert longer.exit_code == 0, "a seed of its own is compared with nothing else"


@needs_torch
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--set", "evaluation=none"), "needs a file with [training] and [evaluation]"),
        (("--set", "policies={}"), "must have a policy for planner and one for coder"),
        (("--set", "tasks.split=test"), "split 'train'"),
        (("--seeds", "0,x"), "whole numbers from 0 up"),
        (("--arm", "none"), "is not one of"),
    ],
)
def test_what_cannot_work_is_refused_at_once(
    run: Run, file: Path, args: tuple[str, ...], message: str
) -> None:
    result = run("ablate", file, "--out", file.parent / "runs", *args)
    assert result.exit_code == 2
    assert message in result.stderr
