"""Equality: whether an encoded result is the expected value.

    what a program replied (encoded)  +  the expected value  ->  "" or the difference

The result is compared as it came through the pipe and is never rebuilt: no hash table is
made of numbers that a program chose (a frame of colliding keys would take hours), and no
method of anything but str, int and float is called.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from corecode_env.core.values import MAX_DEPTH, NotPlain, to_jsonable

DEFAULT_ABS = 1e-6
DEFAULT_REL = 1e-6
"""Tolerances where the expected number is a float."""

_SHOWN = 100
_LISTED = 1024

Kind = Literal[
    "None", "a bool", "a number", "a string", "bytes", "a list", "a set", "a dict", "an object"
]


class View(NamedTuple):
    """An encoded value, opened: its kind and its content."""

    kind: Kind
    content: Any
    """The atom itself; items of lists and sets; (key, value) pairs of dicts."""


def values_differ(encoded: Any, expected: Any, options: Mapping[str, Any]) -> str:
    """Return what differs between a result and the expected value, "" if nothing does.

    Args:
        encoded: The result as `to_jsonable` writes plain values. Not trusted.
        expected: The plain value that is right.
        options: `abs`, `rel` (tolerances where a float is expected), `nan_equal`,
            `as_set`, `unordered` (the outermost list or set), `not_none` (the expected
            bool says whether the result is something), `json_keys` (dict keys are
            compared as JSON writes them). `shape` may be given: values are compared item
            by item, so a list never equals one of another length, nor an empty one a
            full one.
    """
    comparer = _Comparer(options)
    wanted = to_jsonable(expected)
    try:
        if options.get("not_none"):
            return comparer.something(encoded, wanted)
        if options.get("as_set") or options.get("unordered"):
            return comparer.collections(encoded, wanted, unique=bool(options.get("as_set")))
        return comparer.differ(encoded, wanted)
    except (NotPlain, TypeError, ValueError, LookupError, ArithmeticError) as error:
        return f"the result is not a plain value: {error}"[:200]


class _Comparer:
    """Compares encoded values under one task's options."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.abs = float(options.get("abs", DEFAULT_ABS))
        self.rel = float(options.get("rel", DEFAULT_REL))
        self.nan_equal = bool(options.get("nan_equal"))
        self.json_keys = bool(options.get("json_keys"))

    def differ(self, result: Any, wanted: Any) -> str:
        mine, other = view(result), view(wanted)
        if mine.kind != other.kind:
            return _mismatch(result, wanted)
        match other.kind:
            case "a number":
                same = self.numbers_match(mine.content, other.content)
                return "" if same else _mismatch(result, wanted)
            case "a list":
                return self.lists(mine.content, other.content)
            case "a set":
                return self.multisets(list(mine.content), list(other.content))
            case "a dict":
                return self.dicts(mine.content, other.content)
            case "an object":
                return _mismatch(result, wanted)
        return "" if mine.content == other.content else _mismatch(result, wanted)

    def lists(self, mine: Sequence[Any], other: Sequence[Any]) -> str:
        if len(mine) != len(other):
            return f"expected {len(other)} items, got {len(mine)}"
        for index, (item, wanted) in enumerate(zip(mine, other, strict=True)):
            if difference := self.differ(item, wanted):
                return f"item {index}: {difference}"[: 2 * _SHOWN]
        return ""

    def dicts(self, mine: Sequence[Any], other: Sequence[Any]) -> str:
        results = {self.key(key): value for key, value in mine}
        wanted = {self.key(key): value for key, value in other}
        if len(results) != len(mine) or results.keys() != wanted.keys():
            return "the keys differ"
        for key, value in wanted.items():
            if difference := self.differ(results[key], value):
                return f"key {key}: {difference}"[: 2 * _SHOWN]
        return ""

    def key(self, encoded: Any) -> str:
        if not self.json_keys:
            return canonical(encoded)
        kind, content = view(encoded)
        if kind == "a string":
            return str(content)
        return json.dumps(content) if kind in ("None", "a bool") else str(content)

    def collections(self, result: Any, wanted: Any, *, unique: bool) -> str:
        mine, other = view(result), view(wanted)
        for kind, _ in (mine, other):
            if kind not in ("a list", "a set"):
                return _mismatch(result, wanted)
        if len(mine.content) > 16 * len(other.content) + _LISTED:
            return f"expected {len(other.content)} items, got {len(mine.content)}"
        if not unique:
            return self.multisets(list(mine.content), list(other.content))
        results = {canonical(item): item for item in mine.content}
        expected = {canonical(item): item for item in other.content}
        return self.multisets(list(results.values()), list(expected.values()))

    def multisets(self, mine: list[Any], other: list[Any]) -> str:
        if len(mine) != len(other):
            return f"expected {len(other)} items, got {len(mine)}"
        if sorted(map(canonical, mine)) == sorted(map(canonical, other)):
            return ""
        results, wanted = _real_numbers(mine), _real_numbers(other)
        if results is None or wanted is None:
            return "the items differ"
        pairs = zip(sorted(results), sorted(wanted), strict=True)
        return "" if all(self.numbers_match(*pair) for pair in pairs) else "the items differ"

    def something(self, result: Any, wanted: Any) -> str:
        kind, content = view(result)
        said = content if kind == "a bool" else kind != "None"
        return "" if said is wanted else _mismatch(result, wanted)

    def numbers_match(self, result: Any, wanted: Any) -> bool:
        if isinstance(result, complex) or isinstance(wanted, complex):
            mine, other = complex(result), complex(wanted)
            return self.near(mine.real, other.real) and self.near(mine.imag, other.imag)
        if isinstance(wanted, int):
            return bool(result == wanted)
        return self.near(result, wanted)

    def near(self, result: int | float, wanted: float) -> bool:
        try:
            number = float(result)
        except OverflowError:
            return False
        if math.isnan(wanted) or math.isnan(number):
            return self.nan_equal and math.isnan(wanted) and math.isnan(number)
        if math.isinf(wanted) or math.isinf(number):
            return number == wanted
        return abs(number - wanted) <= max(self.abs, self.rel * abs(wanted))


# ------------------------------------------------------------- encoded values opened
def view(encoded: Any) -> View:
    """Open an encoded value.

    Raises:
        NotPlain, TypeError, ValueError, LookupError: If nothing is encoded so.
    """
    if encoded is None:
        return View("None", None)
    if isinstance(encoded, bool):
        return View("a bool", encoded)
    if isinstance(encoded, int | float):
        return View("a number", encoded)
    if isinstance(encoded, str):
        return View("a string", encoded)
    if isinstance(encoded, list):
        return View("a list", encoded)
    tag = next(iter(encoded), "")
    if len(encoded) != 1 or tag[:1] != "$":
        return View("a dict", list(encoded.items()))
    return _tagged(tag, encoded[tag])


def _tagged(tag: str, content: Any) -> View:
    match tag:
        case "$tuple":
            return View("a list", _list(content))
        case "$set" | "$frozenset":
            return View("a set", _list(content))
        case "$dict":
            pairs = [_list(pair) for pair in _list(content)]
            if any(len(pair) != 2 for pair in pairs):
                raise NotPlain("a dict must be made of pairs")
            return View("a dict", pairs)
        case "$int":
            return View("a number", int(content, 16))
        case "$float":
            return View("a number", _SPECIAL_FLOATS[content])
        case "$complex":
            real, imaginary = (view(part).content for part in content)
            return View("a number", complex(float(real), float(imaginary)))
        case "$str":
            return View("a string", bytes.fromhex(content).decode("utf-8", "surrogatepass"))
        case "$bytes":
            return View("bytes", bytes.fromhex(content))
        case "$range":
            return View("a list", range(*content))
        case "$opaque":
            return View("an object", str(content)[:_SHOWN])
    raise NotPlain(f"unknown tag {tag[:20]!r}")


_SPECIAL_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise NotPlain("a list must be a list")
    return content


def canonical(encoded: Any, depth: int = 0) -> str:
    """Return a text that is equal for equal values: 1 and 1.0, (1,) and [1]."""
    if depth > MAX_DEPTH:
        raise NotPlain(f"a value must be at most {MAX_DEPTH} levels deep")
    kind, content = view(encoded)
    below = depth + 1
    match kind:
        case "a number":
            return _canonical_number(content)
        case "a list":
            if isinstance(content, range) and len(content) > _LISTED:
                return repr(content)  # a short text may stand for any number of items
            return "[" + ",".join(canonical(item, below) for item in content) + "]"
        case "a set":
            return "{" + ",".join(sorted(canonical(item, below) for item in content)) + "}"
        case "a dict":
            pairs = (f"{canonical(k, below)}:{canonical(v, below)}" for k, v in content)
            return "d{" + ",".join(sorted(pairs)) + "}"
        case "a string":
            return json.dumps(content)
        case "bytes":
            return f"b{content.hex()}"
    return repr(content)


def _canonical_number(number: int | float | complex) -> str:
    if isinstance(number, complex):
        if number.imag != 0:
            return f"{_canonical_number(number.real)}+{_canonical_number(number.imag)}j"
        number = number.real
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return hex(number) if isinstance(number, int) else repr(number)


def _real_numbers(items: list[Any]) -> list[int | float] | None:
    """Return the numbers that the items are; None if one is none, or cannot be ordered."""
    numbers = []
    for item in items:
        kind, content = view(item)
        if kind != "a number" or isinstance(content, complex) or content != content:
            return None
        numbers.append(content)
    return numbers


# ------------------------------------------------------------------- for people
def _mismatch(result: Any, wanted: Any) -> str:
    return f"expected {show(wanted)}, got {show(result)}"


def show(encoded: Any) -> str:
    """Return an encoded value as short Python text."""
    text = ""
    for piece in _pieces(encoded, 0):
        text += piece
        if len(text) > _SHOWN:
            return text[: _SHOWN - 3] + "..."
    return text


def _pieces(encoded: Any, depth: int) -> Iterator[str]:
    kind, content = view(encoded)
    if depth > 20:
        yield "..."
    elif kind in ("a list", "a set"):
        start, end = "[]" if kind == "a list" else "{}"
        yield start
        for index, item in enumerate(content):
            yield ", " if index else ""
            yield from _pieces(item, depth + 1)
        yield end
    elif kind == "a dict":
        yield "{"
        for index, (key, value) in enumerate(content):
            yield ", " if index else ""
            yield from _pieces(key, depth + 1)
            yield ": "
            yield from _pieces(value, depth + 1)
        yield "}"
    elif kind == "an object":
        yield f"<{content} object>"
    elif isinstance(content, int) and not isinstance(content, bool) and abs(content) >= 2**64:
        yield hex(content)[:_SHOWN]
    else:
        yield repr(content[:_SHOWN] if isinstance(content, str | bytes) else content)
