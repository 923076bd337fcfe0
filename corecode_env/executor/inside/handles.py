"""Handles: the program's objects, as test code sees them.

    test code  --len(h), h.x, h(3)-->  Handle  --request-->  the program

A handle holds a number, never the object. What decides a test is decided here: two
handles are equal only if they are the same object, a handle equals no plain value, and
it has no order. A handle is true unless its type defines `__bool__` or `__len__`: then
the program is asked, at the moment truth is needed, which tells it nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from corecode_env.executor.inside.operations import BETWEEN_OBJECTS, OPERATIONS

_READABLE = frozenset(
    {"__name__", "__qualname__", "__doc__", "__dict__", "__module__", "__annotations__"}
)


class Asker(Protocol):
    """Where handles send their requests."""

    def ask(self, op: str, **fields: Any) -> Any:
        """Send a request about an object and return the decoded answer."""
        ...

    def call(self, function: str | int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the program by its name or number."""
        ...

    def advance(self, number: int) -> Any:
        """Return the next item of an iterator of the program, or raise StopIteration."""
        ...

    def encode(self, value: object) -> Any:
        """Return what JSON can say about an argument."""
        ...


class Handle:
    """An object of the program."""

    __slots__ = ("_corecode_asker", "_corecode_asks_truth", "_corecode_id", "_corecode_type")

    def __init__(self, asker: Asker, number: int, type_name: str, asks_truth: bool) -> None:
        """Keep where to ask, the object's number, and what is known of its type."""
        put = object.__setattr__
        put(self, "_corecode_asker", asker)
        put(self, "_corecode_id", number)
        put(self, "_corecode_type", type_name)
        put(self, "_corecode_asks_truth", asks_truth)

    def __getattr__(self, name: str) -> Any:
        """Read an attribute of the object; most special names are refused."""
        if name.startswith("_corecode_") or (name[:2] == "__" and name not in _READABLE):
            raise AttributeError(f"{self._corecode_type!r} object has no attribute {name!r}")
        return self._corecode_asker.ask("get", of=self._corecode_id, name=name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the object."""
        asker = self._corecode_asker
        asker.ask("set", of=self._corecode_id, name=name, value=asker.encode(value))

    def __delattr__(self, name: str) -> None:
        """Delete an attribute of the object."""
        self._corecode_asker.ask("delete", of=self._corecode_id, name=name)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same object of the program."""
        return self is other

    def __hash__(self) -> int:
        """Hash by identity, as equality is."""
        return hash((Handle, self._corecode_id))

    def __bool__(self) -> bool:
        """Whether the object is true."""
        if not self._corecode_asks_truth:
            return True
        return bool(_special(self, "__bool__"))

    def __contains__(self, item: object) -> bool:
        """Whether an item of the object equals `item`, as compared here."""
        return any(mine is item or mine == item for mine in self)

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the object."""
        found = _special(self, "__iter__")
        if isinstance(found, Handle):
            return found if found is self else Items(found)
        return iter(found)

    def __next__(self) -> Any:
        """Return the next item."""
        return self._corecode_asker.advance(self._corecode_id)

    def __getitem__(self, key: Any) -> Any:
        """Read an item."""
        return _special(self, "__getitem__", key)

    def __instancecheck__(self, instance: object) -> bool:
        """Whether an object of the program is an instance of this class of it."""
        return self._corecode_check("isinstance", instance)

    def __subclasscheck__(self, subclass: object) -> bool:
        """Whether a class of the program derives from this class of it."""
        return self._corecode_check("issubclass", subclass)

    def _corecode_check(self, op: str, value: object) -> bool:
        if not isinstance(value, Handle):
            return False
        asker = self._corecode_asker
        return asker.ask(op, of=self._corecode_id, value=asker.encode(value)) is True

    def __exit__(self, *error: object) -> None:
        """Leave the object's context. It never swallows what was raised there.

        Else an object of the program could swallow the test's failed assertion.
        """
        _special(self, "__exit__")

    def __deepcopy__(self, memo: object) -> Any:
        """Copy the object and what it holds."""
        return _special(self, "__deepcopy__")


class CallableHandle(Handle):
    """An object of the program that can be called: a function, class or method."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return self._corecode_asker.call(self._corecode_id, args, kwargs)


class Items:
    """An iterator over a handle's items."""

    def __init__(self, iterator: Handle) -> None:
        """Keep the program's iterator."""
        self.iterator = iterator

    def __iter__(self) -> Items:
        """Return itself."""
        return self

    def __next__(self) -> Any:
        """Return the next item."""
        return self.iterator.__next__()


def _special(handle: Handle, name: str, *args: Any) -> Any:
    asker = handle._corecode_asker
    encoded = [asker.encode(argument) for argument in args]
    return asker.ask("special", of=handle._corecode_id, name=name, args=encoded)


def _forward(name: str) -> Callable[..., Any]:
    def method(self: Handle, *args: Any) -> Any:
        if name in BETWEEN_OBJECTS and not isinstance(args[0], Handle):
            return NotImplemented
        result = _special(self, name, *args)
        expected = _RESULTS.get(name)
        if expected is not None and type(result) is not expected:
            raise TypeError(f"{name} of a program's object must return {expected.__name__}")
        return result

    method.__name__ = name
    return method


_RESULTS: dict[str, type] = {
    "__len__": int,
    "__str__": str,
    "__repr__": str,
    "__format__": str,
    "__int__": int,
    "__float__": float,
}

for _name in OPERATIONS:
    if _name not in vars(Handle):
        setattr(Handle, _name, _forward(_name))
