"""What the pytest plugin promises: fixtures wherever the package is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corecode_env.testing import InstantExecutor

USERS_TESTS = """
from corecode_env.testing import check_text_env


def test_my_wrapper(text_env):
    check_text_env(text_env(max_cycles=2))


def test_my_agent(text_env, instant_executor):
    env = text_env("solo_coder_v0")
    env.reset(seed=1)
    env.step("pass")
    assert len(instant_executor.jobs) == 1
"""


def test_a_users_tests_find_the_fixtures_by_themselves(tmp_path: Path) -> None:
    (tmp_path / "test_users.py").write_text(USERS_TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "."],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_text_env_makes_what_make_makes_without_processes(
    text_env: Any, instant_executor: InstantExecutor
) -> None:
    env = text_env("planner_coder_v0", max_cycles=3, tasks="pipelines/2")
    assert (str(env), env.unwrapped.max_cycles) == ("planner_coder_v0", 3)
    env.reset(seed=0)
    env.step("a plan")
    env.step(env.unwrapped.task.reference_program)
    assert env.unwrapped.judgement.passed
    assert len(instant_executor.jobs) == 1


def test_text_env_takes_another_executor(text_env: Any) -> None:
    own = InstantExecutor()
    env = text_env(executor=own)
    env.reset(seed=0)
    env.step("a plan")
    env.step("a program")
    assert len(own.jobs) == 1


@pytest.mark.parametrize("white_space", ["", "\n", " \n\n"])
def test_the_reference_is_right_however_its_lines_end(
    white_space: str, instant_executor: InstantExecutor, say: Any
) -> None:
    task = say.task(reference_program="def solve(xs):\r\n    return sum(xs)" + white_space)
    assert instant_executor.judge(task, "def solve(xs):\n    return sum(xs)\n").passed
    assert not instant_executor.judge(task, "def solve(xs):\n  return sum(xs)\n").passed
    assert not instant_executor.judge(say.task(reference_program=None), "").passed
