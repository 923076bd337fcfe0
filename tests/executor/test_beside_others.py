"""What the executor promises inside other people's workers: those of pytest-xdist and of Ray.

Each scene runs in a process of its own, and leaves no process behind.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
import os
import pytest
from corecode_env.core.task import Stdio, StdioTest, Task
from corecode_env.executor import LocalExecutor

TASK = Task("t", "", Stdio(), hidden_tests=(StdioTest("1 2", "3"),))

@pytest.fixture(scope="session")
def executor():
    with LocalExecutor(1) as made:
        yield made

@pytest.mark.parametrize("number", range(8))
def test_a_worker_judges(executor, number):
    assert executor.judge(TASK, "print(sum(map(int, input().split())))").passed
    assert executor.judge(TASK, f"print(-{number})").verdict.value == "WA"
    print("worker", os.environ["PYTEST_XDIST_WORKER"])

def test_one_nobody_closes():
    forgotten = LocalExecutor(1)
    assert forgotten.judge(TASK, "print(3)").passed
"""

# Two actors judge at once, one more is killed while it judges.
RAY = """
import os, sys, time
import ray
from corecode_env.core.task import Limits, Stdio, StdioTest, Task
from corecode_env.executor import LocalExecutor

TASK = Task("t", "", Stdio(), hidden_tests=(StdioTest("1 2", "3"),))

class Judge:
    def __init__(self):
        self.executor = LocalExecutor(1)

    def judge(self, program):
        return self.executor.judge(TASK, program)

    def verdicts(self, count):
        jobs = [(TASK, f"print({number})") for number in range(count)]
        return [judgement.verdict.value for judgement in self.executor.map(jobs)]

ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, configure_logging=False)
Remote = ray.remote(Judge)
first, second, doomed = (Remote.remote() for _ in range(3))
assert ray.get(first.judge.remote("print(3)")).passed
lists = ray.get([judge.verdicts.remote(6) for judge in (first, second)])
assert lists == [["WA"] * 3 + ["AC"] + ["WA"] * 2] * 2, lists
assert ray.get(doomed.judge.remote("print(3)")).passed
doomed.judge.remote("import time; time.sleep(60)")
time.sleep(0.5)
ray.kill(doomed)
task = ray.remote(lambda: LocalExecutor(1).judge(TASK, "print(3)").passed)
assert ray.get(task.remote())
assert ray.get(first.judge.remote("print(3)")).passed
ray.shutdown()
print("done")
"""


# Runs a scene and then waits for whatever it left, which becomes a child of this process.
REAPER = """
import ctypes, os, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
status = subprocess.run([sys.executable, *sys.argv[1:]]).returncode
deadline = time.monotonic() + 20
try:
    while time.monotonic() < deadline:
        if os.waitpid(-1, os.WNOHANG) == (0, 0):
            time.sleep(0.05)
    status = "processes are left"
except ChildProcessError:
    pass
sys.exit(status)
"""


def run_scene(arguments: list[str], folder: Path, seconds: float) -> str:
    """Run a scene to its end and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", REAPER, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_workers_of_xdist_judge_side_by_side_and_leave_nothing(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "test_suite.py").write_text(SUITE)
    options = ["-n", "2", "-q", "-rA", "-p", "no:cacheprovider", "-W", "error"]
    said = run_scene(["-m", "pytest", *options, "test_suite.py"], tmp_path, seconds=120)
    assert "9 passed" in said
    assert "worker gw0" in said and "worker gw1" in said, "both have judged"


@pytest.mark.slow
def test_actors_and_tasks_of_ray_judge_and_leave_nothing(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="a test beside a peer: pip install ray")
    script = tmp_path / "scene.py"
    script.write_text(RAY)
    assert run_scene([str(script)], tmp_path, seconds=300).endswith("done\n")
