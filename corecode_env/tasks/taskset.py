"""Task sets: immutable sequences of tasks, and drawing from them.

tasks  ->  TaskSet  ->  split, filter, shuffle, mix  ->  TaskSampler
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self, overload

from corecode_env.core.errors import BadConfig, BadRecord, SplitError
from corecode_env.core.registry import unknown_name
from corecode_env.core.seeding import generator
from corecode_env.core.task import Task

SPLITS: Final = ("train", "validation", "test")
"""What `Task.metadata["split"]` may say; a task that says nothing is for training."""


def split_of(task: Task) -> str:
    """Return the split that a task belongs to; tasks that name none are `train`."""
    return str(task.metadata.get("split", "train"))


class TaskSet(Sequence[Task]):
    """An immutable sequence of tasks with distinct ids.

    Attributes:
        name: What it is called in messages.
        skipped: Records that were left out on loading (`skip_bad=True`).
    """

    def __init__(
        self, tasks: Iterable[Task], name: str = "tasks", skipped: Iterable[BadRecord] = ()
    ) -> None:
        """Hold the tasks in the given order.

        Raises:
            BadConfig: If two tasks have the same id.
        """
        self.name = name
        self.skipped = tuple(skipped)
        self._tasks: Sequence[Task] = tuple(tasks)
        self._by_id = {task.id: task for task in self._tasks}
        self._refuse_twice([task.id for task in self._tasks], self._by_id)

    def _refuse_twice(self, ids: Sequence[str], distinct: Mapping[str, object]) -> None:
        if len(distinct) < len(ids):
            seen: set[str] = set()
            twice = next(each for each in ids if each in seen or seen.add(each))  # type: ignore[func-returns-value]
            raise BadConfig(
                f"task ids must be distinct, got {twice!r} twice in {self.name}; rename one "
                "of them, or leave it out with filter"
            )

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> TaskSet: ...
    def __getitem__(self, index: int | slice) -> Task | TaskSet:
        """Return one task by position, or a set of several by slice."""
        if isinstance(index, slice):
            return self._pick(range(len(self))[index])
        return self._tasks[index]

    def __repr__(self) -> str:
        """Return name and size."""
        return f"TaskSet({self.name!r}, {len(self)} tasks)"

    def _with(self, tasks: Iterable[Task]) -> TaskSet:
        return TaskSet(tasks, self.name, self.skipped)

    def _pick(self, positions: Iterable[int]) -> TaskSet:
        return self._with(self._tasks[position] for position in positions)

    def _split_of_each(self) -> list[str]:
        return [split_of(task) for task in self]

    def ids(self) -> list[str]:
        """Return the ids in order."""
        return [task.id for task in self]

    def get(self, task_id: str) -> Task:
        """Return the task with an id, or with this id in the file it came from.

        Raises:
            UnknownName: With the nearest id.
        """
        if task_id in self._by_id:
            return self._by_id[task_id]
        for task in self._tasks:
            if str(task.metadata.get("source_id", "")) == task_id:
                return task
        raise unknown_name(f"a task of {self.name}", task_id, self.ids())

    def split(self, name: str) -> TaskSet:
        """Return the tasks of one split: `train`, `validation` or `test`.

        Raises:
            UnknownName: If there is no such split.
            SplitError: If no task of this set belongs to it.
        """
        if name not in SPLITS:
            raise unknown_name("a split", name, list(SPLITS))
        chosen = [i for i, split in enumerate(self._split_of_each()) if split == name]
        if not chosen:
            raise SplitError(
                f"{self.name} must hold tasks of the split {name!r}, got "
                f"{self._counts()}; {_way_out(self, name)}"
            )
        return self._pick(chosen)

    def filter(self, keep: Callable[[Task], bool]) -> TaskSet:
        """Return the tasks for which `keep` is true."""
        return self._with(task for task in self if keep(task))

    def shuffle(self, seed: int) -> TaskSet:
        """Return the same tasks in a random order that depends on the seed alone."""
        order = generator(seed, "shuffle").permutation(len(self))
        return self._pick(int(i) for i in order)

    def head(self, n: int) -> TaskSet:
        """Return the first n tasks, or all if there are fewer.

        Raises:
            BadConfig: If n is negative.
        """
        if n < 0:
            raise BadConfig(f"n must not be negative, got {n}; head(0) is the empty set")
        return self._pick(range(min(n, len(self))))

    def mix(
        self, *others: TaskSet, weights: Sequence[float] | None = None, seed: int = 0
    ) -> TaskSet:
        """Return this set and others in one, interleaved at random.

        Each set keeps its own order. At each place the next task comes from a set drawn
        in proportion to the weights.

        Args:
            others: Further sets; ids must differ from those here.
            weights: One number per set, this one first. None: by what is left of each
                set, until all tasks are in. Given: until the first set that has a weight
                above 0 is used up, so that the proportions hold to the end.
            seed: Seed of the draw.

        Raises:
            BadConfig: If the weights do not fit, or an id occurs twice.
        """
        sets = (self, *others)
        if weights is not None:
            _check_weights(weights, len(sets))
        random = generator(seed, "mix")
        used = [0] * len(sets)
        drawn: list[Task] = []
        while True:
            left = [len(tasks) - n for tasks, n in zip(sets, used, strict=True)]
            shares = [float(x) for x in (left if weights is None else weights)]
            if not any(left) or any(
                s and not n for s, n in zip(shares, left, strict=True) if weights is not None
            ):
                break
            total = sum(shares)
            chosen = int(random.choice(len(sets), p=[s / total for s in shares]))
            drawn.append(sets[chosen][used[chosen]])
            used[chosen] += 1
        skipped = [record for tasks in sets for record in tasks.skipped]
        return TaskSet(drawn, "+".join(tasks.name for tasks in sets), skipped)

    def require_trainable(self) -> Self:
        """Return this set if every task may be trained on.

        Raises:
            SplitError: If a task belongs to the test or validation split.
        """
        splits = self._split_of_each()
        bad = next((i for i, split in enumerate(splits) if split != "train"), None)
        if bad is not None:
            raise SplitError(
                f"training tasks must belong to the split 'train', got {self.ids()[bad]!r} of "
                f"the split {splits[bad]!r} ({self.name}: {self._counts()}): results on tasks "
                f"that were trained on say nothing; {_way_out(self, 'train')}"
            )
        return self

    def _counts(self) -> str:
        splits = self._split_of_each()
        counted = {name: splits.count(name) for name in dict.fromkeys(splits)}
        return ", ".join(f"{n} of {name!r}" for name, n in counted.items()) or "no task"


def _way_out(tasks: TaskSet, wanted: str) -> str:
    there = dict.fromkeys(tasks._split_of_each())
    if wanted in there:
        return f"take .split({wanted!r}) of it"
    if wanted == "train":
        held = "".join(f" (or evaluate with split={name!r})" for name in there)
        return f"train on 'mbpp' or 'pipelines/1', which have training tasks{held}"
    return f"it has {', '.join(there) or 'no tasks'}: choose another split or set"


def _check_weights(weights: Sequence[float], sets: int) -> None:
    good = len(weights) == sets and all(0 <= w < float("inf") for w in weights)
    if not good or not any(weights):
        raise BadConfig(
            f"weights must be {sets} numbers from 0 up, one per set and not all 0, got "
            f"{list(weights)}; leave them out to take every task"
        )


class TaskSampler:
    """Draws tasks without replacement, in a fresh order each time the set is used up.

    >>> from corecode_env.core.task import Stdio, StdioTest
    >>> tasks = TaskSet(Task(i, "", Stdio(), (StdioTest("", ""),)) for i in "abc")
    >>> sampler = TaskSampler(tasks, seed=0)
    >>> sorted(sampler.next().id for _ in range(3))
    ['a', 'b', 'c']
    """

    def __init__(self, tasks: TaskSet, seed: int) -> None:
        """Draw from `tasks` in orders that depend on the seed alone.

        Raises:
            BadConfig: If the set is empty.
        """
        if not len(tasks):
            raise BadConfig(f"a sampler must have tasks to draw, got the empty {tasks.name}")
        self._tasks = tasks
        self._seed = seed
        self._drawn = 0
        self._order = self._order_of(0)

    def _order_of(self, epoch: int) -> list[int]:
        order = generator(self._seed, "sampler", epoch).permutation(len(self._tasks))
        return [int(i) for i in order]

    @property
    def epoch(self) -> int:
        """How often the whole set has been drawn."""
        return self._drawn // len(self._tasks)

    def next(self) -> Task:
        """Return the next task."""
        epoch, position = divmod(self._drawn, len(self._tasks))
        if position == 0:
            self._order = self._order_of(epoch)
        self._drawn += 1
        return self._tasks[self._order[position]]

    def __iter__(self) -> Iterator[Task]:
        """Draw for ever."""
        while True:
            yield self.next()

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on from here, as JSON values."""
        return {"seed": self._seed, "drawn": self._drawn, "tasks": self._fingerprint()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where another sampler of the same tasks stood.

        Raises:
            BadConfig: If the state belongs to other tasks.
        """
        if state["tasks"] != self._fingerprint():
            raise BadConfig(
                f"the sampler's state must belong to {self._tasks.name}, got one of other "
                "tasks (or another order); load the set that the run started with"
            )
        self._seed, self._drawn = int(state["seed"]), int(state["drawn"])
        self._order = self._order_of(self._drawn // len(self._tasks))

    def _fingerprint(self) -> str:
        return hashlib.sha256("\n".join(self._tasks.ids()).encode()).hexdigest()[:16]
