"""Trial: plays an environment with known answers and keeps all that could be seen.

environment, kind of answer, seed  ->  trial  ->  snapshots, one before each turn
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from corecode_env.core.errors import BadConfig, ConformanceError, EpisodeError
from corecode_env.core.spaces import UnicodeText
from corecode_env.core.task import Task
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.seat_env import reference_answer

Snapshot = dict[str, Any]
"""What can be seen at one moment, by name."""
Trace = list[Snapshot]

USELESS: Final = "Nothing to the point."
KINDS: Final = ("reference", "useless", "odd")
"""Answers that a trial gives: the task's own, one that solves nothing, and texts that
come out of a model gone wrong."""
LONGEST: Final = 1000
"""Turns after which an episode counts as endless."""


def engine_of(env: Any) -> TeamEnv:
    """Return the engine under a stack of AEC wrappers whose actions this module can give.

    Raises:
        BadConfig: If there is none, or its actions are neither text nor an index of one.
    """
    engine = getattr(env, "unwrapped", None)
    if not isinstance(engine, TeamEnv) or not hasattr(env, "agent_iter"):
        raise BadConfig(
            f"env must be an AEC environment on a TeamEnv, got {env!r}; of a parallel or "
            "seat view check the AEC environment that it is made of"
        )
    for agent in env.possible_agents:
        space = env.action_space(agent)
        if not isinstance(space, UnicodeText | spaces.Discrete):
            raise BadConfig(
                f"env must take text as actions, or an index of one, got {space!r} for "
                f"{agent!r}; PettingZoo's api_test checks other spaces"
            )
    return engine


def snapshot(env: Any) -> Snapshot:
    """Return everything that agents and trainers can see of an environment now."""
    return {
        "agents": list(env.agents),
        "agent_selection": env.agent_selection,
        "observations": {agent: deepcopy(env.observe(agent)) for agent in env.possible_agents},
        "state": deepcopy(env.state()),
        "infos": deepcopy(env.infos),
        "rewards": dict(env.rewards),
        "cumulative rewards": dict(env._cumulative_rewards),
        "turn terms": deepcopy(env.turn_terms),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "turns": env.unwrapped.episode.turns,
    }


def is_live(env: Any) -> bool:
    """Return whether the agent whose turn it is may still act."""
    agent = env.agent_selection
    return bool(env.agents) and not (env.terminations[agent] or env.truncations[agent])


def play(
    env: Any, kind: str, seed: int, task: Task | None = None, source: Task | None = None
) -> Trace:
    """Play one episode from `reset` to its end.

    Args:
        env: The environment.
        kind: What is answered; see `KINDS`.
        seed: Seed of the episode.
        task: The task; None: the environment draws it.
        source: Task whose references are answered; None: the one that is played.

    Returns:
        What could be seen before each turn and at the end.

    Raises:
        ConformanceError: If the episode does not end.
    """
    env.reset(seed=seed, options=None if task is None else {"task": task})
    return play_on(env, kind, source)


def play_on(env: Any, kind: str, source: Task | None = None) -> Trace:
    """Play an episode from here to its end; see `play`."""
    trace = [snapshot(env)]
    while is_live(env):
        if len(trace) > LONGEST:
            raise ConformanceError(
                f"an episode must end, got {LONGEST} turns and no end; check the team's "
                "rule: it has to return None when a round is over"
            )
        env.step(answer(env, kind, source))
        trace.append(snapshot(env))
    for _ in env.possible_agents:
        if env.agents:
            env.step(None)
    if env.agents:
        raise ConformanceError(
            f"agents that are done must leave by step(None), got {env.agents} still there "
            "after one step each; pass None on to the environment inside"
        )
    return trace


def answer(env: Any, kind: str, source: Task | None = None) -> str | int:
    """Return what the agent whose turn it is says, or which text it chooses."""
    engine = engine_of(env)
    turns = len(engine.episode.turns)
    if isinstance(env.action_space(env.agent_selection), spaces.Discrete):
        allowed = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
        places = {"reference": 0, "useless": -1, "odd": len(allowed) // 2}
        return int(allowed[places[kind]])
    if kind == "useless":
        return USELESS
    if kind == "odd":
        odd: tuple[str, ...] = (
            "",
            "\ud83d half a character \x00",
            "```python\nno end of the fence",
            "é→漢😀" * engine.max_chars,
        )
        return odd[turns % len(odd)]
    try:
        return reference_answer(source or engine.task, engine.role_of(env.agent_selection))
    except EpisodeError:
        return USELESS  # nobody wrote a reference down


def difference(one: Any, other: Any, name: str = "") -> str | None:
    """Return where two values differ and how, None if they are equal.

    >>> difference({"a": {"b": 1}}, {"a": {"b": 2}})
    'a.b: 1 and 2'
    """
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        one, other = one.tolist(), other.tolist()
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        pairs: Any = [(str(key), one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(str(i), a, b) for i, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        return None if one == other else f"{name}: {shown(one)} and {shown(other)}"
    inner = (difference(a, b, f"{name}.{key}" if name else key) for key, a, b in pairs)
    return next((found for found in inner if found), None)


def shown(value: Any) -> str:
    """Return a value in at most 120 characters."""
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
