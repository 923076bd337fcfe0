"""Side runs: running programs of agents on inputs of agents, all of it in the sandbox.

    judge, task, program, inputs  ->  results with what was printed

A side run is a judgement of a task derived from the one that is played: its tests are all
public, made from texts of agents, and hold nothing of a hidden test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from corecode_env.core.task import Checker, Limits, Stdio, StdioTest, Task
from corecode_env.core.verdict import Judgement, TestResult
from corecode_env.environments.acts import Judge

HELPER_LIMITS: Final = Limits(cpu_seconds=2.0, wall_seconds=10.0, memory_bytes=256 * 2**20)
"""What a generator, a validator or a checker may use on one input."""
_KEEP: Final = "keep_output"


def run_on(
    judge: Judge,
    task: Task,
    program: str,
    inputs: Sequence[str],
    limits: Limits = HELPER_LIMITS,
) -> tuple[TestResult, ...]:
    """Run a program on inputs.

    Args:
        judge: Judges.
        task: The task that is played, for the name.
        program: The program.
        inputs: What it is fed, one run each.
        limits: What it may use on each.

    Returns:
        One result an input; `output` is what it printed, None if it did not end well. The
        verdict says no more than that: nothing is expected.
    """
    if not inputs:
        return ()
    tests = tuple(StdioTest(given, "") for given in inputs)
    checker = Checker("exact", {_KEEP: True})
    derived = Task(f"{task.id}#run", "", Stdio(), tests, checker=checker, limits=limits)
    return judge(derived, program).results


def says(results: Sequence[TestResult], word: str) -> list[bool]:
    """Return for which runs a program printed one word and nothing else."""
    return [(result.output or "").strip().lower() == word for result in results]


def judge_on(
    judge: Judge,
    task: Task,
    program: str,
    tests: Sequence[StdioTest],
    limits: Limits | None = None,
) -> Judgement:
    """Judge a program on tests of agents, by the task's own checker.

    Args:
        judge: Judges.
        task: The task that is played.
        program: The program.
        tests: At least one test, with the answer that is expected.
        limits: What it may use on each; None: the task's.
    """
    return judge(derived_task(task, tests, limits), program)


def derived_task(task: Task, tests: Sequence[StdioTest], limits: Limits | None = None) -> Task:
    """Return the task with other tests, all public, and outputs kept."""
    checker = replace(task.checker, options={**task.checker.options, _KEEP: True})
    return replace(
        task,
        id=f"{task.id}#tests",
        public_tests=tuple(tests),
        hidden_tests=(),
        checker=checker,
        limits=limits or task.limits,
    )
