"""Contest tests: the few forms in which public contest data write tests down.

    {"inputs", "outputs"[, "fn_name"]}   or   [{"input", "output", "testtype"}, ...]
        ->  Cases  ->  interface and tests of a task

APPS and TACO use the first form; LiveCodeBench, LiveBench, SYNTHETIC-1 and codeforces the
second; DeepCoder both.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from corecode_env.core.source import parse_quietly
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Checker,
    Function,
    Limits,
    Stdio,
    StdioTest,
    Test,
)
from corecode_env.tasks.files import parse_json
from corecode_env.tasks.formats import Record, Where
from corecode_env.tasks.python_source import source_of

MAX_TEST_CHARS: Final = 16 * 2**20
"""Characters of inputs and outputs that one task keeps: single records of public data hold
more than 50 MB. Tests beyond are left out and counted in `metadata["tests_left_out"]`."""

SOLUTION: Final = "Solution"
"""The class whose methods LeetCode's tests call."""

PREAMBLE: Final = """\
from typing import *
from collections import *
from functools import *
from itertools import *
from bisect import *
from heapq import *
import bisect, collections, functools, heapq, itertools, math, random, re, string
"""
"""What programs for LeetCode's problems find imported there."""

_MOST_SHOWN: Final = 5
_LEAST_SECONDS, _MOST_SECONDS = 5.0, 15.0
_LEAST_MEMORY: Final = 256 * 2**20


# -------------------------------------------------------------------------- cases
@dataclass(frozen=True, slots=True)
class Cases:
    """Inputs and outputs as they stand in a record.

    Attributes:
        function: Name of the function or method that is called; empty: standard input.
        pairs: Input and output of each test: two texts, or a list of arguments and the
            result.
        either: The data do not say whether a one-element list is the result or stands
            around it, and so both are right.
    """

    function: str
    pairs: tuple[tuple[Any, Any], ...]
    either: bool = False

    def __add__(self, other: Cases) -> Cases:
        """Return the cases of both, which must be called in one way."""
        return replace(self, pairs=self.pairs + other.pairs)


def text_of(value: object) -> str | None:
    """Return an input or output as text: a string, or lines; None if it is neither."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return None


def json_field(record: Record, field: str, where: Where, expected: str) -> Any:
    """Return a field that holds JSON as a string, or what such a string stands for.

    Raises:
        BadRecord: If it is missing or no JSON.
    """
    value = record.get(field)
    if not isinstance(value, str):
        if value is None:
            where.string(record, field)
        return value
    try:
        return parse_json(value)
    except ValueError as error:
        raise where.bad(field, value, f"{expected} as JSON ({error})") from error


def columns(value: Any, field: str, where: Where) -> Cases:
    """Read `{"inputs": [...], "outputs": [...]}`, with `fn_name` for calls.

    Raises:
        BadRecord: If it has another form, or no test.
    """
    if type(value) is not dict:
        raise where.bad(field, value, "an object with inputs and outputs")
    inside = where.below(field)
    inputs, outputs = inside.list(value, "inputs"), inside.list(value, "outputs")
    if not inputs or len(inputs) != len(outputs):
        found = f"{len(inputs)} inputs and {len(outputs)} outputs"
        raise where.bad(field, found, "as many outputs as inputs, at least one")
    function = value.get("fn_name") or ""
    if type(function) is not str:
        raise inside.bad("fn_name", function, "a string")
    pairs = list(zip(inputs, outputs, strict=True))
    field = f"{field}.inputs"
    return _calls(function, pairs, field, where) if function else _texts(pairs, field, where)


_STDIN: Final = ("stdin", "stdin_stdout")
_LINES: Final = "functional"
_ARGUMENTS: Final = "function_call"


def rows(items: Any, field: str, where: Where, function: str = "") -> Cases:
    """Read `[{"input", "output", ...}, ...]`, by their `testtype` or `type`.

    `stdin` and `stdin_stdout` (or neither field) are texts; `functional` has one argument
    as JSON on each line of its input, and the result as JSON; `function_call` has a list of
    arguments and names the function in `fn_name`.

    Args:
        items: The list.
        field: Its field, for errors.
        where: Place of the record.
        function: The function of `functional` tests, which the tests do not name.

    Raises:
        BadRecord: If it has another form, or the tests are of several types.
    """
    if type(items) is not list or not all(type(item) is dict for item in items):
        raise where.bad(field, items, "a list of objects with input and output")
    types = {item.get("testtype") or item.get("type") or "stdin" for item in items}
    if len(types & {*_STDIN}) == len(types):
        types = {"stdin"}
    pairs = []
    for number, item in enumerate(items):
        if "input" not in item or "output" not in item:
            raise where.bad(f"{field}[{number}]", item, "an object with input and output")
        pairs.append((item["input"], item["output"]))
    match sorted(types):
        case [] | ["stdin"]:
            return _texts(pairs, field, where)
        case ["functional"]:
            if not function:
                raise where.bad("metadata", function, "an object with func_name")
            return Cases(function, tuple(_line_calls(pairs, field, where)))
        case ["function_call"]:
            names = {item.get("fn_name") for item in items} - {None}
            if len(names) != 1 or type(name := names.pop()) is not str:
                raise where.bad(field, sorted(map(str, names)), "tests with one fn_name")
            return _calls(name, pairs, field, where)
        case other:
            expected = f"tests of one of the types {', '.join((*_STDIN, _LINES, _ARGUMENTS))}"
            raise where.bad(field, other, expected)


_Pairs = list[tuple[Any, Any]]


def _texts(pairs: _Pairs, field: str, where: Where) -> Cases:
    texts = []
    for number, (given, output) in enumerate(pairs):
        one, two = text_of(given), text_of(output)
        if one is None or two is None:
            found = given if one is None else output
            raise where.bad(f"{field}[{number}]", found, "a string or a list of lines")
        texts.append((one, two))
    return Cases("", tuple(texts))


def _calls(function: str, pairs: _Pairs, field: str, where: Where) -> Cases:
    calls = []
    for number, (args, result) in enumerate(pairs):
        if type(args) is not list:
            raise where.bad(f"{field}[{number}]", args, "a list of arguments")
        calls.append((args, result))
    either = all(type(result) is list and len(result) == 1 for _, result in calls)
    return Cases(function, tuple(calls), either)


def _line_calls(pairs: _Pairs, field: str, where: Where) -> _Pairs:
    calls = []
    for number, (given, output) in enumerate(pairs):
        try:
            lines = [line for line in str(given).split("\n") if line.strip()]
            calls.append(([parse_json(line) for line in lines], parse_json(str(output))))
        except ValueError as error:
            expected = f"one JSON value a line ({error})"
            raise where.bad(f"{field}[{number}]", given, expected) from error
    return calls


# -------------------------------------------------------------------------- tests
class Bounded(NamedTuple):
    """Cases within `MAX_TEST_CHARS`."""

    cases: Cases
    left_out: int
    """Tests that did not fit."""


def bounded(cases: Cases) -> Bounded:
    """Leave out the tests with which a task would grow beyond `MAX_TEST_CHARS`."""
    kept, size = [], 0
    for pair in cases.pairs:
        length = sum(len(part if isinstance(part, str) else repr(part)) for part in pair)
        if size + length <= MAX_TEST_CHARS:
            kept.append(pair)
            size += length
    return Bounded(replace(cases, pairs=tuple(kept)), len(cases.pairs) - len(kept))


def interface_of(function: str, starter: str, solution: str | None) -> Stdio | Function:
    """Return how programs are called.

    Args:
        function: Name of the function or method; empty: standard input and output.
        starter: Code to begin with, or a statement that shows it; may be empty.
        solution: A program that is right, if one is known.
    """
    if not function:
        return Stdio()
    if re.search(rf"^\s*class\s+{SOLUTION}\b", f"{starter}\n{solution}", re.MULTILINE):
        method = re.search(rf"^[ \t]+def {re.escape(function)}\(.*$", starter, re.MULTILINE)
        lines = [f"class {SOLUTION}:", method.group().rstrip()] if method else []
        return Function(SOLUTION, "\n".join(lines) or f"class {SOLUTION}:", PREAMBLE)
    begins = f"def {function}("
    first = next((line for line in starter.splitlines() if line.startswith(begins)), "")
    return Function(function, first.rstrip())


def checker_of(interface: Stdio | Function) -> Checker:
    """Return how answers are compared: what calls return came through JSON."""
    return Checker(options={"json_keys": True} if type(interface) is Function else {})


# Expected values came through JSON, so keys are text, and tuples count as lists.
_SAME: Final = """\
def _same(got, right):
    if isinstance(right, list):
        return (
            isinstance(got, (list, tuple))
            and len(got) == len(right)
            and all(_same(a, b) for a, b in zip(got, right))
        )
    if isinstance(right, dict):
        got = {str(key): value for key, value in got.items()} if isinstance(got, dict) else {}
        return got.keys() == right.keys() and all(_same(got[k], right[k]) for k in right)
    if isinstance(got, bool) or isinstance(right, bool):
        return got is right
    if isinstance(right, float) and isinstance(got, (int, float)):
        return abs(got - right) <= max(1e-6, 1e-6 * abs(right))
    return type(got) in (type(right), float) and got == right
"""


def tests_of(cases: Cases, interface: Stdio | Function) -> tuple[Test, ...]:
    """Return cases as tests of an interface."""
    if isinstance(interface, Stdio):
        return tuple(StdioTest(given, output) for given, output in cases.pairs)
    if interface.name != SOLUTION and not cases.either:
        return tuple(CallTest(tuple(args), {}, result) for args, result in cases.pairs)
    called = cases.function if interface.name != SOLUTION else f"Solution().{cases.function}"
    accepted = "_same(_result, _right)"
    if cases.either:
        accepted += " or _same(_result, _right[0])"
    tests = []
    for args, result in cases.pairs:
        call = f"{called}({', '.join(map(source_of, args))})"
        # What matters stands first: agents see the beginning of a long test.
        asked = f"_result = {call}\n_right = {source_of(result)}\n"
        tests.append(AssertTest(f"{asked}\n\n{_SAME}\n\nassert {accepted}\n"))
    return tuple(tests)


def split_shown(cases: Cases, statement: str) -> tuple[Cases, Cases]:
    """Part the cases into those that the statement shows as examples, and the others.

    Data of this kind put the examples first and do not mark them: a text counts as shown
    if it stands in the statement with its output right after it.
    """
    if cases.function:
        return replace(cases, pairs=()), cases
    flat = " ".join(statement.split())
    shown = 0
    for given, output in cases.pairs[:_MOST_SHOWN]:
        if not _is_shown(" ".join(given.split()), " ".join(output.split()), flat):
            break
        shown += 1
    return replace(cases, pairs=cases.pairs[:shown]), replace(cases, pairs=cases.pairs[shown:])


# Between an input and its output stands a heading, perhaps "Sample Output 1:", and neither
# another input nor a number.
_GAP: Final = r"(?:(?!\binput\b)\D){3,40}?(?:(?<=output)\W*\d+\W(?:(?!\binput\b)\D){0,10}?)?"


def _is_shown(given: str, output: str, flat: str) -> bool:
    if not given or not output or len(given) + len(output) > len(flat):
        return False
    pattern = rf"{re.escape(given)}(?=\W){_GAP}(?<!\w){re.escape(output)}(?!\w)"
    return re.search(pattern, flat, re.IGNORECASE) is not None


# ---------------------------------------------------------------------- the rest
def limits_of(seconds: float | None = None, memory_bytes: int | None = None) -> Limits:
    """Return limits from those of a contest, whose seconds were meant for any language.

    Seconds are kept between 5 and 15, memory is at least 256 MiB; None: the default.
    """
    limits = Limits()
    if seconds is not None:
        cpu = min(max(seconds, _LEAST_SECONDS), _MOST_SECONDS)
        limits = replace(limits, cpu_seconds=cpu, wall_seconds=3 * cpu)
    if memory_bytes is not None:
        limits = replace(limits, memory_bytes=max(memory_bytes, _LEAST_MEMORY))
    return limits


def first_python(solutions: object) -> str | None:
    """Return the first text that is a Python 3 program; public data hold Python 2 too."""
    for solution in solutions if isinstance(solutions, list) else []:
        if isinstance(solution, str) and solution.strip() and _is_python(solution):
            return solution.replace("\r\n", "\n")
    return None


def _is_python(source: str) -> bool:
    try:
        parse_quietly(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


_SEVERAL: Final = re.compile(
    r"\b(?:any|multiple|several|more than one)\b[^.\n]{0,40}"
    r"\b(?:answers?|solutions?|of them)\b",
    re.IGNORECASE,
)


def marks_of(statement: str, left_out: int) -> Mapping[str, Any]:
    """Return metadata about what to beware of.

    `several_answers`: the statement speaks of several right answers, and the data know one.
    `tests_left_out`: how many tests were too long.
    """
    marks: dict[str, Any] = {}
    if _SEVERAL.search(statement):
        marks["several_answers"] = True
    if left_out:
        marks["tests_left_out"] = left_out
    return marks


def numbered(prefix: str, text: str, where: Where) -> str:
    """Return an id for a record that has none: its line, and a hash of its problem."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{prefix}/{where.line or 0}-{digest}"


def with_starter(statement: str, starter: str) -> str:
    """Return a statement with the code to begin with."""
    text = statement.strip()
    if not starter.strip():
        return f"{text}\n"
    return f"{text}\n\nBegin with this code:\n\n```python\n{starter.rstrip()}\n```\n"
