"""What a long run promises while warm processes are killed: each job answered once, no loss."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.task import AssertTest, CallTest, Function, Task
from corecode_env.executor import LocalExecutor

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "soak.py"


def soak(programs: int, kill_every: int, seconds: float) -> dict[str, Any]:
    """Run the script, which complains if anything is lost, left, mixed up or grown."""
    options = ["--programs", str(programs), "--kill-every", str(kill_every), "--json"]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *options],
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert (done.returncode, done.stderr) == (0, "")
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def test_a_short_mixed_run_survives_kills() -> None:
    figures = soak(250, 25, 280)
    assert figures["kills"] > 0
    assert sum(figures["verdicts"].values()) == 250


@pytest.mark.slow
def test_fifty_thousand_mixed_programs_survive_kills() -> None:
    figures = soak(50_000, 250, 3600)
    assert figures["kills"] > 100
    wanted = {"AC", "WA", "PE", "RE", "CE", "TLE", "ILE", "MLE", "OLE", "NOCALL"}
    assert wanted <= set(figures["verdicts"])


def children() -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid():
                found.add(int(entry.name))
    return found


def test_a_warm_process_that_is_killed_while_it_starts_is_started_again() -> None:
    call = Task("call", "", Function("f"), hidden_tests=(CallTest((1,), {}, 2),))
    code = Task("code", "", Function("f"), hidden_tests=(AssertTest("assert f(1) == 2"),))
    program = "def f(n): return n + 1"
    killed: list[int] = []

    def kill_the_next(known: set[int]) -> None:
        deadline = time.monotonic() + 30
        while not killed and time.monotonic() < deadline:
            for pid in children() - known:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    with LocalExecutor(1) as executor:
        assert executor.judge(call, program).passed
        killer = threading.Thread(target=kill_the_next, args=(children(),))
        killer.start()
        judgement = executor.judge(code, program)  # needs a second kind of warm process
        killer.join()
        assert killed and judgement.passed
        assert not set(killed) & children()
