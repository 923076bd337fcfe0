"""What the bundled optimisation problems promise: fair scores, seeds, two programs each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import pytest

from corecode_env.core.errors import UnknownName
from corecode_env.core.task import ScoreTest
from corecode_env.core.verdict import Verdict
from corecode_env.executor.inside.tester import run_scorer
from corecode_env.executor.local import LocalExecutor
from corecode_env.tasks import load_tasks
from corecode_env.tasks.problem_folder import HEURISTICS, program_of

FOLDER = Path(__file__).resolve().parents[2] / "corecode_env/tasks/heuristics"
problems = pytest.mark.parametrize("name", HEURISTICS)
SEEDS = range(3)


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    # Verdicts on our own programs do not depend on how well the machine can isolate.
    with LocalExecutor(min_isolation="L0") as made:
        yield made


def scores(executor: LocalExecutor, name: str, program: str) -> list[float]:
    tasks = [load_tasks(f"heuristics/{name}/{seed}")[0] for seed in SEEDS]
    judgements = list(executor.map((task, program) for task in tasks))
    assert all(judgement.passed for judgement in judgements)
    results = [result for judgement in judgements for result in judgement.results]
    return [result.score for result in results if result.score is not None]


def test_there_are_at_least_six_and_each_folder_is_one_of_them() -> None:
    assert len(HEURISTICS) >= 6
    folders = {path.name for path in FOLDER.iterdir() if (path / "score.py").is_file()}
    assert folders == set(HEURISTICS)


@problems
def test_the_decent_program_beats_the_trivial_one_and_all_scores_are_in_range(
    executor: LocalExecutor, name: str
) -> None:
    trivial, decent = (
        scores(executor, name, program_of(name, which)) for which in ("trivial", "decent")
    )
    assert len(trivial) == len(decent) == 5 * len(SEEDS)
    assert mean(trivial) < mean(decent)
    # Courier's scale is a simple rule, which a good round beats; the others have a bound.
    assert all(
        0.0 <= score <= (2.0 if name == "courier" else 1.0) for score in trivial + decent
    )


@problems
def test_the_example_of_the_statement_scores_what_the_statement_says(name: str) -> None:
    text = (FOLDER / name / "statement.md").read_text()
    instance, output = re.findall(r"```\n(.*?)```", text, re.DOTALL)
    said = re.search(r"Example output, which scores ([\d.]+):", text)
    report = run_scorer((FOLDER / name / "score.py").read_text(), instance, output.encode())
    assert said is not None
    assert f"{report.score:.4f}" == said[1]


@problems
@pytest.mark.parametrize("output", ["", "0", "x y", "1 1 1", "-1", "DDDD", "1\n2\n3\n"])
def test_an_output_that_is_no_answer_scores_nothing_and_is_told_why(
    executor: LocalExecutor, name: str, output: str
) -> None:
    task = load_tasks(f"heuristics/{name}/0")[0]
    judgement = executor.judge(task, f"print({output!r})")
    assert {result.verdict for result in judgement.results} == {Verdict.WA}
    assert judgement.score == 0.0
    assert judgement.results[0].note.startswith("invalid output: ")


INVALID = {
    "cargo": [("30\n1 1", "distinct"), ("50\n1 2 3", "too much"), ("31\n1", "is worth 30")],
    "courier": [("1 2 3", "visit each"), ("1 2 3 3", "visit each"), ("0 1 2 3", "visit each")],
    "harvest": [("DR", "exactly 3"), ("DRX", "exactly 3"), ("UDR", "leaves the field")],
    "rivals": [("1 1 1 2", "3 guests"), ("1 2 3 1", "from 1 to 2"), ("1 2", "4 tables")],
    "rolls": [("1 1 2 3", "longer than"), ("1 3 4 4", "without a gap"), ("1 2", "4 rolls")],
    "workshop": [
        ("1 2 3 4", "2 lines"),
        ("1 2\n3", "must stand on"),
        ("1 2\n2 3 4", "must stand"),
    ],
}


@pytest.mark.parametrize(
    ("name", "output", "why"),
    [(name, *case) for name, cases in INVALID.items() for case in cases],
)
def test_a_scorer_says_which_rule_an_answer_breaks(name: str, output: str, why: str) -> None:
    text = (FOLDER / name / "statement.md").read_text()
    instance = re.findall(r"```\n(.*?)```", text, re.DOTALL)[0]
    report = run_scorer((FOLDER / name / "score.py").read_text(), instance, output.encode())
    assert (report.outcome, report.score) == ("failed", 0.0)
    assert why in report.note


@problems
def test_a_seed_makes_the_same_task_again_and_another_seed_other_instances(name: str) -> None:
    first, again, other = (load_tasks(f"heuristics/{name}/{seed}")[0] for seed in (1, 1, 2))
    assert first == again
    instances = [
        test.instance
        for task in (first, other)
        for test in task.tests
        if isinstance(test, ScoreTest)
    ]
    assert len(set(instances)) == len(instances) == 10


@problems
def test_seeds_go_to_splits_by_their_last_digit(name: str) -> None:
    tasks = load_tasks(f"heuristics/{name}")
    assert tasks.split("validation").ids() == [f"heuristics/{name}/{n}" for n in (8, 18)]
    assert tasks.split("test").ids() == [f"heuristics/{name}/{n}" for n in (9, 19)]
    assert len(tasks.split("train").require_trainable()) == 16


def test_the_whole_family_is_one_set() -> None:
    assert load_tasks("heuristics").ids() == [
        task.id for name in HEURISTICS for task in load_tasks(f"heuristics/{name}")
    ]


@pytest.mark.parametrize(
    "name", ["heuristics/curier", "heuristics/courier/x", "heuristics/x/1"]
)
def test_an_unknown_problem_or_seed_is_refused_with_the_nearest(name: str) -> None:
    with pytest.raises(UnknownName, match=r"did you mean|known: "):
        load_tasks(name)
