"""Split program: one right program as a helper `aux` and a main function.

program, name of its entry  ->  Split(aux, main)

How the reference agent plays `helper_main_v0`: the helper does the first half of the work
and returns what the second half needs. A program that cannot be cut so is left whole, and
the helper then does all of its work or none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from corecode_env.environments.joint_program import AUX, defined, parsed

NO_HELP: Final = f"def {AUX}(*values):\n    return values\n"
"""A helper for a main function that needs none."""

# What makes a piece of a function mean something else in another function.
_BOUND_TO_ITS_FUNCTION: Final = (
    *(ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith),
    *(ast.Global, ast.Nonlocal, ast.Delete, ast.NamedExpr, ast.Match),
)
_OWN_SCOPES: Final = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
_ALWAYS_BIND: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom)


class Split(NamedTuple):
    """The two sources."""

    aux: str
    main: str


def split_program(program: str, entry: str) -> Split:
    """Return a program as two sources that do together what it does.

    Args:
        program: Source, which may be wrong or no Python at all: then all of it is main.
        entry: Name of its function.
    """
    module = parsed(program)
    function = defined(module, entry)
    if module is None or not isinstance(function, ast.FunctionDef):
        return Split(NO_HELP, program)
    parameters = _parameters(function)
    if parameters is None or not _may_be_cut(module, function):
        return Split(NO_HELP, program)
    docstring = function.body[: _docstring_length(function)]
    body = function.body[len(docstring) :]
    if not body:
        return Split(NO_HELP, program)
    call = f"{AUX}({', '.join(parameters)})"
    cut = _best_cut(body, parameters)
    if cut is None:
        first, rest = body, _statements(f"return {call}")
    else:
        values = ", ".join(_carried(body, cut, parameters))
        first = [*body[:cut], *_statements(f"return {values}")]
        rest = [*_statements(f"{values} = {call}"), *body[cut:]]
    (aux,) = _statements(f"def {call}: pass")
    assert isinstance(aux, ast.FunctionDef)
    aux.body = first
    helper = _source(aux)
    function.body = [*docstring, *rest]
    return Split(helper, _source(module))


def _statements(source: str) -> list[ast.stmt]:
    return ast.parse(source).body


def _source(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)) + "\n"


def _parameters(function: ast.FunctionDef) -> list[str] | None:
    """Return the names of the parameters; None if a call by place cannot give them."""
    given = function.args
    if given.vararg or given.kwarg or given.kwonlyargs:
        return None
    return [arg.arg for arg in (*given.posonlyargs, *given.args)]


def _docstring_length(function: ast.FunctionDef) -> int:
    return int(ast.get_docstring(function, clean=False) is not None)


def _may_be_cut(module: ast.Module, function: ast.FunctionDef) -> bool:
    taken = any(isinstance(node, ast.Name) and node.id == AUX for node in ast.walk(module))
    bound = any(isinstance(node, _BOUND_TO_ITS_FUNCTION) for node in ast.walk(function))
    return not taken and not bound


def _best_cut(body: list[ast.stmt], parameters: list[str]) -> int | None:
    """Return the place nearest the middle at which a body can be cut, None if nowhere."""
    places = [place for place in range(1, len(body)) if _carried(body, place, parameters)]
    return min(places, key=lambda place: abs(2 * place - len(body)), default=None)


def _carried(body: list[ast.stmt], place: int, parameters: list[str]) -> list[str]:
    """Return the names that the part before a place must hand to the part behind it.

    Returns:
        The names in order; none if the body cannot be cut there: the part before may end
        the function, define another, or leave a name unbound that the rest uses.
    """
    before = [node for statement in body[:place] for node in _own_nodes(statement)]
    if any(isinstance(n, ast.Return | ast.FunctionDef | ast.ClassDef) for n in before):
        return []
    always = [*parameters]
    for statement in body[:place]:
        if isinstance(statement, _ALWAYS_BIND):
            always += _bound(_own_nodes(statement))
    used = {n.id for s in body[place:] for n in ast.walk(s) if isinstance(n, ast.Name)}
    carried = sorted(used & set(_bound(before)))
    return carried if set(carried) <= set(always) else []


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it that are not in a scope of their own."""
    yield node
    if not isinstance(node, _OWN_SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _own_nodes(child)


def _bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that nodes give a value to."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
            case ast.ExceptHandler(name=str(name)):
                yield name
