"""What a map over very many jobs promises: bounded memory, each answer once, an end anytime."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Iterator
from typing import ClassVar

import pytest

from corecode_env.core.errors import ExecutorError
from corecode_env.core.seams import Job
from corecode_env.core.task import Stdio, StdioTest, Task
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.executor import LocalExecutor
from corecode_env.executor.batch import WINDOW_PER_THREAD, Batch
from corecode_env.executor.bench import Bench, Gate, LoadReading
from corecode_env.executor.start import ZygoteSettings

MANY = 100_000
THREADS = 2


def batch(
    jobs: Iterable[Job], *, ordered: bool = True, deadline: float | None = None
) -> Batch:
    """Return a batch over benches on which no process ever starts."""
    free = [
        Bench(lambda role, kind: ZygoteSettings(role), Gate(), LoadReading())
        for _ in range(THREADS)
    ]
    lock = threading.Lock()

    def borrow() -> Bench:
        with lock:
            return free.pop()

    def give_back(bench: Bench) -> None:
        bench.resume()
        free.append(bench)

    def judge(task: Task, program: str, bench: Bench) -> Judgement:
        verdict = Verdict.AC if program == task.id else Verdict.WA
        return Judgement(task.id, (TestResult(verdict),))

    return Batch(
        jobs,
        borrow=borrow,
        give_back=give_back,
        judge=judge,
        threads=THREADS,
        deadline=deadline,
        ordered=ordered,
    )


class Program(str):
    """A program that shows how many of its kind are alive, whichever thread lets go."""

    living: ClassVar[set[int]] = set()

    def __init__(self, text: str) -> None:
        Program.living.add(id(self))

    def __del__(self) -> None:
        Program.living.discard(id(self))


def job(number: int) -> Job:
    task = Task(str(number), "", Stdio(), hidden_tests=(StdioTest("", str(number)),))
    return task, Program(str(number) if number % 3 else "wrong")


def read(made: Batch) -> Iterator[tuple[int, Judgement]]:
    made.start()
    try:
        while (item := made.next()) is not None:
            yield item
    finally:
        made.close()


@pytest.mark.parametrize("ordered", [True, False])
def test_a_hundred_thousand_jobs_stream_in_the_memory_of_a_few(ordered: bool) -> None:
    before, most = len(Program.living), 0
    seen = bytearray(MANY)
    results = read(batch((job(n) for n in range(MANY)), ordered=ordered))
    for done, (index, judgement) in enumerate(results):
        assert judgement.task_id == str(index) and judgement.passed == bool(index % 3)
        assert not ordered or index == done
        seen[index] += 1
        most = max(most, len(Program.living) - before)
    assert seen == bytearray(b"\1") * MANY
    assert most <= WINDOW_PER_THREAD * THREADS + THREADS + 1


def test_a_long_batch_can_be_cancelled_in_its_middle() -> None:
    made = batch(job(n) for n in itertools.count())
    results = read(made)
    assert [next(results)[0] for _ in range(1000)] == list(range(1000))
    made.cancel("enough")
    read_on = 0
    with pytest.raises(ExecutorError, match="enough after 1000 results"):
        for _ in results:
            read_on += 1  # what was judged by then
    assert read_on <= WINDOW_PER_THREAD * THREADS


def test_a_long_batch_ends_at_its_deadline() -> None:
    began = time.monotonic()
    with pytest.raises(ExecutorError, match=r"must end within 0\.5 s"):
        for _ in read(batch((job(n) for n in itertools.count()), deadline=0.5)):
            pass
    assert time.monotonic() - began < 20


@pytest.mark.slow
def test_twenty_thousand_real_programs_stream_and_are_answered_once() -> None:
    def jobs() -> Iterator[Job]:
        for number in range(20_000):
            test = StdioTest("", str(number))
            yield Task(str(number), "", Stdio(), hidden_tests=(test,)), f"print({number})"

    with LocalExecutor(THREADS) as executor:
        seen = bytearray(20_000)
        for index, judgement in executor.as_completed(jobs()):
            assert judgement.passed and judgement.task_id == str(index)
            seen[index] += 1
    assert seen == bytearray(b"\1") * 20_000
