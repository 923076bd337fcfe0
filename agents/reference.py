"""Reference: the agent that knows the answer. The ceiling, and the default partner."""

from __future__ import annotations

from collections.abc import Sequence

from corecode_env.agents.answers import (
    meaning_of,
    reference_of,
    submission_text,
    task_of,
)
from corecode_env.agents.outline import outline
from corecode_env.core.errors import BadConfig
from corecode_env.core.seams import Request
from corecode_env.core.task import Task


class ReferenceAgent:
    """Answers with the task's own plan or program.

    A role that plans gives the reference plan; where the source brings none, a plan read off
    the reference program. A role that programs hands in the reference submission. A role
    that says something else says what its environment holds for right, or the plan.
    """

    def act(self, requests: Sequence[Request]) -> list[str]:
        """Answer every request.

        Raises:
            BadConfig: If a task has no reference.
        """
        return [
            reference_answer(request, task_of(request, "the reference agent"))
            for request in requests
        ]

    def __repr__(self) -> str:
        """Show the constructor call."""
        return "ReferenceAgent()"


def reference_answer(request: Request, task: Task) -> str:
    """Return what the reference agent says when it is asked about a task.

    Raises:
        BadConfig: If the task has no reference.
    """
    speaker = f"the reference agent as {request.role}"
    if request.reference is not None:
        answer = request.reference(task)
        if answer is None:
            raise BadConfig(
                f"{speaker} must know what to say on task {task.id!r}, got nothing from the "
                "role's reference; choose other tasks, or another agent"
            )
        return answer
    if meaning_of(request) == "program":
        return submission_text(task, reference_of(task, speaker))
    return task.reference_plan or outline(task, reference_of(task, speaker))
