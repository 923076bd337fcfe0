"""Hash Code: optimisation tasks without a right answer, with a score to raise.

Schema (the records of `hashcode.jsonl.gz`; statements in our own words): `id`, `title`,
`objective`, `statement`, `input_format`, `output_format`, `scoring`, `example` (`instance`,
`output`, `score`), `instances` (`name`, `input`).

The instance of the example is the public test, the other ones are hidden. The score of a
test is the scorer's number over that of a simple greedy program, so 1.0 is a sound start
and better is possible. All tasks may be trained on: there is no answer to leak.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from corecode_env.core.task import Checker, Limits, ScoreTest, Stdio, Task
from corecode_env.tasks import hashcode_scorers
from corecode_env.tasks.formats import Format, Record, Where

SCORERS: Final = ("self_driving_rides", "streaming_videos", "photo_slideshow")
"""Functions of `hashcode_scorers`: each scores the task whose id ends in its name."""

REFERENCES: Final[Mapping[tuple[str, str], float]] = MappingProxyType(
    {
        ("self_driving_rides", "a_example"): 10,
        ("self_driving_rides", "b_should_be_easy"): 176_877,
        ("self_driving_rides", "c_no_hurry"): 15_790_161,
        ("self_driving_rides", "e_high_bonus"): 21_465_945,
        ("streaming_videos", "example"): 562_500,
        ("streaming_videos", "me_at_the_zoo"): 507_906,
        ("photo_slideshow", "a_example"): 2,
        ("photo_slideshow", "c_memorable_moments"): 1_476,
    }
)
"""What a simple greedy program scores, by task and instance: counts as 1.0."""

LARGE_INSTANCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "c_no_hurry": "10,000 rides: a plain greedy program takes about a minute",
        "e_high_bonus": "10,000 rides: a plain greedy program takes about a minute",
    }
)
"""Instances that are no tests, and why."""

_LIMITS: Final = Limits(cpu_seconds=20.0, wall_seconds=60.0)


def scorer_source(task_name: str) -> str:
    """Return the source that the judge runs to score a task's outputs.

    Args:
        task_name: One of `SCORERS`.
    """
    return f"{inspect.getsource(hashcode_scorers)}\n\nscore = {task_name}\n"


def _read(record: Record, where: Where) -> Task:
    task_id = where.string(record, "id")
    name = task_id.rpartition("/")[2]
    if name not in SCORERS:
        raise where.bad("id", task_id, f"a path that ends in one of {', '.join(SCORERS)}")
    if record.get("objective", "maximize") != "maximize":
        raise where.bad("objective", record["objective"], "'maximize'")
    example = where.object(record, "example")
    shown = where.below("example").string(example, "instance")
    tests = _tests(record, name, where)
    if shown not in tests:
        raise where.bad("example.instance", shown, f"one of {', '.join(tests)}")
    return Task(
        id=task_id,
        statement=_statement(record, tests[shown].instance, where),
        interface=Stdio(),
        public_tests=(tests[shown],),
        hidden_tests=tuple(test for key, test in tests.items() if key != shown),
        checker=Checker("source", source=scorer_source(name)),
        limits=_LIMITS,
        kind="optimize",
        metadata={
            "source": "Hash Code",
            "licence": "Apache-2.0",
            "difficulty": "open",
            "split": "train",
            "name": where.string(record, "title", name),
        },
    )


def _tests(record: Record, name: str, where: Where) -> dict[str, ScoreTest]:
    tests = {}
    for index, item in enumerate(where.list(record, "instances")):
        inside = where.below(f"instances[{index}]")
        if type(item) is not dict:
            raise where.bad(f"instances[{index}]", item, "an object with name and input")
        key = inside.string(item, "name")
        if key not in LARGE_INSTANCES:
            reference = REFERENCES.get((name, key))
            tests[key] = ScoreTest(inside.string(item, "input"), key, reference)
    return tests


def _statement(record: Record, instance: str, where: Where) -> str:
    example: dict[str, Any] = where.object(record, "example")
    output = where.below("example").string(example, "output")
    score = where.below("example").number(example, "score")
    return (
        f"{where.string(record, 'statement')}\n\n"
        f"Input: {where.string(record, 'input_format')}\n\n"
        f"Output: {where.string(record, 'output_format')}\n\n"
        f"Score: {where.string(record, 'scoring')}\n\n"
        f"Example input:\n{instance}\n"
        f"Example output, which scores {score:g}:\n{output}"
    )


HASHCODE = Format(
    name="hashcode",
    description="Hash Code: statement, scoring, example and instances of a scored task",
    matches=lambda record: {"scoring", "example", "instances"} <= record.keys(),
    read=_read,
)
