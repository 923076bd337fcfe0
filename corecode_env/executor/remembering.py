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
from typing import Final

from corecode_env.core.errors import BadConfig
from corecode_env.core.seams import Executor, Job
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement, Verdict

MOST: Final = 10_000
"""Judgements that are kept, those asked for last."""


class RememberingExecutor:
    """Keeps what another executor said, by the task's id and the program's text.

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
        self._known: OrderedDict[tuple[str, str], Future[Judgement]] = OrderedDict()
        self._lock = Lock()

    def judge(self, task: Task, program: str) -> Judgement:
        """Return the judgement of an equal program, or else judge this one."""
        key = (task.id, program)
        mine: Future[Judgement] = Future()
        with self._lock:
            entry = self._known.setdefault(key, mine)
            self._known.move_to_end(key)
            if len(self._known) > self.most:
                self._known.popitem(last=False)
        if entry is not mine:
            return entry.result()
        try:
            judgement = self.executor.judge(task, program)
        except BaseException as error:
            self._forget(key, mine)
            mine.set_exception(error)
            raise
        if judgement.verdict is Verdict.SE:
            self._forget(key, mine)
        mine.set_result(judgement)
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

    def _forget(self, key: tuple[str, str], entry: Future[Judgement]) -> None:
        with self._lock:
            if self._known.get(key) is entry:
                del self._known[key]
