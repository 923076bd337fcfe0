"""Faults: plausible wrong answers, made from right ones.

    task with a reference, fault  ->  a submission (or plan) that is wrong

Pure functions on text: nothing is run here. A fault works on all that a task may ask for:
functions and classes, programs on standard input, and literals.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from corecode_env.agents.answers import TEXTS
from corecode_env.agents.source import unparse
from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import Registry
from corecode_env.core.source import parse_quietly
from corecode_env.core.task import Function, Task

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to be wrong.

    Attributes:
        name: Name in `faulty:NAME`.
        description: What an agent with this fault does, for people.
        spoil: Right submission to wrong one; None for a fault of plans.
        spoil_plan: Right plan to wrong one; None for a fault of programs.
        prose: Whether the wrong submission is no program, and so never fenced.
        rare: Whether most tests pass all the same: the fault shows on special inputs only, and
            a task without such tests does not notice.
    """

    name: str
    description: str
    spoil: Callable[[Task, str], str] | None = None
    spoil_plan: Callable[[str], str] | None = None
    prose: bool = False
    rare: bool = False


FAULTS: Final[Registry[Fault]] = Registry("a fault")


# --------------------------------------------------------------- where a fault goes in
def _parsed(task: Task, program: str) -> ast.Module:
    try:
        return parse_quietly(program)
    except (SyntaxError, ValueError) as error:
        raise BadConfig(
            f"the reference program of task {task.id!r} must be Python that parses, got "
            f"{error}; a fault can only be made from a right program"
        ) from error


def _entries(task: Task, module: ast.Module) -> list[Definition]:
    """Return what the tests call: the entry function, or the methods of the entry class."""
    if not isinstance(task.interface, Function):
        return []
    name = task.interface.name
    for node in reversed(module.body):
        if isinstance(node, Definition) and node.name == name:
            return [node]
        if isinstance(node, ast.ClassDef) and node.name == name:
            methods = [inner for inner in node.body if isinstance(inner, Definition)]
            return [m for m in methods if m.name != "__init__"] or methods
    return []


def _after_head(body: Sequence[ast.stmt]) -> int:
    """Return the first place behind the docstring and `from __future__` lines."""
    index = 0
    for index, node in enumerate(body):
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not docstring and not future:
            return index
    return index + 1


def _with_first_line(task: Task, program: str, line: str) -> str:
    """Return the program with a line that runs first when a test calls it."""
    module = _parsed(task, program)
    bodies = [entry.body for entry in _entries(task, module)] or [module.body]
    for body in bodies:
        place = _after_head(body)
        body[place:place] = ast.parse(line).body
    return unparse(module)


def _decorated(task: Task, program: str, source: str, decorator: str) -> str:
    """Return the program with a decorator on what the tests call."""
    module = _parsed(task, program)
    for entry in _entries(task, module):
        entry.decorator_list.append(ast.Name(decorator, ast.Load()))
    place = _after_head(module.body)
    module.body[place:place] = ast.parse(source).body
    text = unparse(module)
    if isinstance(task.interface, Function) and not _entries(task, module):
        # The entry is bound in some other way, such as `solve = lambda xs: ...`.
        text += f"\n{task.interface.name} = {decorator}({task.interface.name})"
    return text


# ----------------------------------------------------------------------- the faults
_OFF_BY_ONE = """
def off_by_one(function):
    def wrapped(*args, **kwargs):
        result = function(*args, **kwargs)
        if isinstance(result, bool):
            return not result
        if result != result or result is None:
            return 0
        if isinstance(result, float):
            return result + 1 + abs(result) / 100 if abs(result) < 1e300 else 0
        if isinstance(result, (int, complex)):
            return result + 1
        if isinstance(result, (str, bytes, list, tuple, range)):
            return result[:-1] if len(result) else [0]
        if isinstance(result, dict):
            return dict(list(result.items())[:-1]) if result else [0]
        if isinstance(result, (set, frozenset)):
            return set(list(result)[:-1]) if result else [0]
        if hasattr(result, "__next__"):
            return (item for index, item in enumerate(result) if index)
        return None
    return wrapped
"""
_FORGET_RETURN = """
def forgetful(function):
    def wrapped(*args, **kwargs):
        function(*args, **kwargs)
    return wrapped
"""
_BUMP_OUTPUT = r"""
import re, sys
class Bumped:
    def __init__(self, stream):
        self.stream = stream
    def write(self, text):
        text = re.sub(r"\d+", lambda digits: str(int(digits.group()) + 1), text)
        self.stream.write(text if any(map(str.isdigit, text)) else text[1:])
    def flush(self):
        self.stream.flush()
sys.stdout = Bumped(sys.stdout)
"""
_SHORT_CALL = """
def careless(function):
    def wrapped(*args, **kwargs):
        if any(hasattr(value, "__len__") and len(value) < 2 for value in args):
            return None
        return function(*args, **kwargs)
    return wrapped
"""
_SHORT_INPUT = """
import io, sys
given = sys.stdin.read()
if len(given.split()) < 2:
    sys.exit()
sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
"""
_NO_OUTPUT = "import io, sys\nsys.stdout = io.StringIO()"


def _off_by_one(task: Task, program: str) -> str:
    if task.kind in TEXTS:
        return _next_literal(program)
    if task.kind == "unit_tests":
        return unparse(_Asserts(negated=True).visit(_parsed(task, program)))
    if isinstance(task.interface, Function):
        return _decorated(task, program, _OFF_BY_ONE, "off_by_one")
    return _with_first_line(task, program, _BUMP_OUTPUT)


def _corner_case(task: Task, program: str) -> str:
    if task.kind == "io_prediction":
        return _next_literal(program)
    if isinstance(task.interface, Function):
        return _decorated(task, program, _SHORT_CALL, "careless")
    return _with_first_line(task, program, _SHORT_INPUT)


def _next_literal(text: str) -> str:
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return f"[{text.strip()}]"
    if isinstance(value, bool):
        return repr(not value)
    if isinstance(value, int | float | complex):
        return repr(value + 1)
    if isinstance(value, str | bytes | list | tuple) and value:
        return repr(value[:-1])
    return f"[{text.strip()}]"


class _Asserts(ast.NodeTransformer):
    """Turns what is asserted into its contrary, or into a mere expression."""

    def __init__(self, *, negated: bool) -> None:
        self.negated = negated

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if self.negated:
            return ast.Assert(ast.UnaryOp(ast.Not(), node.test), node.msg)
        return ast.Expr(node.test)


def _returns_none(task: Task, program: str) -> str:
    if task.kind in TEXTS:
        return "None" if program.strip() != "None" else "0"
    if task.kind == "unit_tests":
        return unparse(_Asserts(negated=False).visit(_parsed(task, program)))
    if isinstance(task.interface, Function):
        return _decorated(task, program, _FORGET_RETURN, "forgetful")
    return _with_first_line(task, program, _NO_OUTPUT)


def _first_line(line: str, literal: str) -> Callable[[Task, str], str]:
    def spoil(task: Task, program: str) -> str:
        if task.kind in TEXTS:
            return literal
        return _with_first_line(task, program, line)

    return spoil


class _Rename(ast.NodeTransformer):
    """Renames a definition, a binding or a use."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._definition(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._definition(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == self.name:
            node.id += "_"
        return node

    def _definition(self, node: Definition | ast.ClassDef) -> ast.AST:
        if node.name == self.name:
            node.name += "_"
        return self.generic_visit(node)


def _wrong_name(task: Task, program: str) -> str:
    if task.kind in TEXTS:
        return "result"
    module = _parsed(task, program)
    if isinstance(task.interface, Function):
        return unparse(_Rename(task.interface.name).visit(module))
    used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    misspelt = next((n for n in ("input", "print", "open") if n in used), None)
    if misspelt is None:
        return _with_first_line(task, program, "read_input_()")
    return unparse(_Rename(misspelt).visit(module))


def _syntax_error(task: Task, program: str) -> str:
    if task.kind in TEXTS:
        return f"({program.strip()}"
    for mark in (":", ")"):
        head, found, tail = program.rpartition(mark)
        if found and not _compiles(head + tail):
            return head + tail
    return program.rstrip("\n") + "\n)\n"


def _compiles(program: str) -> bool:
    try:
        parse_quietly(program)
    except (SyntaxError, ValueError):
        return False
    return True


def _no_code(task: Task, program: str) -> str:
    return "Sorry, I cannot solve this one; here's an idea instead: try all cases."


# --------------------------------------------------------------------- faults of plans
_NUMBERED = re.compile(r"^\s*\d+[.)]\s*")


def _split_plan(plan: str) -> tuple[list[str], list[str], list[str]]:
    """Return head lines, steps without numbers, and the last `return` step if any."""
    lines = [line for line in plan.splitlines() if line.strip()]
    numbered = any(_NUMBERED.match(line) for line in lines)
    head = [line for line in lines if numbered and not _NUMBERED.match(line)]
    steps = [_NUMBERED.sub("", line) for line in lines if line not in head]
    ends = steps[-1:] if steps and steps[-1].lower().startswith("return") else []
    return head, steps[: len(steps) - len(ends)], ends


def _joined(head: list[str], steps: list[str], ends: list[str]) -> str:
    return "\n".join([*head, *(f"{i}. {s}" for i, s in enumerate([*steps, *ends], 1))])


def _reversed_steps(plan: str) -> str:
    head, steps, ends = _split_plan(plan)
    return _joined(head, steps[::-1], ends)


def _dropped_step(plan: str) -> str:
    head, steps, ends = _split_plan(plan)
    return _joined(head, steps[1:], ends)


for _fault in (
    Fault("off_by_one", "each result is one off, or lacks its last item", _off_by_one),
    Fault("wrong_name", "the entry point, or input or print, is misspelt", _wrong_name),
    Fault(
        "endless_loop",
        "loops for ever when called",
        _first_line("while True:\n    pass", "while True: pass"),
    ),
    Fault("syntax_error", "a colon or bracket is missing", _syntax_error),
    Fault("returns_none", "forgets to return, or to print", _returns_none),
    Fault(
        "crash",
        "raises IndexError when called",
        _first_line("raise IndexError('list index out of range')", "[][0]"),
    ),
    Fault(
        "early_exit",
        "exits with status 0 before it answers",
        _first_line("raise SystemExit(0)", "exit(0)"),
    ),
    Fault(
        "corner_case",
        "answers nothing where the input has fewer than two items",
        _corner_case,
        rare=True,
    ),
    Fault("no_code", "talks instead of handing in a program", _no_code, prose=True),
    Fault("reversed_steps", "plans in the wrong order", spoil_plan=_reversed_steps),
    Fault("dropped_step", "forgets the first step of the plan", spoil_plan=_dropped_step),
):
    FAULTS.add(_fault.name, _fault)
