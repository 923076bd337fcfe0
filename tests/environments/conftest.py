"""What the environments' tests play with: small tasks, an executor without processes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from corecode_env.core.task import CallTest, Function, Stdio, StdioTest, Task
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.executor.testing import InstantExecutor

REFERENCE = "def solve(xs):\n    return sum(xs)\n"
HALF_RIGHT = "def solve(xs):\n    return xs[0]\n"
WRONG = "def solve(xs):\n    return None\n"
BREAKS_SANDBOX = "def solve(xs):\n    break_the_sandbox()\n"


def rule() -> Callable[[Task, str], Judgement]:
    """Return a rule that judges by what a program reads like.

    The task's reference passes every test, `HALF_RIGHT` the public ones, anything else
    none, and `BREAKS_SANDBOX` is the sandbox's own failure.
    """
    clock = itertools.count()

    def judge(task: Task, program: str) -> Judgement:
        n_public = len(task.public_tests)
        results = []
        for number in range(len(task.tests)):
            public = number < n_public
            if "break_the_sandbox" in program:
                verdict = Verdict.SE
            elif program.strip() == (task.reference_program or "").strip():
                verdict = Verdict.AC
            elif program.strip() == HALF_RIGHT.strip() and public:
                verdict = Verdict.AC
            else:
                verdict = Verdict.WA
            note = 'got <x object at 0x7f1234567890>, File "/tmp/job/main.py"'
            note = note if public and verdict is Verdict.WA else ""
            # Clock readings differ from run to run, as they do in a real sandbox.
            results.append(
                TestResult(verdict, public, cpu_seconds=float(next(clock)), note=note)
            )
        return Judgement(task.id, tuple(results), "L2")

    return judge


def a_task(number: int = 0, **changes: Any) -> Task:
    fields: dict[str, Any] = {
        "id": f"sums/{number}",
        "statement": f"Return the sum of a list of integers. Variant {number}.",
        "interface": Function("solve", "def solve(xs):"),
        "public_tests": (CallTest(([1, 2],), {}, 3),),
        "hidden_tests": (CallTest(([4, 5],), {}, 9), CallTest(([],), {}, 0)),
        "reference_program": REFERENCE,
        "reference_plan": "1. add up the list",
    }
    return Task(**(fields | changes))


def a_stdio_task(number: int = 0, **changes: Any) -> Task:
    """Return the same task as one that reads a line of numbers and prints their sum."""
    fields: dict[str, Any] = {
        "interface": Stdio(),
        "public_tests": (StdioTest("1 2\n", "3\n"),),
        "hidden_tests": (StdioTest("4 5\n", "9\n"), StdioTest("\n", "0\n")),
    }
    return a_task(number, **(fields | changes))


def fenced(program: str) -> str:
    return f"```python\n{program}```\n"


@pytest.fixture
def executor() -> InstantExecutor:
    return InstantExecutor(rule())


@pytest.fixture
def tasks() -> list[Task]:
    return [a_task(number) for number in range(8)]


@pytest.fixture
def say() -> SimpleNamespace:
    """Programs as a Coder would hand them in, and tasks made to measure."""
    return SimpleNamespace(
        right=fenced(REFERENCE),
        half=fenced(HALF_RIGHT),
        wrong=fenced(WRONG),
        breaks=fenced(BREAKS_SANDBOX),
        task=a_task,
        stdio_task=a_stdio_task,
    )


@pytest.fixture(
    params=[
        "planner_coder_v0",
        "solo_coder_v0",
        "debug_team_v0",
        "retrieval_team_v0",
        "helper_main_v0",
        "tree_search_v0",
        "solvita_v0",
    ]
)
def module(request: pytest.FixtureRequest) -> ModuleType:
    from corecode_env.environments.registration import load

    found: ModuleType = load(request.param)
    return found


@pytest.fixture
def own_tasks(module: ModuleType, tasks: list[Task]) -> list[Task]:
    """Tasks that the module plays."""
    if module.__name__.endswith("solvita_v0"):
        return [a_stdio_task(number) for number in range(len(tasks))]
    return tasks


@pytest.fixture
def made(
    module: ModuleType, executor: InstantExecutor, own_tasks: list[Task]
) -> Callable[..., SimpleNamespace]:
    """Return a module's constructors, set up with the small tasks and no processes."""

    def with_options(**options: Any) -> SimpleNamespace:
        bound = {"tasks": own_tasks, "executor": executor} | options
        return SimpleNamespace(
            env=partial(module.env, **bound),
            raw_env=partial(module.raw_env, **bound),
            parallel_env=partial(module.parallel_env, **bound),
        )

    return with_options
