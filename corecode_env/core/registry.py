"""Registry: names for things, and a helpful no."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Generic, TypeVar

from corecode_env.core.errors import BadConfig, UnknownName

T = TypeVar("T")


def unknown_name(kind: str, name: object, known: list[str]) -> UnknownName:
    """Build the error for a name that nothing stands under.

    Args:
        kind: What was looked for, with its article: `"a task set"`.
        name: The name that was asked for.
        known: All names there are.
    """
    near = get_close_matches(str(name), known, n=1)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif len(known) <= 40:
        hint = f"known: {', '.join(known) or 'none'}"
    else:
        hint = f"known: {', '.join(known[:20])}, ... ({len(known)} in all)"
    return UnknownName(f"{name!r} is not the name of {kind}; {hint}")


class Registry(Generic[T]):
    """A dictionary whose errors help.

    >>> agents = Registry[int]("an agent")
    >>> agents.add("reference", 1)
    >>> agents["refrence"]
    Traceback (most recent call last):
    ...
    corecode_env.core.errors.UnknownName: 'refrence' is not the name of an agent; did you mean 'reference'?
    """  # noqa: E501

    def __init__(self, kind: str) -> None:
        """Name what is registered, with its article, for the messages."""
        self.kind = kind
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> None:
        """Register a thing.

        Raises:
            BadConfig: If the name is taken.
        """
        if name in self._things:
            raise BadConfig(f"{name!r} is already the name of {self.kind}")
        self._things[name] = thing

    def __getitem__(self, name: str) -> T:
        """Look a name up.

        Raises:
            UnknownName: With the nearest name, or all names.
        """
        if name not in self._things:
            raise unknown_name(self.kind, name, self.names())
        return self._things[name]

    def __contains__(self, name: object) -> bool:
        """Return whether the name is taken."""
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names in order."""
        return iter(self.names())

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._things)
