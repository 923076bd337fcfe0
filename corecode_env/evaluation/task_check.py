"""Task checks: does a set say yes to right programs, and no to wrong ones?

    TaskSet, Executor  ->  CheckReport

Three checks. The reference of every task must be accepted; answers that solve nothing must
not; programs of agents that are wrong on purpose must not. What is known and explained
(`known.py`) counts as found, not as failed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from corecode_env.core.calling import ObservationFunction, as_agent
from corecode_env.core.messages import extract_program
from corecode_env.core.seams import Agent, Executor, Job, Reply, Request
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement, Verdict
from corecode_env.evaluation.degenerate import degenerate_answers
from corecode_env.evaluation.known import Known, known
from corecode_env.executor.compare import validate_checker

Progress = Callable[[int, int], None]
"""Called with the number of programs judged so far and in all."""

REFERENCE: Final = "reference"

SPIN_SECONDS: Final = 0.2
"""CPU time after which an answer that is known to loop for ever has shown that it does."""


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to one task, and what became of it.

    Attributes:
        task_id: The task.
        answer: `reference`, or the name of a wrong answer, such as `degenerate:none`.
        verdict: None if there was nothing to judge.
        note: What the judge said of the first test that decided.
        reason: Why it is listed as known to be otherwise; empty if it is not listed.
        sound: Whether it is as it should be.
    """

    task_id: str
    answer: str
    verdict: Verdict | None
    note: str = ""
    reason: str = ""
    sound: bool = True


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found.

    Attributes:
        set_name: Name of the task set.
        what: `references`, `degenerate` or `faulty`.
        cases: Every answer, in the order of judgement.
    """

    set_name: str
    what: str
    cases: tuple[Case, ...]

    @property
    def exceptions(self) -> tuple[Case, ...]:
        """Cases that are not as they should be, with their reasons."""
        return tuple(case for case in self.cases if not case.sound and case.reason)

    @property
    def failures(self) -> tuple[Case, ...]:
        """Cases that are not as they should be, and that nobody has explained."""
        return tuple(case for case in self.cases if not case.sound and not case.reason)

    @property
    def stale(self) -> tuple[tuple[str, str], ...]:
        """Task and answer of cases that are as they should be, though listed not to be."""
        return tuple((c.task_id, c.answer) for c in self.cases if c.sound and c.reason)

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Ids of tasks that have no reference to judge."""
        return tuple(case.task_id for case in self.cases if case.verdict is None)

    @property
    def ok(self) -> bool:
        """Whether nothing is unexplained, and something was judged at all."""
        return not self.failures and any(case.verdict is not None for case in self.cases)

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many answers got each verdict."""
        return dict(Counter(case.verdict for case in self.cases if case.verdict is not None))

    def summary(self) -> str:
        """Return one line for people."""
        counts = ", ".join(f"{n} {v.value}" for v, n in sorted(self.counts.items()))
        parts = [
            f"{self.set_name}: {self.what}: {counts or 'nothing judged'}",
            f"{len(self.exceptions)} known exceptions",
            f"{len(self.failures)} unexplained",
        ]
        if self.unjudged:
            parts.append(f"{len(self.unjudged)} without a reference")
        return "; ".join(parts)


# ------------------------------------------------------------------------------- checks
def check_references(
    tasks: Sequence[Task],
    executor: Executor,
    *,
    exceptions: Known | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Judge the reference program of every task on all its tests.

    Args:
        tasks: The set.
        executor: Who judges.
        exceptions: Failures that are known; None: the committed list.
        progress: Called after each program.

    Raises:
        BadConfig: If a task's checker could judge nothing.
        UnknownName: If a task's checker has an unknown name.
    """
    _validate(tasks)
    listed = known("failures") if exceptions is None else exceptions
    # One after the other: the tasks of a large file stay in it until they are judged.
    wanted = (_Wanted(t, REFERENCE, t.reference_program) for t in tasks)
    found = _Progress(progress, len(tasks))
    cases = []
    for item, judgement in _judged(wanted, executor):
        found.one_more()
        if judgement is None:
            cases.append(Case(item.task.id, REFERENCE, None, "no reference program"))
        else:
            cases.append(_case(item, judgement, listed, sound=judgement.passed))
    return CheckReport(set_name(tasks), "references", tuple(cases))


def check_degenerate(
    tasks: Sequence[Task],
    executor: Executor,
    *,
    exceptions: Known | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Judge answers that solve nothing: none may be accepted.

    Tasks whose reference is known to fail are passed over: they cannot be judged here.

    Args:
        tasks: The set.
        executor: Who judges.
        exceptions: Passes that are known; None: the committed list.
        progress: Called after each program.

    Raises:
        BadConfig: If a task's checker could judge nothing.
        UnknownName: If a task's checker has an unknown name.
    """
    _validate(tasks)
    wanted = [
        _Wanted(task, f"degenerate:{name}", program)
        for task in _judgeable(tasks)
        for name, program in degenerate_answers(task).items()
    ]
    return _check_wrong(tasks, "degenerate", wanted, executor, exceptions, progress)


def check_faulty(
    tasks: Sequence[Task],
    executor: Executor,
    agents: Mapping[str, Agent | ObservationFunction],
    *,
    spinning: Collection[str] = ("faulty:endless_loop",),
    exceptions: Known | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Judge what agents hand in that are wrong on purpose: nothing may be accepted.

    Tasks without a reference program, or with one that is known to fail, are passed over:
    there is nothing to spoil.

    Args:
        tasks: The set.
        executor: Who judges.
        agents: The agents by name, such as `faulty:crash`.
        spinning: Names of those known to loop for ever; they get little time.
        exceptions: Passes that are known; None: the committed list.
        progress: Called after each program.

    Raises:
        BadConfig: If a task's checker could judge nothing.
        UnknownName: If a task's checker has an unknown name.
    """
    _validate(tasks)
    spoilable = [t for t in _judgeable(tasks) if t.reference_program is not None]
    wanted = []
    for name, agent in agents.items():
        for task in spoilable:
            program = _handed_in(as_agent(agent), task)
            tried = task
            if name in spinning:
                tried = task.with_limits(replace(task.limits, cpu_seconds=SPIN_SECONDS))
            wanted.append(_Wanted(tried, name, program))
    return _check_wrong(tasks, "faulty", wanted, executor, exceptions, progress)


def set_name(tasks: Sequence[Task]) -> str:
    """Return the name of a task set; a plain sequence is called `tasks`."""
    return str(getattr(tasks, "name", "tasks"))


# ---------------------------------------------------------------------------- machinery
@dataclass(frozen=True, slots=True)
class _Wanted:
    task: Task
    answer: str
    program: str | None


class _Progress:
    """Counts, and tells who asked."""

    def __init__(self, tell: Progress | None, total: int) -> None:
        self.tell, self.total, self.done = tell, total, 0

    def one_more(self) -> None:
        self.done += 1
        if self.tell is not None:
            self.tell(self.done, self.total)


def _check_wrong(
    tasks: Sequence[Task],
    what: str,
    wanted: Sequence[_Wanted],
    executor: Executor,
    exceptions: Known | None,
    progress: Progress | None,
) -> CheckReport:
    """Judge on one test each; only what passes that is judged on all."""
    listed = known("passes") if exceptions is None else exceptions
    found = _Progress(progress, len(wanted))
    # Filled in the order of the first test; what passes it keeps its place.
    cases: dict[tuple[str, str], Case] = {}

    def judged() -> Iterator[tuple[_Wanted, Judgement | None]]:
        suspects: list[_Wanted] = []
        screened = (replace(item, task=_first_test_only(item.task)) for item in wanted)
        for item, (_, judgement) in zip(wanted, _judged(screened, executor), strict=True):
            # An answer that fails one test cannot be accepted by all: most are done here.
            if judgement is not None and judgement.passed and len(item.task.tests) > 1:
                suspects.append(item)
                cases[item.task.id, item.answer] = Case(item.task.id, item.answer, None)
            else:
                yield item, judgement
        yield from _judged(suspects, executor)

    for item, judgement in judged():
        assert judgement is not None, "a wrong answer always has a program"
        case = _case(item, judgement, listed, sound=_refused(judgement))
        cases[item.task.id, item.answer] = case
        found.one_more()
    return CheckReport(set_name(tasks), what, tuple(cases.values()))


def _validate(tasks: Sequence[Task]) -> None:
    """Refuse tasks that could only fail later, in the judge."""
    for task in tasks:
        validate_checker(task)


def _judgeable(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks whose reference is not known to fail."""
    failing = known("failures")
    return [task for task in tasks if not failing.reason(task, REFERENCE)]


def _refused(judgement: Judgement) -> bool:
    # A sandbox that failed has refused nothing.
    return judgement.valid and not judgement.passed


def _first_test_only(task: Task) -> Task:
    return replace(task, public_tests=(), hidden_tests=task.tests[:1])


def _judged(
    wanted: Iterable[_Wanted], executor: Executor
) -> Iterator[tuple[_Wanted, Judgement | None]]:
    """Yield every item with its judgement in order; None where there is no program."""
    waiting: deque[_Wanted] = deque()

    def jobs() -> Iterator[Job]:
        for item in wanted:
            waiting.append(item)
            if item.program is not None:
                yield item.task, item.program

    for judgement in executor.map(jobs()):
        while (item := waiting.popleft()).program is None:
            yield item, None
        yield item, judgement
    while waiting:
        yield waiting.popleft(), None


def _case(item: _Wanted, judgement: Judgement, listed: Known, *, sound: bool) -> Case:
    verdict = judgement.verdict
    note = next((r.note for r in judgement.results if r.verdict is verdict and r.note), "")
    reason = listed.reason(item.task, item.answer)
    if verdict is Verdict.SE and item.answer != REFERENCE:
        reason = ""  # a sandbox that failed says nothing of a wrong answer
    return Case(item.task.id, item.answer, verdict, note, reason, sound)


def _handed_in(agent: Agent, task: Task) -> str:
    observation = {"prompt": task.statement, "statement": task.statement, "round": 0}
    messages = ({"role": "user", "content": task.statement},)
    request = Request("coder_0", "coder", observation, messages, task.id, task=task)
    (answer,) = agent.act([request])
    return extract_program(answer.text if isinstance(answer, Reply) else answer).program
