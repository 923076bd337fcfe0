"""Remembering: an executor that judges equal programs of a task once.

    LocalExecutor  ->  RememberingExecutor

Policies that learn repeat themselves: of the programs for one plan many are equal, and more
with every step. A program that is random or looks at a clock gets one verdict for all its
copies; where that matters, do not remember.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Iterator
from concurrent.futures import Future
from threading import Lock
from typing import Final, NamedTuple

from corecode_env.core.errors import BadConfig
from corecode_env.core.seams import Executor, Job
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement, Verdict

MOST: Final = 10_000
"""Judgements that are kept, those asked for last."""


class _Entry(NamedTuple):
    """What was asked, and what was said or will be."""

    task: Task
    said: Future[Judgement]

    def is_of(self, task: Task) -> bool:
        return self.task is task or self.task == task


class RememberingExecutor:
    """Keeps what another executor said of a task and a program's text.

    Tasks are told apart by all that they say, not by their ids alone: environments judge
    tasks that they derive, under one id, with inputs that agents made.

    Equal programs that are asked for at the same time are judged once too. A failure of the
    sandbox is not kept: the next copy is judged anew. `map` and `amap` do not remember.

    Args:
        executor: Who judges; closed with this one.
        most: Judgements that are kept.

    Raises:
        BadConfig: If none could be kept.
    """

    def __init__(self, executor: Executor, most: int = MOST) -> None:
        """Remember nothing yet."""
        if most < 1:
            raise BadConfig(f"most must be at least 1, got {most}")
        self.executor, self.most = executor, most
        self._known: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._lock = Lock()

    def judge(self, task: Task, program: str) -> Judgement:
        """Return the judgement of an equal program, or else judge this one."""
        key = (task.id, program)
        mine = _Entry(task, Future())
        with self._lock:
            entry = self._known.setdefault(key, mine)
            if not entry.is_of(task):
                entry = self._known[key] = mine
            self._known.move_to_end(key)
            if len(self._known) > self.most:
                self._known.popitem(last=False)
        if entry is not mine:
            return entry.said.result()
        try:
            judgement = self.executor.judge(task, program)
        except BaseException as error:
            self._forget(key, mine)
            mine.said.set_exception(error)
            raise
        if judgement.verdict is Verdict.SE:
            self._forget(key, mine)
        mine.said.set_result(judgement)
        return judgement

    def map(self, jobs: Iterable[Job]) -> Iterator[Judgement]:
        """Judge as the other executor does."""
        return self.executor.map(jobs)

    def amap(self, jobs: Iterable[Job]) -> AsyncIterator[Judgement]:
        """Judge as the other executor does."""
        return self.executor.amap(jobs)

    def close(self) -> None:
        """Close the other executor."""
        self.executor.close()

    def __deepcopy__(self, memo: dict[int, object]) -> RememberingExecutor:
        """Return itself: whoever copies settings (`gymnasium.make` does) shares it."""
        return self

    def _forget(self, key: tuple[str, str], entry: _Entry) -> None:
        with self._lock:
            if self._known.get(key) is entry:
                del self._known[key]
