"""Briefs: what agents may know of a task, as text.

    Task  ->  Brief (statement, interface, examples)  ->  observations, prompts

Reads the statement, the interface and the public tests, and never a hidden test.
"""

from __future__ import annotations

from dataclasses import dataclass

from corecode_env.core.spaces import clean_text
from corecode_env.core.subject import Subject
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Function,
    ScoreTest,
    Stdio,
    StdioTest,
    Task,
    Test,
)
from corecode_env.environments.templates import packaged

_INTERFACE_FIELDS = ("name", "signature", "preamble")
MAX_EXAMPLES = 5
MAX_EXAMPLE_CHARS = 600
"""Examples and failed tests are shown up to this many characters each."""


@dataclass(frozen=True, slots=True)
class Brief:
    """The texts of one task, cut to the environment's limit."""

    statement: str
    interface: str
    """How a program is called: its name and signature, or its input and output."""
    examples: str
    """The public tests, as many as fit a prompt."""
    public_tests: tuple[str, ...]
    """Each public test."""
    without_statement: str
    """What a role sees that must work from the plan: interface and examples."""


def brief_of(task: Task, max_chars: int) -> Brief:
    """Write down what agents may know of a task."""
    interface = clean_text(_interface(task), max_chars)
    shown = tuple(describe_test(task, test) for test in task.public_tests)
    examples = clean_text("\n".join(shown[:MAX_EXAMPLES]), max_chars)
    parts = [interface, f"Examples:\n{examples}" if examples else ""]
    return Brief(
        statement=clean_text(task.statement, max_chars),
        interface=interface,
        examples=examples,
        public_tests=shown,
        without_statement=clean_text("\n\n".join(filter(None, parts)), max_chars),
    )


def _interface(task: Task) -> str:
    """Say how a program for the task is called."""
    values: dict[str, str] = {field: "" for field in _INTERFACE_FIELDS}
    match task.interface:
        case Function(name, signature, preamble):
            kind = "function"
            values = {"name": name, "signature": signature, "preamble": preamble}
        case Stdio():
            kind = "stdio"
        case _:
            kind = "script"
    template = packaged(f"interface_{kind}", _INTERFACE_FIELDS)
    assert template is not None, "comes with the package"
    return template.fill(values)


def describe_test(task: Task, test: Test) -> str:
    """Return a public test as an agent reads it."""
    match test:
        case StdioTest(given, output):
            text = f"Input:\n{_short(given)}\nOutput:\n{_short(output)}"
        case CallTest(args, kwargs, expected):
            given = ", ".join(
                [literal(arg) for arg in args]
                + [f"{key}={literal(value)}" for key, value in kwargs.items()]
            )
            name = task.interface.name if isinstance(task.interface, Function) else "answer"
            text = f"{name}({_short(given)}) == {_short(literal(expected))}"
        case AssertTest(code):
            text = _short(code)
        case ScoreTest(instance) if task.kind == "unit_tests":
            # The faults that it also names are not for agents to see.
            program = Subject.from_text(instance).program
            text = f"The program to test:\n{_short(program)}"
        case ScoreTest(instance):
            text = f"Input:\n{_short(instance)}"
    return text


def literal(value: object) -> str:
    """Return a plain value as source, the same in every process.

    >>> literal({"b": {3, 1, 2}})
    "{'b': {1, 2, 3}}"
    """
    kind = type(value)
    if kind is list or kind is tuple:
        inner = ", ".join(map(literal, value))  # type: ignore[call-overload]
        if kind is list:
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"  # type: ignore[arg-type]
    if kind is dict:
        items = value.items()  # type: ignore[attr-defined]
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in items) + "}"
    if (kind is set or kind is frozenset) and value:
        # A set of strings is walked through in another order in every process.
        inner = "{" + ", ".join(sorted(map(literal, value))) + "}"  # type: ignore[call-overload]
        return inner if kind is set else f"frozenset({inner})"
    return repr(value)


def _short(text: str) -> str:
    text = text.rstrip("\n")
    return text if len(text) <= MAX_EXAMPLE_CHARS else text[:MAX_EXAMPLE_CHARS] + " [...]"
