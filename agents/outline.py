"""Outline: a plan read off a program, for tasks whose source brings no plan.

program text  ->  what goes in, then one numbered line a step: sequence, branch, loop
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from corecode_env.agents.source import unparse
from corecode_env.core.source import parse_quietly
from corecode_env.core.task import Function, Task


def outline(task: Task, program: str) -> str:
    """Return a plan that leads to a program.

    Args:
        task: The task that the program solves.
        program: A right program; if it is no Python that parses, the plan stays general.
    """
    if task.kind == "commit_message":
        return (
            "Inputs and outputs: the change in the statement; a message of one line.\n"
            "1. Find the line that the change replaces, adds or removes.\n"
            "2. Say what is mended there, and in which function."
        )
    if task.kind == "io_prediction":
        return (
            "Inputs and outputs: the call in the statement; its result as a literal.\n"
            "1. Trace the call line by line with the given arguments.\n"
            "2. Write the value that it returns as a Python literal."
        )
    try:
        body: Sequence[ast.stmt] = parse_quietly(program).body
    except (SyntaxError, ValueError):
        body = []
    given = "Inputs and outputs: read standard input, print the answer."
    if task.kind == "unit_tests":
        given = "Inputs and outputs: call the function of the statement, assert its results."
    if isinstance(task.interface, Function):
        name = task.interface.name
        given = f"Inputs and outputs: define {name} as the statement shows."
        entry = next((n for n in body if getattr(n, "name", None) == name), None)
        if isinstance(entry, ast.FunctionDef):
            parameters = ", ".join(arg.arg for arg in entry.args.args) or "nothing"
            given = f"Inputs and outputs: {name} takes {parameters}."
            # Helpers are steps too: name what stands before and after the entry.
            body = [*(n for n in body if n is not entry), *entry.body]
    lines = [f"{i}. {step}" for i, step in enumerate(_steps(body, ""), start=1)]
    return "\n".join([given, *(lines or ["1. Solve it as the statement says."])])


def _steps(body: Sequence[ast.stmt], indent: str) -> Iterator[str]:
    deeper = indent + "  "
    for node in body:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.Pass():
                continue
            case ast.For() | ast.AsyncFor():
                loop = f"loop: for each {unparse(node.target)} in {unparse(node.iter)}"
                yield indent + loop
                yield from _steps(node.body, deeper)
            case ast.While():
                yield f"{indent}loop: while {unparse(node.test)}"
                yield from _steps(node.body, deeper)
            case ast.If():
                yield f"{indent}branch: if {unparse(node.test)}"
                yield from _steps(node.body, deeper)
                if node.orelse:
                    yield f"{indent}branch: otherwise"
                    yield from _steps(node.orelse, deeper)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield f"{indent}helper {node.name}:"
                yield from _steps(node.body, deeper)
            case ast.Return():
                value = unparse(node.value) if node.value else "nothing"
                yield f"{indent}return {value}"
            case ast.With() | ast.AsyncWith() | ast.Try():
                yield from _steps(node.body, indent)
            case _:
                yield indent + " ".join(unparse(node).split())
