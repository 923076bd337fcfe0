"""Faulty: the agent that is wrong in one known way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corecode_env.agents.answers import (
    meaning_of,
    reference_of,
    task_of,
)
from corecode_env.agents.faults import FAULTS
from corecode_env.agents.reference import reference_answer
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
        wrong = spoilt_submission(task, self.fault.name)
        if self.fault.prose:
            return wrong
        return reference_answer(request, replace(task, reference_program=wrong))

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
