"""Testing: an executor without processes, for tests of what stands above this room."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator

from corecode_env.core.errors import ExecutorError
from corecode_env.core.seams import Job
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement, TestResult, Verdict

Rule = Callable[[Task, str], Judgement | Verdict]


class InstantExecutor:
    """Judges by a function: nothing runs, nothing waits.

    >>> from corecode_env.core.task import Stdio, StdioTest, Task
    >>> task = Task("t", "Print 1.", Stdio(), public_tests=(StdioTest("", "1"),))
    >>> executor = InstantExecutor(lambda task, program: Verdict.WA)
    >>> executor.judge(task, "print(2)").verdict.value
    'WA'
    """

    def __init__(self, rule: Rule | None = None) -> None:
        """Take the rule.

        Args:
            rule: From task and program to a judgement, or to the verdict of every test.
                None: the task's reference program is right, whatever white space its
                lines end with, and every other one is wrong.
        """
        self._rule = rule or _only_the_reference
        self.jobs: list[Job] = []
        """All jobs so far, in order."""
        self.closed = False

    def judge(self, task: Task, program: str) -> Judgement:
        """Judge by the rule.

        Raises:
            ExecutorError: If the executor is closed.
        """
        if self.closed:
            raise ExecutorError("the executor is closed; make a new one")
        self.jobs.append((task, program))
        judged = self._rule(task, program)
        if isinstance(judged, Judgement):
            return judged
        public = len(task.public_tests)
        results = (
            TestResult(judged, public=index < public) for index in range(len(task.tests))
        )
        return Judgement(task.id, tuple(results), "L0")

    def map(self, jobs: Iterable[Job]) -> Iterator[Judgement]:
        """Judge many programs, in order."""
        return (self.judge(task, program) for task, program in jobs)

    async def amap(self, jobs: Iterable[Job]) -> AsyncIterator[Judgement]:
        """Judge many programs, in order."""
        for task, program in jobs:
            yield self.judge(task, program)

    def close(self) -> None:
        """Refuse jobs from now on."""
        self.closed = True

    def __enter__(self) -> InstantExecutor:
        """Return the executor itself."""
        return self

    def __exit__(self, *ignored: object) -> None:
        """Close it."""
        self.close()


def _only_the_reference(task: Task, program: str) -> Verdict:
    reference = task.reference_program
    right = reference is not None and _lines(program) == _lines(reference)
    return Verdict.AC if right else Verdict.WA


def _lines(program: str) -> list[str]:
    # An action that quotes a program ends its lines, and itself, in its own way.
    return [line.rstrip() for line in program.strip().splitlines()]
