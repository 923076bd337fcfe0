"""Mutations: small faults in a program, each one change of its text.

    program text  ->  Slip, Slip, ...  (what changes where, and how to say it)

The operators are those that mutation testing has used since DeMillo, Lipton and Sayward
("Hints on Test Data Selection", Computer, 1978): arithmetic, comparison, boolean, constant
and return. A change is kept only if the changed text parses to the tree that was meant, so
that brackets and comments are no danger. Nothing is run here: whether a change matters is
for tests to say.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from corecode_env.core.subject import Mutation
from corecode_env.tasks.python_source import parse


@dataclass(frozen=True, slots=True)
class Slip:
    """One fault.

    Attributes:
        mutation: The change of the text.
        kind: `arithmetic`, `comparison`, `boolean`, `constant` or `return`.
        function: Name of the function that it is in.
        before: The expression as it was, on one line.
        after: The expression as it is.
    """

    mutation: Mutation
    kind: str
    function: str
    before: str
    after: str


_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
_COMPARISON: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_SYMBOLS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.And: "and",
    ast.Or: "or",
}
_LONGEST_SHOWN: Final = 60


def slips(program: str) -> list[Slip]:
    r"""Return the faults that one change can make in the functions of a program.

    Args:
        program: Python that parses, with LF line ends.

    Returns:
        In the order of the text; two changes never make the same text.

    Raises:
        ValueError: If the program does not parse.

    >>> [(s.before, s.after) for s in slips("def f(a):\n    return a < 3\n")]
    [('a < 3', 'None'), ('a < 3', 'a <= 3'), ('3', '4')]
    """
    found: dict[str, Slip] = {}
    text = _Text(program)
    for function, node in _in_functions(parse(program)):
        for kind, change in _changes(node):
            slip = text.slip(function, node, kind, change)
            if slip is not None:
                found.setdefault(slip.mutation.apply(program), slip)
    return sorted(found.values(), key=lambda slip: (slip.mutation.start, slip.mutation.end))


def _in_functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield each node inside a function, without docstrings, annotations and defaults."""

    def walk(function: str, node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
        yield function, node
        for child in ast.iter_child_nodes(node):
            # Parts of an f-string have positions of their own only from Python 3.12 on.
            if not isinstance(child, ast.JoinedStr) and not _is_text(child):
                yield from walk(function, child)

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                if isinstance(statement, ast.FunctionDef | ast.ClassDef) or _is_text(
                    statement
                ):
                    continue
                yield from walk(node.name, statement)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


Change = Callable[[ast.AST], None]
"""Makes the change in the node, which is a copy."""


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            if type(op) in _ARITHMETIC:
                yield "arithmetic", lambda n: setattr(n, "op", _ARITHMETIC[type(op)]())
        case ast.Compare(ops=[comparison]):
            yield "comparison", lambda n: setattr(n, "ops", [_COMPARISON[type(comparison)]()])
        case ast.BoolOp(op=logic):
            other = ast.Or() if isinstance(logic, ast.And) else ast.And()
            yield "boolean", lambda n: setattr(n, "op", other)
        case ast.Constant(bool() as truth):
            yield "boolean", lambda n: setattr(n, "value", not truth)
        case ast.Constant(int() | float() as number):
            yield "constant", lambda n: setattr(n, "value", number + 1)
        case ast.Constant(str() as string):
            yield "constant", lambda n: setattr(n, "value", "" if string else "?")
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield "return", lambda n: setattr(n, "value", ast.Constant(None))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Text:
    """A program's text, in which nodes are found."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.lines = program.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def at(self, line: int, column: int) -> int:
        """Return the character at which a position of a syntax tree stands."""
        before = self.lines[line - 1].encode()[:column].decode()
        return self.starts[line - 1] + len(before)

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins and ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self.at(node.lineno, node.col_offset),
            self.at(node.end_lineno, node.end_col_offset),
        )

    def slip(self, function: str, node: ast.AST, kind: str, change: Change) -> Slip | None:
        """Return a change of a node as a change of text; None if text cannot express it."""
        changed = copy.deepcopy(node)
        change(changed)
        mutation = self._mutation(node, changed)
        if mutation is None or not self._means(mutation, node, change):
            return None
        shown = (node, changed)
        if isinstance(node, ast.Return) and isinstance(changed, ast.Return):
            assert node.value is not None and changed.value is not None
            shown = (node.value, changed.value)
        before, after = (_shown(part) for part in shown)
        return Slip(mutation, kind, function, before, after)

    def _mutation(self, node: ast.AST, changed: ast.AST) -> Mutation | None:
        match node, changed:
            case ast.BinOp(left, old, right), ast.BinOp(op=new):
                return self._operator(left, right, old, new)
            case ast.AugAssign(left, old, right), ast.AugAssign(op=new):
                return self._operator(left, right, old, new)
            case ast.Compare(left, [old], [right]), ast.Compare(ops=[new]):
                return self._operator(left, right, old, new)
            case ast.BoolOp(old, [left, right]), ast.BoolOp(new):
                return self._operator(left, right, old, new)
            case ast.Constant(), ast.Constant(value):
                return Mutation(*self.span(node), repr(value))
            case ast.Return(ast.expr() as value), ast.Return():
                return Mutation(*self.span(value), "None")
        return None

    def _operator(
        self, left: ast.expr, right: ast.expr, old: ast.AST, new: ast.AST
    ) -> Mutation | None:
        start, end = self.span(left)[1], self.span(right)[0]
        symbol = _SYMBOLS[type(old)]
        place = self.program.find(symbol, start, end)
        if place < 0:
            return None
        return Mutation(place, place + len(symbol), _SYMBOLS[type(new)])

    def _means(self, mutation: Mutation, node: ast.AST, change: Change) -> bool:
        """Return whether the changed text parses to the tree that was meant."""
        meant = parse(self.program)
        for other in ast.walk(meant):
            if type(other) is type(node) and _position(other) == _position(node):
                change(other)
                break
        try:
            return ast.dump(parse(mutation.apply(self.program))) == ast.dump(meant)
        except ValueError:
            return False


def _position(node: ast.AST) -> tuple[int, int, int, int]:
    names = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    line, column, end_line, end_column = (getattr(node, name, -1) for name in names)
    return line, column, end_line, end_column


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
