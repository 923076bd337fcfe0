"""Names of agents: what a command line or a config can ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from corecode_env.agents.faults import FAULTS
from corecode_env.agents.faulty import FaultyAgent
from corecode_env.agents.human import HumanAgent
from corecode_env.agents.random_text import RandomAgent
from corecode_env.agents.reference import ReferenceAgent
from corecode_env.core.registry import Registry
from corecode_env.core.seams import Agent

AGENTS: Final[Registry[Callable[[], Agent]]] = Registry("an agent")
AGENTS.add("reference", ReferenceAgent)
AGENTS.add("random", RandomAgent)
AGENTS.add("human", HumanAgent)
for _name in FAULTS:
    AGENTS.add(f"faulty:{_name}", partial(FaultyAgent, _name))


def make_agent(name: str) -> Agent:
    """Return a new agent by its name, such as `reference` or `faulty:off_by_one`.

    Raises:
        UnknownName: With the nearest name, or all names.
    """
    return AGENTS[name]()
