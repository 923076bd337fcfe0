"""Menus: lists of plans and programs to choose from, made of a few tasks' own.

TaskSet  ->  Menus  ->  an index is an action, a text is an entry
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corecode_env.core.errors import BadConfig, EpisodeError
from corecode_env.core.messages import extract_program, fenced
from corecode_env.core.task import Task


@dataclass(frozen=True, slots=True)
class Menus:
    """What there is to choose from, the same in every episode.

    Attributes:
        tasks: Tasks that come up.
        plans: What a Planner may say.
        programs: What a Coder may hand in, without fences.
    """

    tasks: tuple[Task, ...]
    plans: tuple[str, ...]
    programs: tuple[str, ...]

    def text(self, role: str, index: int) -> str:
        """Return an entry as agents write it."""
        return self.plans[index] if role == "planner" else fenced(self.programs[index])

    def size(self, role: str) -> int:
        """Return how many entries a role has to choose from."""
        return len(self.plans if role == "planner" else self.programs)

    def index(self, role: str, action: Any) -> int:
        """Return the index of an action: itself, or that of the entry it writes out.

        Raises:
            TypeError: If it is neither a whole number nor a text.
            EpisodeError: If the menu has no such entry.
        """
        if isinstance(action, str):
            return self._find(role, action)
        try:
            index = operator.index(action)
        except TypeError:
            index = None
        if index is None or isinstance(action, bool):
            raise TypeError(
                f"the action of a {role} must be an index, got {type(action).__name__}; "
                "pass a whole number, or the text of an entry"
            )
        if not 0 <= index < self.size(role):
            raise EpisodeError(
                f"the action of a {role} must be an index below {self.size(role)}, got {index}"
            )
        return index

    def _find(self, role: str, text: str) -> int:
        if role == "planner":
            known, wanted = self.plans, text
        else:
            known, wanted = self.programs, extract_program(text).program.strip()
            known = tuple(program.strip() for program in known)
        if wanted not in known:
            shown = text if len(text) <= 80 else f"{text[:77]}..."
            raise EpisodeError(
                f"the text of a {role} must be an entry of its menu, got {shown!r}; "
                "choose by index"
            )
        return known.index(wanted)


def menus_of(
    tasks: Sequence[Task],
    n_tasks: int,
    distractors: int,
    plans: Sequence[str] | None,
    programs: Sequence[str] | None,
) -> Menus:
    """Make menus of the first tasks whose plans and programs are all different.

    Args:
        tasks: Where the tasks come from, in order.
        n_tasks: Tasks that come up, at least 2.
        distractors: Tasks that follow them and never come up, but whose plans and programs
            stand in the menus.
        plans: Plans in place of the tasks' own.
        programs: Programs in place of the tasks' own.

    Raises:
        BadConfig: If the tasks are too few, or a given menu is empty or names an entry twice.
    """
    own_plans, own_programs = plans is None, programs is None
    wanted = n_tasks + (distractors if own_plans or own_programs else 0)
    chosen: list[Task] = []
    seen: set[str | None] = {None} if own_plans or own_programs else set()
    for task in tasks:
        texts = (
            *((task.reference_plan,) if own_plans else ()),
            *((task.reference_program,) if own_programs else ()),
        )
        if seen.isdisjoint(texts):
            chosen.append(task)
            seen.update(texts)
        if len(chosen) == wanted:
            break
    if len(chosen) < wanted:
        raise BadConfig(
            f"tasks must hold {wanted} with different reference plans and programs, got "
            f"{len(chosen)} such of {len(tasks)}; lower n_tasks or distractors, or pass plans "
            "and programs"
        )
    return Menus(
        tuple(chosen[:n_tasks]),
        _given("plans", plans, [task.reference_plan for task in chosen]),
        _given("programs", programs, [task.reference_program for task in chosen]),
    )


def _given(
    name: str, given: Sequence[str] | None, own: Sequence[str | None]
) -> tuple[str, ...]:
    """Return a menu: that of the user, or the tasks' own texts, which are all there."""
    menu = tuple(own if given is None else given)
    texts = tuple(text for text in menu if isinstance(text, str))
    if isinstance(given, str) or len(texts) < len(menu) or len(texts) < 2:
        raise BadConfig(f"{name} must be at least 2 texts, got {given!r}")
    if len({text.strip() for text in texts}) < len(texts):
        raise BadConfig(f"{name} must be different texts, got one of them twice in {given!r}")
    return texts
