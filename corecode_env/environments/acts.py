"""Acts: what a role's text does, from a note for the others to a program that is judged.

    text, Scene  ->  Act  ->  Outcome  ->  the team's board, the record of the turn

An act holds no state of an episode: all that it may build on is in the scene. So forks and
stored turns come out as they did the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np

from corecode_env.core.episode import Submission, Turn
from corecode_env.core.seeding import generator
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement

Judge = Callable[[Task, str], Judgement]
"""Judges a program on a task; blocks until done."""


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


# Named tuples: one of each is made in every turn, and they are made faster.
class Scene(NamedTuple):
    """What an act may build on: the episode as it stands before the turn."""

    task: Task
    """The whole task, hidden tests too: nothing of them may go into a field."""
    agent: str
    """Who acts."""
    round: int
    """This round, from 0."""
    rounds_left: int
    """Rounds that follow it."""
    fields: Mapping[str, str]
    """The board: `plan`, `program`, `feedback` and the team's own fields."""
    turns: tuple[Turn, ...]
    """All turns of the episode so far."""
    judge: Judge
    """Judges the task itself, or any task that the act derives from it. If the sandbox
    fails in any call, the engine ends the episode as invalid, whatever the act makes of it."""
    report: Callable[[Judgement], str]
    """What the environment would tell the team of a judgement of its task: as much as its
    argument `feedback` allows, and nothing of hidden tests."""
    seed: int
    """Seed of the episode."""
    stream: tuple[str | int, ...]
    """Name of the turn's random stream: equal for equal places of a turn, in forks too."""
    max_chars: int
    """Longest text of a field, in characters; what is longer is cut."""

    def rng(self) -> np.random.Generator:
        """Return the random stream of this turn; every call starts it anew."""
        return generator(self.seed, *self.stream)


class Outcome(NamedTuple):
    """What came of a text."""

    fields: Mapping[str, str] = _NOTHING
    """New texts on the board, by field; others stay. Only what the role `writes`."""
    submission: Submission | None = None
    """The program that the text led to; it becomes the board's `program`."""
    judgement: Judgement | None = None
    """How the task's own tests judged it: what rewards are paid by."""
    feedback: str | None = None
    """The board's new `feedback`; None: the report of the judgement, if there is one."""
    ends: bool | None = None
    """Whether the episode ends here; None: if the judgement meets the rule `stop`."""
    facts: Mapping[str, float] = _NOTHING
    """Numbers for reward terms, kept in the turn; no agent sees them."""


@runtime_checkable
class Act(Protocol):
    """Anything that gives a role's text a meaning. One object serves all episodes."""

    def apply(self, text: str, scene: Scene) -> Outcome:
        """Return what a text does in a scene.

        Any text may come, so a useless one is an outcome like any other (a feedback that
        says what was expected); an exception is the environment's own failure.
        """
        ...


class WatchedJudge:
    """A judge that remembers whether the sandbox failed.

    Attributes:
        failed: The first judgement that says so, None while there is none.
    """

    def __init__(self, judge: Judge) -> None:
        """Watch a judge."""
        self._judge = judge
        self.failed: Judgement | None = None

    def __call__(self, task: Task, program: str) -> Judgement:
        """Judge, and look at what comes back."""
        judgement = self._judge(task, program)
        if self.failed is None and not judgement.valid:
            self.failed = judgement
        return judgement
