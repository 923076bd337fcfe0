"""Forks: copies of an environment in mid-episode, wrappers and all."""

from __future__ import annotations

import operator
from copy import deepcopy
from typing import Any, TypeVar

from corecode_env.core.errors import BadConfig
from corecode_env.environments.engine import TeamEnv

EnvT = TypeVar("EnvT")


def fork(env: EnvT, n: int) -> list[EnvT]:
    """Return n copies of an environment that go on from here, each on its own.

    The whole stack is copied: wrappers, a parallel or seat view, the engine. Executor,
    tasks, rewards, prompts, partners and what wrappers name in `shared_parts()` are shared;
    the parent is untouched and goes on
    owning the executor. Child i's random streams derive from the seed, the episode, the
    path of forks and i: equal forks play alike, different children apart.

    Args:
        env: A `TeamEnv`, or anything that stands on one.
        n: Number of copies.

    Raises:
        BadConfig: If n is not a whole number of at least 0, or there is no `TeamEnv` in it.
    """
    engine = _engine_of(env)
    try:
        count = operator.index(n)
    except TypeError:
        count = -1
    if count < 0:
        raise BadConfig(f"n must be a whole number of at least 0, got {n!r}")
    children = []
    for number in range(count):
        shared = [*engine.shared_parts(), *_shared_by_wrappers(env)]
        child = deepcopy(env, {id(part): part for part in shared})
        _engine_of(child).become_fork(number)
        children.append(child)
    return children


def _engine_of(env: Any) -> TeamEnv:
    """Return the engine at the bottom of a stack."""
    seen = env
    while not isinstance(seen, TeamEnv):
        # Gymnasium's wrappers end at the seat view, which holds the AEC stack.
        inner = getattr(seen, "team_env", None) or getattr(seen, "env", None)
        if inner is None:
            raise BadConfig(
                f"fork must be given an environment of this package, got {env!r}, in which "
                "there is none"
            )
        seen = inner
    return seen


def _shared_by_wrappers(env: Any) -> list[object]:
    """Return what the layers around the engine share instead of copying.

    A seat view's partners: agents may hold models. And what a wrapper names itself, by a
    method `shared_parts`.
    """
    seen, found = env, []
    while seen is not None and not isinstance(seen, TeamEnv):
        found.extend(vars(seen).get("partners", {}).values())
        # Asked of the class: wrappers pass on what they do not have to the engine.
        named = getattr(type(seen), "shared_parts", None)
        if named is not None:
            found.extend(named(seen))
        seen = vars(seen).get("team_env") or vars(seen).get("env")
    return found
