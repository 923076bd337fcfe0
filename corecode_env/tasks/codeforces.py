"""Codeforces as open-r1 publishes it: problems with official tests and checkers.

Schema (the records of open-r1/codeforces): `id` (`1259/D`), `title`, `description`,
`input_format`, `output_format`, `interaction_format`, `note`, `examples` and
`official_tests` (lists of `{"input", "output"}`), `official_tests_complete`, `time_limit`
(seconds), `memory_limit` (MB), `input_mode`, `generated_checker`, `rating`, `tags`, and
more that is not needed here.

Examples are public, official tests hidden. Where several answers are right,
`generated_checker` is a script that is started with the names of three files (input, right
output, the program's output) and prints 1 for a right answer. It is a stranger's program
too: it runs in the sandbox's judge, where there are no files, so the three names are files
in memory. Interactive problems, and those that read a named file, are refused.
"""

from __future__ import annotations

from typing import Any, Final

from corecode_env.core.task import Checker, Stdio, Task
from corecode_env.tasks.contest_tests import (
    Cases,
    bounded,
    limits_of,
    marks_of,
    rows,
    tests_of,
)
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.splits import split_of_file

_CHECK: Final = '''\
"""Runs a checker script on files in memory."""
import builtins
import contextlib
import io
import os
import sys

SCRIPT = {script!r}
NAMES = ("input.txt", "correct_output.txt", "solution_output.txt")


def check(input, output, expected):
    files = dict(zip(NAMES, (input, expected, output)))

    def open_text(file, mode="r", *args, **kwargs):
        name = os.path.basename(os.fspath(file))
        if name not in files or mode.strip("tb+U") != "r":
            raise FileNotFoundError(f"a checker has no file {{file!r}}")
        if "b" in mode:
            return io.BytesIO(files[name].encode("utf-8", "surrogateescape"))
        return io.StringIO(files[name])

    printed = io.StringIO()
    before = builtins.open, io.open, sys.argv
    # Path.read_text goes through io.open, plain scripts through the builtin.
    builtins.open = io.open = open_text
    sys.argv = ["checker.py", *NAMES]
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(SCRIPT, "checker.py", "exec"), {{"__name__": "__main__"}})
    except SystemExit as ending:
        if ending.code not in (None, 0):
            return False
    finally:
        builtins.open, io.open, sys.argv = before
    words = printed.getvalue().split()
    return bool(words) and words[-1] == "1"
'''


def checker_source(script: str) -> str:
    """Return source for `Checker.source` that runs a checker script of open-r1.

    Args:
        script: A program that is started as `checker.py input.txt correct_output.txt
            solution_output.txt` and prints `1` last if the answer is right.
    """
    return _CHECK.format(script=script)


def _read(record: Record, where: Where) -> Task:
    problem = where.string(record, "id")
    if record.get("interaction_format"):
        found = record["interaction_format"]
        raise where.bad("interaction_format", found, "null: interaction cannot be judged")
    if (record.get("input_mode") or "stdio") != "stdio":
        expected = "'stdio': tests through a named file cannot be judged"
        raise where.bad("input_mode", record["input_mode"], expected)
    public = _cases(record, "examples", where)
    hidden, left_out = bounded(_cases(record, "official_tests", where))
    shown = set(public.pairs)
    hidden = Cases("", tuple(pair for pair in hidden.pairs if pair not in shown))
    if not public.pairs and not hidden.pairs:
        raise where.bad("official_tests", record.get("official_tests"), "at least one test")
    statement = _statement(record, where)
    script = record.get("generated_checker")
    checker = Checker()
    if script:
        checker = Checker(
            "source", source=checker_source(where.string(record, "generated_checker"))
        )
    rating = _number(record, "rating", where)
    marks = {} if script else marks_of(statement, 0)
    return Task(
        id=f"codeforces/{problem}",
        statement=statement,
        interface=Stdio(),
        public_tests=tests_of(public, Stdio()),
        hidden_tests=tests_of(hidden, Stdio()),
        checker=checker,
        limits=limits_of(_number(record, "time_limit", where), _memory(record, where)),
        metadata={
            "source": "open-r1/codeforces",
            "source_id": problem,
            "licence": "CC-BY-4.0",
            "difficulty": f"rated {rating:g}" if rating else "unknown",
            "tags": [str(tag) for tag in record.get("tags") or []],
            "tests_complete": bool(record.get("official_tests_complete")),
            "split": split_of_file(where.source, problem),
            **marks,
            **marks_of("", left_out),
        },
    )


def _cases(record: Record, field: str, where: Where) -> Cases:
    return rows(record.get(field) or [], field, where)


def _number(record: Record, field: str, where: Where) -> float | None:
    return None if record.get(field) is None else where.number(record, field)


def _memory(record: Record, where: Where) -> int | None:
    megabytes = _number(record, "memory_limit", where)
    return None if megabytes is None else int(megabytes * 2**20)


def _statement(record: Record, where: Where) -> str:
    parts: list[str] = []
    for heading, field in (
        ("", "description"),
        ("Input", "input_format"),
        ("Output", "output_format"),
        ("Note", "note"),
    ):
        text: Any = record.get(field)
        if field == "description":
            text = where.string(record, field)
        if text:
            parts.append(f"{heading}\n\n{text.strip()}" if heading else text.strip())
    title = where.string(record, "title", "")
    return "\n\n".join([title, *parts] if title else parts) + "\n"


CODEFORCES = Format(
    name="codeforces",
    description="open-r1/codeforces: id, description, examples, official_tests, checker",
    matches=lambda record: (
        {"id", "contest_id", "index", "official_tests", "description"} <= record.keys()
    ),
    read=_read,
)
