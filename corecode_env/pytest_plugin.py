"""Pytest plugin: fixtures for tests of environments, agents, rewards and wrappers.

pytest loads it wherever the package is installed; `-p no:corecode` leaves it out. Importing
it loads nothing but the package's front door.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from pettingzoo.utils.env import AECEnv

    from corecode_env.executor.testing import InstantExecutor

    Game = AECEnv[str, dict[str, Any], str | None]


class TextEnv(Protocol):
    """What the fixture `text_env` is: `corecode_env.make` for tests."""

    def __call__(self, env_id: str = ..., **options: Any) -> Game:
        """Make an environment that is closed when the test is over."""
        ...


@pytest.fixture
def instant_executor() -> InstantExecutor:
    """Return an executor that starts no process and takes no time.

    The task's reference program is right, every other one is wrong.
    `instant_executor.jobs` lists what was judged.
    """
    from corecode_env.executor.testing import InstantExecutor

    return InstantExecutor()


@pytest.fixture
def text_env(instant_executor: InstantExecutor) -> Iterator[TextEnv]:
    """Return a maker of environments: `text_env("planner_coder_v0", max_cycles=3)`.

    It takes what `corecode_env.make` takes. Without an id it makes `planner_coder_v0`,
    without an executor it uses `instant_executor`.
    """
    from corecode_env.environments.registration import make

    with ExitStack() as stack:

        def made(env_id: str = "planner_coder_v0", **options: Any) -> Game:
            settings: dict[str, Any] = {"executor": instant_executor} | options
            env: Game = make(env_id, **settings)
            stack.callback(env.close)
            return env

        yield made
