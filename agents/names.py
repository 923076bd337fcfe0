"""Names of agents: what a command line or a config can ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from corecode_env.agents.chat_api import OpenAIAgent
from corecode_env.agents.faults import FAULTS
from corecode_env.agents.faulty import FaultyAgent
from corecode_env.agents.human import HumanAgent
from corecode_env.agents.random_text import RandomAgent
from corecode_env.agents.reference import ReferenceAgent
from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import Registry, unknown_name
from corecode_env.core.seams import Agent

AGENTS: Final[Registry[Callable[[], Agent]]] = Registry("an agent")
AGENTS.add("reference", ReferenceAgent)
AGENTS.add("random", RandomAgent)
AGENTS.add("human", HumanAgent)
for _name in FAULTS:
    AGENTS.add(f"faulty:{_name}", partial(FaultyAgent, _name))


def _local(model: str) -> Agent:
    # Needs torch, and seconds to load.
    from corecode_env.agents.local_model import TransformersAgent

    return TransformersAgent.from_pretrained(model)


def _smollm2() -> Agent:
    from corecode_env.agents.smollm import smollm2

    return smollm2()


MODELS: Final[dict[str, Callable[[], Agent]]] = {"smollm2-135m": _smollm2}
"""Language models that an extra brings."""

FAMILIES: Final[dict[str, Callable[[str], Agent]]] = {
    "transformers": _local,
    "openai": OpenAIAgent,
}
"""Agents over a language model: `transformers:FOLDER` or hub id, `openai:MODEL`."""


def make_agent(name: str) -> Agent:
    """Return a new agent by its name: `reference`, `openai:MODEL`, `smollm2-135m`, ...

    Raises:
        UnknownName: With the nearest name, or all names.
        BadConfig: If a model's name is missing, or its settings cannot work.
        MissingExtra: If the library that a language model needs is not installed.
    """
    family, colon, model = name.partition(":")
    if colon and family in FAMILIES:
        if not model:
            raise BadConfig(f"{name!r} must name a model, got nothing behind the colon")
        return FAMILIES[family](model)
    if name in MODELS:
        return MODELS[name]()
    if name not in AGENTS:
        raise unknown_name(AGENTS.kind, name, [*AGENTS.names(), *MODELS])
    return AGENTS[name]()
