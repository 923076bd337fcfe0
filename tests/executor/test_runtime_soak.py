"""What a long mixed run promises: every job answered once, nothing left, nothing grown."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from corecode_env.core.seams import Job
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Function,
    Limits,
    Stdio,
    StdioTest,
    Task,
    Test,
)
from corecode_env.executor import LocalExecutor

LIMITS = Limits(
    cpu_seconds=0.2, wall_seconds=30.0, memory_bytes=64 * 2**20, output_bytes=2**14
)

# Program, verdict under standard input, weight.
PROGRAMS = [
    ("print(input())", "AC", 40),
    ("print(1)", "WA", 10),
    ("1 / 0", "RE", 10),
    ("print(", "CE", 10),
    ("import os, signal; os.kill(os.getpid(), 9)", "RE", 3),
    ("import ctypes; ctypes.string_at(0)", "RE", 5),
    ("while True: pass", "TLE", 2),
    ("x = [bytes(2**20 + i) for i in range(10**4)]", "MLE", 3),
    ("while True: print('x' * 999)", "OLE", 3),
    ("import threading; [threading.Thread(target=print).start() for _ in range(9)]", "WA", 3),
    ("import numpy; print(input())", "AC", 5),
]
FUNCTIONS = [
    ("def f(n): return n + 1", "AC"),
    ("def f(n): return n", "WA"),
    ("def f(n): raise ValueError", "RE"),
    ("def f(n): import os; os._exit(0)", "RE"),
    ("def f(n", "CE"),
    ("def f(n): return [n] * 10**9", "MLE"),
]


def mixed_jobs(count: int) -> list[tuple[Job, str]]:
    """Return jobs of every kind and the verdict of each, the same ones every time."""
    random_numbers = random.Random(7)
    jobs: list[tuple[Job, str]] = []
    for number in range(count):
        if random_numbers.random() < 0.7:
            (program, verdict, _), *_ = random_numbers.choices(
                PROGRAMS, [weight for *_, weight in PROGRAMS]
            )
            # A canary that only this job's right output holds.
            test: Test = StdioTest(f"canary {number}\n", f"canary {number}")
            task = Task(str(number), "", Stdio(), hidden_tests=(test,), limits=LIMITS)
        else:
            program, verdict = random_numbers.choice(FUNCTIONS)
            call = CallTest((number,), {}, number + 1)
            code = AssertTest(f"assert f({number}) == {number + 1}")
            test = call if random_numbers.random() < 0.5 else code
            task = Task(str(number), "", Function("f"), hidden_tests=(test,), limits=LIMITS)
        jobs.append(((task, program), verdict))
    return jobs


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> set[int]:
    """Return this process's living and dead children."""
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


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def soak(count: int) -> None:
    jobs = mixed_jobs(count)
    before = descriptors(), children()
    with LocalExecutor(2) as executor:
        # Both workers have three kinds of warm process: plain, numpy, and the judge's.
        for _ in range(50):
            assert len(list(executor.map(job for job, _ in jobs[:100]))) == 100
            if len(children() - before[1]) == 6:
                break
        warm = descriptors(), children()
        sizes = {pid: resident_bytes(pid) for pid in warm[1] - before[1]}
        judged = list(executor.map(job for job, _ in jobs))
        assert descriptors() == warm[0]
        assert children() == warm[1]
        for pid, size in sizes.items():
            assert resident_bytes(pid) < size + 2 * 2**20
    assert [j.task_id for j in judged] == [task.id for (task, _), _ in jobs]
    wrong = [
        (jobs[n][0][1], j.verdict.value, jobs[n][1])
        for n, j in enumerate(judged)
        if j.verdict.value != jobs[n][1]
    ]
    assert not wrong
    assert (descriptors(), children()) == before


def test_hundreds_of_mixed_programs_leave_nothing_and_mix_nothing_up() -> None:
    soak(500)


@pytest.mark.slow
def test_fifty_thousand_mixed_programs_leave_nothing_and_mix_nothing_up() -> None:
    soak(50_000)
