"""CodeContests: competitive problems with public, private and generated tests.

Schema (Li et al., 2022, arXiv:2203.07814; the parquet copy): `name`, `description`,
`public_tests`, `private_tests`, `generated_tests` (each `{"input": [...], "output":
[...]}`, or a list of objects as in the original protocol buffers), `source` and
`difficulty` (numbers), `solutions` (`{"language": [...], "solution": [...]}`), `cf_rating`,
`cf_tags`, `time_limit` (`{"seconds", "nanos"}` or null), `memory_limit_bytes`,
`input_file`, `output_file`.

Public tests are public, private and generated ones hidden. There are no checkers: where
several answers are right the data know one. Problems that read or write a named file are
refused.
"""

from __future__ import annotations

from typing import Any, Final

from corecode_env.core.task import Stdio, Task
from corecode_env.tasks.contest_tests import (
    Cases,
    bounded,
    columns,
    first_python,
    limits_of,
    marks_of,
    rows,
    tests_of,
)
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.splits import split_of_file

PYTHON_3: Final = 3
"""The number of Python 3 in `solutions.language`."""

_SITES: Final = {1: "CodeChef", 2: "Codeforces", 3: "HackerEarth", 4: "Code Jam"}
# The data card says 5 and 6, the protocol buffer 6 and 7, so 6 remains open.
_LATER_SITES: Final = {5: "AtCoder", 7: "Aizu"}


def _read(record: Record, where: Where) -> Task:
    name = where.string(record, "name")
    statement = where.string(record, "description")
    for field in ("input_file", "output_file"):
        if record.get(field):
            expected = "empty: tests through a named file cannot be judged"
            raise where.bad(field, record[field], expected)
    public = _cases(record, "public_tests", where)
    hidden = _cases(record, "private_tests", where) + _cases(record, "generated_tests", where)
    hidden, left_out = bounded(hidden)
    if not public.pairs and not hidden.pairs:
        raise where.bad("public_tests", record.get("public_tests"), "at least one test")
    return Task(
        id=f"CodeContests/{name}",
        statement=f"{statement.strip()}\n",
        interface=Stdio(),
        public_tests=tests_of(public, Stdio()),
        hidden_tests=tests_of(hidden, Stdio()),
        limits=limits_of(_seconds(record, where), _memory(record, where)),
        reference_program=_reference(record, where),
        metadata={
            "source": "CodeContests",
            "source_id": name,
            "licence": "CC-BY-4.0",
            "difficulty": _difficulty(record, where),
            "site": (_SITES | _LATER_SITES).get(where.integer(record, "source", 0), "unknown"),
            "tags": [tag for tag in where.strings(record, "cf_tags", []) if tag],
            "split": split_of_file(where.source, name),
            **marks_of(statement, left_out),
        },
    )


def _cases(record: Record, field: str, where: Where) -> Cases:
    value = record.get(field)
    if value is None:
        return Cases("", ())
    if type(value) is not dict:
        return rows(value, field, where)
    inside = where.below(field)
    inputs, outputs = inside.list(value, "input"), inside.list(value, "output")
    if not inputs and not outputs:
        return Cases("", ())
    return columns({"inputs": inputs, "outputs": outputs}, field, where)


def _seconds(record: Record, where: Where) -> float | None:
    if record.get("time_limit") is None:
        return None
    limit = where.object(record, "time_limit")
    inside = where.below("time_limit")
    return inside.number(limit, "seconds", 0) + inside.number(limit, "nanos", 0) / 1e9


def _memory(record: Record, where: Where) -> int | None:
    return where.integer(record, "memory_limit_bytes", 0) or None


def _difficulty(record: Record, where: Where) -> str:
    rating = where.integer(record, "cf_rating", 0)
    return f"rated {rating}" if rating else "unknown"


def _reference(record: Record, where: Where) -> str | None:
    solutions: Any = record.get("solutions")
    if not solutions:
        return None
    if type(solutions) is list:
        pairs = [(item.get("language"), item.get("solution")) for item in solutions]
    else:
        inside = where.below("solutions")
        found = where.object(record, "solutions")
        pairs = list(
            zip(inside.list(found, "language"), inside.list(found, "solution"), strict=True)
        )
    return first_python([source for language, source in pairs if language == PYTHON_3])


CODE_CONTESTS = Format(
    name="code_contests",
    description="CodeContests: name, description, public, private and generated tests",
    matches=lambda record: (
        {"name", "description", "public_tests", "private_tests", "generated_tests"}
        <= record.keys()
    ),
    read=_read,
)
