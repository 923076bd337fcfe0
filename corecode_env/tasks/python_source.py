"""Python source as data: what loaders learn from program and test text without running it.

source text  ->  ast  ->  names, literal values, separate tests, source text again
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from corecode_env.core.source import parse_quietly

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DIGITS = 4000  # below the 4,300 at which CPython refuses to print an integer


def normalise(source: str) -> str:
    r"""Return source with LF line ends, no byte order mark, and tabs as Python counts them.

    A tab in the indentation goes to the next multiple of 8 columns, as in the tokenizer;
    tabs elsewhere (in strings) stay.

    >>> normalise("def f():\r\n\treturn 1\r\n")
    'def f():\n        return 1\n'
    """
    lines = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(_spaces(line) for line in lines)


def _spaces(line: str) -> str:
    body = line.lstrip(" \t")
    indent = line[: len(line) - len(body)]
    return indent.expandtabs(8) + body if "\t" in indent else line


def parse(source: str) -> ast.Module:
    """Parse source.

    Raises:
        ValueError: If it is no Python, with one line that says why.
    """
    try:
        return parse_quietly(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"not Python source: {error}") from error


def definitions(tree: ast.Module) -> dict[str, _Definition]:
    """Return the functions and classes that a module defines at its top level."""
    return {node.name: node for node in tree.body if isinstance(node, _Definition)}


def names_in(nodes: ast.AST | Iterable[ast.AST]) -> set[str]:
    """Return all names that are read or bound anywhere inside."""
    roots = [nodes] if isinstance(nodes, ast.AST) else list(nodes)
    return {n.id for root in roots for n in ast.walk(root) if isinstance(n, ast.Name)}


def called_names(tree: ast.AST) -> list[str]:
    """Return the plain names that are called, outermost first.

    >>> called_names(ast.parse("assert set(f(g(1))) == set()"))
    ['set', 'set', 'f', 'g']
    """
    calls = (n.func for n in ast.walk(tree) if isinstance(n, ast.Call))
    return [func.id for func in calls if isinstance(func, ast.Name)]


def signature_of(node: _Definition) -> str:
    """Return the `def` or `class` line of a definition.

    >>> signature_of(ast.parse("def f(a: int, b=1) -> int: return a").body[0])
    'def f(a: int, b=1) -> int:'
    """
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        return f"class {node.name}({bases}):" if bases else f"class {node.name}:"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"def {node.name}({ast.unparse(node.args)}){returns}:"


# ------------------------------------------------------------------------- literals
def literal(node: ast.expr | str) -> Any:
    """Return the value of a literal; the names `inf` and `nan` count as literals too.

    Raises:
        ValueError: If it is anything else than a literal.

    >>> literal("[(1, inf), {'a': set()}]")
    [(1, inf), {'a': set()}]
    """
    if isinstance(node, str):
        body = parse(node.strip()).body
        if len(body) != 1 or not isinstance(body[0], ast.Expr):
            raise ValueError("not one literal")
        node = body[0].value
    try:
        try:
            return ast.literal_eval(node)
        except ValueError:
            return ast.literal_eval(_Infinities().visit(ast.Expression(node)))
    except (TypeError, RecursionError, MemoryError) as error:  # {[]}: unhashable
        raise ValueError(f"not a literal: {error}") from error


class _Infinities(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in ("inf", "nan"):
            return ast.copy_location(ast.Constant(float(node.id)), node)
        return node


def source_of(value: object) -> str:
    """Return source whose value, with `inf` and `nan` defined, is the plain value.

    Unlike `repr` it can write integers of any length (in hex).

    >>> source_of([(1,), {2: float("-inf")}, set()])
    '[(1,), {2: -inf}, set()]'
    """
    if (plain := _plain_repr(value)) is not None:
        return plain
    match value:
        case list():
            return f"[{_joined(value)}]"
        case tuple():
            return f"({_joined(value)},)" if len(value) == 1 else f"({_joined(value)})"
        case set() | frozenset():
            items = f"{{{_joined(sorted(value, key=repr))}}}" if value else "set()"
            return items if isinstance(value, set) else f"frozenset({items})"
        case dict():
            pairs = (f"{source_of(k)}: {source_of(v)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        case int() if not isinstance(value, bool) and abs(value) >= 10**_DIGITS:
            return hex(value)
        case complex():
            return f"complex({source_of(value.real)}, {source_of(value.imag)})"
        case _:
            return repr(value)


def _plain_repr(value: object) -> str | None:
    """Return `repr` where it will do, which is ten times as fast; else None."""
    try:
        text = repr(value)
    except ValueError:  # an integer too long to print
        return None
    # Sets print in the order of their hashes, and complex infinities as no source at all.
    return None if "{" in text or "j" in text else text


def _joined(values: Iterable[object]) -> str:
    return ", ".join(source_of(item) for item in values)


# ---------------------------------------------------------------- splitting check()
class _Rename(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id == self._old:
            node.id = self._new
        return node


def split_check(source: str, entry: str) -> list[str]:
    """Split a test function `check(candidate)` into tests that stand by themselves.

    Each top-level assert that depends on the candidate becomes one test, together with
    the imports, definitions and assignments before it. A loop or another compound
    statement stays whole. Where a later statement needs what a compound statement bound,
    the whole body stays one test. Asserts that never look at the candidate are dropped.

    Args:
        source: The test module. What it does besides defining `check` goes before each
            test, except for the constant METADATA and the call of `check`.
        entry: Name of the program's function; it takes the place of the parameter.

    Raises:
        ValueError: If the source is no Python, has no `check` with one parameter, or
            tests nothing.
    """
    tree = parse(source)
    check = definitions(tree).get("check")
    if not isinstance(check, ast.FunctionDef) or len(check.args.args) != 1:
        raise ValueError("no function check(candidate) in it")
    head = [node for node in tree.body if node is not check and not _is_bookkeeping(node)]
    candidate = check.args.args[0].arg
    groups = _split_body(check.body, candidate)
    if not groups:
        raise ValueError("check(candidate) asserts nothing about the candidate")
    rename = _Rename(candidate, entry)
    return [_test_source([*head, *(rename.visit(n) for n in group)]) for group in groups]


def _is_bookkeeping(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id="METADATA")]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="check")) | ast.Constant()):
            return True
    return False


_SETUP = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
_COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try)


def _split_body(body: Sequence[ast.stmt], candidate: str) -> list[list[ast.stmt]]:
    tainted = {candidate}  # names through which the candidate is reached
    setup: list[ast.stmt] = []
    groups: list[list[ast.stmt]] = []
    for position, node in enumerate(body):
        touched = bool(names_in(node) & tainted)
        if isinstance(node, ast.Assert):
            if touched:
                groups.append([*setup, node])
        elif isinstance(node, _SETUP):
            setup.append(node)
            if touched:
                tainted |= _bound(node)
        elif isinstance(node, _COMPOUND):
            if _bound(node) & names_in(body[position + 1 :]):
                return [list(body)]
            if touched:
                groups.append([*setup, node])
        elif touched:
            return [list(body)]
    return groups


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, _Definition):
        return {node.name}
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def _test_source(nodes: Sequence[ast.stmt]) -> str:
    source = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in nodes)
    # A verdict must depend on the program alone, so chance in a test is fixed.
    if "random" in _imported(nodes):
        source = f"import random as _random\n_random.seed(0)\n{source}"
    return source + "\n"


def _imported(nodes: Iterable[ast.stmt]) -> set[str]:
    modules: set[str] = set()
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module)
    return modules
