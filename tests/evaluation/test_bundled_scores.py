"""What evaluation promises of the bundled sets: whoever knows the answers passes them all.

The exceptions are the references that `known_failures.json` explains.
"""

from __future__ import annotations

from functools import partial

import pytest

from corecode_env.agents import ReferenceAgent
from corecode_env.environments import planner_coder_v0
from corecode_env.evaluation import evaluate, summarise
from corecode_env.evaluation.known import known
from corecode_env.executor import LocalExecutor
from corecode_env.tasks import load_tasks

SETS = (
    "humaneval",
    "humanevalplus",
    "mbpp",
    "mbpp-sanitized",
    "cruxeval",
    "humanevalpack",
    "google_contests",
    "pipelines/1",
    "pipelines/2/stdio",
    "pipelines/3/repair",
    "pipelines/5",
)


def failed(name: str, limit: int) -> tuple[float, set[str], set[str]]:
    """Return pass@1 of a reference pair, the tasks it fails, and those it is known to fail."""
    tasks = load_tasks(name).head(limit)
    pair = {"planner": ReferenceAgent(), "coder": ReferenceAgent()}
    with LocalExecutor(min_isolation="L0") as executor:
        make = partial(planner_coder_v0.env, tasks=tasks, split="all", executor=executor)
        samples = evaluate(make, pair, tasks, samples={})
    explained = known("failures")
    listed = {task.id for task in tasks if explained.reason(task, "reference")}
    wrong = {sample.task_id for sample in samples if not sample.passed}
    return summarise(samples)["pass@1"].value, wrong, listed


@pytest.mark.parametrize("name", SETS)
def test_reference_pairs_pass_the_first_tasks(name: str) -> None:
    assert failed(name, 2) == (1.0, set(), set())


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_reference_pairs_pass_whole_sets(name: str) -> None:
    # Generated sets have no end.
    score, wrong, listed = failed(name, 100 if name.startswith("pipelines") else 1000)
    assert wrong == listed
    assert (score == 1.0) is (not listed)
