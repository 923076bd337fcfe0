"""Terms: one number that a turn is worth, and whom it pays.

    Turn, Episode  ->  fn  ->  number, or None where the term does not apply

A term reads records and runs nothing. What a user writes is a plain function; everything
that can be wrong about it is an error with the term's name in it.
"""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Final

import numpy as np

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import RewardError
from corecode_env.core.names import role_of

RewardFunction = Callable[[Turn, Episode], float | None]
"""Takes the turn just played and the episode so far, that turn included."""

EVERYBODY: Final = "*"


@dataclass(frozen=True, slots=True)
class Term:
    """One named part of a reward.

    Attributes:
        name: Name in records and infos.
        fn: `fn(turn, episode)` returns a finite number, or None if it does not apply.
        weight: Factor on what `fn` returns.
        pays: Roles (`"coder"`) or agents (`"coder_0"`) that receive it; `"*"`: everybody.
        deterministic: False if it reads a clock or a memory gauge.

    Raises:
        RewardError: If a field has another form, or `fn` cannot be called with two
            positional arguments.

    >>> Term("short", lambda turn, episode: len(turn.action) < 80, weight=0.1).pays
    ('*',)
    """

    name: str
    fn: RewardFunction
    weight: float = field(default=1.0, kw_only=True)
    pays: tuple[str, ...] = field(default=(EVERYBODY,), kw_only=True)
    deterministic: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse a term that could only fail later, in the middle of a run."""
        if not isinstance(self.name, str) or not self.name:
            raise RewardError(
                f"a reward term's name must be a non-empty string, got {self.name!r}"
            )
        check_function(
            f"reward term {self.name!r}", self.fn, ("turn", "episode"), "float | None"
        )
        _number(self.name, self.weight, "weight")
        object.__setattr__(self, "pays", _receivers(self.name, self.pays))

    def pays_agent(self, agent: str) -> bool:
        """Return whether an agent receives this term."""
        return any(who in (EVERYBODY, agent, role_of(agent)) for who in self.pays)

    def value(self, turn: Turn, episode: Episode) -> float | None:
        """Return the weighted value of a turn, None if the term does not apply.

        Raises:
            RewardError: If `fn` raises, or returns anything but a finite number or None.
        """
        try:
            value = self.fn(turn, episode)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            raise RewardError(
                f"reward term {self.name!r} must not raise, got {type(error).__name__}: "
                f"{error} ({where.filename}:{where.lineno}); return None where the term "
                "does not apply"
            ) from error
        if value is None:
            return None
        weighted = _number(self.name, value, "value") * float(self.weight)
        return _number(self.name, weighted, "weighted value")


def as_term(term: Term | RewardFunction) -> Term:
    """Return a term; a plain function becomes one under its own name."""
    if isinstance(term, Term):
        return term
    name = getattr(term, "__name__", None) or type(term).__name__
    return Term(name, term)


def _receivers(name: str, pays: object) -> tuple[str, ...]:
    found: tuple[object, ...] = ()
    if isinstance(pays, Iterable) and not isinstance(pays, str):
        found = tuple(pays)
    names = tuple(who for who in found if isinstance(who, str) and who)
    if not found or len(names) < len(found):
        raise RewardError(
            f"pays of reward term {name!r} must be a tuple of roles or agents, "
            f"got {pays!r}; write pays=('coder',)"
        )
    return names


def check_function(what: str, fn: object, parameters: tuple[str, ...], returns: str) -> None:
    """Refuse what cannot be called as a reward function is.

    Args:
        what: What the function is for, in messages.
        fn: The function.
        parameters: Names of the values that it is called with, by position.
        returns: What it should return, in messages.

    Raises:
        RewardError: If it is no plain function, or takes other arguments.
    """
    arguments = f"({', '.join(parameters)})"
    form = f"fn{arguments} -> {returns}"
    if not callable(fn):
        raise RewardError(f"{what} must be a function, got {fn!r}; write {form}")
    if inspect.iscoroutinefunction(fn) or inspect.isgeneratorfunction(fn):
        raise RewardError(
            f"{what} must be a plain function, got an async or generator function; write "
            f"{form}"
        )
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return  # some builtins have no signature to read; the first call tells
    try:
        signature.bind(*parameters)
    except TypeError as error:
        raise RewardError(
            f"{what} must take {arguments}, got {signature}: {error}; write {form}"
        ) from error


def finite(value: object, what: str, way_out: str) -> float:
    """Return a finite number as a float.

    Args:
        value: The number; a bool is one.
        what: What it is, in messages.
        way_out: What to write instead, in messages.

    Raises:
        RewardError: If it is anything else.
    """
    if not isinstance(value, Real | np.bool_):
        raise RewardError(
            f"{what} must be a finite number, got {value!r} of type "
            f"{type(value).__name__}; {way_out}"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RewardError(
            f"{what} must be finite, got {value!r}: one such number would spoil a whole "
            f"training run; {way_out}"
        )
    return number


def _number(name: str, value: object, what: str) -> float:
    way_out = "return float(...), or None where the term does not apply"
    return finite(value, f"{what} of reward term {name!r}", way_out)


def check_overlap(terms: Sequence[Term]) -> None:
    """Refuse two terms of one name that could pay the same agent.

    Raises:
        RewardError: With the name, since the second value would hide the first.
    """
    seen: list[tuple[str, str]] = []
    for term in terms:
        for name, who in seen:
            if name == term.name and any(_same_receiver(who, other) for other in term.pays):
                raise RewardError(
                    f"two reward terms must not share a name, got {name!r} twice for "
                    f"{who}; name one of them otherwise: Term('other_name', fn)"
                )
        seen += [(term.name, who) for who in term.pays]


def _same_receiver(one: str, other: str) -> bool:
    return EVERYBODY in (one, other) or one in (other, role_of(other)) or role_of(one) == other
