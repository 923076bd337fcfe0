"""Google contest archive: stdin/stdout problems with many cases in one input.

Schema (the records of `google_contests.jsonl.gz`): `id` (path in the archive), `contest`,
`source`, `name`, `statement`, `time_limit_s` (or null), `memory_limit_mb`,
`float_tolerance`, `samples` and `tests` (objects with `input` and `output`; tests also
with `subtask`, `points`, `n_cases`), and optionally `reference_program`.

Samples are the public tests, the secret subtasks the hidden ones. A run answers some
hundred cases ("Case #1: ..."), and a test's score is the fraction of right ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from corecode_env.core.task import Checker, Limits, Stdio, StdioTest, Task
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.splits import split_by_hash

LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "codejam/2008/emea_semifinal/scaled_triangle": "several answers are right",
        "codejam/2011/round_1c/square_tiles": "several answers are right",
    }
)
"""Problems that the archive's data cannot judge, and why; `metadata["left_out"]` says it
too."""

DEFAULT_SECONDS: Final = 30
"""Time limit of the few problems whose record has none."""

_LEAST_SECONDS, _MOST_SECONDS = 5.0, 15.0
"""The archive's limits (2 to 240 s) were for any language on a contestant's own machine:
Python needs more than the least, and an endless loop should not cost minutes."""


def _read(record: Record, where: Where) -> Task:
    task_id = where.string(record, "id")
    tolerance = where.number(record, "float_tolerance", 1e-6)
    seconds: float = DEFAULT_SECONDS
    if record.get("time_limit_s") is not None:
        seconds = where.number(record, "time_limit_s")
    seconds = min(max(seconds, _LEAST_SECONDS), _MOST_SECONDS)
    reference = where.string(record, "reference_program", "") or None
    metadata: dict[str, Any] = {
        "source": where.string(record, "source", "Google contest archive"),
        "licence": "Apache-2.0",
        "difficulty": difficulty(record, where),
        "split": split_by_hash(task_id.rpartition("/")[2]),
        "name": where.string(record, "name", task_id),
    }
    if task_id in LEFT_OUT:
        metadata["left_out"] = LEFT_OUT[task_id]
    return Task(
        id=task_id,
        statement=where.string(record, "statement"),
        interface=Stdio(),
        public_tests=_tests(record, "samples", where),
        hidden_tests=_tests(record, "tests", where),
        checker=Checker("cases", {"prefix": "Case #", "abs": tolerance, "rel": tolerance}),
        limits=Limits(
            cpu_seconds=seconds,
            wall_seconds=3 * seconds,
            memory_bytes=where.integer(record, "memory_limit_mb", 1024) * 2**20,
        ),
        reference_program=reference,
        metadata=metadata,
    )


def _tests(record: Record, field: str, where: Where) -> tuple[StdioTest, ...]:
    found = where.list(record, field)
    if not found:
        raise where.bad(field, found, "a list of at least one input and output")
    tests = []
    for index, item in enumerate(found):
        inside = where.below(f"{field}[{index}]")
        if type(item) is not dict:
            raise where.bad(f"{field}[{index}]", item, "an object with input and output")
        tests.append(StdioTest(inside.string(item, "input"), inside.string(item, "output")))
    return tuple(tests)


def difficulty(record: Record, where: Where) -> str:
    """Return `easy`, `medium` or `hard`, by the points of the first subtask.

    At most 8 points, or a qualification or practice round: easy; at most 15: medium.
    """
    task_id = where.string(record, "id")
    tests = where.list(record, "tests")
    points = tests[0].get("points") if tests and type(tests[0]) is dict else None
    first_rounds = ("qualification_round", "practice")
    if any(part in task_id for part in first_rounds):
        return "easy"
    if not isinstance(points, int | float):
        return "unknown"
    return "easy" if points <= 8 else "medium" if points <= 15 else "hard"


GOOGLE_CONTESTS = Format(
    name="google_contests",
    description="Google contest archive: statement, samples and tests with Case # lines",
    matches=lambda record: {"contest", "statement", "samples", "tests"} <= record.keys(),
    read=_read,
)
