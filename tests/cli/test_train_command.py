"""What `corecode train` promises: a file is all it needs, and a typo costs no time."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import Result

from tests.agents.tiny_models import byte_tokenizer, tiny_llama

Run = Callable[..., Result]
HAS_TORCH = all(find_spec(name) for name in ("torch", "transformers"))
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="needs the extra train")

FILE = """
[tasks]
source = "pipelines/1"
limit = 4

[evaluation]
source = "pipelines/1"
split = "validation"
limit = 2

[policies.coder]
model = {model}
max_new_tokens = 4
long_prompt = "cut"

[frozen]
planner = "reference"

[training]
stage = "coder"
steps = 2
tasks_per_step = 2
samples = {{ coder = 3 }}
learning_rate = 1e-3

[training.loss]
kl_weight = 0.5
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    pytest.importorskip("transformers")
    folder = tmp_path / "model"
    tiny_llama().save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pair.toml"
    path.write_text(FILE.format(model=json.dumps(str(tmp_path / "model"))))
    return path


@pytest.mark.skipif(HAS_TORCH, reason="torch is installed")
def test_without_torch_it_says_which_extra_is_missing(run: Run, file: Path) -> None:
    result = run("train", file)
    assert result.exit_code == 2
    assert "pip install 'corecode-env[train]'" in result.stderr


@needs_torch
def test_a_file_is_trained_resumed_and_run_again(run: Run, file: Path, model: Path) -> None:
    out = file.parent / "run"
    result = run("train", file, "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary == json.loads((out / "summary.json").read_text())
    assert summary["step"] == 2 and summary["before"]["pass@1"] == 0.0
    assert "step 2 of 2: pass@1 0.000" in result.stderr
    assert (out / "checkpoints" / "step-000002" / "coder_0" / "config.json").exists()

    longer = run(
        "train", out / "config.toml", "--set", "training.steps=3", "--out", out, "--resume"
    )
    assert longer.exit_code == 0, longer.stderr
    assert f"wrote {out}" in longer.stdout
    steps = [
        json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines()
    ]
    assert steps == [0, 1, 2, 3]

    again = run("train", file, "--out", out)
    assert again.exit_code == 2 and "must be a new one" in again.stderr


# peft asks transformers by a name that is about to go.
@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
@needs_torch
def test_roles_may_share_a_policy_or_a_base(run: Run, file: Path, model: Path) -> None:
    changes = ("training.stage=joint", "training.steps=1", "evaluation=none")
    common = [part for change in changes for part in ("--set", change)]
    common += ["--set", "training.samples={planner = 2, coder = 2}"]
    shared = run(
        "train", file, *common, "--out", file.parent / "shared",
        "--set", "shared={planner = 'coder'}", "--set", "frozen={}",
    )  # fmt: skip
    assert shared.exit_code == 0, shared.stderr
    table = f"{{model = {json.dumps(str(model))}, rank = 2, max_new_tokens = 4, long_prompt = 'cut'}}"
    lora = run(
        "train", file, *common, "--out", file.parent / "lora",
        "--set", "policies={}", "--set", f"lora={table}", "--set", "frozen={}",
    )  # fmt: skip
    assert lora.exit_code == 0, lora.stderr
    written = tomllib.loads((file.parent / "lora" / "config.toml").read_text())
    assert written["lora"]["rank"] == 2 and written["evaluation"] == "none"


@needs_torch
def test_the_file_of_the_how_to_page_trains(run: Run, tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "train-your-own-pair.md"
    for number, text in enumerate(
        re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    ):
        file = tmp_path / f"{number}.toml"
        file.write_text(text)
        small = ["training.steps=1", "training.tasks_per_step=1", "evaluation.limit=1"]
        if "cold_start" in text:
            small = ["tasks.limit=2", "cold_start.epochs=1", "evaluation.limit=1"]
        if "tiny" not in text:
            # A model that would have to be fetched: the file is read, and no more.
            from corecode_env.cli.training_file import read_training_file

            read_training_file(file, small)
            continue
        changes = [part for change in small for part in ("--set", change)]
        result = run("train", file, *changes, "--out", tmp_path / f"run-{number}")
        assert result.exit_code == 0, result.stderr


@needs_torch
def test_a_file_may_ask_for_a_cold_start(run: Run, file: Path, model: Path) -> None:
    pytest.importorskip("trl")
    text = file.read_text()
    file.write_text('algorithm = "cold_start"\n' + text[: text.index("[training]")])
    # Bytes are tokens here, and the window is 128 of them.
    changes = (
        "policies.coder.max_new_tokens=100",
        "cold_start.fenced=false",
        "evaluation=none",
    )
    asked = [part for change in changes for part in ("--set", change)]
    out = file.parent / "taught"
    result = run("train", file, *asked, "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    assert "coder_0: update 1, loss" in result.stderr
    summary = json.loads(result.stdout)
    assert summary["step"] == 1 and summary["before"] is None
    assert (out / "checkpoints" / "step-000001" / "coder_0" / "config.json").exists()
    assert tomllib.loads((out / "config.toml").read_text())["cold_start"]["fenced"] is False
    again = run("train", file, *asked, "--out", out, "--resume")
    assert again.exit_code == 2 and "run from its beginning" in again.stderr


@needs_torch
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("algorithm=cold_start", "must be set up in [cold_start], got a table [training]"),
        ("cold_start={epochs=2}", "must be set up in [training], got a table [cold_start]"),
        ("training.lerning_rate=1", "did you mean 'learning_rate'"),
        ("trainig.steps=1", "did you mean 'training'"),
        ("policies.coder.temperatur=1", "did you mean 'temperature'"),
        ("policies.coder={}", "[policies.coder] must say 'model'"),
        ("environment.rewards=all_pas", "environment.rewards must be one of"),
        ("training.steps=ten", "training.steps must be of type int, got 'ten'"),
        ("training.steps", "--set must be given table.key=value"),
        ("shared.planner=codr", "did you mean 'coder'"),
        ("shared.coder=coder", "a role must have one policy"),
        ("tasks.split=test", "training tasks must belong to the split 'train'"),
        ("tasks.source=pipelnes/1", "did you mean"),
    ],
)
def test_a_typo_is_found_before_a_model_is_loaded(
    run: Run, file: Path, change: str, message: str
) -> None:
    # There is no model: whatever looked for it would say so.
    result = run("train", file, "--out", file.parent / "run", "--set", change)
    assert result.exit_code == 2
    assert message in result.stderr


@needs_torch
def test_a_folder_that_cannot_be_written_to_is_found_before_a_model_is_loaded(
    run: Run, file: Path
) -> None:
    result = run("train", file, "--out", file / "run")
    assert result.exit_code == 2
    assert "the run folder must be one that can be written to" in result.stderr


@needs_torch
def test_a_file_that_is_no_toml_is_refused(run: Run, file: Path) -> None:
    file.write_text("[training\n")
    result = run("train", file)
    assert result.exit_code == 2 and "must be TOML" in result.stderr
