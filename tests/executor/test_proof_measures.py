"""What the measures promise: relations that hold on any machine, however busy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from corecode_env.core.task import Limits, Stdio, StdioTest, Task
from corecode_env.core.verdict import TestResult
from corecode_env.executor import LocalExecutor

LIMITS = Limits(cpu_seconds=20.0, wall_seconds=200.0, memory_bytes=2**30)
MB = 2**20
FILL = "x = bytearray({} * 2**20)\nx[::4096] = b'x' * len(x[::4096])\n"
LOOP = "import time\nwhile time.process_time() < {}: pass\n"


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(1) as made:
        yield made


def measure(executor: LocalExecutor, program: str) -> TestResult:
    test = StdioTest("", "")
    task = Task("measure", "", Stdio(), hidden_tests=(test,), limits=LIMITS)
    (result,) = executor.judge(task, program).results
    assert result.exit == 0, result
    return result


@pytest.mark.parametrize("megabytes", [1, 10, 100, 300])
def test_peak_memory_is_what_a_program_took_to_a_few_mib(
    megabytes: int, executor: LocalExecutor
) -> None:
    peaks = [measure(executor, FILL.format(megabytes)).peak_bytes for _ in range(3)]
    assert all(megabytes * MB <= peak <= (megabytes + 4) * MB for peak in peaks)
    assert max(peaks) - min(peaks) <= MB


def test_memory_that_was_given_back_counts(executor: LocalExecutor) -> None:
    assert measure(executor, FILL.format(50) + "del x\n").peak_bytes >= 50 * MB


def test_the_memory_of_an_earlier_program_does_not_count(executor: LocalExecutor) -> None:
    measure(executor, FILL.format(300))
    assert measure(executor, "pass").peak_bytes < 4 * MB


def test_sleep_takes_wall_time_and_no_cpu_time(executor: LocalExecutor) -> None:
    result = measure(executor, "import time\ntime.sleep(1)")
    assert result.wall_seconds >= 1.0
    assert result.cpu_seconds < 0.5


def test_cpu_time_is_at_least_what_the_program_used_by_its_own_clock(
    executor: LocalExecutor,
) -> None:
    # Its own clock began at its fork, some milliseconds of set-up earlier.
    result = measure(executor, LOOP.format(0.5))
    assert 0.45 <= result.cpu_seconds <= result.wall_seconds + 0.1


def test_more_work_takes_more_cpu_time(executor: LocalExecutor) -> None:
    used = [measure(executor, LOOP.format(t)).cpu_seconds for t in (0.1, 0.4, 1.0)]
    assert used == sorted(used)


def test_the_time_of_all_threads_counts(executor: LocalExecutor) -> None:
    program = (
        "import hashlib, threading\ndata = bytes(10**7)\n"
        "def work():\n    for _ in range(4): hashlib.sha256(data)\n"
        "threads = [threading.Thread(target=work) for _ in range({})]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\n"
    )
    one = measure(executor, program.format(1)).cpu_seconds
    assert measure(executor, program.format(4)).cpu_seconds > 2 * one


def test_no_clock_or_counter_of_the_program_is_asked(executor: LocalExecutor) -> None:
    patched = (
        "import os, resource, time\nclock = time.process_time\n"
        "time.process_time = time.perf_counter = time.time = lambda: 0.0\n"
        "os.times = lambda: (0.0,) * 5\nresource.getrusage = lambda who: None\n"
        "while clock() < 0.5: pass\n"
    )
    assert measure(executor, patched).cpu_seconds >= 0.45
