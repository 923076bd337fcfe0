"""`import corecode_env` costs nothing that its user did not ask for."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "transformers",
    "trl",
    "ray",
    "openai",
    "pandas",
    "pyarrow",
    "datasets",
    "matplotlib",
    "tensorboard",
    "wandb",
    "pygame",
    "rich",
)


def run(source: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(
    "module", ["corecode_env", "corecode_env.tasks", "corecode_env.rollout"]
)
def test_no_heavy_library_is_loaded(module: str) -> None:
    loaded = json.loads(run(f"import {module}, json, sys; print(json.dumps([*sys.modules]))"))
    assert module in loaded
    assert not set(HEAVY) & set(loaded)


def test_nothing_happens_on_import() -> None:
    source = """
import logging, os, random, signal, sys, threading, warnings
import gymnasium, numpy, pettingzoo  # what they do is theirs
def state():
    return (dict(os.environ), os.getcwd(), logging.getLogger().handlers[:],
            threading.active_count(), list(sys.path), random.getstate(),
            numpy.random.get_state()[1].tolist(), warnings.filters[:],
            [signal.getsignal(number) for number in signal.valid_signals()])
before = state()
import corecode_env
print(before == state())
"""
    assert run(source).strip() == "True"


def test_the_command_line_loads_no_heavy_library_before_it_must() -> None:
    source = "import corecode_env.cli.app, json, sys; print(json.dumps([*sys.modules]))"
    heavy = set(HEAVY) - {"rich"}
    assert not heavy & set(json.loads(run(source)))
