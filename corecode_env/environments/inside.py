"""Inside: put a wrapper of the game beneath whatever view stands on it.

A parallel or a seat view shows what the AEC environment in it observes and pays. One wrapper
of that environment therefore serves all three: it belongs beneath the view, not around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from pettingzoo.utils.env import AECEnv

from corecode_env.core.errors import BadConfig
from corecode_env.environments.seat_env import SeatEnv
from corecode_env.environments.turn_parallel import TurnParallelEnv

Game = AECEnv[str, dict[str, Any], str | None]
EnvT = TypeVar("EnvT")


def wrap_inside(env: EnvT, wrap: Callable[..., Game], *args: Any, **options: Any) -> EnvT:
    """Wrap the game in an environment, and return the environment: call it before `reset`.

    Args:
        env: An AEC environment, which is wrapped as it is; or a parallel or a seat view, with
            wrappers of its own or not, whose game is wrapped in place.
        wrap: A wrapper of AEC environments, such as `CreditWrapper` or `Truncate`.
        *args: What it is given after the environment.
        **options: The same, by name.

    Raises:
        BadConfig: If there is no environment of this package in it.
    """
    if isinstance(env, AECEnv):
        return cast(EnvT, wrap(env, *args, **options))
    view: Any = env
    while not isinstance(view, TurnParallelEnv | SeatEnv):
        view = vars(view).get("env") if hasattr(view, "__dict__") else None
        if view is None:
            raise BadConfig(
                f"wrap_inside must be given an environment of this package, got {env!r}"
            )
    view.replace_game(lambda game: wrap(game, *args, **options))
    return env
