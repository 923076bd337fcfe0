"""DeepCoder-Preview: problems of several sources, each with its own form of tests.

Schema: `problem`, `solutions` (list of sources, some in code fences, or one string),
`tests` (JSON), and for the configuration lcbv5 `starter_code` and `metadata` (with
`func_name`). `tests` by configuration: taco `{"inputs", "outputs"[, "fn_name"]}`;
primeintellect a list of `{"type", "input", "output"[, "fn_name"]}`; lcbv5 a list of
`{"input", "output", "testtype"}`; codeforces a list of `{"input", "output"}`.

Records have no id: a task's id is the record's line and a hash of its problem. Leading
tests that the problem shows are public.
"""

from __future__ import annotations

from typing import Any

from corecode_env.core.messages import extract_program
from corecode_env.core.task import Task
from corecode_env.tasks.contest_tests import (
    Cases,
    bounded,
    checker_of,
    columns,
    first_python,
    interface_of,
    json_field,
    marks_of,
    numbered,
    rows,
    split_shown,
    tests_of,
    with_starter,
)
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.livecodebench import function_name
from corecode_env.tasks.splits import split_of_file


def _read(record: Record, where: Where) -> Task:
    problem = where.string(record, "problem")
    starter = record.get("starter_code") or ""
    cases, left_out = bounded(_cases(record, where))
    if not cases.pairs:
        raise where.bad("tests", f"{left_out} too long", "at least one test to keep")
    reference = first_python(_solutions(record))
    interface = interface_of(cases.function, starter or problem, reference)
    public, hidden = split_shown(cases, problem)
    return Task(
        id=numbered("DeepCoder", problem, where),
        statement=with_starter(problem, starter),
        interface=interface,
        public_tests=tests_of(public, interface),
        hidden_tests=tests_of(hidden, interface),
        checker=checker_of(interface),
        reference_program=reference,
        metadata={
            "source": "DeepCoder-Preview",
            "licence": "MIT",
            "split": split_of_file(where.source, problem),
            **marks_of(problem, left_out),
        },
    )


def _cases(record: Record, where: Where) -> Cases:
    value = json_field(record, "tests", where, "tests")
    if type(value) is dict:
        return columns(value, "tests", where)
    return rows(value, "tests", where, function_name(record, where))


def _solutions(record: Record) -> list[str]:
    found: Any = record.get("solutions") or []
    texts = [found] if isinstance(found, str) else found
    return [extract_program(text).program for text in texts if isinstance(text, str)]


DEEPCODER = Format(
    name="deepcoder",
    description="DeepCoder-Preview: problem, tests, solutions",
    matches=lambda record: {"problem", "tests"} <= record.keys() and "prompt" not in record,
    read=_read,
)
