"""What batches promise: order, bounded memory, an end at any time, threads and asyncio."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
from collections.abc import Iterator

import pytest

from corecode_env.core.errors import BadConfig, ExecutorError
from corecode_env.core.seams import Executor, Job
from corecode_env.core.task import Limits, Stdio, StdioTest, Task
from corecode_env.executor import LocalExecutor
from corecode_env.executor.batch import WINDOW_PER_THREAD

WORKERS = 2


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(WORKERS) as made:
        yield made


def task(number: int, **limits: float) -> Task:
    return Task(
        str(number),
        "Print a number.",
        Stdio(),
        hidden_tests=(StdioTest("", str(number)),),
        limits=Limits(**limits),  # type: ignore[arg-type]
    )


def job(number: int, delay: float = 0.0) -> Job:
    return task(number), f"import time\ntime.sleep({delay})\nprint({number})"


SLEEPER = (task(0, wall_seconds=60.0), "import time; time.sleep(60)")


def test_a_local_executor_is_an_executor(executor: LocalExecutor) -> None:
    assert isinstance(executor, Executor)


def test_map_keeps_the_order_of_the_jobs(executor: LocalExecutor) -> None:
    delays = [0.3, 0.0, 0.2, 0.0, 0.0, 0.1, 0.0, 0.0]
    judgements = list(executor.map(job(n, delay) for n, delay in enumerate(delays)))
    assert [judgement.task_id for judgement in judgements] == [str(n) for n in range(8)]
    assert all(judgement.passed for judgement in judgements)


def test_as_completed_yields_what_is_done_first(executor: LocalExecutor) -> None:
    jobs = [job(0, 0.5), *(job(n) for n in range(1, 6))]
    pairs = list(executor.as_completed(jobs))
    assert [index for index, _ in pairs][-1] == 0
    assert sorted((index, judgement.task_id) for index, judgement in pairs) == [
        (n, str(n)) for n in range(6)
    ]


def test_an_endless_stream_of_jobs_is_taken_only_as_far_as_it_is_read(
    executor: LocalExecutor,
) -> None:
    taken = itertools.count()
    results = executor.map(job(next(taken)) for _ in itertools.repeat(None))
    read = [next(results) for _ in range(100)]
    results.close()  # type: ignore[attr-defined]
    assert [judgement.task_id for judgement in read] == [str(n) for n in range(100)]
    assert next(taken) <= 100 + WINDOW_PER_THREAD * WORKERS + 1


def test_a_stream_that_is_slow_to_come_holds_nothing_back(executor: LocalExecutor) -> None:
    first_is_read = threading.Event()

    def jobs() -> Iterator[Job]:
        yield job(0)
        assert first_is_read.wait(30)
        yield job(1)

    results = executor.map(jobs())
    assert next(results).task_id == "0"
    first_is_read.set()
    assert [judgement.task_id for judgement in results] == ["1"]


def test_an_empty_batch_is_empty(executor: LocalExecutor) -> None:
    assert list(executor.map([])) == []


def test_leaving_a_batch_early_kills_what_runs(executor: LocalExecutor) -> None:
    began = time.monotonic()
    for _, judgement in executor.as_completed([job(1), SLEEPER, SLEEPER, SLEEPER]):
        assert judgement.passed
        break
    gc.collect()
    assert executor.judge(*job(2)).passed
    assert time.monotonic() - began < 20


def test_a_deadline_ends_a_batch_after_what_was_done(executor: LocalExecutor) -> None:
    results = executor.map([job(0), SLEEPER], deadline=1.0)
    assert next(results).passed
    with pytest.raises(ExecutorError, match=r"must end within 1.0 s, got 1 results"):
        next(results)
    assert executor.judge(*job(2)).passed


@pytest.mark.parametrize("deadline", [0, -1.0, float("nan")])
def test_a_deadline_must_be_positive(executor: LocalExecutor, deadline: float) -> None:
    with pytest.raises(BadConfig, match="deadline must be positive"):
        executor.map([], deadline=deadline)


def test_cancel_ends_all_batches_and_only_them(executor: LocalExecutor) -> None:
    results = executor.map([job(0), SLEEPER])
    assert next(results).passed
    executor.cancel()
    with pytest.raises(ExecutorError, match="was cancelled after 1 results"):
        next(results)
    assert executor.judge(*job(2)).passed


def test_what_the_jobs_raise_reaches_the_reader(executor: LocalExecutor) -> None:
    def jobs() -> Iterator[Job]:
        yield job(0)
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        list(executor.map(jobs()))


def test_closing_the_executor_ends_its_batches() -> None:
    executor = LocalExecutor(1)
    results = executor.map([job(0), SLEEPER])
    assert next(results).passed
    executor.close()
    with pytest.raises(ExecutorError):
        next(results)
    with pytest.raises(ExecutorError, match="closed; make a new one"):
        executor.judge(*job(0))
    executor.close()


def test_judge_is_safe_from_many_threads(executor: LocalExecutor) -> None:
    answers: dict[int, bool] = {}

    def ask(number: int) -> None:
        for n in range(number * 10, number * 10 + 10):
            answers[n] = executor.judge(*job(n)).task_id == str(n)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == dict.fromkeys(range(60), True)


def test_an_executor_outlives_the_thread_that_first_used_it() -> None:
    with LocalExecutor(1) as executor:
        thread = threading.Thread(target=executor.judge, args=job(0))
        thread.start()
        thread.join()
        assert executor.judge(*job(1)).passed


# ------------------------------------------------------------------------ asyncio
def test_amap_keeps_order_and_leaves_the_loop_free(executor: LocalExecutor) -> None:
    async def play() -> tuple[list[str], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        ids = [j.task_id async for j in executor.amap([job(0, 0.5), job(1, 0.4), job(2)])]
        ticking.cancel()
        return ids, ticks

    ids, ticks = asyncio.run(play())
    assert ids == ["0", "1", "2"]
    assert ticks > 10


def test_two_amaps_run_side_by_side(executor: LocalExecutor) -> None:
    async def collect(start: int) -> list[str]:
        return [j.task_id async for j in executor.amap(job(start + n) for n in range(5))]

    async def play() -> list[list[str]]:
        return list(await asyncio.gather(collect(0), collect(100)))

    assert asyncio.run(play()) == [
        [str(n) for n in range(5)],
        [str(n) for n in range(100, 105)],
    ]


def test_a_cancelled_amap_kills_what_runs(executor: LocalExecutor) -> None:
    async def read() -> None:
        async for _ in executor.amap([SLEEPER]):
            raise AssertionError("the program cannot be done")

    async def play() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(read(), 0.5)

    began = time.monotonic()
    asyncio.run(play())
    assert executor.judge(*job(1)).passed
    assert time.monotonic() - began < 20


def test_amap_has_a_deadline_and_tells_of_failing_jobs(executor: LocalExecutor) -> None:
    def failing() -> Iterator[Job]:
        yield job(0)
        raise KeyError("no more")

    async def read(jobs: object, deadline: float | None) -> list[str]:
        found = executor.amap(jobs, deadline=deadline)  # type: ignore[arg-type]
        return [j.task_id async for j in found]

    with pytest.raises(ExecutorError, match="must end within"):
        asyncio.run(read([SLEEPER], 0.5))
    with pytest.raises(KeyError, match="no more"):
        asyncio.run(read(failing(), None))
