"""Operations: what one side may do with an object that lives on the other.

    a special method's name  ->  the builtin or operator that performs it

Comparisons and arithmetic with a plain value are not among the operations on the
program's objects: an object that sees the other operand sees the expected value, and one
that answers `==` or `<` answers the test.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any


def _enter(thing: Any) -> Any:
    return type(thing).__enter__(thing)


def _exit(thing: Any) -> Any:
    return type(thing).__exit__(thing, None, None, None)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "__bool__": bool,
    "__len__": len,
    "__iter__": iter,
    "__reversed__": reversed,
    "__str__": str,
    "__repr__": repr,
    "__format__": format,
    "__int__": int,
    "__float__": float,
    "__getitem__": operator.getitem,
    "__setitem__": operator.setitem,
    "__delitem__": operator.delitem,
    "__enter__": _enter,
    "__exit__": _exit,
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
    "__add__": operator.add,
    "__sub__": operator.sub,
    "__mul__": operator.mul,
    "__matmul__": operator.matmul,
    "__truediv__": operator.truediv,
    "__floordiv__": operator.floordiv,
    "__mod__": operator.mod,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__neg__": operator.neg,
    "__abs__": abs,
    "__invert__": operator.invert,
}
"""On the program's objects, asked for by the judge."""

BETWEEN_OBJECTS = frozenset(
    {
        "__add__",
        "__sub__",
        "__mul__",
        "__matmul__",
        "__truediv__",
        "__floordiv__",
        "__mod__",
        "__and__",
        "__or__",
    }
)
"""Those of them that take two objects of the program, and nothing else."""


def _reflected(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda right, left: operation(left, right)


VISITOR_OPERATIONS: dict[str, Callable[..., Any]] = {
    **OPERATIONS,
    "__contains__": operator.contains,
    "__eq__": operator.eq,
    "__ne__": operator.ne,
    "__lt__": operator.lt,
    "__le__": operator.le,
    "__gt__": operator.gt,
    "__ge__": operator.ge,
    "__hash__": hash,
    "__pow__": operator.pow,
    "__radd__": _reflected(operator.add),
    "__rsub__": _reflected(operator.sub),
    "__rmul__": _reflected(operator.mul),
    "__rtruediv__": _reflected(operator.truediv),
}
"""On the test's objects, asked for by the program."""
