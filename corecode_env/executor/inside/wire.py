"""Wire: frames on a pipe, and the values in them.

    judge (test code)  --request-->  candidate  --reply-->  judge

A frame is four bytes of length (big endian) and that much JSON. Plain values travel as
`core.values` writes them; this file adds the few standard types that are rebuilt as
themselves (`$std`), types (`$type`), and hooks for what either side keeps to itself and
names by number only. Nothing in a frame can make the reader run code: no pickle, no
marshal, no import by a name that the other side chose.
"""

from __future__ import annotations

import builtins
import json
import os
import struct
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from corecode_env.core.values import MAX_DEPTH, NotPlain, from_jsonable, to_jsonable

MAX_FRAME = 8 * 2**20
"""Longest frame, in bytes, where a task does not ask for longer replies."""

HEADER = struct.Struct(">I")

# A program that replaces builtins.len or builtins.all changes its own world only.
globals()["__builtins__"] = dict(vars(builtins))

# Integers of more digits travel as hexadecimal text: reading decimal text takes
# quadratic time, which whoever writes the frame could make the reader spend.
_MAX_DIGITS = 20


class Garbled(Exception):
    """Bytes that are no frame, or a frame that says nothing sensible."""


class Closed(Exception):
    """The other side is gone: end of file, or a broken pipe."""


# ------------------------------------------------------------------------ frames
def write_frame(fd: int, message: object, longest: int = MAX_FRAME) -> None:
    """Write one message, blocking until the pipe took all of it.

    Raises:
        Closed: If nobody reads the pipe any more.
        Garbled: If the message is longer than `longest` bytes.
    """
    send(fd, pack(message, longest))


def send(fd: int, frame: bytes) -> None:
    """Write a whole frame, blocking until the pipe took all of it.

    Raises:
        Closed: If nobody reads the pipe any more.
    """
    view = memoryview(frame)
    while view:
        try:
            view = view[_write(fd, view) :]
        except BrokenPipeError as error:
            raise Closed("the other side reads no more") from error


def pack(message: object, longest: int = MAX_FRAME) -> bytes:
    """Return a message as a frame.

    Raises:
        Garbled: If it is longer than `longest` bytes.
    """
    body = _to_text(message).encode("ascii")
    if len(body) > longest:
        raise Garbled(f"a message must be at most {longest} bytes, got {len(body)}")
    return HEADER.pack(len(body)) + body


def read_frame(fd: int) -> Any:
    """Read one message, blocking until it is there.

    Raises:
        Closed: At the end of the file, also in the middle of a frame.
        Garbled: If the length is over `MAX_FRAME` or the bytes are not JSON.
    """
    return unpack(receive(fd))


def receive(fd: int, longest: int = MAX_FRAME) -> bytes:
    """Read the body of one frame, blocking until it is there.

    Raises:
        Closed: At the end of the file, also in the middle of a frame.
        Garbled: If the length is over `longest` bytes.
    """
    (length,) = HEADER.unpack(_read_exactly(fd, HEADER.size))
    if length > longest:
        raise Garbled(f"a message must be at most {longest} bytes, got {length}")
    return _read_exactly(fd, length)


def _read_exactly(fd: int, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = _read(fd, min(length - len(data), 2**20))
        if not part:
            raise Closed("the other side wrote no more")
        data += part
    return bytes(data)


def unpack(body: bytes) -> Any:
    """Return the message in the body of a frame.

    Raises:
        Garbled: If the bytes are not strict JSON, or nested too deep to read.
    """
    try:
        text = body.decode("utf-8")
        message, end = _scan(text, 0)
    except (ValueError, StopIteration, RecursionError, MemoryError) as error:
        raise Garbled(f"not a message: {type(error).__name__}") from error
    if end != len(text):
        raise Garbled("not a message: more than one value")
    return message


def _parse_int(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError("an integer of more than 20 digits must be hexadecimal")
    return int(text)


def _parse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


# Bound when the zygote starts: a program that replaces json.dumps, os.read or os.write
# changes what its own code calls and not what is called here.
_to_text: Callable[[object], str] = json.JSONEncoder(
    allow_nan=False, separators=(",", ":")
).encode
_DECODER = json.JSONDecoder(parse_int=_parse_int, parse_constant=_parse_constant)
_scan: Callable[[str, int], tuple[Any, int]] = _DECODER.scan_once  # type: ignore[attr-defined]
_read, _write = os.read, os.write


# ------------------------------------------------------- types rebuilt as themselves
_EMPTY: dict[Any, Any] = {}
_Keys, _Values, _Items = type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items())

_TAKE_APART: dict[type, tuple[str, Callable[[Any], Any]]] = {
    Fraction: ("fraction", lambda v: [v.numerator, v.denominator]),
    Decimal: ("decimal", str),
    bytearray: ("bytearray", bytes),
    deque: ("deque", lambda v: [list(v), v.maxlen]),
    Counter: ("counter", lambda v: dict(v.items())),
    OrderedDict: ("ordered", lambda v: dict(v.items())),
    defaultdict: ("default", lambda v: dict(v.items())),
    _Keys: ("keys", list),
    _Values: ("values", list),
    _Items: ("items", list),
    datetime: ("datetime", lambda v: [v.isoformat(), v.fold]),
    date: ("date", lambda v: v.isoformat()),
    time: ("time", lambda v: [v.isoformat(), v.fold]),
    timedelta: ("timedelta", lambda v: [v.days, v.seconds, v.microseconds]),
    slice: ("slice", lambda v: [v.start, v.stop, v.step]),
    type(Ellipsis): ("ellipsis", lambda v: None),
    type(NotImplemented): ("not_implemented", lambda v: None),
}
_PUT_TOGETHER: dict[str, Callable[[Any], Any]] = {
    "fraction": lambda parts: Fraction(*parts),
    "decimal": Decimal,
    "bytearray": bytearray,
    "deque": lambda parts: deque(parts[0], parts[1]),
    "counter": lambda pairs: Counter(dict(pairs)),
    "ordered": lambda pairs: OrderedDict(dict(pairs)),
    "default": lambda pairs: defaultdict(None, dict(pairs)),
    "keys": lambda items: dict.fromkeys(items).keys(),
    "values": lambda items: dict(enumerate(items)).values(),
    "items": lambda items: dict(items).items(),
    "datetime": lambda parts: datetime.fromisoformat(parts[0]).replace(fold=parts[1]),
    "date": date.fromisoformat,
    "time": lambda parts: time.fromisoformat(parts[0]).replace(fold=parts[1]),
    "timedelta": lambda parts: timedelta(*parts),
    "slice": lambda parts: slice(*parts),
    "ellipsis": lambda nothing: ...,
    "not_implemented": lambda nothing: NotImplemented,
}

TYPES: dict[str, type] = {
    f"{kind.__module__}.{kind.__qualname__}": kind
    for kind in (
        *(thing for thing in vars(builtins).values() if isinstance(thing, type)),
        *(kind for kind in _TAKE_APART if kind.__module__ != "builtins"),
        type(None),
        types.FunctionType,
    )
}
"""Types that may travel as values, by full name."""

_TYPE_NAMES = {kind: name for name, kind in TYPES.items()}


# ------------------------------------------------------------------------- codec
class Codec:
    """Turns values into what JSON can say and back; either side adds its own hooks."""

    def encode(self, value: object, depth: int = 0) -> Any:
        """Return what JSON can say about a value.

        Raises:
            NotPlain: If it lies too deep, or the side's hook refuses it.
        """
        try:
            return to_jsonable(value, depth)
        except NotPlain:
            return self._encode_parts(value, depth)

    def _encode_parts(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise NotPlain(f"a value must be at most {MAX_DEPTH} levels deep")
        kind, below = type(value), depth + 1
        if kind is list:
            return [self._encode_parts(item, below) for item in value]
        if kind in _SEQUENCES:
            return {_SEQUENCES[kind]: [self._encode_parts(item, below) for item in value]}
        if kind is dict:
            return {
                "$dict": [
                    [self._encode_parts(k, below), self._encode_parts(v, below)]
                    for k, v in value.items()
                ]
            }
        if kind in _PLAIN_ATOMS:
            return to_jsonable(value, depth)
        return self.encode_other(value, depth)

    def encode_standard(self, value: Any, depth: int) -> Any:
        """Return what rebuilds a value of a standard type; None for any other type."""
        kind = type(value)
        if kind in _TAKE_APART:
            name, take_apart = _TAKE_APART[kind]
            return {"$std": [name, self._encode_parts(take_apart(value), depth + 1)]}
        # The type of a class may be a program's metaclass: ask by identity only.
        if kind is type and value in _TYPE_NAMES:
            return {"$type": _TYPE_NAMES[value]}
        return None

    def encode_other(self, value: Any, depth: int) -> Any:
        """Return what stands for a value that is not plain."""
        raise NotPlain(f"a value must be plain, got {type(value).__name__}")

    def decode(self, value: Any) -> Any:
        """Return the value that the other side encoded.

        Raises:
            Garbled: If no value is encoded so.
        """
        try:
            return self._decode(value, 0)
        except _DECODE_ERRORS as error:
            raise Garbled(f"not a value: {error}"[:200]) from error

    def _decode(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise NotPlain(f"a value must be at most {MAX_DEPTH} levels deep")
        kind, below = type(value), depth + 1
        if kind is list:
            return [self._decode(item, below) for item in value]
        if kind is not dict:
            return value
        tag = next(iter(value), "")
        if len(value) != 1 or tag[:1] != "$":
            return {key: self._decode(item, below) for key, item in value.items()}
        content = value[tag]
        if tag in _COLLECTIONS:
            return _COLLECTIONS[tag](self._decode(item, below) for item in content)
        if tag == "$dict":
            return {self._decode(k, below): self._decode(v, below) for k, v in content}
        if tag == "$std":
            name, parts = content
            return _PUT_TOGETHER[name](self._decode(parts, below))
        if tag == "$type":
            return TYPES[content]
        if tag in _PLAIN_TAGS:
            return from_jsonable(value)
        return self.decode_other(tag, content)

    def decode_other(self, tag: str, content: Any) -> Any:
        """Return what a tag of this side's own stands for."""
        raise NotPlain(f"unknown tag {tag!r}")


_SEQUENCES: dict[type, str] = {tuple: "$tuple", set: "$set", frozenset: "$frozenset"}
_COLLECTIONS: dict[str, Callable[[Any], Any]] = {
    "$tuple": tuple,
    "$set": set,
    "$frozenset": frozenset,
}
_PLAIN_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, range})
_PLAIN_TAGS = frozenset({"$int", "$float", "$complex", "$str", "$bytes", "$range"})
# What a frame with a right length and wrong content can make decoding raise. Decimal's
# own errors are ArithmeticErrors.
_DECODE_ERRORS = (
    NotPlain,
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
    MemoryError,
)


# -------------------------------------------------------------------- exceptions
EXCEPTIONS: dict[str, type[BaseException]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException) and kind.__name__ == name
}
"""The builtin exception classes, by name."""

EXCEPTION_NAMES: dict[type, str] = {kind: name for name, kind in EXCEPTIONS.items()}

STANDARD_ERRORS = frozenset(
    {
        "_csv",
        "_queue",
        "binascii",
        "decimal",
        "json.decoder",
        "queue",
        "re",
        "sqlite3",
        "statistics",
        "struct",
        "zlib",
    }
)
"""Modules whose error classes reach test code as themselves. unittest's are not among
them: a program that raises SkipTest must not skip the test."""
