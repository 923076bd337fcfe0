"""Calling: anything that answers becomes an agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from corecode_env.core.errors import BadConfig
from corecode_env.core.seams import Agent, Reply, Request

Answer = str | Reply
ObservationFunction = Callable[[Mapping[str, Any]], Answer]


class FunctionAgent:
    """A function from one observation to a text, as an agent."""

    def __init__(self, fn: ObservationFunction) -> None:
        """Keep the function."""
        self.fn = fn

    def act(self, requests: Sequence[Request]) -> list[Answer]:
        """Call the function once for each request."""
        return [self.fn(request.observation) for request in requests]

    def __repr__(self) -> str:
        """Show the function."""
        return f"FunctionAgent({self.fn!r})"


def as_agent(agent: Agent | ObservationFunction) -> Agent:
    """Return an agent: one as it is, a function from observation to text wrapped.

    Raises:
        BadConfig: If it is neither.

    >>> from corecode_env.core.seams import Request
    >>> shout = as_agent(lambda observation: observation["prompt"].upper())
    >>> shout.act([Request("coder_0", "coder", {"prompt": "add"}, (), "t")])
    ['ADD']
    """
    # A class has `act` too, and would be taken for an agent until its first call.
    if isinstance(agent, Agent) and not inspect.isclass(agent):
        return agent
    form = "an object with act(requests), or a function from an observation to a text"
    if not callable(agent) or inspect.isclass(agent):
        raise BadConfig(f"an agent must be {form}, got {agent!r}")
    try:
        inspect.signature(agent).bind(None)
    except TypeError as error:
        raise BadConfig(f"an agent must be {form}, got {agent!r}: {error}") from error
    except ValueError:
        pass  # some builtins have no signature to read; the first call tells
    return FunctionAgent(agent)
