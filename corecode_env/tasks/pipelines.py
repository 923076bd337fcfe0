"""The generated family `pipelines`: unlimited tasks in which a plan is worth having.

    level, seed, form  ->  Task (statement, plan, program, tests)

A task is a chain of list steps and a result (`pipelines_steps.py`), told in English
(`pipelines_wording.py`). Levels 1 to 5 have 1, 2, 3, 3 and 4 steps; from level 3 on the
wording varies, from level 4 on the statement tells the steps in another order than they
run. Forms of a task: a function `solve(xs)`, a script that reads a line (`stdio`), a
program with one wrong step to mend (`repair`), and a call whose result is asked for
(`io_prediction`).

Equal level, seed and form give an equal task on every Python from 3.11 on: all draws are
made from `random.Random.random()` under a string seed, whose sequence Python's
documentation promises to keep; `randrange`, `choice` and `shuffle`, which it does not
promise, are not used.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import unknown_name
from corecode_env.core.task import (
    CallTest,
    Function,
    Interface,
    Limits,
    Script,
    Stdio,
    StdioTest,
    Task,
    TaskKind,
    Test,
)
from corecode_env.tasks.pipelines_steps import (
    RESULTS,
    STEPS,
    Pipeline,
    Step,
)
from corecode_env.tasks.pipelines_wording import statement
from corecode_env.tasks.splits import split_by_number

Form = Literal["function", "stdio", "repair", "io_prediction"]
PROGRAM_FORMS: Final[tuple[Form, ...]] = ("function", "stdio", "repair")
"""Forms in which a program is handed in."""
FORMS: Final[tuple[Form, ...]] = (*PROGRAM_FORMS, "io_prediction")
"""Forms of a task; the first has no name of its own in ids."""

LEVELS: Final = (1, 2, 3, 4, 5)
N_STEPS: Final = {1: 1, 2: 2, 3: 3, 4: 3, 5: 4}
"""Steps of a program, by level."""

N_INPUTS: Final = 14
MIN_DISTINCT_OUTPUTS: Final = 4
"""Fewer different outputs than this, and a constant would pass too many tests."""

_LOWEST, _HIGHEST = -9, 14
_LONGEST = 9
# The steps are list operations on at most nine numbers: a program that needs more is
# wrong, and an endless loop should not cost a learner five seconds a test.
_LIMITS: Final = Limits(cpu_seconds=1.0, wall_seconds=10.0, memory_bytes=128 * 2**20)

_STDIO_NOTE: Final = (
    "\n\nInput: one line with the integers, separated by blanks; it is empty for an empty "
    "list.\nOutput: the result on one line; a list as its numbers, separated by blanks."
)
_PREDICTION: Final = """\
What does this call return? Answer with one Python literal and nothing else.

```python
{program}
solve({argument})
```
"""
_REPAIR_NOTE: Final = (
    "\n\nThe program below was written for this, but one of its steps is wrong. "
    "Hand in the whole mended program.\n\n```python\n{program}```"
)


class _Draw:
    """A pipeline, its inputs and outputs, and the stream that goes on from there."""

    def __init__(self, level: int, seed: int) -> None:
        self._rng = random.Random(f"{level}:{seed}")
        self.split = split_by_number(seed)
        while True:
            self.pipeline = self._pipeline(N_STEPS[level])
            if self.pipeline.split != self.split:
                continue
            self.inputs = self._inputs()
            self.outputs = [self.pipeline(xs) for xs in self.inputs]
            if self._tells_apart(level):
                break

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n - 1."""
        return int(self._rng.random() * n)

    def _pipeline(self, n_steps: int) -> Pipeline:
        left = list(STEPS.values())
        steps = tuple(left.pop(self.below(len(left))) for _ in range(n_steps))
        return Pipeline(steps, list(RESULTS.values())[self.below(len(RESULTS))])

    def _inputs(self) -> list[list[int]]:
        lengths = [2 + self.below(_LONGEST - 1) for _ in range(N_INPUTS - 2)]
        span = _HIGHEST - _LOWEST + 1
        return [[_LOWEST + self.below(span) for _ in range(n)] for n in (*lengths, 0, 1)]

    def notices(self, other: Pipeline, n_inputs: int = N_INPUTS) -> bool:
        """Return whether another pipeline differs on one of the first inputs."""
        known = zip(self.inputs[:n_inputs], self.outputs[:n_inputs], strict=True)
        return any(other(xs) != output for xs, output in known)

    def _tells_apart(self, level: int) -> bool:
        if len({repr(output) for output in self.outputs}) < MIN_DISTINCT_OUTPUTS:
            return False
        return all(self.notices(other) for other in slips(self.pipeline, level))

    def one_step_wrong(self, n_public: int) -> Pipeline:
        """Return the pipeline with one step changed, so that the tests notice.

        A change that the public tests show is preferred: those are what an agent sees.
        """
        noticed: Pipeline | None = None
        for index, step in self._changes():
            other = self.pipeline.replaced(index, step)
            if self.notices(other, n_public):
                return other
            if noticed is None and self.notices(other):
                noticed = other
        # Some change is always noticed: each step matters, and among the 32 others are
        # some that no list of two numbers survives unchanged.
        assert noticed is not None
        return noticed

    def _changes(self) -> Iterator[tuple[int, Step]]:
        used = self.pipeline.steps
        changes = [(i, s) for i in range(len(used)) for s in STEPS.values() if s not in used]
        while changes:
            yield changes.pop(self.below(len(changes)))


def slips(pipeline: Pipeline, level: int) -> list[Pipeline]:
    """Return the pipelines that the tests of a task must tell from the right one.

    One step dropped, on all levels; two neighbours swapped, from level 3 on.
    """
    n = len(pipeline.steps)
    dropped = [pipeline.without(i) for i in range(n)]
    swapped = [pipeline.swapped(i) for i in range(n - 1)] if level >= 3 else []
    return dropped + swapped


def task_id(level: int, seed: int, form: Form = "function") -> str:
    """Return the id of a task.

    >>> task_id(4, 41), task_id(4, 41, "repair")
    ('pipelines/4/41', 'pipelines/4/repair/41')
    """
    return f"{set_name(level, form)}/{seed}"


def set_name(level: int, form: Form = "function") -> str:
    """Return the name of the set of all tasks of a level and form."""
    return f"pipelines/{level}" if form == FORMS[0] else f"pipelines/{level}/{form}"


@functools.lru_cache(maxsize=4096)
def generate(level: int, seed: int, form: Form = "function") -> Task:
    """Make one task; equal arguments give an equal task, in any process.

    The seed also says to which split the task belongs (its last digit: 8 validation, 9
    test, else train): programs are drawn until one has this split by its own hash.

    Args:
        level: 1 to 5.
        seed: Number of the task in its level, 0 or more. One seed makes the same program
            and the same inputs in every form.
        form: `function`, `stdio`, `repair` or `io_prediction`.

    Raises:
        UnknownName: If there is no such level or form.
        BadConfig: If the seed is negative.
    """
    if level not in LEVELS:
        raise unknown_name("a level of pipelines", level, [str(known) for known in LEVELS])
    if form not in FORMS:
        raise unknown_name("a form of pipelines", form, list(FORMS))
    if seed < 0:
        raise BadConfig(f"a seed of pipelines must be 0 or more, got {seed}")
    draw = _Draw(level, seed)
    if form == "io_prediction":
        return _prediction(draw, level, seed)
    told = statement(draw.pipeline, level, draw.below)
    n_public = 2 + draw.below(2)
    pipeline = draw.pipeline
    interface: Interface = Function("solve", "def solve(xs):")
    kind: TaskKind = "code"
    program = pipeline.function
    metadata = _metadata(draw, level)
    if form == "stdio":
        told += _STDIO_NOTE
        interface, program = Stdio(), pipeline.script
    elif form == "repair":
        kind = "repair"
        buggy = draw.one_step_wrong(n_public).function
        told += _REPAIR_NOTE.format(program=buggy)
        metadata["buggy_program"] = buggy
    tests = _tests(draw, form)
    return Task(
        id=task_id(level, seed, form),
        statement=told,
        interface=interface,
        public_tests=tests[:n_public],
        hidden_tests=tests[n_public:],
        limits=_LIMITS,
        reference_program=program,
        reference_plan=pipeline.plan,
        kind=kind,
        metadata=metadata,
    )


def _prediction(draw: _Draw, level: int, seed: int) -> Task:
    """Make the task that asks what the program returns for one of its longer inputs."""
    # Behind the longer inputs stand an empty list and one number. There are always some whose
    # result is worth asking for: with these two, four results differ.
    telling = [i for i in range(N_INPUTS - 2) if draw.outputs[i] not in (0, [])]
    chosen = telling[draw.below(len(telling))]
    output = draw.outputs[chosen]
    return Task(
        id=task_id(level, seed, "io_prediction"),
        statement=_PREDICTION.format(
            program=draw.pipeline.function, argument=draw.inputs[chosen]
        ),
        interface=Script(),
        hidden_tests=(CallTest((), expected=output),),
        limits=_LIMITS,
        reference_program=repr(output),
        reference_plan=draw.pipeline.plan,
        kind="io_prediction",
        metadata=_metadata(draw, level),
    )


def _metadata(draw: _Draw, level: int) -> dict[str, Any]:
    return {
        "source": "pipelines",
        "licence": "MIT",
        "difficulty": f"level {level}",
        "split": draw.split,
        "n_steps": len(draw.pipeline.steps),
    }


def _tests(draw: _Draw, form: Form) -> tuple[Test, ...]:
    known = zip(draw.inputs, draw.outputs, strict=True)
    if form == "stdio":
        return tuple(StdioTest(_line(xs), _line(output)) for xs, output in known)
    return tuple(CallTest((xs,), {}, output) for xs, output in known)


def _line(value: int | Sequence[int]) -> str:
    numbers = [value] if isinstance(value, int) else value
    return " ".join(str(number) for number in numbers) + "\n"
