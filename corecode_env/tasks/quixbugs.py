"""QuixBugs: classic algorithms, judged by argument/result lines.

A file of this form (Lin et al., 2017, doi:10.1145/3135932.3135941) has one JSON array a
line, `[arguments, expected result]`, and carries the function's name as its own name. As
a record, which is what the loader reads: `name` (`gcd`) and `lines` (the arrays, in
order); `read_quixbugs` makes it from a file or from a folder of such files.

The first line is the public test. Generators and tuples are compared as lists, as the
original harness does. QuixBugs is for evaluation: every task belongs to the test split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from corecode_env.core.errors import BadConfig, BadRecord
from corecode_env.core.task import AssertTest, Function, Task
from corecode_env.tasks.files import Line, parse_json
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.python_source import source_of
from corecode_env.tasks.quixbugs_functions import FUNCTIONS, Described

SLOW_LINES: Final[Mapping[tuple[str, int], str]] = MappingProxyType(
    {
        ("knapsack", 10): "a capacity of 6,404,180: a plain program takes minutes",
        ("levenshtein", 4): "strings of 21 and 50 letters: plain recursion takes minutes",
    }
)
"""Lines (from 1, blank ones not counted) that are left out, and why: a right program would
fail them by its time alone."""

_TEST: Final = """\
def _plain(value):
    if value is None or type(value) in (bool, int, float, str):
        return value
    return [_plain(item) for item in value]


_args = {args}
_expected = {expected}
_result = _plain({name}({call}))
{check}"""
# `1 == True` in Python, but a program that answers True has not counted to one.
_EQUAL: Final = """\
assert (type(_result) is bool) == (type(_expected) is bool)
assert _result == _expected
"""


def _read(record: Record, where: Where) -> Task:
    name = where.string(record, "name")
    lines = where.list(record, "lines")
    described = FUNCTIONS.get(name, Described(f"{name}(...)", "what the tests say"))
    tests = [
        _test(name, described, _pair(line, f"lines[{number - 1}]", where))
        for number, line in enumerate(lines, 1)
        if (name, number) not in SLOW_LINES
    ]
    if not tests:
        raise where.bad("lines", lines, "a list of at least one [arguments, result]")
    signature = f"def {described.signature}:"
    return Task(
        id=f"quixbugs/{name}",
        statement=(
            f"Write a Python function that returns {described.does}.\n\n"
            f"```python\n{signature}\n```\n"
        ),
        interface=Function(name, signature),
        public_tests=tuple(tests[:1]),
        hidden_tests=tuple(tests[1:]),
        metadata={
            "source": "QuixBugs",
            "source_id": name,
            "licence": "MIT",
            "split": "test",
        },
    )


def _pair(line: Any, field: str, where: Where) -> tuple[list[Any], Any]:
    if type(line) is not list or len(line) != 2:
        raise where.bad(field, line, "an array [arguments, expected result]")
    args, expected = line
    # Where a function has one argument, some files give it bare.
    return (args if type(args) is list else [args]), expected


def _test(name: str, described: Described, pair: tuple[list[Any], Any]) -> AssertTest:
    args, expected = pair
    code = _TEST.format(
        name=name,
        args=source_of(args),
        expected=source_of(expected),
        call=", ".join(source_of(arg) for arg in args),
        check=described.check or _EQUAL,
    )
    return AssertTest(code)


def read_quixbugs(path: str | Path) -> Iterator[Line]:
    """Read a file of argument/result lines, or all `.json` files of a folder, by name.

    Yields:
        One record a file, `{"name", "lines"}`, numbered from 1, or what is wrong with it.

    Raises:
        BadConfig: If there is no such file, or no `.json` file in the folder.
    """
    path = Path(path)
    if not path.exists():
        raise BadConfig(f"a task file must exist, got {str(path)!r}; check the path")
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise BadConfig(f"a folder of QuixBugs must hold .json files, got {str(path)!r}")
    for number, file in enumerate(files, 1):
        try:
            yield number, {"name": file.stem, "lines": _lines(file)}
        except BadRecord as error:
            yield number, error


def _lines(file: Path) -> list[Any]:
    lines = []
    for number, text in enumerate(file.read_bytes().splitlines(), 1):
        if not text.strip():
            continue
        try:
            lines.append(parse_json(text.decode()))
        except ValueError as error:
            found = text.decode(errors="replace")
            expected = f"one JSON array ({error})"
            raise BadRecord(
                source=str(file), line=number, field="line", found=found, expected=expected
            ) from error
    return lines


QUIXBUGS = Format(
    name="quixbugs",
    description="QuixBugs: name, and lines of [arguments, expected result]",
    matches=lambda record: {"name", "lines"} <= record.keys(),
    read=_read,
    lines=read_quixbugs,
)
