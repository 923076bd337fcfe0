"""LiveCodeBench: recent contest problems, on standard input or as a method.

Schema (Jain et al., 2024, arXiv:2403.07974; code_generation and code_generation_lite), all
strings: `question_title`, `question_content`, `platform`, `question_id`, `contest_id`,
`contest_date`, `starter_code`, `difficulty`, `public_test_cases`, `private_test_cases`
(lists of `{"input", "output", "testtype"}` as JSON; private ones may be packed, see
`packed_tests`), `metadata` (JSON with `func_name`).

Outputs are compared line by line, numbers by their value, as the benchmark does. It is for
evaluation: every task belongs to the test split.
"""

from __future__ import annotations

from typing import Any, Final

from corecode_env.core.task import Checker, Limits, Stdio, Task
from corecode_env.tasks.contest_tests import (
    Cases,
    bounded,
    interface_of,
    json_field,
    rows,
    tests_of,
    with_starter,
)
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.packed_tests import unpack_tests

LIMITS: Final = Limits(cpu_seconds=6.0, wall_seconds=18.0)
"""The benchmark's own limit of a test is 6 seconds."""

SAME_NUMBERS: Final = Checker(options={"abs": 0, "rel": 0})
"""Lines must agree; `1` and `1.0` are one number, and no other tolerance is given."""


def function_name(record: Record, where: Where) -> str:
    """Return the `func_name` in a record's metadata; empty where there is none."""
    value = (
        json_field(record, "metadata", where, "an object") if record.get("metadata") else {}
    )
    name = value.get("func_name") if type(value) is dict else None
    return name if isinstance(name, str) else ""


def packed_cases(record: Record, field: str, function: str, where: Where) -> Cases:
    """Return the tests of a field that is JSON, packed JSON, or a list already.

    Raises:
        BadRecord: If it cannot be unpacked without running it, or has another form.
    """
    value: Any = record.get(field)
    if isinstance(value, str):
        try:
            value = unpack_tests(value)
        except ValueError as error:
            raise where.bad(field, value, f"a list of tests ({error})") from error
    if value is None:
        raise where.bad(field, value, "a list of tests")
    return rows(value, field, where, function)


def _read(record: Record, where: Where) -> Task:
    question = where.string(record, "question_id")
    starter = where.string(record, "starter_code", "")
    function = function_name(record, where)
    public = packed_cases(record, "public_test_cases", function, where)
    hidden, left_out = bounded(packed_cases(record, "private_test_cases", function, where))
    interface = interface_of(public.function or hidden.function, starter, None)
    title = where.string(record, "question_title", "")
    content = where.string(record, "question_content")
    metadata: dict[str, Any] = {
        "source": "LiveCodeBench",
        "source_id": question,
        "licence": "CC",
        "difficulty": where.string(record, "difficulty", "") or "unknown",
        "site": where.string(record, "platform", ""),
        "date": where.string(record, "contest_date", ""),
        "split": "test",
    }
    if left_out:
        metadata["tests_left_out"] = left_out
    return Task(
        id=f"LiveCodeBench/{question}",
        statement=with_starter(f"{title}\n\n{content}" if title else content, starter),
        interface=interface,
        public_tests=tests_of(public, interface),
        hidden_tests=tests_of(hidden, interface),
        checker=SAME_NUMBERS if isinstance(interface, Stdio) else Checker(),
        limits=LIMITS,
        metadata=metadata,
    )


LIVECODEBENCH = Format(
    name="livecodebench",
    description="LiveCodeBench: question_content, public_test_cases, private_test_cases",
    matches=lambda record: (
        {"question_content", "question_id", "public_test_cases", "private_test_cases"}
        <= record.keys()
    ),
    read=_read,
)
