"""Seams: the Protocols where other people's objects plug in. Inherit nothing from us."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement


@dataclass(frozen=True, slots=True)
class Request:
    """One agent's turn to speak, as an agent is asked for it."""

    agent: str
    """Name in the environment, such as `coder_0`."""
    role: str
    """Role, such as `coder`."""
    observation: Mapping[str, Any]
    """The environment's observation; `observation["prompt"]` is the finished prompt."""
    messages: tuple[Mapping[str, str], ...]
    """The prompt as chat messages: `{"role": ..., "content": ...}`."""
    task_id: str
    seed: int = 0
    """Seed of this answer alone, so that sampling does not depend on the batch."""
    task: Task | None = field(default=None, compare=False, repr=False)
    """The live task, for agents that may know the answer (reference, faulty)."""
    acts: str = ""
    """What the answer will be taken for: `plan`, `program` or `text`; empty: by the role."""
    reference: Callable[[Task], str | None] | None = field(
        default=None, compare=False, repr=False
    )
    """What a perfect player of this role would say on a task, None from it if nobody
    knows; None: the task's own plan or program."""

    def seeing(self, observation: Mapping[str, Any]) -> Request:
        """Return the request with what wrappers around the engine made of the observation."""
        messages = self.messages
        # Observations of numbers have no prompt to change.
        if observation.get("prompt") != self.observation.get("prompt"):
            messages = ({"role": "user", "content": observation["prompt"]},)
        return replace(self, observation=observation, messages=messages)


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent answers."""

    text: str
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    """Log-probability of each token of `token_ids`, in nats."""
    prompt_ids: tuple[int, ...] | None = None
    finish_reason: str | None = None


@runtime_checkable
class Agent(Protocol):
    """Anything that answers requests with text, a whole batch at once."""

    def act(self, requests: Sequence[Request]) -> Sequence[str | Reply]:
        """Answer every request, in order."""
        ...


Job = tuple[Task, str]
"""A task and the text of a program for it."""


@runtime_checkable
class Executor(Protocol):
    """Anything that judges programs. `judge` must be safe to call from many threads."""

    def judge(self, task: Task, program: str) -> Judgement:
        """Judge one program on all tests of a task; blocks until done."""
        ...

    def map(self, jobs: Iterable[Job]) -> Iterator[Judgement]:
        """Judge many programs; results in the order of the jobs."""
        ...

    def amap(self, jobs: Iterable[Job]) -> AsyncIterator[Judgement]:
        """Judge many programs without blocking the event loop; in the jobs' order."""
        ...

    def close(self) -> None:
        """End all processes; idempotent."""
        ...
