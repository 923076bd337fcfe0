"""What the docs say about SuperSuit is what becomes of it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/how-to/change-what-agents-read.md").read_text(encoding="utf-8")
SAID = [line for line in PAGE.splitlines() if line.startswith("| `") and "_v" in line]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    pytest.importorskip("supersuit")
    spec = importlib.util.spec_from_file_location(
        "supersuit_table", ROOT / "tools/supersuit_table.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their own module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore")
def test_the_page_says_what_works(tool: ModuleType) -> None:
    import supersuit

    found = tool.table().splitlines()[2:]
    if f"SuperSuit {supersuit.__version__}:" not in PAGE:
        # Another version may word its errors otherwise; what works should still be so.
        found, said = [cut(line) for line in found], [cut(line) for line in SAID]
        assert found == said
        return
    assert found == SAID


def cut(line: str) -> str:
    return "|".join(line.split("|")[:4])


@pytest.mark.filterwarnings("ignore")
def test_every_wrapper_of_supersuit_is_in_the_table(tool: ModuleType) -> None:
    import supersuit

    wrappers = {name for name in dir(supersuit) if name[-3:-1] == "_v"}
    tried = {attempt.name for attempt in tool.ATTEMPTS}
    # These take what is made by another wrapper, or single-agent environments.
    elsewhere = {
        "concat_vec_envs_v1",
        "gym_vec_env_v0",
        "stable_baselines3_vec_env_v0",
        "stable_baselines_vec_env_v0",
    }
    assert wrappers - elsewhere == tried


@pytest.mark.filterwarnings("ignore")
def test_a_wrapper_that_loses_text_or_reward_does_not_count_as_working(
    tool: ModuleType,
) -> None:
    shouting = tool.Attempt("observation_lambda_v0", (tool.shout, tool.same_space))
    assert tool.outcome(shouting, tool.try_aec) == "other texts than the environment's"
    halving = tool.Attempt("reward_lambda_v0", (tool.half,))
    assert "was paid, not" in tool.outcome(halving, tool.try_parallel)
