"""Names of agents: what a command line or a config can ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from corecode_env.agents import tiny
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


def _local(model: str | Path, **settings: Any) -> Agent:
    # Needs torch, and seconds to load.
    from corecode_env.agents.local_model import TransformersAgent

    with tiny.no_progress_bar():
        return TransformersAgent.from_pretrained(model, **settings)


def _tiny(role: str, **settings: Any) -> Agent:
    if role not in tiny.MODELS:
        raise unknown_name("a tiny model", role, list(tiny.MODELS))
    return _local(tiny.MODELS[role], **{"max_new_tokens": tiny.MAX_NEW_TOKENS, **settings})


def _smollm2(**settings: Any) -> Agent:
    from corecode_env.agents.smollm import smollm2

    return smollm2(**settings)


MODELS: Final[dict[str, Callable[..., Agent]]] = {"smollm2-135m": _smollm2}
"""Language models that an extra brings."""

LOCAL: Final[dict[str, Callable[..., Agent]]] = {"transformers": _local, "tiny": _tiny}
"""Language models that run here: `transformers:FOLDER` or hub id, `tiny:planner`."""

FAMILIES: Final[dict[str, Callable[..., Agent]]] = {**LOCAL, "openai": OpenAIAgent}
"""All agents over a language model: those, and `openai:MODEL`."""


def make_agent(name: str, **local: Any) -> Agent:
    """Return a new agent by its name: `reference`, `openai:MODEL`, `smollm2-135m`, ...

    Args:
        name: The name.
        local: Settings of `TransformersAgent.from_pretrained`, such as `temperature`, for
            models of `LOCAL` and `MODELS`; others have no use for them.

    Raises:
        UnknownName: With the nearest name, or all names.
        BadConfig: If a model's name is missing, or its settings cannot work.
        MissingExtra: If the library that a language model needs is not installed.
    """
    family, colon, model = name.partition(":")
    if colon and family in FAMILIES:
        if not model:
            raise BadConfig(f"{name!r} must name a model, got nothing behind the colon")
        return FAMILIES[family](model, **(local if family in LOCAL else {}))
    if name in MODELS:
        return MODELS[name](**local)
    if name not in AGENTS:
        raise unknown_name(AGENTS.kind, name, [*AGENTS.names(), *MODELS])
    return AGENTS[name]()
