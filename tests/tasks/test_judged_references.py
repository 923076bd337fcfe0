"""What the executor says about reference programs, and about programs that slip."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.task import ScoreTest, Task
from corecode_env.core.verdict import Judgement, Verdict
from corecode_env.executor.local import LocalExecutor
from corecode_env.tasks.classeval import CLASSEVAL, LEFT_OUT, NEEDS_FOLDER
from corecode_env.tasks.formats import Format, Where
from corecode_env.tasks.google_contests import GOOGLE_CONTESTS
from corecode_env.tasks.hashcode import HASHCODE
from corecode_env.tasks.p3 import LARGE, P3
from corecode_env.tasks.pipelines import FORMS, LEVELS, PROGRAM_FORMS, Form, generate, slips
from corecode_env.tasks.pipelines_steps import parse_plan

ROOT = Path(__file__).resolve().parents[2]
CONTESTS = ROOT / "corecode_env/tasks/builtin/google_contests.jsonl.gz"
DATA = ROOT / "tests/data"


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    # Verdicts on our own programs do not depend on how well the machine can isolate.
    with LocalExecutor(min_isolation="L0") as made:
        yield made


def read(format: Format, path: Path) -> list[Task]:
    """Read the tasks of a file, without those that are marked as not to be judged."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        text = file.read()
    records: list[dict[str, Any]]
    records = json.loads(text) if text[0] == "[" else list(map(json.loads, text.splitlines()))
    tasks = [format.read(record, Where(path.name, i)) for i, record in enumerate(records, 1)]
    return [task for task in tasks if "left_out" not in task.metadata]


def passes_within(executor: LocalExecutor, task: Task, attempts: int) -> bool:
    """Return whether a task's reference is accepted in one of so many attempts."""
    program = task.reference_program or ""
    return any(executor.judge(task, program).passed for _ in range(attempts))


def rejected(executor: LocalExecutor, tasks: list[Task]) -> list[tuple[str, str, list[str]]]:
    """Return the tasks whose reference is not accepted on every test, and how."""
    known = [task for task in tasks if task.reference_program is not None]
    # A flaky task is tried again: six failures in a row would be news.
    again = [task for task in known if "flaky" in task.metadata]
    steady = [task for task in known if "flaky" not in task.metadata]
    again = [task for task in again if not passes_within(executor, task, attempts=5)]
    known = steady + again
    judged = executor.map((task, task.reference_program or "") for task in known)
    return [
        (task.id, judgement.verdict.value, [r.note for r in judgement.results if r.note][:2])
        for task, judgement in zip(known, judged, strict=True)
        if not judgement.passed
    ]


# ----------------------------------------------------------------------- pipelines
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("level", LEVELS)
def test_references_of_pipelines_are_accepted(
    executor: LocalExecutor, level: int, form: Form
) -> None:
    assert rejected(executor, [generate(level, seed, form) for seed in range(8)]) == []


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("level", LEVELS)
def test_500_references_of_pipelines_are_accepted(
    executor: LocalExecutor, level: int, form: Form
) -> None:
    assert rejected(executor, [generate(level, seed, form) for seed in range(500)]) == []


def slipped(seeds: range, level: int, form: Form) -> list[tuple[Task, str]]:
    """Return tasks with programs in which a step is dropped or two are swapped."""
    jobs = []
    for seed in seeds:
        task = generate(level, seed, form)
        for slip in slips(parse_plan(task.reference_plan or ""), level):
            jobs.append((task, slip.script if form == "stdio" else slip.function))
    return jobs


def accepted(executor: LocalExecutor, jobs: list[tuple[Task, str]]) -> list[str]:
    """Return the ids of tasks whose program is accepted."""
    judged: Iterator[Judgement] = executor.map(jobs)
    return [task.id for (task, _), j in zip(jobs, judged, strict=True) if j.passed]


@pytest.mark.parametrize("form", PROGRAM_FORMS)
@pytest.mark.parametrize("level", LEVELS)
def test_slips_in_pipelines_are_not_accepted(
    executor: LocalExecutor, level: int, form: Form
) -> None:
    jobs = slipped(range(5), level, form)
    assert jobs and accepted(executor, jobs) == []


@pytest.mark.slow
@pytest.mark.parametrize("form", PROGRAM_FORMS)
@pytest.mark.parametrize("level", LEVELS)
def test_slips_in_100_pipelines_are_not_accepted(
    executor: LocalExecutor, level: int, form: Form
) -> None:
    assert accepted(executor, slipped(range(100), level, form)) == []


@pytest.mark.parametrize("level", LEVELS)
def test_the_program_to_repair_is_not_accepted(executor: LocalExecutor, level: int) -> None:
    tasks = [generate(level, seed, "repair") for seed in range(8)]
    jobs = [(task, str(task.metadata["buggy_program"])) for task in tasks]
    assert accepted(executor, jobs) == []


# ------------------------------------------------------------------------ contests
def test_references_of_bundled_contest_problems_are_accepted(executor: LocalExecutor) -> None:
    tasks = read(GOOGLE_CONTESTS, CONTESTS)
    assert len(tasks) >= 40 and all(task.reference_program for task in tasks)
    assert rejected(executor, tasks) == []


def test_a_program_that_answers_some_cases_earns_their_fraction(
    executor: LocalExecutor,
) -> None:
    task = next(t for t in read(GOOGLE_CONTESTS, CONTESTS) if t.id.endswith("tidy_numbers"))
    half = (task.reference_program or "").replace(
        "    print(", "    if case % 2: print('Case #%d: none' % case)\n    else: print("
    )
    judgement = executor.judge(task, half)
    assert judgement.verdict is Verdict.WA
    assert judgement.pass_rate == pytest.approx(0.5, abs=0.01)


# ----------------------------------------------------------------------- Hash Code
def test_documented_hash_code_examples_score_what_they_should(executor: LocalExecutor) -> None:
    tasks = read(HASHCODE, DATA / "hashcode/hashcode.jsonl.gz")
    outputs = {
        "self_driving_rides": (r"1 0\n2 2 1\n", 10),
        "streaming_videos": (r"3\n0 2\n1 3 1\n2 0 1\n", 462_500),
        "photo_slideshow": (r"3\n0\n3\n1 2\n", 2),
    }
    for task in tasks:
        output, score = outputs[task.id.rpartition("/")[2]]
        result = executor.judge(task, f"print('{output}', end='')").results[0]
        (example,) = task.public_tests
        assert isinstance(example, ScoreTest) and example.reference
        assert result.verdict is Verdict.AC, (task.id, result)
        assert result.score == pytest.approx(score / example.reference)


@pytest.mark.parametrize("program", ["", "print('nonsense')", "print('1_0')"])
def test_invalid_hash_code_output_is_a_wrong_answer_with_score_0(
    executor: LocalExecutor, program: str
) -> None:
    for task in read(HASHCODE, DATA / "hashcode/hashcode.jsonl.gz"):
        judgement = executor.judge(task, program)
        assert judgement.verdict is Verdict.WA
        assert judgement.score == 0.0


# -------------------------------------------------------------- puzzles and classes
def test_references_of_a_few_puzzles_are_accepted(executor: LocalExecutor) -> None:
    tasks = read(P3, DATA / "p3/puzzles.json.gz")
    few = [t for t in tasks if t.id in ("p3/FivePowers:0", "p3/BoxVolume:1")]
    few += [t for t in tasks if t.metadata["source_id"] in LARGE]
    assert rejected(executor, few + tasks[::40]) == []


@pytest.mark.slow
def test_references_of_all_puzzles_are_accepted(executor: LocalExecutor) -> None:
    tasks = read(P3, DATA / "p3/puzzles.json.gz")
    assert len(tasks) == 1715
    assert rejected(executor, tasks) == []


def test_references_of_a_few_classes_are_accepted(executor: LocalExecutor) -> None:
    tasks = read(CLASSEVAL, DATA / "classeval/ClassEval_data.json.gz")
    assert rejected(executor, tasks[::10]) == []


@pytest.mark.slow
def test_references_of_all_classes_but_the_named_ones_are_accepted(
    executor: LocalExecutor,
) -> None:
    tasks = read(CLASSEVAL, DATA / "classeval/ClassEval_data.json.gz")
    assert len(tasks) == 100 - len(LEFT_OUT)
    assert rejected(executor, tasks) == []


def test_references_of_classes_that_need_a_folder_are_accepted(
    executor: LocalExecutor,
) -> None:
    tasks = read(CLASSEVAL, DATA / "classeval/ClassEval_data.json.gz")
    writing = [task for task in tasks if task.id in NEEDS_FOLDER]
    assert len(writing) == len(NEEDS_FOLDER)
    assert rejected(executor, writing) == []


@pytest.mark.slow
def test_only_the_named_classes_need_a_folder(executor: LocalExecutor) -> None:
    tasks = read(CLASSEVAL, DATA / "classeval/ClassEval_data.json.gz")
    without = [
        task.with_limits(replace(task.limits, scratch_bytes=0))
        for task in tasks
        if task.id in NEEDS_FOLDER
    ]
    jobs = [(task, task.reference_program or "") for task in without]
    assert accepted(executor, jobs) == []
