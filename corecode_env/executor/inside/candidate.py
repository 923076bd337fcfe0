"""Candidate: the side of the conversation that runs in the program's own process.

    request: call this, read that  ->  the program  ->  reply: a value, or what was raised

Nothing here is trusted: the program may change or imitate all of it, and what it then
sends is only one more way of returning a value. Objects that are not plain stay here;
the judge gets a number for each and asks for what it wants to know of them.
"""

from __future__ import annotations

import builtins
import importlib
from collections import deque
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from corecode_env.core.values import NotPlain
from corecode_env.executor.inside.operations import OPERATIONS, VISITOR_OPERATIONS
from corecode_env.executor.inside.wire import (
    EXCEPTION_NAMES,
    EXCEPTIONS,
    MAX_FRAME,
    STANDARD_ERRORS,
    Closed,
    Codec,
    Garbled,
    read_frame,
    write_frame,
)

# A program that replaces builtins.len or builtins.all changes its own world only.
globals()["__builtins__"] = dict(vars(builtins))

_MISSING = object()
_NOTE_LENGTH = 300


def serve(requests_fd: int, replies_fd: int, namespace: dict[str, Any]) -> None:
    """Answer requests about a program until the judge hangs up.

    Args:
        requests_fd: Where requests are read from.
        replies_fd: Where replies are written to.
        namespace: What the program defined.
    """
    try:
        _Server(requests_fd, replies_fd, namespace).run()
    except Closed:
        return


class _Server(Codec):
    """Knows the program's objects by number."""

    def __init__(self, requests: int, replies: int, namespace: dict[str, Any]) -> None:
        self.requests, self.replies, self.namespace = requests, replies, namespace
        self.plain = False  # whether results become plain values, whatever they were
        self.objects: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.visitors: dict[int, Any] = {}
        self.visitor_numbers: dict[int, int] = {}
        self.operations: dict[str, Callable[[dict[str, Any]], Any]] = {
            "name": self.look_up,
            "call": self.call,
            "get": lambda request: getattr(self.objects[request["of"]], request["name"]),
            "set": self.set_attribute,
            "refill": self.refill,
            "delete": lambda request: delattr(self.objects[request["of"]], request["name"]),
            "special": self.special,
            "isinstance": lambda request: isinstance(
                self.decode(request["value"]), self.objects[request["of"]]
            ),
            "issubclass": lambda request: issubclass(
                self.decode(request["value"]), self.objects[request["of"]]
            ),
        }

    def run(self) -> None:
        """Answer until the pipe closes."""
        while True:
            self.answer(read_frame(self.requests))

    def answer(self, request: dict[str, Any]) -> None:
        """Carry out one request and write its reply."""
        try:
            reply = self.carry_out(request)
            write_frame(self.replies, reply, request.get("longest", MAX_FRAME))
        except Closed:
            raise
        except Garbled as error:
            write_frame(self.replies, self.describe_failure(RuntimeError(str(error))))
        except BaseException as error:  # also SystemExit: the judge decides what it means
            write_frame(self.replies, self.describe_failure(error))

    def carry_out(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request."""
        self.plain = request.get("plain", False)
        if request["op"] == "name" and request["name"] not in self.namespace:
            return {"missing": True}
        if request["op"] == "special" and request["name"] == "__next__":
            return self.advance(self.objects[request["of"]])
        value = self.operations[request["op"]](request)
        if request["op"] == "call":
            return self.call_reply(request, value)
        return {"ok": self.encode(value)}

    # ------------------------------------------------------------- operations
    def look_up(self, request: dict[str, Any]) -> Any:
        return self.namespace[request["name"]]

    def call(self, request: dict[str, Any]) -> Any:
        target = self.target(request["function"])
        arguments = self.decode(request["args"])
        result = target(*arguments, **self.decode(request["kwargs"]))
        self.arguments = arguments  # set last: a callback may have made calls meanwhile
        # What a class of the program builds is kept as an object, also where it derives
        # from list or int: test code will call its methods.
        own = isinstance(target, type) and target.__module__ == self.namespace["__name__"]
        return _Kept(result) if own and type(result) is target and not self.plain else result

    def target(self, function: str | int) -> Any:
        if isinstance(function, int):
            return self.objects[function]
        if function not in self.namespace:
            raise NameError(f"name {function!r} is not defined")
        return self.namespace[function]

    def call_reply(self, request: dict[str, Any], value: Any) -> dict[str, Any]:
        if isinstance(value, _Kept):
            reply = {"ok": self.keep(value.value)}
        elif request.get("changed") == "first" and value is None and self.arguments:
            return {"ok": self.encode(self.arguments[0])}
        else:
            reply = {"ok": self.encode(value)}
        if request.get("changed") == "all":
            reply["args"] = [self.encode(argument) for argument in self.arguments]
        return reply

    def set_attribute(self, request: dict[str, Any]) -> None:
        setattr(self.objects[request["of"]], request["name"], self.decode(request["value"]))

    def refill(self, request: dict[str, Any]) -> None:
        owner, name = self.objects[request["of"]], request["name"]
        content, old = self.decode(request["value"]), getattr(owner, name)
        if isinstance(old, list | bytearray) and isinstance(content, list | bytearray):
            old[:] = content
        elif isinstance(old, dict | set) and isinstance(content, dict | set):
            old.clear()
            old.update(content)
        else:
            setattr(owner, name, content)

    def special(self, request: dict[str, Any]) -> Any:
        operation = OPERATIONS[request["name"]]
        return operation(self.objects[request["of"]], *self.decode(request["args"]))

    def advance(self, iterator: Iterator[Any]) -> dict[str, Any]:
        value = next(iterator, _MISSING)
        return {"stop": True} if value is _MISSING else {"ok": self.encode(value)}

    # --------------------------------------------------------------- encoding
    def encode_other(self, value: Any, depth: int) -> Any:
        """Return what stands for a value: a standard type, its base value, or a number."""
        number = self.visitor_numbers.get(id(value))
        if number is not None:
            return {"$visitor": number}
        if self.plain:
            flat = _flatten(value)
            if flat is _MISSING:
                return {"$opaque": type(value).__name__[:100]}
            return self._encode_parts(flat, depth + 1)
        standard = self.encode_standard(value, depth)
        if standard is not None:
            return standard
        base = _base_value(value)
        if base is _MISSING:
            return self.keep(value)
        encoded = self._encode_parts(base, depth)
        is_array = type(value).__module__ == "numpy" and type(base) is list
        return {"$numpy": [str(value.dtype), encoded]} if is_array else encoded

    def keep(self, value: Any) -> Any:
        """Return the number under which an object stays here."""
        if isinstance(value, type) and issubclass(value, BaseException):
            classes: list[Any] = []
            return {"$raisable": [self.describe_class(value, classes), classes]}
        return {"$object": [self.number(value), *_traits(value)]}

    def number(self, value: Any) -> int:
        """Return the number of an object, a new one at the first time."""
        known = self.numbers.get(id(value))
        if known is None:
            known = self.numbers[id(value)] = len(self.objects)
            self.objects.append(value)  # kept alive, so that its id stays its own
        return known

    def describe_failure(self, error: BaseException) -> dict[str, Any]:
        """Return the reply that says what the program raised."""
        try:
            message = str(error)[:_NOTE_LENGTH]
        except BaseException:
            message = ""
        try:
            arguments = [self.encode(argument) for argument in error.args]
            arguments = arguments if len(repr(arguments)) < 10_000 else [message]
        except BaseException:
            arguments = [message]
        classes: list[Any] = []
        return {
            "raised": self.describe_class(type(error), classes),
            "classes": classes,
            "object": self.number(error),
            "args": arguments,
            "message": message,
            "origin": getattr(error, "_judge_error", None),
        }

    def describe_class(self, kind: type, classes: list[Any]) -> Any:
        """Return a reference to an exception class; add those of the program's own.

        Builtin classes are found by identity: a class of the same name is not one.
        """
        if kind in EXCEPTION_NAMES:
            return EXCEPTION_NAMES[kind]
        if kind.__module__ in STANDARD_ERRORS:
            return [kind.__module__, kind.__qualname__]
        number = self.number(kind)
        if all(known[0] != number for known in classes):
            bases = [base for base in kind.__bases__ if issubclass(base, BaseException)]
            references = [self.describe_class(base, classes) for base in bases]
            classes.append([number, kind.__name__, references])
        return number

    # ---------------------------------------------------- what the judge sent
    def decode_other(self, tag: str, content: Any) -> Any:
        """Return the program's object, a standard function, or a visitor."""
        if tag == "$object":
            return self.objects[content]
        if tag == "$global":
            thing: Any = importlib.import_module(content[0])
            for name in content[1].split(".") if content[1] else ():
                thing = getattr(thing, name)
            return thing
        if tag == "$numpy":
            return importlib.import_module("numpy").array(
                self.decode(content[1]), dtype=content[0]
            )
        if tag == "$visitor":
            return self.visitor(*content)
        raise NotPlain(f"unknown tag {tag!r}")

    def visitor(self, number: int, kind: str, name: str) -> Any:
        """Return what stands here for an object of the test."""
        if number not in self.visitors:
            if kind == "function":
                thing: Any = self.visiting_function(number, name)
            elif kind == "iterator":
                thing = self.visiting_iterator(number)
            else:
                kinds = {"callable": CallableVisitor, "object": Visitor}
                thing = kinds[kind](self.call_back, number)
            self.visitors[number] = thing
            self.visitor_numbers[id(thing)] = number
        return self.visitors[number]

    def visiting_function(self, number: int, name: str) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            return self.call_back("call", number, "", args, kwargs)

        function.__name__ = function.__qualname__ = name
        return function

    def visiting_iterator(self, number: int) -> Iterator[Any]:
        while True:
            try:
                value = self.call_back("next", number)
            except StopIteration:
                return
            yield value

    def call_back(
        self,
        op: str,
        number: int,
        name: str = "",
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Have the judge use an object of the test; answer its requests meanwhile."""
        plain, self.plain = self.plain, False
        message = {
            "callback": op,
            "of": number,
            "name": name,
            "args": [self.encode(argument) for argument in args],
            "kwargs": {key: self.encode(value) for key, value in (kwargs or {}).items()},
        }
        write_frame(self.replies, message)
        while True:
            answer = read_frame(self.requests)
            if "op" not in answer:
                break
            self.answer(answer)
        self.plain = plain
        if "stop" in answer:
            raise StopIteration
        if "raised" in answer:
            raise _rebuild(answer)
        return self.decode(answer.get("ok"))


class _Kept:
    """Marks a result that stays an object although it has a plain base value."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Visitor:
    """An object of the test: whatever is done with it is done by the judge."""

    def __init__(self, call_back: Callable[..., Any], number: int) -> None:
        """Keep how to reach the judge, and the object's number there."""
        self.__dict__.update(_call_back=call_back, _number=number)

    def __getattr__(self, name: str) -> Any:
        """Ask the judge for an attribute."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self._call_back("get", self._number, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Have the judge set an attribute."""
        self._call_back("set", self._number, name, (value,))

    def __next__(self) -> Any:
        """Have the judge advance the object."""
        return self._call_back("next", self._number)

    def __exit__(self, *error: object) -> Any:
        """Have the judge leave the object's context; what was raised stays here."""
        return self._call_back("special", self._number, "__exit__")

    def __copy__(self) -> Any:
        """Have the judge copy the object."""
        return self._call_back("special", self._number, "__copy__")

    def __deepcopy__(self, memo: object) -> Any:
        """Have the judge copy the object and what it holds."""
        return self._call_back("special", self._number, "__deepcopy__")


class CallableVisitor(Visitor):
    """An object of the test that can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have the judge call the object."""
        return self._call_back("call", self._number, "", args, kwargs)


def _forward(name: str) -> Callable[..., Any]:
    def method(self: Visitor, *args: Any) -> Any:
        return self._call_back("special", self._number, name, args)

    method.__name__ = name
    return method


for _name in VISITOR_OPERATIONS:
    if _name not in vars(Visitor):
        setattr(Visitor, _name, _forward(_name))


def _rebuild(answer: dict[str, Any]) -> BaseException:
    """Return the exception that the judge's side raised, with its number there."""
    kind: type[BaseException] = EXCEPTIONS.get(answer["raised"], RuntimeError)
    try:
        error = kind(answer["message"])
    except TypeError:
        error = RuntimeError(answer["message"])
    error.__dict__["_judge_error"] = answer["origin"]
    return error


# ------------------------------------------------------------- values of results
# The base class's own method is called on purpose: a subclass may override __iter__ or
# __int__, and its base value is what the base class sees.
_BASES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, int.__pos__),
    (float, float.__pos__),
    (complex, complex.__pos__),
    (str, str.__str__),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))),
    (bytearray, lambda value: bytearray.__getitem__(value, slice(None))),
    (list, lambda value: list.__getitem__(value, slice(None))),
    (tuple, lambda value: tuple.__getitem__(value, slice(None))),
    (dict, lambda value: dict(dict.items(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
    (deque, lambda value: deque(deque.__iter__(value))),
    (Fraction, lambda value: Fraction(value.numerator, value.denominator)),
    (Decimal, lambda value: Decimal(Decimal.__str__(value))),
)


def _base_value(value: Any) -> Any:
    """Return the value of the builtin type that a value's type derives from."""
    kind = type(value)
    if _is_array(kind):
        return value.tolist()
    for base, convert in _BASES:
        if issubclass(kind, base):
            return convert(value)
    return _MISSING


def _is_array(kind: type) -> bool:
    """Whether a type is a numpy scalar or array, or the standard library's array."""
    return kind.__module__ in ("numpy", "array") and hasattr(kind, "tolist")


def _flatten(value: Any) -> Any:
    """Return the plain value that a call test compares for a value of another type.

    Fraction and Decimal are numbers: int if whole, else float. Deques, dict views and
    iterators are lists, bytearrays bytes, dates and times ISO text, time differences
    seconds, enum members their values, subclasses and numpy values their base value.
    Anything else is an opaque object, which equals nothing.
    """
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else _as_float(value)
    if isinstance(value, Decimal):
        whole = value.is_finite() and value.adjusted() < 400 and value == value.to_integral()
        return int(value) if whole else _as_float(value)
    if isinstance(value, deque | type({}.keys()) | type({}.values()) | type({}.items())):
        return list(value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    base = _base_value(value)
    if base is not _MISSING:
        return base
    if isinstance(value, Enum):
        return value.value
    if hasattr(type(value), "__next__"):
        return _drain(value)
    return _MISSING


def _as_float(value: Fraction | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _drain(iterator: Iterator[Any]) -> list[Any]:
    # Each item takes two bytes of the reply at least: more could not be sent.
    items: list[Any] = []
    for item in iterator:
        items.append(item)
        if len(items) > MAX_FRAME // 2:
            raise Garbled("an iterator must end, or yield fewer items")
    return items


def _traits(value: Any) -> tuple[str, bool, bool]:
    """Return an object's type name, whether it can be called, whether truth is its own."""
    kind = type(value)
    has_truth = hasattr(kind, "__bool__") or hasattr(kind, "__len__")
    return kind.__name__[:100], callable(value), has_truth
