"""Local: judging programs on this machine's cores.

    (Task, program), ...  ->  LocalExecutor  ->  Judgement, ...

A worker is a bench of warm processes and whoever uses it at the moment: the thread that
calls `judge`, or a thread of a batch. Nothing runs between calls, so a trainer may fork,
end threads or handle signals as it likes; a forked child starts warm processes of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from types import TracebackType

from corecode_env.core.errors import BadConfig, ExecutorError, IsolationRefused
from corecode_env.core.seams import Job
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement
from corecode_env.executor import judging
from corecode_env.executor.batch import Batch, Item
from corecode_env.executor.bench import Bench, Gate, LoadReading
from corecode_env.executor.isolation import (
    LEVELS,
    IsolationReport,
    acceptable,
    floor_fields,
    measure_isolation,
)
from corecode_env.executor.language import Language, Python
from corecode_env.executor.start import PRELOAD, ZygoteSettings


class LocalExecutor:
    """Judges programs in warm, sandboxed processes on this machine.

    Safe to use from many threads, from asyncio (`amap`), and after a fork. Warm processes
    start with the first job. Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        workers: int | None = None,
        min_isolation: str = "L2",
        *,
        preload: Sequence[str] = PRELOAD,
        numpy: bool = True,
    ) -> None:
        """Set the executor up; nothing starts before the first job.

        Args:
            workers: Programs that run at once; None: one per core of this process.
            min_isolation: Weakest isolation level to accept: `L3`, `L2`, `L2-`, `L1`, `L0`.
            preload: Modules that are loaded before the first program comes.
            numpy: Whether programs that mention numpy may import it.

        Raises:
            BadConfig: If an argument cannot work.
        """
        if workers is not None and (isinstance(workers, bool) or workers < 1):
            raise BadConfig(f"workers must be at least 1 or None, got {workers!r}")
        if min_isolation not in LEVELS:
            raise BadConfig(f"min_isolation must be one of {LEVELS}, got {min_isolation!r}")
        self.workers = workers or len(os.sched_getaffinity(0))
        self.min_isolation = min_isolation
        self.language: Language = Python(numpy=numpy)
        self._preload = tuple(preload)
        self._closed = False
        self._report: IsolationReport | None = None
        self._fresh_start()
        _LIVING.add(self)

    def _fresh_start(self) -> None:
        self._lock = threading.Condition()
        self._idle: list[Bench] = []
        self._all: list[Bench] = []
        self._batches: weakref.WeakSet[Batch] = weakref.WeakSet()
        self._gate = Gate()
        self._overloaded = LoadReading()

    # -------------------------------------------------------------------- judging
    def judge(self, task: Task, program: str) -> Judgement:
        """Judge one program on all tests of a task; blocks until done.

        Raises:
            IsolationRefused: If this machine cannot give the isolation asked for.
            ExecutorError: If the executor is closed or cannot start processes.
        """
        bench = self._borrow()
        try:
            return judging.judge(task, program, bench, self.language)
        finally:
            self._give_back(bench)

    def map(
        self, jobs: Iterable[Job], *, deadline: float | None = None
    ) -> Iterator[Judgement]:
        """Judge many programs; results in the order of the jobs, in bounded memory.

        Args:
            jobs: Tasks and programs. They are taken one at a time, a little ahead of the
                results, from the executor's threads.
            deadline: Seconds for the whole batch; None: no limit.

        Raises:
            ExecutorError: If the deadline passes or the batch is cancelled; what was
                judged by then has been yielded.
        """
        return (judgement for _, judgement in self._batch(jobs, deadline, ordered=True))

    def as_completed(
        self, jobs: Iterable[Job], *, deadline: float | None = None
    ) -> Iterator[tuple[int, Judgement]]:
        """Judge many programs; yield (index of the job, judgement) as each is done.

        Args and errors as for `map`.
        """
        return self._batch(jobs, deadline, ordered=False)

    async def amap(
        self, jobs: Iterable[Job], *, deadline: float | None = None
    ) -> AsyncIterator[Judgement]:
        """Judge many programs without blocking the event loop; in the order of the jobs.

        Args and errors as for `map`.
        """
        batch = self._new_batch(jobs, deadline, ordered=True)
        loop = asyncio.get_running_loop()
        left = batch.seconds_left
        alarm = None if left is None else loop.call_later(left, batch.too_late)
        batch.start()
        try:
            while (item := await _next_of(batch, loop)) is not None:
                yield item[1]
        finally:
            if alarm is not None:
                alarm.cancel()
            # Not `close`, which waits: the loop has other things to do.
            batch.cancel("the batch was given up")

    def _batch(
        self, jobs: Iterable[Job], deadline: float | None, *, ordered: bool
    ) -> Iterator[tuple[int, Judgement]]:
        return _read(self._new_batch(jobs, deadline, ordered=ordered))

    def _new_batch(
        self, jobs: Iterable[Job], deadline: float | None, *, ordered: bool
    ) -> Batch:
        if deadline is not None and not deadline > 0:
            raise BadConfig(f"deadline must be positive or None, got {deadline!r}")
        batch = Batch(
            jobs,
            borrow=self._borrow,
            give_back=self._give_back,
            judge=lambda task, program, bench: judging.judge(
                task, program, bench, self.language
            ),
            threads=self.workers,
            deadline=deadline,
            ordered=ordered,
        )
        self._batches.add(batch)
        return batch

    def cancel(self) -> None:
        """Cancel all batches: their iterators raise, their processes are killed."""
        for batch in list(self._batches):
            batch.cancel("the batch was cancelled")

    # ------------------------------------------------------------------ isolation
    def isolation(self) -> IsolationReport:
        """Return the isolation level and how it was found, measuring it if need be."""
        if self._report is None:
            self._report = _measured(lambda: self._settings("candidate", "plain"))
        return self._report

    def _settings(self, role: str, kind: str) -> ZygoteSettings:
        packages = ("numpy",) if kind == "numpy" else ()
        fields, paths = floor_fields(packages)
        return ZygoteSettings(
            role=role, preload=self._preload + packages, paths=paths, floor=fields
        )

    # -------------------------------------------------------------------- benches
    def _borrow(self) -> Bench:
        """Wait for a free bench; the caller gives it back."""
        with self._lock:
            while True:
                if self._closed:
                    raise ExecutorError("the executor is closed; make a new one")
                if self._idle:
                    return self._idle.pop()
                if len(self._all) < self.workers:
                    return self._new_bench()
                self._lock.wait()

    def _new_bench(self) -> Bench:
        report = self.isolation()
        if not acceptable(report.level, self.min_isolation):
            raise IsolationRefused(
                f"isolation must be at least {self.min_isolation}, this machine gives "
                f"{report.level} ({report.summary()}); `corecode doctor` says how to get "
                f'more; to accept less: LocalExecutor(min_isolation="{report.level}")'
            )
        bench = Bench(self._settings, self._gate, self._overloaded, report.level)
        self._all.append(bench)
        return bench

    def _give_back(self, bench: Bench) -> None:
        with self._lock:
            if self._closed or bench not in self._all:
                bench.close()
                return
            bench.resume()
            self._idle.append(bench)
            self._lock.notify()

    # ------------------------------------------------------------------------ end
    def close(self) -> None:
        """End all warm processes; bounded in time, idempotent."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = [bench for bench in self._all if bench not in idle]
            self._all = []
            self._lock.notify_all()
        self.cancel()
        for bench in busy:  # closed by whoever uses it now
            bench.interrupt()
        for bench in idle:
            bench.close()

    def __deepcopy__(self, memo: dict[int, object]) -> LocalExecutor:
        """Return itself: whoever copies settings (`gymnasium.make` does) shares it."""
        return self

    def __enter__(self) -> LocalExecutor:
        """Return the executor itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the executor."""
        self.close()

    def __del__(self) -> None:
        """End what was left running, where `close` was forgotten."""
        # At interpreter exit the attributes may be gone already.
        for bench in getattr(self, "_all", ()):
            bench.close()

    def _after_fork(self) -> None:
        # Locks may be held by threads that do not exist here, and the warm processes
        # answer to the parent alone.
        for bench in self._all:
            bench.abandon()
        self._fresh_start()


def _read(batch: Batch) -> Iterator[Item]:
    batch.start()
    try:
        while (item := batch.next()) is not None:
            yield item
    finally:
        batch.close()


async def _next_of(batch: Batch, loop: asyncio.AbstractEventLoop) -> Item | None:
    future: asyncio.Future[Item | None] = loop.create_future()

    def settle(item: Item | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(item)

    def tell(item: Item | None, error: BaseException | None) -> None:
        try:
            loop.call_soon_threadsafe(settle, item, error)
        except RuntimeError:
            pass  # the loop was closed meanwhile: nobody waits any more

    batch.when_next(tell)
    return await future


_measuring = threading.Lock()
_report_of_process: list[IsolationReport] = []


def _measured(settings: Callable[[], ZygoteSettings]) -> IsolationReport:
    """Measure the isolation of this machine, once per process."""
    with _measuring:
        if not _report_of_process:
            _report_of_process.append(measure_isolation(settings))
        return _report_of_process[0]


_LIVING: weakref.WeakSet[LocalExecutor] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    global _measuring
    _measuring = threading.Lock()  # a thread that is not here may have held it
    for executor in list(_LIVING):
        executor._after_fork()


def _at_exit() -> None:
    for executor in list(_LIVING):
        executor.close()


os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_at_exit)
