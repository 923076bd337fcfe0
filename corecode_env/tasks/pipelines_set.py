"""Sets of the family `pipelines`: sequences whose tasks are made when asked for.

    "pipelines/4/stdio"  ->  PipelineTaskSet  ->  Task, Task, ...

No list of tasks is held: ids, splits and orders follow from seeds alone, so that taking
the training split of a level costs no generation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Self, overload

from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import unknown_name
from corecode_env.core.seeding import generator
from corecode_env.core.task import Task
from corecode_env.tasks.pipelines import FORMS, LEVELS, Form, generate, set_name, task_id
from corecode_env.tasks.splits import split_by_number
from corecode_env.tasks.taskset import SPLITS, TaskSet

DEFAULT_SIZE: Final = 2000
"""Tasks in a set of one level and form: seeds 0 to 1,999, of which 1,600 train."""

SET_NAMES: Final = tuple(set_name(level, form) for level in LEVELS for form in FORMS)
"""Names of all sets: `pipelines/1`, `pipelines/1/stdio`, `pipelines/1/repair`, ..."""

_NAME = re.compile(
    rf"pipelines/(?P<level>[1-9])(?:/(?P<form>{'|'.join(FORMS[1:])}))?(?:/(?P<seed>0|[1-9]\d*))?"
)


class _Generated(Sequence[Task]):
    """Tasks by seed."""

    def __init__(self, level: int, form: Form, seeds: Sequence[int]) -> None:
        self.level, self.seeds = level, seeds
        self.form: Form = form

    def __len__(self) -> int:
        return len(self.seeds)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> _Generated: ...
    def __getitem__(self, index: int | slice) -> Task | _Generated:
        if isinstance(index, slice):
            return _Generated(self.level, self.form, self.seeds[index])
        return generate(self.level, self.seeds[index], self.form)

    def __iter__(self) -> Iterator[Task]:
        return (generate(self.level, seed, self.form) for seed in self.seeds)


class PipelineTaskSet(TaskSet):
    """The tasks of one level and form.

    `get` makes any task of the level and form, also one beyond the size; a set that
    `split` returned makes tasks of its split only.
    """

    def __init__(
        self,
        level: int,
        form: Form = "function",
        *,
        size: int = DEFAULT_SIZE,
        seeds: Sequence[int] | None = None,
        splits: Sequence[str] = SPLITS,
    ) -> None:
        """Describe the tasks; none is made yet.

        Args:
            level: 1 to 5.
            form: `function`, `stdio`, `repair` or `io_prediction`.
            size: Number of tasks: those of the seeds from 0 to size - 1.
            seeds: Distinct seeds to use instead.
            splits: The splits of which `get` makes tasks.

        Raises:
            UnknownName: If there is no such level or form.
            BadConfig: If the size is negative, or a seed is negative or given twice.
        """
        if level not in LEVELS:
            known = [str(known) for known in LEVELS]
            raise unknown_name("a level of pipelines", level, known)
        if form not in FORMS:
            raise unknown_name("a form of pipelines", form, list(FORMS))
        if seeds is None:
            if size < 0:
                raise BadConfig(f"size must not be negative, got {size}")
            seeds = range(size)
        elif len(set(seeds)) < len(seeds) or min(seeds, default=0) < 0:
            raise BadConfig(f"seeds must be distinct and 0 or more, got {list(seeds)[:20]}")
        super().__init__((), set_name(level, form))
        self.level, self.seeds = level, seeds
        self.form: Form = form
        self._splits = tuple(splits)
        self._tasks = _Generated(level, form, seeds)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> PipelineTaskSet: ...
    def __getitem__(self, index: int | slice) -> Task | PipelineTaskSet:
        """Return one task by position, or a set of several by slice."""
        if isinstance(index, slice):
            return self._of(self.seeds[index])
        return self._tasks[index]

    def _of(
        self, seeds: Sequence[int], splits: Sequence[str] | None = None
    ) -> PipelineTaskSet:
        splits = self._splits if splits is None else splits
        return PipelineTaskSet(self.level, self.form, seeds=seeds, splits=splits)

    def ids(self) -> list[str]:
        """Return the ids in order."""
        return [task_id(self.level, seed, self.form) for seed in self.seeds]

    def get(self, task_id: str) -> Task:
        """Make the task with an id.

        Raises:
            UnknownName: If it is no id of this level, form and split.
        """
        match = _NAME.fullmatch(task_id)
        if match and match["seed"] and _set_of(match) == self.name:
            seed = int(match["seed"])
            if split_by_number(seed) in self._splits:
                return generate(self.level, seed, self.form)
        splits = "" if self._splits == SPLITS else f" (split {', '.join(self._splits)})"
        raise unknown_name(f"a task of {self.name}{splits}", task_id, self.ids())

    def split(self, name: str) -> TaskSet:
        """Return the tasks of one split: `train`, `validation` or `test`.

        Raises:
            UnknownName: If there is no such split.
            SplitError: If no task of this set belongs to it.
        """
        chosen = [seed for seed in self.seeds if split_by_number(seed) == name]
        if not chosen:
            return super().split(name)  # raises, and knows how to say why
        return self._of(chosen, (name,))

    def shuffle(self, seed: int) -> TaskSet:
        """Return the same tasks in a random order that depends on the seed alone."""
        order = generator(seed, "shuffle").permutation(len(self))
        return self._of([self.seeds[int(i)] for i in order])

    def head(self, n: int) -> TaskSet:
        """Return the first n tasks, or all if there are fewer.

        Raises:
            BadConfig: If n is negative.
        """
        return super().head(n) if n < 0 else self._of(self.seeds[:n])

    def require_trainable(self) -> Self:
        """Return this set if every task may be trained on.

        Raises:
            SplitError: If a task belongs to the test or validation split.
        """
        if all(split_by_number(seed) == "train" for seed in self.seeds):
            return self
        return super().require_trainable()


def pipelines(name: str) -> PipelineTaskSet:
    """Return a set by its name, or the set of one task by the task's id.

    Args:
        name: Such as `pipelines/4`, `pipelines/4/stdio`, `pipelines/4/41`,
            `pipelines/4/repair/41`.

    Raises:
        UnknownName: If there is no such level or form.

    >>> len(pipelines("pipelines/4").split("train")), pipelines("pipelines/4/41").ids()
    (1600, ['pipelines/4/41'])
    """
    match = _NAME.fullmatch(name)
    if not match or _set_of(match) not in SET_NAMES:
        raise unknown_name("a set of pipelines", name, list(SET_NAMES))
    level, form = int(match["level"]), _form(match)
    if match["seed"]:
        return PipelineTaskSet(level, form, seeds=(int(match["seed"]),))
    return PipelineTaskSet(level, form)


def _form(match: re.Match[str]) -> Form:
    named: dict[str | None, Form] = {form: form for form in FORMS}
    return named.get(match["form"], FORMS[0])


def _set_of(match: re.Match[str]) -> str:
    return set_name(int(match["level"]), _form(match))
