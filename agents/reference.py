"""Reference: the agent that knows the answer. The ceiling, and the default partner."""

from __future__ import annotations

from collections.abc import Sequence

from corecode_env.agents.answers import (
    PLANNER,
    reference_of,
    submission_text,
    task_of,
)
from corecode_env.agents.outline import outline
from corecode_env.core.seams import Request
from corecode_env.core.task import Task


class ReferenceAgent:
    """Answers with the task's own plan or program.

    The Planner gives the reference plan; where the source brings none, a plan read off the
    reference program. Every other role hands in the reference submission.
    """

    def act(self, requests: Sequence[Request]) -> list[str]:
        """Answer every request.

        Raises:
            BadConfig: If a task has no reference.
        """
        return [
            reference_answer(task_of(request, "the reference agent"), request.role)
            for request in requests
        ]

    def __repr__(self) -> str:
        """Show the constructor call."""
        return "ReferenceAgent()"


def reference_answer(task: Task, role: str) -> str:
    """Return what the reference agent says in a role.

    Raises:
        BadConfig: If the task has no reference.
    """
    if role == PLANNER and task.reference_plan is not None:
        return task.reference_plan
    program = reference_of(task, f"the reference agent as {role}")
    return outline(task, program) if role == PLANNER else submission_text(task, program)
