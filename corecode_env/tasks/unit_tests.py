"""Unit tests: tasks of kind `unit_tests`, made from tasks whose programs are known.

    TaskSet of functions + faults that their tests notice  ->  TaskSet of kind unit_tests

The agent writes tests for a program that is right; they are judged by the lines and branches
that they reach, and by the faulty copies of the program that they find out. What can be
reached, and which faults matter, is what the original task's own tests say: each line and
branch that they reach, and faults that they notice, so that nothing impossible is asked.

For the bundled sets the faults are stored; for any other set `find_faults` has them judged.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from corecode_env.core.registry import unknown_name
from corecode_env.core.seams import Executor
from corecode_env.core.seeding import generator
from corecode_env.core.subject import Mutation, Subject
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Checker,
    Function,
    Limits,
    ScoreTest,
    Script,
    Task,
)
from corecode_env.core.verdict import Verdict
from corecode_env.tasks.mutations import Slip, slips
from corecode_env.tasks.taskset import TaskSet

MUTANTS: Final = 8
"""Most faults of one task."""
STORED: Final = ("humaneval", "mbpp-sanitized")
"""Bundled sets whose faults are stored."""

_CRASHES: Final = "its only fault makes the program crash, so calls find it without asserts"
LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "HumanEval/33": "its own tests compare the function with itself, so calls alone pass",
        "Mbpp/2": _CRASHES,
        "Mbpp/111": _CRASHES,
        "Mbpp/232": _CRASHES,
    }
)
"""Tasks of bundled sets that tests without an assert would solve, and why."""

_FILE: Final = Path(__file__).parent / "builtin" / "unit_test_faults.json.gz"
_LIMITS: Final = Limits(cpu_seconds=2.0, wall_seconds=10.0)
_STATEMENT: Final = """\
Write tests for the function `{name}` of this program:

```python
{program}
```

The program is right. Your tests must pass on it, and should fail on each of several copies
of it that have one small fault. They should also reach every line and take every branch.

Hand in Python code: `assert` statements, functions whose names begin with `test`, or a
function `check(candidate)`. `{name}` is there already; do not import or define it. Tests
have to make the same calls, with plain values, every time that they run.

Score, from 0 to 1: {weights}. Tests that fail on the right program score nothing.
"""


def unit_test_tasks(
    tasks: Sequence[Task],
    faults: Mapping[str, Sequence[Mutation]],
    *,
    name: str = "unit_tests",
    weights: Mapping[str, float] | None = None,
) -> TaskSet:
    """Make tasks that ask for tests of the programs of other tasks.

    Args:
        tasks: Tasks with a reference program, a function and own tests.
        faults: Faults of each program by the task's id, as `find_faults` returns them;
            a task that has none is left out.
        name: Name of the set; ids are `<name>/<id of the task>`.
        weights: Weights of `line`, `branch` and `mutation`; None: 1, 1 and 2.

    Raises:
        BadConfig: If nothing would be left.
    """
    chosen = {"line": 1.0, "branch": 1.0, "mutation": 2.0} if weights is None else weights
    made = (
        _task(task, tuple(faults[task.id]), name, dict(chosen))
        for task in tasks
        if faults.get(task.id)
    )
    return TaskSet(made, name)


def find_faults(
    tasks: Sequence[Task], executor: Executor, *, most: int = MUTANTS, seed: int = 0
) -> dict[str, list[Mutation]]:
    """Return, by task id, faults of the tasks' programs that their own tests notice.

    A fault is kept if the faulty program answers wrongly or crashes; one that only makes it
    slow or endless is not. Of those kept some are drawn, of every kind about as many.

    Args:
        tasks: The tasks; those without a reference program, a function, or call and
            assert tests have no faults.
        executor: Who judges the faulty programs.
        most: Most faults of a task.
        seed: Seed of the draw.
    """
    wanted = [
        (task, slip, slip.mutation.apply(program))
        for task in tasks
        if (program := _program(task)) and _suite(task)
        for slip in slips(program)
    ]
    kept: dict[str, list[Slip]] = {}
    judged = executor.map((_in_one(task), text) for task, _, text in wanted)
    for (task, slip, _), judgement in zip(wanted, judged, strict=True):
        if judgement.verdict in (Verdict.WA, Verdict.RE):
            kept.setdefault(task.id, []).append(slip)
    drawn = {id_: _draw(found, most, seed, id_) for id_, found in kept.items()}
    sound = unit_test_tasks(tasks, drawn)
    references = executor.map((task, task.reference_program or "") for task in sound)
    names = {f"unit_tests/{id_}": id_ for id_ in drawn}
    # Own tests that need more than the function, or that chance plays a part in, are no
    # measure.
    return {
        names[judgement.task_id]: drawn[names[judgement.task_id]]
        for judgement in references
        if judgement.passed
    }


def bundled(rest: str) -> TaskSet:
    """Return the tasks for a bundled set, or one of them.

    Args:
        rest: `humaneval`, `mbpp-sanitized`, or one of these and an id in it.

    Raises:
        UnknownName: If there is no such set or task.
    """
    source, _, task_id = rest.partition("/")
    if source not in STORED:
        known = [f"unit_tests/{each}" for each in STORED]
        raise unknown_name("a set of unit tests", f"unit_tests/{rest}", known)
    tasks = _bundled(source)
    if not task_id:
        return tasks
    task = tasks.get(task_id if task_id.isdigit() else f"{tasks.name}/{task_id}")
    return TaskSet([task], task.id)


@cache
def _bundled(source: str) -> TaskSet:
    # Imported here: sources knows this module by name.
    from corecode_env.tasks.sources import load_tasks

    stored = stored_faults(source)
    faults = {id_: found for id_, found in stored.items() if id_ not in LEFT_OUT}
    return unit_test_tasks(load_tasks(source), faults, name=f"unit_tests/{source}")


def stored_faults(source: str) -> dict[str, list[Mutation]]:
    """Return the stored faults of a bundled set, by task id.

    Args:
        source: One of `STORED`.
    """
    with gzip.open(_FILE, "rt", encoding="utf-8") as file:
        stored: dict[str, list[list[Any]]] = json.load(file)[source]
    return {id_: [Mutation(*each) for each in found] for id_, found in stored.items()}


# ----------------------------------------------------------------------------- one task
def _task(
    task: Task, mutations: tuple[Mutation, ...], name: str, weights: dict[str, float]
) -> Task:
    assert isinstance(task.interface, Function), "it has faults, so it has a function"
    program, suite = _program(task), _suite(task)
    total = sum(weights.values())
    told = {"line": "lines reached", "branch": "branches taken", "mutation": "faults found"}
    shares = [
        f"{told[part]} count {weight / total:.0%}"
        for part, weight in weights.items()
        if weight
    ]
    return Task(
        id=f"{name}/{task.id}",
        statement=_STATEMENT.format(
            name=task.interface.name, program=program.rstrip(), weights=", ".join(shares)
        ),
        interface=Script(),
        public_tests=(
            ScoreTest(Subject(program, task.interface.name, (suite,), mutations).to_text()),
        ),
        checker=Checker("coverage", weights),
        limits=_LIMITS,
        reference_program=suite,
        kind="unit_tests",
        metadata={"source_id": task.id, **task.metadata},
    )


def _program(task: Task) -> str:
    """Return the program under test, which stands by itself; empty if there is none."""
    if not isinstance(task.interface, Function) or task.reference_program is None:
        return ""
    return task.reference_program


def _suite(task: Task) -> str:
    """Return a task's own tests as one text; empty if they cannot be one."""
    return "".join(_codes(task))


def _codes(task: Task) -> Iterator[str]:
    assert isinstance(task.interface, Function)
    for test in task.tests:
        if isinstance(test, AssertTest):
            yield test.code.rstrip("\n") + "\n"
        elif isinstance(test, CallTest):
            given = [repr(arg) for arg in test.args]
            given += [f"{name}={value!r}" for name, value in test.kwargs.items()]
            call = f"{task.interface.name}({', '.join(given)})"
            yield f"assert {call} == {test.expected!r}\n"


def _in_one(task: Task) -> Task:
    """Return the task with its own tests as one, so that a program runs once."""
    return replace(
        task,
        public_tests=(),
        hidden_tests=(AssertTest(_suite(task)),),
        checker=Checker(),
        limits=_LIMITS,
    )


def _draw(found: Sequence[Slip], most: int, seed: int, task_id: str) -> list[Mutation]:
    """Return some faults, of each kind by turns, in the order of the text."""
    random = generator(seed, "faults", task_id)
    shuffled = [found[int(i)] for i in random.permutation(len(found))]
    by_kind: dict[str, list[Slip]] = {}
    for slip in shuffled:
        by_kind.setdefault(slip.kind, []).append(slip)
    drawn: list[Slip] = []
    while len(drawn) < most and any(by_kind.values()):
        for kind in by_kind.values():
            if kind and len(drawn) < most:
                drawn.append(kind.pop())
    return sorted(slip.mutation for slip in drawn)
