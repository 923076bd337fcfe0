"""Library: solved training tasks, found by words.

query  ->  Library.search  ->  the tasks of the library that are most like it

Scores are BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009,
section 3.2) over the words of the statements: a word counts more the fewer statements have
it, and the less the longer the statement is.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from functools import cached_property
from typing import Final, NamedTuple

from corecode_env.core.errors import BadConfig
from corecode_env.core.task import Task
from corecode_env.tasks.taskset import TaskSet, split_of

K1: Final = 1.2
"""How soon further uses of a word in one statement stop to count."""
B: Final = 0.75
"""How far long statements are held back, from 0 (not) to 1."""

_WORD: Final = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case.

    >>> words("Return the 2nd-largest of `xs`.")
    ['return', 'the', '2nd', 'largest', 'of', 'xs']
    """
    return _WORD.findall(text.lower())


class Found(NamedTuple):
    """One result of a search."""

    task: Task
    score: float


class _Index(NamedTuple):
    """What a search reads."""

    postings: dict[str, list[tuple[int, int]]]
    """Word to (place of a task, number of uses in its statement)."""
    lengths: list[int]
    """Words of each statement."""


def has_solved_training_task(tasks: TaskSet) -> bool:
    """Return whether a set can serve as a library."""
    return any(split_of(t) == "train" and t.reference_program is not None for t in tasks)


class Library:
    """The solved training tasks of a set.

    Attributes:
        tasks: Those of the split `train`.
    """

    def __init__(self, tasks: TaskSet) -> None:
        """Choose the training tasks; they are indexed at the first search.

        Raises:
            BadConfig: If the set has no training task with a reference program.
        """
        if not has_solved_training_task(tasks):
            raise BadConfig(
                "a library must have tasks of the split 'train' with a reference program, got "
                f"{tasks!r}, which has none; choose another set for it, such as 'mbpp'"
            )
        self.tasks = tasks.split("train")

    @cached_property
    def _index(self) -> _Index:
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = []
        for place, task in enumerate(self.tasks):
            counts = Counter(words(task.statement))
            lengths.append(counts.total())
            if task.reference_program is not None:
                for word, uses in counts.items():
                    postings[word].append((place, uses))
        return _Index(dict(postings), lengths)

    def search(self, query: str, k: int, *, but: Task) -> list[Found]:
        """Return the tasks whose statements are most like a query, best first.

        Args:
            query: Words to look for; word order does not count.
            k: Most results.
            but: The task at hand: neither it nor one with the same statement or the same
                reference program is returned, since its solution would be the answer.

        Returns:
            At most k tasks that share a word with the query; equal scores in the order of
            the set.
        """
        postings, lengths = self._index
        mean = sum(lengths) / len(lengths)
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words(query)):
            found = postings.get(word, [])
            rarity = math.log1p((len(lengths) - len(found) + 0.5) / (len(found) + 0.5))
            for place, uses in found:
                length = K1 * (1.0 - B + B * lengths[place] / mean)
                scores[place] += rarity * uses * (K1 + 1.0) / (uses + length)
        best = sorted(scores, key=lambda place: (-scores[place], place))
        results: list[Found] = []
        for place in best:
            if len(results) == k:
                break
            task = self.tasks[place]
            if not _same(task, but):
                results.append(Found(task, scores[place]))
        return results


def _same(one: Task, other: Task) -> bool:
    """Return whether the solution of one task is that of the other."""
    if one.id == other.id or words(one.statement) == words(other.statement):
        return True
    programs = [(task.reference_program or "").split() for task in (one, other)]
    return programs[0] == programs[1]
