"""Faulty: the agent that is wrong in one known way."""

from __future__ import annotations

from collections.abc import Sequence

from corecode_env.agents.answers import (
    meaning_of,
    reference_of,
    submission_text,
    task_of,
)
from corecode_env.agents.faults import FAULTS
from corecode_env.agents.reference import reference_answer
from corecode_env.core.messages import extract_program
from corecode_env.core.seams import Request
from corecode_env.core.task import Task


class FaultyAgent:
    """Spoils the reference answer: a Coder's fault its program, a Planner's its plan.

    In a role that the fault does not concern, it answers as the reference agent does.

    Args:
        fault: Name of the fault; `FAULTS.names()` lists them.

    Raises:
        UnknownName: If there is no such fault.
    """

    def __init__(self, fault: str) -> None:
        """Look the fault up."""
        self.fault = FAULTS[fault]

    def act(self, requests: Sequence[Request]) -> list[str]:
        """Answer every request.

        Raises:
            BadConfig: If a task has no reference to spoil.
        """
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> str:
        task, meaning = task_of(request, "the faulty agent"), meaning_of(request)
        if meaning == "plan" and self.fault.spoil_plan is not None:
            return self.fault.spoil_plan(reference_answer(request, task))
        if meaning != "program" or self.fault.spoil is None:
            return reference_answer(request, task)
        if self.fault.prose or request.reference is None:
            wrong = spoilt_submission(task, self.fault.name)
            return wrong if self.fault.prose else submission_text(task, wrong)
        return self._spoil_inside(task, reference_answer(request, task))

    def _spoil_inside(self, task: Task, answer: str) -> str:
        """Return an answer of a form of its own with the program in it spoilt."""
        assert self.fault.spoil is not None, "the caller asked"
        # What is spoilt is what this role hands in, which may be a part of the program.
        right = extract_program(answer).program
        wrong = self.fault.spoil(task, right)
        ending = "" if wrong.endswith("\n") or not right.endswith("\n") else "\n"
        return answer.replace(right, wrong + ending)

    def __repr__(self) -> str:
        """Show the constructor call."""
        return f"FaultyAgent({self.fault.name!r})"


def spoilt_submission(task: Task, fault: str) -> str:
    """Return the submission that a fault of programs makes of a task's reference.

    Raises:
        BadConfig: If the task has no reference program.
        UnknownName: If there is no such fault.
    """
    reference = reference_of(task, f"the faulty agent ({fault})")
    spoil = FAULTS[fault].spoil
    return reference if spoil is None else spoil(task, reference)
