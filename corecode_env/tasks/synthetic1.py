"""SYNTHETIC-1 and verifiable-coding-problems: prompts with tests in one field.

Schema, all strings: `problem_id`, `task_type`, `source`, `in_source_id`, `prompt`,
`gold_standard_solution` (in a code fence, may be empty), `verification_info` (a Python
literal or JSON: `{"language", "test_cases": [{"type", "input", "output"[, "fn_name"]}]}`),
`metadata`.

Leading tests that the prompt shows are public. The values of calls are compared, where the
original harness compares what they print as. Records in other languages than Python are
refused.
"""

from __future__ import annotations

import ast
from typing import Any

from corecode_env.core.messages import extract_program
from corecode_env.core.task import Task
from corecode_env.tasks.contest_tests import (
    bounded,
    checker_of,
    first_python,
    interface_of,
    marks_of,
    rows,
    split_shown,
    tests_of,
)
from corecode_env.tasks.files import parse_json
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.splits import split_of_file


def _read(record: Record, where: Where) -> Task:
    problem = where.string(record, "problem_id")
    prompt = where.string(record, "prompt")
    info = _verification(record, where)
    inside = where.below("verification_info")
    language = inside.string(info, "language", "python")
    if language not in ("python", "python3"):
        raise inside.bad("language", language, "'python': no other language is judged")
    cases, left_out = bounded(rows(info.get("test_cases"), "test_cases", inside))
    if not cases.pairs:
        raise inside.bad("test_cases", f"{left_out} too long", "at least one test to keep")
    answer = record.get("gold_standard_solution") or ""
    reference = first_python([extract_program(answer).program]) if answer else None
    interface = interface_of(cases.function, prompt, reference)
    public, hidden = split_shown(cases, prompt)
    return Task(
        id=f"SYNTHETIC-1/{problem}",
        statement=f"{prompt.strip()}\n",
        interface=interface,
        public_tests=tests_of(public, interface),
        hidden_tests=tests_of(hidden, interface),
        checker=checker_of(interface),
        reference_program=reference,
        metadata={
            "source": "SYNTHETIC-1",
            "source_id": problem,
            "licence": "Apache-2.0",
            "site": where.string(record, "source", ""),
            "split": split_of_file(where.source, prompt),
            **marks_of(prompt, left_out),
        },
    )


def _verification(record: Record, where: Where) -> dict[str, Any]:
    value: Any = record.get("verification_info")
    if isinstance(value, str):
        value = _literal(value, where)
    if type(value) is not dict:
        raise where.bad("verification_info", value, "an object with test_cases")
    return value


def _literal(text: str, where: Where) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        pass  # the older releases write the same object as a Python literal
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        expected = f"JSON or a Python literal ({error})"
        raise where.bad("verification_info", text, expected) from error


SYNTHETIC_1 = Format(
    name="synthetic1",
    description="SYNTHETIC-1: problem_id, prompt, verification_info",
    matches=lambda record: {"problem_id", "prompt", "verification_info"} <= record.keys(),
    read=_read,
)
