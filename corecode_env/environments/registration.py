"""Registration: the environments' names, here, in PettingZoo and in Gymnasium.

    "planner_coder_v0"              corecode_env.make
    "corecode/planner_coder-v0"     pettingzoo.make("aec" or "parallel", ...)
    "corecode/PlannerCoder-v0"      gymnasium.make(..., seat=..., partners=...)

Importing `corecode_env` registers all; no environment is loaded before it is made.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final, Literal, overload

import gymnasium
import pettingzoo
from pettingzoo.utils.env import AECEnv, ParallelEnv

from corecode_env.core.errors import BadConfig, UnknownName
from corecode_env.core.registry import unknown_name

NAMESPACE: Final = "corecode"
ENVIRONMENTS: Final[dict[str, str]] = {
    "planner_coder_v0": "PlannerCoder-v0",
    "solo_coder_v0": "SoloCoder-v0",
    "tree_search_v0": "TreeSearch-v0",
    "solvita_v0": "Solvita-v0",
    "debug_team_v0": "DebugTeam-v0",
    "retrieval_team_v0": "RetrievalTeam-v0",
    "helper_main_v0": "HelperMain-v0",
    "planner_coder_discrete_v0": "PlannerCoderDiscrete-v0",
}
"""Environments by module name, with the names of their seat views."""

_ID: Final = re.compile(rf"(?:{NAMESPACE}/)?(?P<name>[a-z_]+?)(?:[-_]v(?P<version>\d+))?")


def normal_id(env_id: str) -> str:
    """Return the module name of an environment for any spelling of its id.

    >>> normal_id("corecode/planner_coder-v0"), normal_id("planner_coder")
    ('planner_coder_v0', 'planner_coder_v0')

    Raises:
        UnknownName: If there is none, with the version there is, or the nearest name.
    """
    match = _ID.fullmatch(env_id)
    if match is None:
        raise unknown_name("an environment", env_id, sorted(ENVIRONMENTS))
    name, version = match["name"], match["version"]
    known = [known for known in ENVIRONMENTS if known.rpartition("_v")[0] == name]
    if not known:
        raise unknown_name("an environment", env_id, sorted(ENVIRONMENTS))
    newest = max(known, key=lambda known: int(known.rpartition("_v")[2]))
    if version is None:
        return newest
    if f"{name}_v{version}" not in known:
        raise UnknownName(
            f"{env_id!r} is not a version that this release has; use {newest!r}: other "
            "versions have other prompts, rewards or rules, so results cannot be compared "
            "(the environment's page lists what changed)"
        )
    return f"{name}_v{version}"


def load(env_id: str) -> Any:
    """Return the module of an environment, with `env`, `raw_env` and `parallel_env`."""
    return import_module(f"{__package__}.{normal_id(env_id)}")


@overload
def make(
    env_id: str, *, api: Literal["aec"] = ..., **options: Any
) -> AECEnv[str, dict[str, Any], str | None]: ...
@overload
def make(
    env_id: str, *, api: Literal["parallel"], **options: Any
) -> ParallelEnv[str, dict[str, Any], str | None]: ...
@overload
def make(
    env_id: str, *, api: Literal["seat"], **options: Any
) -> gymnasium.Env[dict[str, Any], str]: ...
def make(
    env_id: str, *, api: Literal["aec", "parallel", "seat"] = "aec", **options: Any
) -> Any:
    """Make an environment.

    Args:
        env_id: Its id, such as `planner_coder_v0`; without a version the newest.
        api: `aec` and `parallel` (PettingZoo), or `seat` (Gymnasium; takes `seat` and
            `partners` too).
        **options: Arguments of the environment; its page lists them.

    Raises:
        UnknownName: If there is no environment of the id.
        BadConfig: If an argument cannot work.
    """
    if api == "aec":
        return load(env_id).env(**options)
    if api == "parallel":
        return load(env_id).parallel_env(**options)
    if api == "seat":
        from corecode_env.environments.seat_env import make_seat

        return make_seat(normal_id(env_id), **options)
    raise BadConfig(f"api must be 'aec', 'parallel' or 'seat', got {api!r}")


def register_all() -> None:
    """Tell PettingZoo and Gymnasium of every environment; once is enough."""
    for module, seat_name in ENVIRONMENTS.items():
        name, _, version = module.rpartition("_v")
        env_id = f"{NAMESPACE}/{name}-v{version}"
        if env_id not in pettingzoo.aec_registry:
            pettingzoo.register("aec", env_id, f"{__package__}.{module}:env")
        if env_id not in pettingzoo.parallel_registry:
            pettingzoo.register("parallel", env_id, f"{__package__}.{module}:parallel_env")
        seat_id = f"{NAMESPACE}/{seat_name}"
        if seat_id not in gymnasium.registry:
            gymnasium.register(
                seat_id,
                entry_point=f"{__package__}.seat_env:make_seat",
                vector_entry_point=f"{__package__}.vector:make_vector",
                kwargs={"env_id": module},
            )
