"""LiveBench coding: LiveCodeBench's problems, programs to complete, and library tasks.

Schema (White et al., 2024, arXiv:2406.19314): `question_id`, `category`, `task`, `turns`
(the first is the prompt). Tasks `LCB_generation` and `coding_completion` also have
`public_test_cases` and `private_test_cases` (as LiveCodeBench, packed ones too),
`original_json` (its record; the function's name is in the metadata there) and
`partial_solution`, some a `solution`; `code_generation` and `code_completion` have
`code_prompt`, `entry_point` and `tests` (unittest source) instead.

A program is judged whole. The benchmark joins a partial solution and an answer that goes
on from it; here the statement asks for both together. Tasks that need containers
(`agentic_coding`) are refused. It is for evaluation: every task belongs to the test split.
"""

from __future__ import annotations

from typing import Any, Final

from corecode_env.core.task import AssertTest, Checker, Function, Limits, Stdio, Task
from corecode_env.tasks.contest_tests import (
    bounded,
    first_python,
    interface_of,
    json_field,
    tests_of,
)
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.livecodebench import (
    LIMITS,
    SAME_NUMBERS,
    function_name,
    packed_cases,
)
from corecode_env.tasks.python_source import definitions, normalise, parse, signature_of
from corecode_env.tasks.unittest_cases import unittest_cases

_LIBRARY_LIMITS: Final = Limits(cpu_seconds=10.0, wall_seconds=30.0, memory_bytes=2**30)
"""For tests that import scientific libraries."""

_WHOLE: Final = """\
Hand in the whole program, beginning with these lines:

```python
{partial}
```
"""


def _read(record: Record, where: Where) -> Task:
    question = where.string(record, "question_id")
    turns = where.strings(record, "turns")
    if not turns:
        raise where.bad("turns", turns, "a list that begins with the prompt")
    metadata: dict[str, Any] = {
        "source": "LiveBench",
        "source_id": question,
        "licence": "Apache-2.0",
        "difficulty": where.string(record, "task", "coding"),
        "split": "test",
    }
    # A parquet file has all columns in all rows.
    if record.get("public_test_cases"):
        return _contest(question, turns[0], record, metadata, where)
    if record.get("tests"):
        return _library(question, turns[0], record, metadata, where)
    found = record.get("task", "neither public_test_cases nor tests")
    raise where.bad("task", found, "a task with test cases or unittest source")


def _contest(
    question: str, prompt: str, record: Record, metadata: dict[str, Any], where: Where
) -> Task:
    original: Any = {}
    if record.get("original_json"):
        original = json_field(record, "original_json", where, "LiveCodeBench's record")
        if type(original) is not dict:
            raise where.bad("original_json", original, "LiveCodeBench's record")
    function = function_name(original, where.below("original_json"))
    public = packed_cases(record, "public_test_cases", function, where)
    hidden, left_out = bounded(packed_cases(record, "private_test_cases", function, where))
    partial = ""
    if record.get("partial_solution"):
        partial = where.string(record, "partial_solution").strip("\n")
    starter = original.get("starter_code") or partial or prompt
    interface = interface_of(public.function or hidden.function, starter, None)
    if partial:
        prompt = f"{prompt.strip()}\n\n{_WHOLE.format(partial=partial)}"
    if left_out:
        metadata["tests_left_out"] = left_out
    return Task(
        id=f"LiveBench/{question}",
        statement=f"{prompt.strip()}\n",
        interface=interface,
        public_tests=tests_of(public, interface),
        hidden_tests=tests_of(hidden, interface),
        checker=SAME_NUMBERS if isinstance(interface, Stdio) else Checker(),
        limits=LIMITS,
        reference_program=first_python([record.get("solution")]),
        metadata=metadata,
    )


def _library(
    question: str, prompt: str, record: Record, metadata: dict[str, Any], where: Where
) -> Task:
    entry = where.string(record, "entry_point")
    source = normalise(where.string(record, "tests"))
    try:
        cases = unittest_cases(parse(source))
    except ValueError as error:
        raise where.bad("tests", source, f"Python source ({error})") from error
    tests = [AssertTest(code) for codes in cases.values() for code in codes]
    if not tests:
        raise where.bad("tests", source, "unittest classes with test methods")
    return Task(
        id=f"LiveBench/{question}",
        statement=f"{prompt.strip()}\n",
        interface=Function(entry, _signature(record, entry)),
        hidden_tests=tuple(tests),
        limits=_LIBRARY_LIMITS,
        reference_program=first_python([record.get("solution")]),
        metadata=metadata,
    )


def _signature(record: Record, entry: str) -> str:
    """Return the `def` line of the prompt's code; empty where it shows none."""
    code = record.get("code_prompt")
    if not isinstance(code, str):
        return ""
    try:
        found = definitions(parse(normalise(code).rstrip() + "\n    pass\n")).get(entry)
    except ValueError:
        return ""  # the code may end anywhere; the prompt shows it in any case
    return "" if found is None else signature_of(found)


LIVEBENCH = Format(
    name="livebench",
    description="LiveBench coding: question_id, category, turns, and test cases or tests",
    matches=lambda record: {"question_id", "category", "turns"} <= record.keys(),
    read=_read,
)
