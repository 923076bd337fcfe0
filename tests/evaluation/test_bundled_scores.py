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
from tests.evaluation.bundled import BUNDLED, first_tasks


def failed(name: str, limit: int) -> tuple[float, set[str], set[str]]:
    """Return pass@1 of a reference pair, the tasks it fails, and those it is known to fail."""
    tasks = first_tasks(name, limit)
    pair = {"planner": ReferenceAgent(), "coder": ReferenceAgent()}
    with LocalExecutor(min_isolation="L0") as executor:
        make = partial(planner_coder_v0.env, tasks=tasks, split="all", executor=executor)
        samples = evaluate(make, pair, tasks, samples={})
    explained = known("failures")
    listed = {task.id for task in tasks if explained.reason(task, "reference")}
    wrong = {sample.task_id for sample in samples if not sample.passed}
    return summarise(samples)["pass@1"].value, wrong, listed


@pytest.mark.parametrize("name", BUNDLED)
def test_reference_pairs_pass_the_first_tasks(name: str) -> None:
    assert failed(name, 2) == (1.0, set(), set())


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
def test_reference_pairs_pass_whole_sets(name: str) -> None:
    score, wrong, listed = failed(name, 1000)
    assert wrong == listed
    assert (score == 1.0) is (not listed)
