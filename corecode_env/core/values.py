r"""Values: plain Python values as JSON, and back, without loss.

A plain value is None, bool, int, float, complex, str, bytes, list, tuple, dict, set,
frozenset or range, nested to any depth up to `MAX_DEPTH`. JSON has fewer kinds; what it
lacks travels as an object with one key that starts with `$`:

    (1, 2)      {"$tuple": [1, 2]}          {1: "a"}    {"$dict": [[1, "a"]]}
    {1}         {"$set": [1]}               1 + 2j      {"$complex": [1.0, 2.0]}
    b"x"        {"$bytes": "78"}            inf         {"$float": "inf"}
    2**70       {"$int": "0x400..."}        "\ud800"    {"$str": "eda080"}

A dict whose keys are all strings, none starting with `$`, stays a JSON object. Only exact
builtin types are plain: a subclass is refused, never silently flattened. This file
imports the standard library only, so that a sandboxed child may load it by its path.
"""

from __future__ import annotations

import math
from typing import Any

MAX_DEPTH = 200
"""Deepest nesting that is encoded or decoded."""

# Above 2**53 other JSON readers round; hex also passes Python's 4,300-digit limit.
_SAFE_INT = 2**53


class NotPlain(ValueError):
    """A value that is not plain, or a JSON text that does not stand for one."""


def to_jsonable(value: object, depth: int = 0) -> Any:
    """Return what `json.dumps` can write for a plain value.

    Args:
        value: The plain value.
        depth: Depth at which it stands; callers leave it at 0.

    Raises:
        NotPlain: If the value (or a part) has another type or lies too deep.

    >>> to_jsonable({"a": (1, {2})})
    {'a': {'$tuple': [1, {'$set': [2]}]}}
    """
    if depth > MAX_DEPTH:
        raise NotPlain(f"a value must be at most {MAX_DEPTH} levels deep")
    kind = type(value)
    below = depth + 1
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -_SAFE_INT < value < _SAFE_INT else {"$int": hex(value)}  # type: ignore[operator, arg-type]
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}  # type: ignore[arg-type]
    if kind is str:
        return _string(value)  # type: ignore[arg-type]
    if kind is list:
        return [to_jsonable(item, below) for item in value]  # type: ignore[attr-defined]
    if kind is dict:
        return _dict(value, below)  # type: ignore[arg-type]
    if kind is complex:
        parts = (value.real, value.imag)  # type: ignore[attr-defined]
        return {"$complex": [to_jsonable(part, below) for part in parts]}
    if kind is bytes:
        return {"$bytes": value.hex()}  # type: ignore[attr-defined]
    if kind is range:
        return {"$range": [value.start, value.stop, value.step]}  # type: ignore[attr-defined]
    if kind in _SEQUENCES:
        return {_SEQUENCES[kind]: [to_jsonable(item, below) for item in value]}  # type: ignore[attr-defined]
    raise NotPlain(f"a value must be plain, got {kind.__name__}")


_SEQUENCES: dict[type, str] = {tuple: "$tuple", set: "$set", frozenset: "$frozenset"}


def _string(text: str) -> Any:
    try:
        text.encode()
    except UnicodeEncodeError:
        return {"$str": text.encode("utf-8", "surrogatepass").hex()}
    return text


def _dict(value: dict[Any, Any], below: int) -> Any:
    if all(type(key) is str and key[:1] != "$" for key in value):
        try:
            "".join(value).encode()
        except UnicodeEncodeError:
            pass
        else:
            return {key: to_jsonable(item, below) for key, item in value.items()}
    pairs = [[to_jsonable(k, below), to_jsonable(v, below)] for k, v in value.items()]
    return {"$dict": pairs}


def from_jsonable(value: Any) -> Any:
    """Return the plain value that `to_jsonable` turned into `value`.

    Raises:
        NotPlain: If a tag is unknown, its content malformed, a set's item or a dict's
            key unhashable, or the nesting deeper than `MAX_DEPTH`.

    >>> from_jsonable({"$tuple": [1, {"$set": [2]}]})
    (1, {2})
    """
    try:
        return _decode(value, 0)
    except NotPlain:
        raise
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise NotPlain(f"malformed value: {error}") from error


def _decode(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise NotPlain(f"a value must be at most {MAX_DEPTH} levels deep")
    kind = type(value)
    if kind is list:
        return [_decode(item, depth + 1) for item in value]
    if kind is not dict:
        return value
    tag = next(iter(value), "")
    if len(value) != 1 or tag[:1] != "$":
        return {key: _decode(item, depth + 1) for key, item in value.items()}
    content = value[tag]
    if tag in _ATOMS:
        return _ATOMS[tag](content)
    if tag == "$dict":
        return {_decode(k, depth + 1): _decode(v, depth + 1) for k, v in content}
    items = [_decode(item, depth + 1) for item in content]
    if tag in _BUILDERS:
        return _BUILDERS[tag](items)
    raise NotPlain(f"unknown tag {tag!r}")


_ATOMS: dict[str, Any] = {
    "$int": lambda text: int(text, 16),
    "$float": lambda text: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[text],
    "$str": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "$bytes": bytes.fromhex,
}
_BUILDERS: dict[str, Any] = {
    "$tuple": tuple,
    "$set": set,
    "$frozenset": frozenset,
    "$complex": lambda parts: complex(*parts),
    "$range": lambda bounds: range(*bounds),
}
