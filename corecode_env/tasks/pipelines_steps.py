"""Pipelines as values: what a program of the family `pipelines` is made of.

    plan text  ->  Pipeline  ->  program text, plan text, results on a list

A pipeline is a chain of list steps and one result. Nothing here is random and nothing
here makes tasks; `pipelines.py` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import unknown_name
from corecode_env.tasks.splits import split_by_hash


@dataclass(frozen=True, slots=True)
class Step:
    """One list step."""

    name: str
    """What a plan calls it, such as `keep above 5`."""
    expression: str
    """Python expression over the list `xs`; its value is the new `xs`."""


@dataclass(frozen=True, slots=True)
class Result:
    """What is returned in the end."""

    name: str
    """What a plan calls it after `return`, such as `max or 0`."""
    expression: str
    """Python expression over the list `xs`."""


def _steps() -> tuple[Step, ...]:
    return (
        *(Step(f"keep multiples of {c}", _keep(f"x % {c} == 0")) for c in (2, 3, 5)),
        Step("keep odd", _keep("x % 2 == 1")),
        *(Step(f"keep above {c}", _keep(f"x > {c}")) for c in (0, 2, 5)),
        *(Step(f"keep below {c}", _keep(f"x < {c}")) for c in (4, 7, 10)),
        *(Step(f"add {c}", _each(f"x + {c}")) for c in (1, 3, 5)),
        *(Step(f"multiply by {c}", _each(f"x * {c}")) for c in (2, 3)),
        *(Step(f"mod {c}", _each(f"x % {c}")) for c in (3, 5, 7)),
        *(Step(f"take first {c}", f"xs[:{c}]") for c in (3, 4, 5)),
        *(Step(f"drop first {c}", f"xs[{c}:]") for c in (1, 2)),
        Step("square", _each("x * x")),
        Step("negate", _each("-x")),
        Step("absolute", _each("abs(x)")),
        Step("sort up", "sorted(xs)"),
        Step("sort down", "sorted(xs, reverse=True)"),
        Step("reverse", "xs[::-1]"),
        Step("unique", "list(dict.fromkeys(xs))"),
        Step("running sum", "[sum(xs[:i + 1]) for i in range(len(xs))]"),
        Step("differences", "[b - a for a, b in zip(xs, xs[1:])]"),
        Step("every second", "xs[::2]"),
    )


def _keep(condition: str) -> str:
    return f"[x for x in xs if {condition}]"


def _each(value: str) -> str:
    return f"[{value} for x in xs]"


STEPS: Final[Mapping[str, Step]] = MappingProxyType({step.name: step for step in _steps()})
"""The 33 steps by the name that plans use."""

RESULTS: Final[Mapping[str, Result]] = MappingProxyType(
    {
        result.name: result
        for result in (
            Result("sum", "sum(xs)"),
            Result("count", "len(xs)"),
            Result("max or 0", "max(xs, default=0)"),
            Result("min or 0", "min(xs, default=0)"),
            Result("list", "xs"),
            Result("last or 0", "xs[-1] if xs else 0"),
        )
    }
)
"""The 6 results by the name that plans use after `return`."""

# Compiled from the very text that programs consist of, so that what a step does here and
# in a program cannot drift apart.
_RUN: Final[Mapping[str, Callable[[list[int]], Any]]] = MappingProxyType(
    {
        expression: eval(f"lambda xs: {expression}")
        for expression in (
            *(step.expression for step in STEPS.values()),
            *(result.expression for result in RESULTS.values()),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A program of the family: steps in the order in which they run, and a result."""

    steps: tuple[Step, ...]
    result: Result

    def __call__(self, numbers: Sequence[int]) -> Any:
        r"""Return what the program returns for a list of integers.

        >>> parse_plan("1. keep above 5\n2. add 3\n3. return sum")([4, 6, 7])
        19
        """
        xs = list(numbers)
        for step in self.steps:
            xs = _RUN[step.expression](xs)
        return _RUN[self.result.expression](xs)

    @property
    def plan(self) -> str:
        """The plan that describes it, one numbered line a step."""
        lines = [*(step.name for step in self.steps), f"return {self.result.name}"]
        return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))

    @property
    def function(self) -> str:
        """Its program as a function `solve(xs)`, one line a step."""
        lines = [f"    xs = {step.expression}\n" for step in self.steps]
        return f"def solve(xs):\n{''.join(lines)}    return {self.result.expression}\n"

    @property
    def script(self) -> str:
        """Its program as a script: reads a line of integers, prints the result."""
        lines = [f"xs = {step.expression}\n" for step in self.steps]
        shown = "*xs" if self.result.name == "list" else self.result.expression
        return f"xs = [int(x) for x in input().split()]\n{''.join(lines)}print({shown})\n"

    @property
    def split(self) -> str:
        """`train`, `validation` or `test`: a property of the program alone.

        A hash of the plan decides (80, 10 and 10 per cent of all programs), the same in
        every process, so equal programs never stand in two splits, whatever their
        wording, level or form.
        """
        return split_by_hash(self.plan)

    def without(self, index: int) -> Pipeline:
        """Return the pipeline that lacks one step."""
        return Pipeline(self.steps[:index] + self.steps[index + 1 :], self.result)

    def swapped(self, index: int) -> Pipeline:
        """Return the pipeline in which step `index` and the one after it change places."""
        first, second = self.steps[index : index + 2]
        steps = (*self.steps[:index], second, first, *self.steps[index + 2 :])
        return Pipeline(steps, self.result)

    def replaced(self, index: int, step: Step) -> Pipeline:
        """Return the pipeline with another step at `index`."""
        return Pipeline((*self.steps[:index], step, *self.steps[index + 1 :]), self.result)


_NUMBERING: Final = re.compile(r"^\s*(?:step\b)?\s*(?:\d+\s*[.):]|[-*])?\s*", re.IGNORECASE)
_RETURN: Final = re.compile(r"return\s+(.+)", re.IGNORECASE)


def parse_plan(text: str) -> Pipeline:
    r"""Return the pipeline that a plan describes, right or wrong for its task.

    One line a step, the last one `return` and a result. Numbering (`1.`, `2)`, `-`),
    blank lines, letter case and white space do not matter; any number of steps, also
    repeated ones, is a pipeline.

    Args:
        text: The plan.

    Raises:
        UnknownName: If a line names no step, or no result after `return`.
        BadConfig: If no line, or another one than the last, begins with `return`.

    >>> print(parse_plan("1. Take first 3\n2. return SUM").function)
    def solve(xs):
        xs = xs[:3]
        return sum(xs)
    <BLANKLINE>
    """
    lines = [" ".join(_NUMBERING.sub("", line, count=1).split()) for line in text.split("\n")]
    lines = [line.lower().rstrip(".") for line in lines if line]
    returns = [i for i, line in enumerate(lines) if _RETURN.fullmatch(line)]
    if returns != [len(lines) - 1]:
        where = f"lines {[i + 1 for i in returns]} of {len(lines)}" if returns else "none"
        raise BadConfig(
            f"a pipeline plan must have one line 'return RESULT', the last, got {where}; "
            f"a result is one of: {', '.join(RESULTS)}"
        )
    result = lines[-1].removeprefix("return").strip()
    if result not in RESULTS:
        raise unknown_name("a pipeline result", result, list(RESULTS))
    for line in lines[:-1]:
        if line not in STEPS:
            raise unknown_name("a pipeline step", line, list(STEPS))
    return Pipeline(tuple(STEPS[line] for line in lines[:-1]), RESULTS[result])
