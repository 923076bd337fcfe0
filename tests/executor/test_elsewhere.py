"""What the package promises on systems that have no sandbox: it imports, and refuses to run.

Such a system is played: its name is changed and the modules that only Unix has are hidden.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

PLAYED = """
import asyncio, multiprocessing, shutil, subprocess, sys, tempfile
import click, gymnasium, numpy, pettingzoo, rich.console

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "grp", "pwd", "resource", "termios"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hidden())
sys.platform = sys.argv[1]
import corecode_env
from corecode_env import agents, environments, evaluation, executor, records, rewards, rollout
import corecode_env.cli.app
from corecode_env.executor.testing import InstantExecutor
from corecode_env.tasks import load_tasks

assert len(load_tasks("pipelines/1").head(2)) == 2
try:
    executor.LocalExecutor()
except corecode_env.core.errors.IsolationRefused as error:
    print(error)
"""


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_the_package_imports_and_says_where_programs_can_run(system: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLAYED, system],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert f"must run on Linux, got '{system}'" in done.stdout and "WSL 2" in done.stdout
