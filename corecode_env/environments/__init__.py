"""Environments: the games. Teams of roles on one engine.

    Task  ->  environments  ->  observations, judged and paid turns

Names are loaded when they are first used, so that `import corecode_env` stays quick.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from corecode_env.environments.registration import ENVIRONMENTS, make, normal_id

if TYPE_CHECKING:
    from corecode_env.environments import planner_coder_v0, solo_coder_v0
    from corecode_env.environments.acts import Act, Outcome, Scene
    from corecode_env.environments.counterfactual import (
        CounterfactualWrapper,
        DifferenceWrapper,
    )
    from corecode_env.environments.credit_wrapper import CreditWrapper
    from corecode_env.environments.engine import TeamEnv
    from corecode_env.environments.forking import fork
    from corecode_env.environments.inside import wrap_inside
    from corecode_env.environments.options import TeamOptions
    from corecode_env.environments.reward_wrapper import (
        ParallelRewardWrapper,
        RewardWrapper,
        SeatRewardWrapper,
    )
    from corecode_env.environments.seat_env import SeatEnv
    from corecode_env.environments.team import Role, Team
    from corecode_env.environments.text_wrappers import (
        History,
        PromptTemplate,
        RoleIndicator,
        TextWrapper,
        Truncate,
    )
    from corecode_env.environments.turn_parallel import TurnParallelEnv
    from corecode_env.environments.vector import ThreadVectorEnv, make_vector

__all__ = [
    "ENVIRONMENTS",
    "Act",
    "CounterfactualWrapper",
    "CreditWrapper",
    "DifferenceWrapper",
    "History",
    "Outcome",
    "ParallelRewardWrapper",
    "PromptTemplate",
    "RewardWrapper",
    "Role",
    "RoleIndicator",
    "Scene",
    "SeatEnv",
    "SeatRewardWrapper",
    "Team",
    "TeamEnv",
    "TeamOptions",
    "TextWrapper",
    "ThreadVectorEnv",
    "Truncate",
    "TurnParallelEnv",
    "fork",
    "make",
    "make_vector",
    "planner_coder_v0",
    "solo_coder_v0",
    "wrap_inside",
]

_HOMES = {
    "Act": "acts",
    "CounterfactualWrapper": "counterfactual",
    "CreditWrapper": "credit_wrapper",
    "DifferenceWrapper": "counterfactual",
    "History": "text_wrappers",
    "Outcome": "acts",
    "ParallelRewardWrapper": "reward_wrapper",
    "PromptTemplate": "text_wrappers",
    "RewardWrapper": "reward_wrapper",
    "Role": "team",
    "RoleIndicator": "text_wrappers",
    "Scene": "acts",
    "SeatEnv": "seat_env",
    "SeatRewardWrapper": "reward_wrapper",
    "Team": "team",
    "TeamEnv": "engine",
    "TeamOptions": "options",
    "TextWrapper": "text_wrappers",
    "ThreadVectorEnv": "vector",
    "Truncate": "text_wrappers",
    "TurnParallelEnv": "turn_parallel",
    "fork": "forking",
    "make_vector": "vector",
    "wrap_inside": "inside",
}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used.

    Raises:
        UnknownName: If the name is that of a version which this release does not have.
    """
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in ENVIRONMENTS or re.fullmatch(r"[a-z_]+_v\d+", name):
        return import_module(f"{__name__}.{normal_id(name)}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
