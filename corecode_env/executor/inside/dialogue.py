"""Dialogue: the judge's side of the conversation with a program.

    test code  ->  Dialogue.call("f", (3,), {})  ->  the program  ->  a value

Whatever the program does wrong in the conversation itself (it dies, falls silent, writes
nonsense) is a `CandidateFault`: not an Exception, so that test code rarely swallows it,
and latched, so that it decides the verdict even then.
"""

from __future__ import annotations

import re
import select
import sys
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, Literal

from corecode_env.core.values import NotPlain
from corecode_env.executor.inside.handles import CallableHandle, Handle
from corecode_env.executor.inside.operations import VISITOR_OPERATIONS
from corecode_env.executor.inside.raising import Raiser, describe_error
from corecode_env.executor.inside.wire import (
    MAX_FRAME,
    Closed,
    Codec,
    Garbled,
    pack,
    receive,
    send,
    unpack,
)

MAX_CALLBACK_DEPTH = 50
"""Deepest nesting of calls from the program back into the test."""
MAX_CALLBACKS = 100_000
"""Most calls from the program back into one test."""

TEST_MODULE = "__test__"
"""Name of the module that test code runs in."""

FaultKind = Literal["gone", "garbled"]


class CandidateFault(BaseException):
    """The program broke the conversation. Not an Exception: tests do not handle it."""

    def __init__(self, kind: FaultKind, note: str) -> None:
        """Keep what kind of fault it is, and one line about it."""
        super().__init__(note)
        self.kind: FaultKind = kind
        self.note = note


class Dialogue(Codec):
    """One conversation with one program.

    Attributes:
        calls: How often the program was used: calls, and attributes or items read.
        replied: Whether the program has answered anything.
        fault: What ended the conversation, None while it goes on.
        failed_inside: An assertion of the test that failed within a callback.
    """

    def __init__(
        self,
        requests_fd: int,
        replies_fd: int,
        *,
        mutates_arguments: bool = False,
        numpy_arrays: bool = False,
        reply_bytes: int = MAX_FRAME,
        on_first_reply: Callable[[], None] | None = None,
    ) -> None:
        """Take over the two pipe ends of the judge's side.

        Args:
            requests_fd: Where requests are written.
            replies_fd: Where replies are read.
            mutates_arguments: Whether arguments are changed here as the program did.
            numpy_arrays: Whether the test knows arrays; else they arrive as lists.
            reply_bytes: Longest reply that is read.
            on_first_reply: Called once, before the first reply is looked into.
        """
        self.requests, self.replies = requests_fd, replies_fd
        self.mutates_arguments = mutates_arguments
        self.numpy_arrays = numpy_arrays
        self.reply_bytes = reply_bytes
        self.on_first_reply = on_first_reply
        self.calls = 0
        self.replied = False
        self.fault: CandidateFault | None = None
        self.failed_inside: AssertionError | None = None
        self.raiser = Raiser(self)
        self.handles: dict[int, Handle] = {}
        self.visitors: list[Any] = []
        self.visitor_numbers: dict[int, int] = {}
        self.lent: dict[tuple[int, str], tuple[Any, Any]] = {}
        self.callbacks = 0
        self.depth = 0
        # Test code may have threads; requests of two must not mix.
        self.lock = threading.RLock()

    # ---------------------------------------------------------------- requests
    def look_up(self, name: str) -> Any:
        """Return what the program calls `name`.

        Raises:
            NameError: If it defines no such name.
        """
        reply = self.request({"op": "name", "name": name})
        if "missing" in reply:
            raise self.raiser.mark(NameError(f"name {name!r} is not defined"))
        value = self.decode_reply(reply)
        # Having a function to call is not yet a call; reading a constant is a use.
        self.calls += not isinstance(value, Handle | type)
        return value

    def call(self, function: str | int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the program and return its result."""
        message: dict[str, Any] = {
            "op": "call",
            "function": function,
            "args": [self.encode(argument) for argument in args],
            "kwargs": {"$dict": [[key, self.encode(value)] for key, value in kwargs.items()]},
        }
        if self.mutates_arguments:
            message["changed"] = "all"
        self.calls += 1
        reply = self.request(message)
        if self.mutates_arguments and "args" in reply:
            changed = self.decode_checked(reply["args"])
            if type(changed) is list and len(changed) == len(args):
                for argument, after in zip(args, changed, strict=True):
                    _copy_back(argument, after)
        return self.decode_reply(reply)

    def ask(self, op: str, **fields: Any) -> Any:
        """Send a request about an object of the program and return the answer."""
        self.calls += 1
        value = self.decode_reply(self.request({"op": op, **fields}))
        if op == "get" and type(value) in _CONTAINERS:
            self.lent[fields["of"], fields["name"]] = value, self.encode(value)
        return value

    def give_back(self) -> None:
        """Let the program see what the test changed in containers read from its objects.

        `stack.items.append(1)` in a test changes a copy; before the program runs again
        its own list gets the same content.
        """
        for (number, name), (value, before) in list(self.lent.items()):
            encoded = self.encode(value)
            if encoded != before:
                self.lent[number, name] = value, encoded
                self.exchange({"op": "refill", "of": number, "name": name, "value": encoded})

    def advance(self, number: int) -> Any:
        """Return the next item of an iterator of the program.

        Raises:
            StopIteration: At its end.
        """
        self.calls += 1
        message = {"op": "special", "of": number, "name": "__next__", "args": []}
        reply = self.request(message)
        if "stop" in reply:
            raise StopIteration
        return self.decode_reply(reply)

    def request(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a request; serve callbacks until its reply is there.

        Raises:
            CandidateFault: If the conversation is broken, now or earlier.
        """
        with self.lock:
            self.give_back()
            return self.exchange(message)

    def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send one request and serve callbacks until its reply is there."""
        if self.fault is not None:
            raise self.fault
        if self.reply_bytes != MAX_FRAME:
            message["longest"] = self.reply_bytes
        try:
            frame = pack(message)
        except Garbled as error:  # what the test passes is the test's own doing
            raise ValueError(str(error)) from error
        try:
            self.expect_silence()
            send(self.requests, frame)
            while True:
                body = receive(self.replies, self.reply_bytes)
                self.note_reply()
                reply = unpack(body)
                if type(reply) is not dict:
                    raise Garbled("a reply must be an object")
                if "callback" not in reply:
                    break
                send(self.requests, pack(self.serve(reply)))
        except Closed as error:
            raise self.latch("gone", str(error)) from error
        except Garbled as error:
            raise self.latch("garbled", str(error)) from error
        return reply

    def note_reply(self) -> None:
        """Say that the program has answered, before looking at what it answered."""
        if not self.replied:
            self.replied = True
            if self.on_first_reply is not None:
                self.on_first_reply()

    def expect_silence(self) -> None:
        """Refuse what the program wrote without being asked."""
        poll = select.poll()
        poll.register(self.replies, select.POLLIN)
        if any(events & select.POLLIN for _, events in poll.poll(0)):
            raise Garbled("the program wrote a reply before it was asked")

    def latch(self, kind: FaultKind, note: str) -> CandidateFault:
        """Return the fault that ends the conversation; the first one stays."""
        if self.fault is None:
            self.fault = CandidateFault(kind, note)
        return self.fault

    def decode_reply(self, reply: dict[str, Any]) -> Any:
        """Return the value in a reply, or raise what it says was raised."""
        if "raised" in reply:
            try:
                error = self.raiser.build(reply)
            except (Garbled, TypeError, ValueError, LookupError) as problem:
                raise self.latch("garbled", f"not an exception: {problem}") from problem
            raise error
        if "ok" not in reply:
            raise self.latch("garbled", "a reply must hold a value or an exception")
        return self.decode_checked(reply["ok"])

    def decode_checked(self, value: Any) -> Any:
        """Return a decoded value; what cannot be decoded ends the conversation."""
        try:
            return self.decode(value)
        except Garbled as error:
            raise self.latch("garbled", str(error)) from error

    # --------------------------------------------------------------- callbacks
    def serve(self, message: dict[str, Any]) -> dict[str, Any]:
        """Use an object of the test as the program asks, and return the answer.

        Raises:
            Garbled: If the program asks too often, too deep, or for nonsense.
        """
        self.callbacks += 1
        if self.callbacks > MAX_CALLBACKS or self.depth >= MAX_CALLBACK_DEPTH:
            raise Garbled("too many or too deep calls back into the test")
        operation, target = message.get("callback"), self.visitor(message.get("of"))
        name, args = message.get("name"), self.decode(message.get("args"))
        kwargs = message.get("kwargs")
        if type(args) is not list or type(name) is not str or type(kwargs) is not dict:
            raise Garbled("a callback must have a name and arguments")
        kwargs = {key: self.decode(value) for key, value in kwargs.items()}
        self.depth += 1
        try:
            if operation == "next":
                return self.serve_next(target)
            return {"ok": self.encode(_perform(operation, target, name, args, kwargs))}
        except CandidateFault:
            raise
        except BaseException as error:
            if isinstance(error, AssertionError) and not self.raiser.is_marked(error):
                self.failed_inside = error
            return describe_error(error, self.raiser.remember(error))
        finally:
            self.depth -= 1

    def serve_next(self, iterator: Iterator[Any]) -> dict[str, Any]:
        """Answer with the next item of an iterator of the test, or its end."""
        try:
            return {"ok": self.encode(next(iterator))}
        except StopIteration:
            return {"stop": True}

    def visitor(self, number: Any) -> Any:
        """Return the object of the test that has a number."""
        if type(number) is not int or not 0 <= number < len(self.visitors):
            raise Garbled("no object of the test has this number")
        return self.visitors[number]

    # ------------------------------------------------------------------- codec
    def encode_other(self, value: Any, depth: int) -> Any:
        """Return what stands for an argument that is not plain."""
        if isinstance(value, Handle):
            return {"$object": value._corecode_id}
        number = self.raiser.number_of(value)
        if number is not None:
            return {"$object": number}
        standard = self.encode_standard(value, depth)
        if standard is not None:
            return standard
        path = _global_path(value)
        if path is not None:
            return {"$global": path}
        if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
            return {"$numpy": [str(value.dtype), self.encode(value.tolist(), depth + 1)]}
        for base in _BASES:
            if isinstance(value, base):
                return self.encode(base(value), depth + 1)
        return {"$visitor": self.invite(value)}

    def invite(self, value: Any) -> list[Any]:
        """Return the number under which the program may use an object of the test."""
        number = self.visitor_numbers.get(id(value))
        if number is None:
            number = self.visitor_numbers[id(value)] = len(self.visitors)
            self.visitors.append(value)
        if isinstance(value, types.FunctionType | types.MethodType):
            kind = "function"
        elif callable(value):
            kind = "callable"
        else:
            is_iterator = hasattr(type(value), "__next__") and not _is_open(value)
            kind = "iterator" if is_iterator else "object"
        return [number, kind, str(getattr(value, "__name__", "function"))]

    def decode_other(self, tag: str, content: Any) -> Any:
        """Return a handle, an exception class, or the test's own object."""
        if tag == "$object":
            number, type_name, is_callable, asks_truth = content
            if type(number) is not int or type(type_name) is not str:
                raise NotPlain("an object must have a number and a type")
            if number not in self.handles:
                kind = CallableHandle if is_callable is True else Handle
                self.handles[number] = kind(self, number, type_name, asks_truth is True)
            return self.handles[number]
        if tag == "$raisable":
            reference, classes = content
            return self.raiser.resolve(reference, classes)
        if tag == "$visitor":
            return self.visitor(content)
        if tag == "$numpy":
            kind, items = content
            items = self.decode(items)
            if not self.numpy_arrays or not _NUMERIC.fullmatch(kind):
                return items
            return sys.modules["numpy"].array(items, dtype=kind)
        raise NotPlain(f"unknown tag {tag!r}")


# Values of the test's own subclasses of these travel by their base value.
_BASES: tuple[Any, ...] = (int, float, str, bytes, list, tuple, dict, set, frozenset)


_CONTAINERS = (list, dict, set, bytearray, deque, OrderedDict, defaultdict, Counter)
_NUMERIC = re.compile(r"bool|u?int\d{1,2}|float\d{2,3}|complex\d{2,3}|[<>]U\d{1,4}")


def _copy_back(argument: Any, after: Any) -> None:
    """Give a mutable argument of the test the content that the program left in it."""
    if type(argument) is not type(after):
        return
    if type(argument) in (list, bytearray):
        argument[:] = after
    elif type(argument) in (dict, set):
        argument.clear()
        argument.update(after)


def _global_path(value: Any) -> list[str] | None:
    """Return module and name under which the program can import the same object."""
    if isinstance(value, types.ModuleType):
        return [value.__name__, ""] if _is_standard(value.__name__) else None
    if not isinstance(value, _GLOBALS):
        return None
    owner = getattr(value, "__objclass__", None)
    module = getattr(owner or value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not _is_standard(module):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return [module, name] if found is value else None


_GLOBALS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    type,
)


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names and module != "__main__"


def _perform(
    operation: Any, target: Any, name: str, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Do with an object of the test what its author could expect a program to do.

    Functions and iterators can be called and advanced, nothing else: their attributes
    lead to the test's globals, and so to expected values.
    """
    if operation == "call":
        return target(*args, **kwargs)
    if not _is_open(target):
        raise TypeError("only objects of the test's own classes have attributes here")
    if name.startswith("_") and operation in ("get", "set"):
        raise AttributeError(f"{type(target).__name__!r} object has no attribute {name!r}")
    if operation == "get":
        return getattr(target, name)
    if operation == "set":
        if callable(getattr(type(target), name, None)):
            raise AttributeError("methods of the test's own classes cannot be replaced")
        setattr(target, name, args[0])
        return None
    if operation == "special" and name in VISITOR_OPERATIONS:
        return VISITOR_OPERATIONS[name](target, *args)
    raise TypeError(f"unknown callback {operation!r}")


def _is_open(target: Any) -> bool:
    kind = type(target)
    return kind.__module__ == TEST_MODULE or (kind.__module__, kind.__name__) in _OPEN


# Data objects of the standard library that lead nowhere but into themselves.
_OPEN = frozenset(
    {("_io", "BytesIO"), ("_io", "StringIO"), ("xml.etree.ElementTree", "Element")}
)
