"""What the loader of the Google contest archive and the bundled problems promise."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import Stdio, StdioTest, Task
from corecode_env.tasks.formats import Where
from corecode_env.tasks.google_contests import GOOGLE_CONTESTS, LEFT_OUT

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT / "tests/data/google_contests/google_contests.jsonl.gz"
BUNDLE = ROOT / "corecode_env/tasks/builtin/google_contests.jsonl.gz"
SOLUTIONS = ROOT / "tools/google_contests_solutions"
HERE = Where("contests.jsonl", 4)

RECORD: dict[str, Any] = {
    "id": "kickstart/2030/round_a/doubling",
    "contest": "kickstart",
    "source": "Kick Start 2030 - Round A",
    "name": "Doubling",
    "statement": "Double each number.",
    "time_limit_s": 10,
    "memory_limit_mb": 1024,
    "float_tolerance": 1e-6,
    "samples": [{"input": "1\n2\n", "output": "Case #1: 4\n"}],
    "tests": [
        {
            "subtask": "subtask1",
            "points": 5,
            "n_cases": 1,
            "input": "1\n3\n",
            "output": "Case #1: 6\n",
        }
    ],
    "omitted_subtasks": [],
    "same_tests_as": [],
}


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def read(path: Path) -> list[Task]:
    return [
        GOOGLE_CONTESTS.read(r, Where(path.name, i)) for i, r in enumerate(records(path), 1)
    ]


def test_samples_are_public_and_secret_subtasks_hidden() -> None:
    task = GOOGLE_CONTESTS.read(RECORD, HERE)
    assert task.interface == Stdio()
    assert task.public_tests == (StdioTest("1\n2\n", "Case #1: 4\n"),)
    assert task.hidden_tests == (StdioTest("1\n3\n", "Case #1: 6\n"),)


def test_outputs_are_compared_case_by_case_within_the_tolerance_of_the_record() -> None:
    task = GOOGLE_CONTESTS.read({**RECORD, "float_tolerance": 0.03}, HERE)
    assert task.checker.name == "cases"
    assert task.checker.options == {"prefix": "Case #", "abs": 0.03, "rel": 0.03}


@pytest.mark.parametrize(
    ("limit", "seconds"), [(2, 5.0), (10, 10.0), (240, 15.0), (None, 15.0), (7.5, 7.5)]
)
def test_time_limits_are_the_records_within_bounds(
    limit: float | None, seconds: float
) -> None:
    task = GOOGLE_CONTESTS.read({**RECORD, "time_limit_s": limit}, HERE)
    assert task.limits.cpu_seconds == seconds
    assert task.limits.wall_seconds > seconds
    assert task.limits.memory_bytes == 2**30


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("statement", 7, "statement"),
        ("samples", [], "samples"),
        ("tests", "none", "tests"),
        ("tests", [3], "tests[0]"),
        ("tests", [{"input": "1\n", "points": 3}], "tests[0].output"),
        ("float_tolerance", "small", "float_tolerance"),
        ("time_limit_s", float("nan"), "time_limit_s"),
        ("memory_limit_mb", 0.5, "memory_limit_mb"),
    ],
)
def test_a_broken_record_names_its_field(field: str, value: object, named: str) -> None:
    with pytest.raises(BadRecord) as caught:
        GOOGLE_CONTESTS.read({**RECORD, field: value}, HERE)
    assert caught.value.field == named
    assert caught.value.line == 4


def test_problems_of_one_short_name_stand_in_one_split() -> None:
    twin = {**RECORD, "id": "codejam/2031/practice/doubling"}
    splits = {GOOGLE_CONTESTS.read(r, HERE).metadata["split"] for r in (RECORD, twin)}
    assert len(splits) == 1


def test_the_whole_archive_is_read() -> None:
    tasks = read(ARCHIVE)
    assert len(tasks) == len({task.id for task in tasks}) == 379
    assert sum(len(task.hidden_tests) for task in tasks) == 593
    assert all(GOOGLE_CONTESTS.matches(record) for record in records(ARCHIVE))


def test_problems_with_several_right_answers_are_marked_with_the_reason() -> None:
    marked = {
        task.id: task.metadata["left_out"]
        for task in read(ARCHIVE)
        if "left_out" in task.metadata
    }
    assert marked == LEFT_OUT
    assert all("several answers" in reason for reason in marked.values())


def test_the_archive_has_three_disjoint_splits_none_empty() -> None:
    splits = [task.metadata["split"] for task in read(ARCHIVE)]
    assert set(splits) == {"train", "validation", "test"}
    assert splits.count("train") > 0.7 * len(splits)


# -------------------------------------------------------------------------- bundle
def test_the_bundle_holds_about_forty_easy_problems_none_of_them_left_out() -> None:
    tasks = read(BUNDLE)
    assert 40 <= len(tasks) <= 50
    assert {task.metadata["difficulty"] for task in tasks} == {"easy"}
    assert not {task.id for task in tasks} & LEFT_OUT.keys()
    assert {task.metadata["split"] for task in tasks} == {"train", "validation", "test"}


def test_the_bundle_is_the_archive_with_our_committed_programs() -> None:
    archive = {record["id"]: record for record in records(ARCHIVE)}
    for record in records(BUNDLE):
        program = record.pop("reference_program")
        assert record == archive[record["id"]]
        file = SOLUTIONS / f"{record['id'].replace('/', '__')}.py"
        assert program == file.read_text(encoding="utf-8")


def test_every_committed_program_is_in_the_bundle() -> None:
    bundled = {record["id"].replace("/", "__") for record in records(BUNDLE)}
    assert bundled == {file.stem for file in SOLUTIONS.glob("*.py")}


def test_licence_and_attribution_travel_with_the_bundle() -> None:
    licence = (BUNDLE.parent / "LICENSE.google_contests").read_text(encoding="utf-8")
    about = (BUNDLE.parent / "google_contests.md").read_text(encoding="utf-8")
    assert "Apache License" in licence and "Version 2.0" in licence
    assert "github.com/google/coding-competitions-archive" in about
    assert f"{len(read(BUNDLE))} easy" in about
