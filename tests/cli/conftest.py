"""A small task file and a way to run the command in this process."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from corecode_env.cli.app import app

DOUBLE = {
    "id": "double",
    "statement": "Write double(x), twice x.",
    "interface": {"kind": "function", "name": "double"},
    "public_tests": [{"kind": "call", "args": [2], "expected": 4}],
    "hidden_tests": [{"kind": "call", "args": [5], "expected": 10}],
    "reference_program": "def double(x):\n    return 2 * x\n",
    "metadata": {"split": "train", "licence": "MIT"},
}
ECHO = {
    "id": "echo",
    "statement": "Print the line that you read.",
    "interface": {"kind": "stdio"},
    "public_tests": [{"kind": "stdio", "input": "a\n", "output": "a\n"}],
    "hidden_tests": [{"kind": "stdio", "input": "b\n", "output": "b\n"}],
    "reference_program": "print(input())\n",
    "metadata": {"split": "test"},
}


@pytest.fixture
def run() -> Callable[..., Result]:
    """Run `corecode ARGS` in this process; an unexpected exception fails the test."""

    def run(*args: object, typed: str | None = None) -> Result:
        result = CliRunner().invoke(app, [str(arg) for arg in args], input=typed)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "tasks.jsonl"
    file.write_text(json.dumps(DOUBLE) + "\n" + json.dumps(ECHO) + "\n")
    return file
