"""Answers: how an agent wraps a program, and what it may not do without a reference."""

from __future__ import annotations

from typing import Final

from corecode_env.core.errors import BadConfig
from corecode_env.core.messages import fenced
from corecode_env.core.seams import Request
from corecode_env.core.task import Task

PLANNER: Final = "planner"
"""The role that is taken to answer with a plan where a request does not say."""


TEXTS: Final = ("io_prediction", "commit_message")
"""Kinds of task whose submission is no program: a literal, a message."""


def submission_text(task: Task, submission: str) -> str:
    """Return a submission as an agent writes it: programs fenced, other texts bare."""
    return submission if task.kind in TEXTS else fenced(submission)


def meaning_of(request: Request) -> str:
    """Return what an answer will be taken for: `plan`, `program` or `text`."""
    return request.acts or ("plan" if request.role == PLANNER else "program")


def task_of(request: Request, agent: str) -> Task:
    """Return the live task of a request.

    Raises:
        BadConfig: If the request carries none.
    """
    if request.task is None:
        raise BadConfig(
            f"{agent} needs the live task of a request, got none for task "
            f"{request.task_id!r}; pass Request(..., task=task), as rollout.play does"
        )
    return request.task


def reference_of(task: Task, agent: str) -> str:
    """Return the reference submission of a task.

    Raises:
        BadConfig: If the task has none.
    """
    if task.reference_program is None:
        raise BadConfig(
            f"{agent} needs a task with a reference program, got task {task.id!r}, "
            "which has none; give it one (field 'reference_program'), choose tasks that "
            "have one, or use another agent"
        )
    return task.reference_program
