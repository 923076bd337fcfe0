"""Instrument: a program that counts which of its statements and branches are reached.

    source  ->  code whose functions report  ->  Reached

Reports are built into the program's syntax tree rather than taken from the interpreter's
tracing, whose events differ between versions of Python: the same source has the same
statements and branches everywhere.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from typing import Any, Final

SEEN: Final = "__statement_is_reached__"
TOOK: Final = "__branch_is_taken__"


class TooLong(BaseException):
    """A program executed more statements than it may. Not an Exception: none handles it."""


class Reached:
    """What a run of an instrumented program reached.

    Attributes:
        statements: Numbers of the statements.
        branches: Decisions, by number, with the way that each took.
        steps: How many statements were executed.
    """

    def __init__(self, most_steps: int) -> None:
        """Begin with nothing reached.

        Args:
            most_steps: Statements after which a run is ended.
        """
        self.statements: set[int] = set()
        self.branches: set[tuple[int, bool]] = set()
        self.steps = 0
        self.most_steps = most_steps

    def see(self, statement: int) -> None:
        """Count a statement.

        Raises:
            TooLong: If there were too many.
        """
        self.steps += 1
        if self.steps > self.most_steps:
            raise TooLong("the program goes on for too long")
        self.statements.add(statement)

    def take(self, decision: int, value: object) -> bool:
        """Count which way a decision went, and return that way."""
        way = bool(value)
        self.branches.add((decision, way))
        return way


def instrument(source: str) -> types.CodeType:
    """Compile a program so that its functions report to names `SEEN` and `TOOK`.

    Raises:
        SyntaxError, ValueError: If the source does not compile.
    """
    tree = _Instrument().visit(ast.parse(source))
    return compile(ast.fix_missing_locations(tree), SUBJECT_FILE, "exec", dont_inherit=True)


SUBJECT_FILE: Final = "subject.py"


def namespace_of(code: types.CodeType, reached: Reached, name: str) -> dict[str, Any]:
    """Run the module of an instrumented program and return its names.

    Args:
        code: What `instrument` returned.
        reached: Where its functions report.
        name: Name of the module.
    """
    namespace: dict[str, Any] = {"__name__": name, SEEN: reached.see, TOOK: reached.take}
    exec(code, namespace)
    return namespace


class _Instrument(ast.NodeTransformer):
    """Puts a report before every statement of a function, and around every decision."""

    def __init__(self) -> None:
        self.statements = 0
        self.decisions = 0
        self.depth = 0

    # ---------------------------------------------------------------- statements
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        node.body = self._reporting(node.body)
        self.depth -= 1
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        inside_function = self.depth and not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
        )
        for name in ("body", "orelse", "finalbody") if inside_function else ():
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                setattr(node, name, self._reporting(block))
        return node

    def _reporting(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in block:
            if not _says_nothing(statement):
                self.statements += 1
                out.append(ast.Expr(_call(SEEN, ast.Constant(self.statements))))
            out.append(statement)
        return out

    # ----------------------------------------------------------------- decisions
    def visit_If(self, node: ast.If) -> ast.AST:
        return self._tested(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._tested(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._tested(node)

    def _tested(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        number = self._decision()
        self.generic_visit(node)
        node.test = _call(TOOK, ast.Constant(number), node.test)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        numbers = [self._decision() for _ in node.ifs]
        self.generic_visit(node)
        node.ifs = [
            _call(TOOK, ast.Constant(n), test)
            for n, test in zip(numbers, node.ifs, strict=True)
        ]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        # A loop over items decides at each round whether there is one more.
        number = self._decision()
        self.generic_visit(node)
        for block, way in ((node.body, True), (node.orelse, False)):
            report = _call(TOOK, ast.Constant(number), ast.Constant(way))
            block.insert(0, ast.Expr(report))
        return node

    def _decision(self) -> int:
        self.decisions += 1
        return self.decisions


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _says_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement does nothing that could be reached: a text, a scope."""
    if isinstance(statement, ast.Global | ast.Nonlocal):
        return True
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
