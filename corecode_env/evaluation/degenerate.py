"""Degenerate answers: what solves nothing, and so must pass no sound test.

    Task  ->  {name: submission}

None of these looks at the problem. Where one is accepted, the tests are weak, or the
comparison has a hole, or the answer happens to be right; which of them is worth knowing.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from corecode_env.core.source import parse_quietly
from corecode_env.core.subject import Subject
from corecode_env.core.task import Function, ScoreTest, Script, Task

RESULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "none": "return None",
        "empty_list": "return []",
        "nested_list": "return [[]]",
        "nan": "return float('nan')",
        "true": "return True",
        "argument": "return args[0] if args else next(iter(kwargs.values()), None)",
        "stop_iteration": "raise StopIteration",
        "stop_iteration_class": "return StopIteration",
    }
)
"""Bodies of functions that ignore what they are asked."""

SCRIPTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "empty_output": "pass\n",
        "echo": "import sys\nsys.stdout.write(sys.stdin.read())\n",
        "zero": "print(0)\n",
    }
)
"""Programs on standard input that ignore what they read."""

LITERALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "none": "None",
        "empty_list": "[]",
        "nested_list": "[[]]",
        "nan": "nan",
        "true": "True",
        "zero": "0",
        "empty_string": "''",
        "empty": "",
    }
)

_FUNCTION: Final = "def {name}(*args, **kwargs):\n    {body}\n"
# A class whose methods, on the class and on its instances, all do the same.
_CLASS: Final = """\
def answer(*args, **kwargs):
    {body}

class Anything(type):
    def __getattr__(cls, name):
        return answer

class {name}(metaclass=Anything):
    def __init__(self, *args, **kwargs):
        pass
    def __getattr__(self, name):
        return answer
"""


def degenerate_answers(task: Task) -> dict[str, str]:
    """Return the submissions that must not pass a task, by name.

    Repair tasks that keep their broken program in `metadata["buggy_program"]` get it too:
    handing it in unchanged mends nothing.
    """
    match task.interface:
        case Function(name):
            form = _CLASS if _is_class(task, name) else _FUNCTION
            answers = {key: form.format(name=name, body=body) for key, body in RESULTS.items()}
        case Script() if task.kind == "unit_tests":
            answers = _suites(task)
        case Script():
            answers = dict(LITERALS)
        case _:
            answers = dict(SCRIPTS)
    buggy = task.metadata.get("buggy_program")
    if task.kind == "repair" and isinstance(buggy, str):
        answers["unmended"] = buggy
    return answers


def _suites(task: Task) -> dict[str, str]:
    """Return tests that test nothing: no call, or calls whose results nobody looks at."""
    (test,) = task.tests
    assert isinstance(test, ScoreTest), "validated before"
    entry = Subject.from_text(test.instance).entry
    tries = "\n".join(
        f"try:\n    {entry}({argument})\nexcept Exception:\n    pass"
        for argument in _ARGUMENTS
    )
    return {
        "empty": "",
        "true": "assert True\n",
        "own_function": f"def {entry}(*args):\n    return None\n\nassert {entry}() is None\n",
        "no_assert": f"{tries}\n",
        "assert_false": f"{tries}\nassert False\n",
    }


_ARGUMENTS: Final = ("", "0", "1, 2", "[]", "[3, 1, 2]", "'abc'", "'a', 'b'", "[1], [2]")


def _is_class(task: Task, name: str) -> bool:
    """Return whether the entry point is a class, as the reference defines it."""
    assert isinstance(task.interface, Function)
    if task.interface.signature.lstrip().startswith("class "):
        return True
    try:
        module = parse_quietly(task.reference_program or "")
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in module.body)
