"""corecode-env: code tasks as multi-agent environments.

A Planner and a Coder take text actions; a sandboxed executor runs the program and pays
rewards. This front door only re-exports; inside the package import from the rooms.

    import corecode_env

    env = corecode_env.make("planner_coder_v0", tasks="pipelines/2")
    env.reset(seed=1)

Importing it registers the environments with PettingZoo and Gymnasium; everything else is
loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

from corecode_env.environments.registration import make, register_all

if TYPE_CHECKING:
    from corecode_env import rewards
    from corecode_env.core.episode import Episode, Submission, Turn
    from corecode_env.core.errors import CorecodeError
    from corecode_env.core.seams import Agent, Executor, Reply, Request
    from corecode_env.core.spaces import UnicodeText
    from corecode_env.core.task import (
        AssertTest,
        CallTest,
        Checker,
        Function,
        Limits,
        ScoreTest,
        Script,
        Stdio,
        StdioTest,
        Task,
    )
    from corecode_env.core.verdict import Judgement, TestResult, Verdict
    from corecode_env.environments.engine import TeamEnv
    from corecode_env.environments.forking import fork
    from corecode_env.environments.reward_wrapper import (
        ParallelRewardWrapper,
        RewardWrapper,
        SeatRewardWrapper,
    )
    from corecode_env.environments.team import Role, Team
    from corecode_env.executor import LocalExecutor
    from corecode_env.rewards import Rewards, Term
    from corecode_env.rollout.play import play
    from corecode_env.tasks import TaskSampler, TaskSet, load_tasks

__all__ = [
    "Agent",
    "AssertTest",
    "CallTest",
    "Checker",
    "CorecodeError",
    "Episode",
    "Executor",
    "Function",
    "Judgement",
    "Limits",
    "LocalExecutor",
    "ParallelRewardWrapper",
    "Reply",
    "Request",
    "RewardWrapper",
    "Rewards",
    "Role",
    "ScoreTest",
    "Script",
    "SeatRewardWrapper",
    "Stdio",
    "StdioTest",
    "Submission",
    "Task",
    "TaskSampler",
    "TaskSet",
    "Team",
    "TeamEnv",
    "Term",
    "TestResult",
    "Turn",
    "UnicodeText",
    "Verdict",
    "__version__",
    "fork",
    "load_tasks",
    "make",
    "play",
    "rewards",
]

_HOMES = {
    "core.episode": ("Episode", "Submission", "Turn"),
    "core.errors": ("CorecodeError",),
    "core.seams": ("Agent", "Executor", "Reply", "Request"),
    "core.spaces": ("UnicodeText",),
    "core.task": (
        "AssertTest",
        "CallTest",
        "Checker",
        "Function",
        "Limits",
        "ScoreTest",
        "Script",
        "Stdio",
        "StdioTest",
        "Task",
    ),
    "core.verdict": ("Judgement", "TestResult", "Verdict"),
    "environments.engine": ("TeamEnv",),
    "environments.forking": ("fork",),
    "environments.reward_wrapper": (
        "ParallelRewardWrapper",
        "RewardWrapper",
        "SeatRewardWrapper",
    ),
    "environments.team": ("Role", "Team"),
    "executor": ("LocalExecutor",),
    "rewards": ("Rewards", "Term"),
    "rollout.play": ("play",),
    "tasks": ("TaskSampler", "TaskSet", "load_tasks"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = (
    "agents",
    "algorithms",
    "core",
    "environments",
    "evaluation",
    "executor",
    "records",
    "rewards",
    "rollout",
    "tasks",
)


def __getattr__(name: str) -> Any:
    """Load a re-exported name, or a room, when it is first used."""
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what may be imported from here."""
    own = (name for name in globals() if name.startswith("__"))
    return sorted({*own, *__all__, *_ROOMS})


register_all()
