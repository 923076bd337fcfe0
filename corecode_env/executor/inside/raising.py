"""Raising: exceptions of the program, made anew by the judge.

    {"raised": reference, "message": ...}  ->  an exception that test code may catch

A reference is the name of a builtin exception class, a class of a standard module, or the
number of a class of the program, described by its bases. Exceptions with a meaning to
the test or the interpreter never arrive as themselves: an AssertionError would look like
the test's own, a StopIteration ends `all(map(f, xs))` early, SystemExit ends the judge.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

from corecode_env.executor.inside.handles import Handle
from corecode_env.executor.inside.wire import (
    EXCEPTION_NAMES,
    EXCEPTIONS,
    STANDARD_ERRORS,
    Garbled,
)

_ALIKE_ONLY = (AssertionError, StopIteration, StopAsyncIteration)
_MAX_CLASSES = 100
_MAX_NAME = 100
_MAX_MESSAGE = 300


class Host(Protocol):
    """The dialogue, as far as exceptions need it."""

    handles: dict[int, Handle]

    def decode(self, value: Any) -> Any:
        """Return a decoded value."""
        ...

    def ask(self, op: str, **fields: Any) -> Any:
        """Send a request about an object of the program."""
        ...


class Raiser:
    """Makes the exceptions and exception classes that stand for the program's."""

    def __init__(self, host: Host) -> None:
        """Keep the dialogue, whose objects exceptions may carry."""
        self.host = host
        self.classes: dict[int, type[Exception]] = {}
        self.numbers: dict[type, int] = {}
        self.marked: list[BaseException] = []
        self.remembered: list[BaseException] = []

    # ------------------------------------------------------------ whose it was
    def mark(self, error: BaseException) -> BaseException:
        """Remember that an exception is the program's, and return it."""
        self.marked.append(error)
        del self.marked[:-1000]  # only those in flight matter
        return error

    def is_marked(self, error: BaseException) -> bool:
        """Whether an exception is the program's."""
        return any(error is mine for mine in self.marked)

    def remember(self, error: BaseException) -> int:
        """Return the number of an exception that the test raised in a callback."""
        self.remembered.append(error)
        return len(self.remembered) - 1

    def number_of(self, value: Any) -> int | None:
        """Return the program's number of an exception class that was made here."""
        return self.numbers.get(value) if type(value) is type else None

    # ------------------------------------------------------------------ making
    def build(self, reply: dict[str, Any]) -> BaseException:
        """Return the exception that a reply describes.

        Raises:
            Garbled, TypeError, ValueError, LookupError: If it describes none.
        """
        origin = reply.get("origin")
        if type(origin) is int and 0 <= origin < len(self.remembered):
            error = self.remembered[origin]
            if isinstance(error, Exception) and not isinstance(error, _ALIKE_ONLY[1:]):
                return error
        message = reply["message"]
        if type(message) is not str:
            raise Garbled("an exception's message must be text")
        message = message[:_MAX_MESSAGE]
        kind = self.resolve(reply["raised"], reply.get("classes", []))
        arguments = reply.get("args")
        if kind is RuntimeError and reply["raised"] != "RuntimeError":
            arguments = [f"{self.shown(reply)}: {message}"]
        elif type(arguments) is not list:
            arguments = [message]
        else:
            arguments = [self.host.decode(argument) for argument in arguments]
        error = _instance(kind, arguments, message)
        if kind in self.numbers:
            error.__dict__["_corecode"] = (self.host, reply.get("object"), message)
        return self.mark(error)

    def shown(self, reply: dict[str, Any]) -> str:
        """Return the name of the raised class, for people."""
        reference = reply["raised"]
        for number, name, _ in reply.get("classes", []):
            if number == reference:
                return str(name)[:_MAX_NAME]
        return str(reference)[:_MAX_NAME]

    def resolve(self, reference: Any, classes: list[Any]) -> type[Exception]:
        """Return the class that a reference stands for; make the program's own first."""
        if type(classes) is not list or len(classes) > _MAX_CLASSES:
            raise Garbled("an exception has too many classes")
        for number, name, bases in classes:
            if type(number) is not int or type(name) is not str or type(bases) is not list:
                raise Garbled("an exception class must have a number, a name and bases")
            if number not in self.classes:
                self.make_class(number, name[:_MAX_NAME], bases)
        return self.find(reference)

    def find(self, reference: Any) -> type[Exception]:
        """Return the class of a reference; RuntimeError for what must not arrive."""
        if type(reference) is int:
            return self.classes[reference]
        if type(reference) is list:
            return _standard_class(*reference)
        kind = EXCEPTIONS[reference]
        if not issubclass(kind, Exception) or issubclass(kind, (*_ALIKE_ONLY, ExceptionGroup)):
            return RuntimeError
        return kind

    def make_class(self, number: int, name: str, bases: list[Any]) -> None:
        """Make the class that stands for one of the program's exception classes."""
        found: list[type[Exception]] = []
        for base in (self.find(reference) for reference in bases):
            if not any(issubclass(other, base) for other in found):
                found.append(base)
        namespace = {"__getattr__": _attribute, "__str__": _text, "__module__": "__main__"}
        try:
            kind = type(name, tuple(found) or (RuntimeError,), namespace)
        except TypeError:  # bases that no one class can have
            kind = type("CandidateError", (RuntimeError,), namespace)
        self.classes[number] = kind
        self.numbers[kind] = number


def _attribute(error: BaseException, name: str) -> Any:
    state = error.__dict__.get("_corecode")
    if state is None or name.startswith("__") or type(state[1]) is not int:
        raise AttributeError(f"{type(error).__name__!r} object has no attribute {name!r}")
    return state[0].ask("get", of=state[1], name=name)


def _text(error: BaseException) -> str:
    state = error.__dict__.get("_corecode")
    return state[2] if state is not None else " ".join(map(str, error.args))


def _standard_class(module: Any, name: Any) -> type[Exception]:
    """Return an error class of a standard module; Exception if it is none."""
    if type(module) is not str or type(name) is not str or module not in STANDARD_ERRORS:
        raise Garbled("an exception class must be the program's, or a standard one")
    kind = getattr(sys.modules.get(module), name, None)
    return kind if isinstance(kind, type) and issubclass(kind, Exception) else Exception


def _instance(kind: type[Exception], arguments: list[Any], message: str) -> Exception:
    """Return an exception without running a constructor of the standard library."""
    try:
        if kind in EXCEPTION_NAMES:
            return kind(*arguments)
        error = kind.__new__(kind, *arguments)
        error.args = tuple(arguments)
    except Exception:
        return RuntimeError(f"{kind.__name__}: {message}")
    return error


def describe_error(error: BaseException, number: int) -> dict[str, Any]:
    """Return the answer that tells the program what the test raised in a callback."""
    kinds = (EXCEPTION_NAMES.get(kind) for kind in type(error).__mro__)
    name = next((name for name in kinds if name is not None), "RuntimeError")
    try:
        message = str(error)[:_MAX_MESSAGE]
    except Exception:
        message = ""
    return {"raised": name, "message": message, "origin": number}
