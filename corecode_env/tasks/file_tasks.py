"""File tasks: a task set that leaves its tasks in their file.

    path, and where each record begins  ->  FileTaskSet  ->  one task at a time

Public sets of contest problems are files of several gigabytes. What is kept of a task is
its id, its split and its place; the rest is read each time it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Self, overload

from corecode_env.core.errors import BadConfig, BadRecord
from corecode_env.core.registry import unknown_name
from corecode_env.core.task import Task
from corecode_env.tasks.files import record_at
from corecode_env.tasks.formats import FORMATS, Format, Where
from corecode_env.tasks.taskset import TaskSet, split_of


class Placed(NamedTuple):
    """What is kept of a task in a file."""

    id: str
    split: str
    source_id: str
    format: str
    offset: int
    """Where its line begins, in bytes."""
    number: int
    """Number of its line, from 1."""

    @classmethod
    def of(cls, task: Task, format: Format, offset: int, number: int) -> Self:
        """Keep what is needed of a task."""
        source_id = str(task.metadata.get("source_id", ""))
        return cls(task.id, split_of(task), source_id, format.name, offset, number)


class FileTasks(Sequence[Task]):
    """The tasks at some places of a `.jsonl` file."""

    def __init__(self, path: Path, places: Iterable[Placed]) -> None:
        """Keep the places; nothing is read yet."""
        self.path = path
        self.places = tuple(places)

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> FileTasks: ...
    def __getitem__(self, index: int | slice) -> Task | FileTasks:
        """Read one task, or return the tasks of a slice without reading them.

        Raises:
            BadConfig: If the file is gone, or holds another task in this place by now.
            BadRecord: If there is no task in this place any more.
        """
        if isinstance(index, slice):
            return FileTasks(self.path, self.places[index])
        return _task_at(self.path, self.places[index])


# The members of a group play one task, so the last few are asked for again at once.
@lru_cache(maxsize=4)
def _task_at(path: Path, place: Placed) -> Task:
    record = record_at(path, place.offset, place.number)
    task = FORMATS[place.format].task(record, Where(str(path), place.number))
    if task.id != place.id:
        raise BadConfig(
            f"a task file must not change while it is used, got {task.id!r} in the place of "
            f"{place.id!r} in {path}; load it again"
        )
    return task


class FileTaskSet(TaskSet):
    """A task set whose tasks stay in their file.

    `ids`, `split`, `shuffle`, `head`, slices and `require_trainable` read nothing; `filter`
    reads every task once. `mix` returns a set that holds its tasks in memory.
    """

    def __init__(self, tasks: FileTasks, name: str, skipped: Iterable[BadRecord] = ()) -> None:
        """Describe the tasks.

        Raises:
            BadConfig: If two tasks have the same id.
        """
        super().__init__((), name, skipped)
        self._tasks = self._stored = tasks
        self._position = {place.id: i for i, place in enumerate(tasks.places)}
        self._refuse_twice(self.ids(), self._position)

    def _pick(self, positions: Iterable[int]) -> TaskSet:
        places = (self._stored.places[position] for position in positions)
        return FileTaskSet(FileTasks(self._stored.path, places), self.name, self.skipped)

    def _split_of_each(self) -> list[str]:
        return [place.split for place in self._stored.places]

    def ids(self) -> list[str]:
        """Return the ids in order."""
        return [place.id for place in self._stored.places]

    def get(self, task_id: str) -> Task:
        """Read the task with an id, or with this id in the file it came from.

        Raises:
            UnknownName: With the nearest id.
        """
        position = self._position.get(task_id)
        if position is None:
            sources = [place.source_id for place in self._stored.places]
            if not task_id or task_id not in sources:
                raise unknown_name(f"a task of {self.name}", task_id, self.ids())
            position = sources.index(task_id)
        return self._tasks[position]

    def filter(self, keep: Callable[[Task], bool]) -> TaskSet:
        """Return the tasks for which `keep` is true."""
        return self._pick(i for i, task in enumerate(self) if keep(task))
