"""Equal seeds and actions give equal observations, rewards and infos, everywhere.

Three rounds, reference and faulty agents, AEC and parallel, in the real sandbox: in one
process, in two with different hash seeds, and on every other Python that the variable
CORECODE_PYTHONS names (paths, separated like those of PATH).
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("trace_episodes.py")
ROOT = SCRIPT.parents[2]
OTHERS = [path for path in os.environ.get("CORECODE_PYTHONS", "").split(os.pathsep) if path]


def script() -> ModuleType:
    spec = spec_from_file_location("trace_episodes", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def traced() -> Any:
    """Everything that was seen in this process."""
    return script().trace()


@pytest.fixture(scope="module")
def here(traced: Any) -> str:
    """Digest of the trace in this process."""
    return str(script().digest_of(traced))


def digest_in_process(python: str, hash_seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, str(SCRIPT), "--digest"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env=environment,
    )
    return done.stdout.strip()


def test_the_trace_covers_three_rounds_of_every_kind_of_player(traced: Any) -> None:
    episodes = [steps[-1] for steps in traced]
    assert all(episode["valid"] for episode in episodes)
    verdicts = {
        t["judgement"]["verdict"] for e in episodes for t in e["turns"] if t["judgement"]
    }
    assert {"AC", "WA"} <= verdicts
    assert max(turn["round"] for episode in episodes for turn in episode["turns"]) == 2


def test_twice_in_one_process(here: str) -> None:
    module = script()
    assert module.digest_of(module.trace()) == here


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_in_another_process_with_another_hash_seed(here: str, hash_seed: str) -> None:
    assert digest_in_process(sys.executable, hash_seed) == here


@pytest.mark.skipif(not OTHERS, reason="CORECODE_PYTHONS names no other Python")
@pytest.mark.parametrize("python", OTHERS)
def test_on_another_python(here: str, python: str) -> None:
    assert digest_in_process(python, "3") == here
