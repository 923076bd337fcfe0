"""Batches: many jobs over a few threads, with bounded memory and a way to stop.

    jobs (taken one at a time)  ->  threads  ->  results, in order or as they come

A thread takes the next job only while few results wait for their reader, so a batch of
any length needs the memory of a few.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from corecode_env.core.errors import ExecutorError
from corecode_env.core.seams import Job
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement
from corecode_env.executor.bench import Bench, Cancelled

WINDOW_PER_THREAD: Final = 32
"""Jobs in work or waiting for their reader, per thread: one slow job at the head holds
up only so many behind it."""
END_SECONDS: Final = 10.0

Item = tuple[int, Judgement]
Tell = Callable[[Item | None, BaseException | None], None]


class Batch:
    """One pass over an iterable of jobs."""

    def __init__(
        self,
        jobs: Iterable[Job],
        *,
        borrow: Callable[[], Bench],
        give_back: Callable[[Bench], None],
        judge: Callable[[Task, str, Bench], Judgement],
        threads: int,
        deadline: float | None,
        ordered: bool,
    ) -> None:
        """Prepare; nothing is taken before `start`."""
        self._jobs = iter(jobs)
        self._taking = threading.Lock()
        self._borrow, self._give_back, self._judge = borrow, give_back, judge
        self._most_threads, self._threads = threads, 0
        self._window = WINDOW_PER_THREAD * threads
        self._seconds = deadline
        self._deadline = float("inf") if deadline is None else time.monotonic() + deadline
        self._ordered = ordered
        self._owner = os.getpid()
        self._changed = threading.Condition()
        self._taken = self._yielded = self._judging = 0
        self._exhausted = self._stopped = False
        self._error: BaseException | None = None
        self._done: dict[int, Judgement] = {}
        self._running: set[Bench] = set()
        self._tell: Tell | None = None

    def start(self) -> None:
        """Begin to take jobs."""
        with self._changed:
            self._add_thread()

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the deadline; None if there is none."""
        return None if self._seconds is None else max(0.0, self._deadline - time.monotonic())

    # -------------------------------------------------------------------- reading
    def next(self) -> Item | None:
        """Wait for the next result; None when there are no more.

        Raises:
            ExecutorError: If the batch was cancelled or its deadline passed.
            Exception: What the iterable of jobs raised.
        """
        if os.getpid() != self._owner:
            raise ExecutorError(
                "a batch must be read in the process that began it, got a forked child: its "
                "threads stayed behind; call map again in the child"
            )
        with self._changed:
            while True:
                found, item = self._ready_item()
                if found:
                    return item
                left = self.seconds_left
                if left == 0.0:
                    self._stop(self._too_late())
                    continue
                self._changed.wait(left)

    def when_next(self, tell: Tell) -> None:
        """Have `tell(item, error)` called once, from any thread, with the next result."""
        with self._changed:
            self._tell = tell
            self._tell_if_ready()

    def _ready_item(self) -> tuple[bool, Item | None]:
        index = self._yielded if self._ordered else next(iter(self._done), -1)
        if index in self._done:
            self._yielded += 1
            self._changed.notify_all()
            return True, (index, self._done.pop(index))
        if self._error is not None:
            raise self._error
        if self._stopped or (self._exhausted and self._taken == self._yielded):
            return True, None
        return False, None

    def _tell_if_ready(self) -> None:
        if self._tell is None:
            return
        error: BaseException | None = None
        item: Item | None = None
        try:
            found, item = self._ready_item()
        except BaseException as raised:
            found, error = True, raised
        if found:
            tell, self._tell = self._tell, None
            tell(item, error)

    # ------------------------------------------------------------------- stopping
    def cancel(self, why: str) -> None:
        """Stop: kill what runs, take nothing more, let the reader see why."""
        if os.getpid() == self._owner:
            with self._changed:
                self._stop(ExecutorError(f"{why} after {self._yielded} results"))

    def too_late(self) -> None:
        """Stop because the deadline has passed."""
        with self._changed:
            self._stop(self._too_late())

    def close(self) -> None:
        """Stop and wait, bounded in time, until nothing of the batch runs."""
        if os.getpid() != self._owner:
            return
        with self._changed:
            self._stop(None)
            self._changed.wait_for(lambda: not self._judging, END_SECONDS)

    def _too_late(self) -> ExecutorError:
        return ExecutorError(
            f"the batch must end within {self._seconds} s, got {self._yielded} results by "
            "then; give it a longer deadline, or fewer jobs"
        )

    def _stop(self, error: BaseException | None) -> None:
        if self._stopped:
            return
        self._stopped = True
        finished = self._exhausted and self._taken == self._yielded
        if self._error is None and not finished:
            self._error = error
        for bench in self._running:
            bench.interrupt()
        self._changed.notify_all()
        self._tell_if_ready()

    # -------------------------------------------------------------------- working
    def _add_thread(self) -> None:
        if self._threads < self._most_threads:
            self._threads += 1
            name = f"corecode-batch-{self._threads}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while self._may_take():
            with self._taking:
                taken = self._take()
            if taken is None:
                return
            index, (task, program) = taken
            try:
                judgement = self._judge_one(task, program)
            except Cancelled:
                return
            except BaseException as error:
                self._fail(error)
                return
            with self._changed:
                self._done[index] = judgement
                self._changed.notify_all()
                self._tell_if_ready()

    def _may_take(self) -> bool:
        with self._changed:
            while not (self._stopped or self._exhausted):
                if self._taken - self._yielded < self._window:
                    return True
                self._changed.wait()
            return False

    def _take(self) -> tuple[int, Job] | None:
        if self._stopped or self._exhausted:
            return None
        try:
            job = next(self._jobs)
        except StopIteration:
            with self._changed:
                self._exhausted = True
                self._changed.notify_all()
                self._tell_if_ready()
            return None
        except BaseException as error:
            self._fail(error)
            return None
        with self._changed:
            index = self._taken
            self._taken += 1
            self._add_thread()
        return index, job

    def _judge_one(self, task: Task, program: str) -> Judgement:
        bench = self._borrow()
        with self._changed:
            self._judging += 1
            self._running.add(bench)
            if self._stopped:
                bench.interrupt()
        try:
            bench.check()
            return self._judge(task, program, bench)
        finally:
            with self._changed:
                self._running.discard(bench)
            self._give_back(bench)
            with self._changed:
                self._judging -= 1
                self._changed.notify_all()

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            if not self._stopped:
                self._error = error
                self._stop(error)
