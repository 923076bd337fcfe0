"""MBPP: write a function from one sentence and one assert.

Schema (Austin et al., 2021, arXiv:2108.07732), full: `text`, `code`, `task_id` (integer),
`test_setup_code`, `test_list`, `challenge_test_list`. Sanitized: `prompt` in place of
`text`, `test_imports` in place of `test_setup_code`, no challenge tests.

There is no signature in the data: the entry point is the name that the asserts call and
`code` defines, and the statement shows the first assert, which is the public test. Splits
go by task id as in the paper's section 2.1: 11-510 test, 511-600 validation, 601-974
train; 1-10, the paper's few-shot prompts, count as train.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from corecode_env.core.task import AssertTest, Function, Limits, Task
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.python_source import called_names, definitions, normalise, parse

SLOW: Final[dict[int, float]] = {123: 30.0}
"""CPU seconds of a test for tasks whose own solution is slow (5 s on a small machine)."""

LICENCE: Final = "CC-BY-4.0"


def split_of_id(number: int) -> str:
    """Return the split of an MBPP task.

    >>> [split_of_id(n) for n in (2, 11, 600, 974)]
    ['train', 'test', 'validation', 'train']
    """
    if 11 <= number <= 510:
        return "test"
    return "validation" if 511 <= number <= 600 else "train"


def limits_for(number: int, slow: dict[int, float]) -> Limits:
    """Return the limits of a task, wider where its own solution is known to be slow."""
    seconds = slow.get(number)
    return Limits() if seconds is None else Limits(seconds, wall_seconds=3 * seconds)


def entry_point(code: str, tests: Sequence[str], where: Where) -> str:
    """Return the name that the tests call and the code defines as a function.

    Raises:
        BadRecord: If code or tests are no Python, or no or several such names remain.
    """
    try:
        defined = {
            name: node
            for name, node in definitions(parse(code)).items()
            if not isinstance(node, ast.ClassDef)
        }
    except ValueError as error:
        raise where.bad("code", code, f"a Python program ({error})") from error
    candidates: set[str] | None = None
    for index, test in enumerate(tests):
        try:
            called = set(called_names(parse(test.strip())))
        except ValueError as error:
            raise where.bad(f"test_list[{index}]", test, f"an assert ({error})") from error
        found = called & defined.keys()
        candidates = found if candidates is None else candidates & found
    if not candidates or len(candidates) > 1:
        raise where.bad("test_list", list(tests), "asserts that all call one function of code")
    return candidates.pop()


def assert_tests(
    record: Record, field: str, setup: str, where: Where
) -> tuple[AssertTest, ...]:
    """Return a list of assert lines as tests, each with the set-up code before it.

    Raises:
        BadRecord: If an entry is anything else than an assert statement.
    """
    tests = []
    for index, line in enumerate(where.strings(record, field, [])):
        source = normalise(line).strip()
        try:
            body = parse(source).body
        except ValueError as error:
            raise where.bad(f"{field}[{index}]", line, f"an assert ({error})") from error
        if len(body) != 1 or not isinstance(body[0], ast.Assert):
            raise where.bad(f"{field}[{index}]", line, "one assert statement")
        tests.append(AssertTest(f"{setup}{source}\n"))
    return tuple(tests)


def statement_of(text: str, entry: str, shown: str) -> str:
    """Return the statement: the sentence, the function's name, and one assert."""
    return (
        f"{text.strip()}\n\nName the function `{entry}`. It must pass this test:\n\n"
        f"```python\n{shown.strip()}\n```\n"
    )


def _setup_of(record: Record, where: Where) -> str:
    if "test_imports" in record:
        lines = where.strings(record, "test_imports")
    else:
        lines = [where.string(record, "test_setup_code", "")]
    return "".join(f"{normalise(line).rstrip()}\n" for line in lines if line.strip())


def _read(record: Record, where: Where) -> Task:
    number = where.integer(record, "task_id")
    text = where.string(record, "text" if "text" in record else "prompt")
    code = normalise(where.string(record, "code"))
    lines = where.strings(record, "test_list")
    if not lines:
        raise where.bad("test_list", lines, "at least one assert line")
    entry = entry_point(code, lines, where)
    setup = _setup_of(record, where)
    tests = assert_tests(record, "test_list", setup, where)
    challenge = assert_tests(record, "challenge_test_list", setup, where)
    sanitized = "text" not in record
    return Task(
        id=f"Mbpp/{number}",
        statement=statement_of(text, entry, lines[0]),
        interface=Function(entry),
        public_tests=tests[:1],
        hidden_tests=tests[1:] + challenge,
        limits=limits_for(number, SLOW),
        reference_program=code,
        metadata={
            "source": "MBPP sanitized" if sanitized else "MBPP",
            "source_id": number,
            "licence": LICENCE,
            "split": split_of_id(number),
        },
    )


def _matches(record: Record) -> bool:
    needed = {"code", "task_id", "test_list"}
    return needed <= record.keys() and bool({"text", "prompt"} & record.keys())


MBPP = Format(
    name="mbpp",
    description="MBPP, full or sanitized: text or prompt, code, task_id, test_list",
    matches=lambda record: _matches(record) and "test" not in record,
    read=_read,
)
