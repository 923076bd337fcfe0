"""Judge service: the executor of an environment and its forks, made when first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from corecode_env.core.errors import BadConfig, EpisodeError
from corecode_env.core.seams import Executor
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement


def local_executor() -> Executor:
    """Make the default executor."""
    # Only here: importing the sandbox costs time that a reader of environments, or a user
    # with another executor, need not spend.
    from corecode_env.executor import LocalExecutor

    return LocalExecutor()


class JudgeService:
    """An executor that was given, or a `LocalExecutor` made by the first judgement.

    Forks share one service. Only what it made itself is closed with it; a given executor
    belongs to whoever made it. Safe to use from many threads.
    """

    def __init__(
        self, given: Executor | None = None, make: Callable[[], Executor] = local_executor
    ) -> None:
        """Keep the given executor.

        Args:
            given: The executor; None: make one when the first program comes.
            make: Makes it.

        Raises:
            BadConfig: If what is given cannot judge.
        """
        if given is not None and not callable(getattr(given, "judge", None)):
            raise BadConfig(
                f"executor must have judge(task, program), got {given!r}; pass a "
                "LocalExecutor, or leave it out"
            )
        self._given, self._make = given, make
        self._made: Executor | None = None
        self._closed = False
        self._lock = threading.Lock()

    def judge(self, task: Task, program: str) -> Judgement:
        """Judge a program; blocks until done.

        Raises:
            EpisodeError: If the environment was closed.
            ExecutorError: If the sandbox cannot run at all.
        """
        return self._executor().judge(task, program)

    def _executor(self) -> Executor:
        if self._given is not None:
            return self._given
        with self._lock:
            if self._closed:
                raise EpisodeError(
                    "an environment must be open to judge programs, got one that was "
                    "closed; make a new one, or close it only when its forks are done"
                )
            if self._made is None:
                self._made = self._make()
            return self._made

    def close(self) -> None:
        """Close the executor if this service made it; idempotent."""
        with self._lock:
            made, self._made, self._closed = self._made, None, True
        if made is not None:
            made.close()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without processes and locks: a copy elsewhere makes its own."""
        return {"given": self._given, "make": self._make, "closed": self._closed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Come back without processes."""
        self.__init__(state["given"], state["make"])  # type: ignore[misc]
        self._closed = state["closed"]
