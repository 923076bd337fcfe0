"""Task source: where an environment's tasks come from, and which one is next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from corecode_env.core.errors import BadConfig
from corecode_env.core.seeding import derive_seed
from corecode_env.core.task import Task
from corecode_env.tasks.taskset import SPLITS, TaskSet

EVERYTHING = "all"


class TaskSource:
    """The tasks of an environment: drawn from one split, looked up in all of them.

    Attributes:
        everything: The whole set; `reset(options={"task": id})` looks there.
        drawn: The tasks that `reset` draws from.
    """

    def __init__(self, tasks: str | Path | Sequence[Task], split: str) -> None:
        """Load the tasks.

        Args:
            tasks: Name or path for `load_tasks`, a TaskSet, or a sequence of tasks.
            split: `train`, `validation`, `test`, or `all`.

        Raises:
            UnknownName: If no set has the name.
            BadConfig: If the split is none of these.
            SplitError: If the split holds no task.
        """
        if split not in (*SPLITS, EVERYTHING):
            raise BadConfig(
                f"split must be one of {', '.join(SPLITS)} or {EVERYTHING}, got {split!r}"
            )
        self.everything = as_task_set(tasks)
        self.drawn = self.everything if split == EVERYTHING else self.everything.split(split)
        if not len(self.drawn):
            raise BadConfig(f"tasks must hold at least one task, got {self.everything!r}")

    def draw(self, seed: int, *path: str | int) -> Task:
        """Return the task of one episode: equal seeds and paths give equal tasks."""
        return self.drawn[derive_seed(seed, "task", *path) % len(self.drawn)]

    def find(self, wanted: Any) -> Task:
        """Return the task that `reset(options={"task": wanted})` asks for.

        Raises:
            UnknownName: If no task has the id.
            BadConfig: If it is neither an id nor a task.
        """
        if isinstance(wanted, Task):
            return wanted
        if not isinstance(wanted, str):
            raise BadConfig(f"the option task must be a task's id or a Task, got {wanted!r}")
        return self.everything.get(wanted)


def as_task_set(tasks: str | Path | Sequence[Task]) -> TaskSet:
    """Return the tasks that an argument names or holds.

    Raises:
        UnknownName: If no set has the name.
        BadConfig: If it is neither a name, a path, nor tasks.
    """
    if isinstance(tasks, str | Path):
        # Only here: the file formats are not needed by who brings a TaskSet.
        from corecode_env.tasks.sources import load_tasks

        return load_tasks(tasks)
    if isinstance(tasks, TaskSet):
        return tasks
    if isinstance(tasks, Sequence) and all(isinstance(task, Task) for task in tasks):
        return TaskSet(cast("Sequence[Task]", tasks))
    raise BadConfig(
        "tasks must be a name, a path, a TaskSet or a sequence of tasks, got "
        f"{type(tasks).__name__}; load_tasks gives a TaskSet"
    )
