"""Joint program: a helper `aux` and a main function, put together and looked at.

    source of aux, source of main  ->  one program, and facts on how the two work together

Both are read as syntax trees and never run here. The facts are those that CoMLRL's game
pays by (arXiv:2508.04652); its authors find them by patterns in the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from corecode_env.core.source import parse_quietly

AUX: Final = "aux"
"""Name of the helper's function."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def joined(aux: str, main: str) -> str:
    """Return both sources as one program, the helper's first.

    Where both define a name, main's holds.
    """
    return "\n\n".join(part for part in (aux.rstrip("\n"), main.strip("\n")) if part) + "\n"


def parsed(source: str) -> ast.Module | None:
    """Return the syntax tree of a source, None if it does not parse."""
    try:
        return parse_quietly(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def defined(module: ast.Module | None, name: str) -> Function | None:
    """Return the last function of a name on the top level, None if there is none."""
    body: Sequence[ast.stmt] = module.body if module is not None else ()
    found = (node for node in reversed(body) if isinstance(node, Function))
    return next((node for node in found if node.name == name), None)


def facts_of(aux: str, main: str, entry: str) -> dict[str, float]:
    """Return what is true of a helper's and a main function, as 0.0 and 1.0.

    Args:
        aux: Source of the helper.
        main: Source of the main function.
        entry: Name of the main function.

    Returns:
        `aux_defined`, `main_defined`: the function is there and returns a value; `syntax`:
        main is defined and both parse together; `uses_aux`: main calls the helper's aux;
        `own_work`: it does, and more than to hand its result on; `ignores_aux`: a call
        stands alone, so that its result is lost.
    """
    main_module = parsed(main)
    helper, function = defined(parsed(aux), AUX), defined(main_module, entry)
    main_defined = function is not None and _returns(function)
    # A main that brings an aux of its own calls that one.
    shared = helper is not None and defined(main_module, AUX) is None
    uses = function is not None and shared and any(_calls(function))
    return {
        "aux_defined": float(helper is not None and _returns(helper)),
        "main_defined": float(main_defined),
        "syntax": float(main_defined and parsed(joined(aux, main)) is not None),
        "uses_aux": float(uses),
        "own_work": float(uses and function is not None and not _hands_on(function)),
        "ignores_aux": float(uses and function is not None and _ignores(function)),
    }


def _returns(function: Function) -> bool:
    """Return whether a function returns a value somewhere."""
    returns = (node for node in ast.walk(function) if isinstance(node, ast.Return))
    return any(node.value is not None for node in returns)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of the helper below a node."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and _is_aux(inner.func):
            yield inner


def _is_aux(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == AUX


def _ignores(function: Function) -> bool:
    """Return whether some call of the helper stands alone."""
    alone = (node.value for node in ast.walk(function) if isinstance(node, ast.Expr))
    return any(isinstance(value, ast.Call) and _is_aux(value.func) for value in alone)


def _hands_on(function: Function) -> bool:
    """Return whether a function only returns what the helper does, at once or by a name."""
    body = [node for node in function.body if not _is_docstring(node)]
    match body:
        case [ast.Return(value=ast.Call(func=called))]:
            return _is_aux(called)
        case [
            ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=called)),
            ast.Return(value=ast.Name(id=returned)),
        ]:
            return _is_aux(called) and name == returned
    return False


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
