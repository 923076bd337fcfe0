"""Names: how agents are called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from corecode_env.core.registry import unknown_name

T = TypeVar("T")


# Asked for several times a turn, about a handful of names.
@lru_cache(maxsize=1024)
def role_of(agent: str) -> str:
    """Return the role that an agent plays: its name without the number.

    >>> role_of("coder_0"), role_of("planner")
    ('coder', 'planner')
    """
    return re.sub(r"_\d+$", "", agent)


def by_agent(given: Mapping[str, T], agents: Sequence[str]) -> dict[str, T]:
    """Return what was given for agents or roles, agent by agent.

    An agent's own name goes before its role; for whom nothing was given is left out.

    Raises:
        UnknownName: If a name is neither an agent nor a role here.

    >>> by_agent({"coder": 1, "coder_1": 2}, ["planner_0", "coder_0", "coder_1"])
    {'coder_0': 1, 'coder_1': 2}
    """
    known = {*agents, *map(role_of, agents)}
    for name in given:
        if name not in known:
            raise unknown_name("an agent or role here", name, sorted(known))
    keys = {agent: agent if agent in given else role_of(agent) for agent in agents}
    return {agent: given[key] for agent, key in keys.items() if key in given}
