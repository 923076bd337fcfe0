"""Unittest cases: a file of unittest classes as one piece of test code a method.

    source of unittest classes  ->  {class: [code that runs its first method, ...]}

So a program earns a fraction by method, and one method that hangs costs the others nothing.
"""

from __future__ import annotations

import ast
import copy
from typing import Final

from corecode_env.tasks.python_source import names_in

_RUN: Final = "\n\nunittest.TestSuite([{case}({method!r})]).debug()\n"


def unittest_cases(tree: ast.Module) -> dict[str, list[str]]:
    """Return, by the name of each unittest class, test code for each of its methods.

    What stands beside the classes (imports, helpers) goes into every piece; a part that
    only runs the tests when the file is started is left out.
    """
    classes = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and _test_methods(node)
    }
    head = [
        node
        for node in tree.body
        if not (isinstance(node, ast.ClassDef) and node.name in classes) and not _is_main(node)
    ]
    return {
        name: [_code(head, node, method) for method in _test_methods(node)]
        for name, node in classes.items()
    }


def _test_methods(node: ast.ClassDef) -> list[str]:
    names = (item.name for item in node.body if isinstance(item, ast.FunctionDef))
    # A second method of the same name replaces the first, as in Python.
    return list(dict.fromkeys(name for name in names if name.startswith("test")))


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in names_in(node.test)


def _code(head: list[ast.stmt], node: ast.ClassDef, method: str) -> str:
    """Return the source that runs one method, with what its class needs around it."""
    others = {name for name in _test_methods(node) if name != method}
    body = [
        item
        for item in node.body
        if not (isinstance(item, ast.FunctionDef) and item.name in others)
    ]
    case = copy.copy(node)
    case.body = body
    module = ast.Module(body=[*head, case], type_ignores=[])
    source = ast.unparse(ast.fix_missing_locations(module))
    return source + _RUN.format(case=node.name, method=method)
