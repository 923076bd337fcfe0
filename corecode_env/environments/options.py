"""Options: what environments take, checked before anything runs."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypedDict

from corecode_env.core.episode import Episode, RewardTerms, Turn
from corecode_env.core.errors import BadConfig
from corecode_env.core.seams import Executor
from corecode_env.core.task import Task
from corecode_env.environments.feedback import Feedback
from corecode_env.rewards import RewardFunction, Rewards, Term, corecode

Stop = Literal["public", "all"]
STOPS: Final = ("public", "all")
RENDER_MODES: Final = ("ansi", "human")
MIN_MAX_CHARS: Final = 200
DEFAULT_MAX_CHARS: Final = 20_000
RESET_OPTIONS: Final = ("task", "prefix")


class TeamOptions(TypedDict, total=False):
    """What every environment takes, all optional, all by keyword.

    Attributes:
        tasks: Name or path for `load_tasks`, a TaskSet, or a sequence of tasks.
        split: `train`, `validation`, `test`, or `all`.
        rewards: Terms of the reward; None: `rewards.corecode()`.
        executor: Who judges; None: a `LocalExecutor`, closed with the environment.
        max_cycles: Rounds, in each of which every agent acts.
        feedback: What the team learns of its program: `none`, `verdict` or `public`.
        stop: End the episode when the `public` tests pass, or when `all` do. The latter
            tells a policy of round 2 that a hidden test failed.
        prompts: Files that replace prompt templates, by role.
        max_chars: Longest text of an action and of each field, in characters.
        render_mode: `ansi`, `human` or None.
    """

    tasks: str | Path | Sequence[Task]
    split: str
    rewards: Rewards | Iterable[Term | RewardFunction] | None
    executor: Executor | None
    max_cycles: int
    feedback: Feedback
    stop: Stop
    prompts: Mapping[str, Path] | None
    max_chars: int
    render_mode: str | None


def check_reset_options(options: Mapping[str, Any], stacklevel: int) -> None:
    """Warn of reset options that nobody reads.

    Args:
        options: What `reset` was given.
        stacklevel: Which caller the warning points at, as in `warnings.warn`.
    """
    unknown = [name for name in options if name not in RESET_OPTIONS]
    if unknown:
        warnings.warn(
            f"reset options must be among {', '.join(RESET_OPTIONS)}, got {unknown}: they "
            "are ignored",
            stacklevel=stacklevel,
        )


def whole_number(name: str, value: Any, least: int) -> int:
    """Return a whole number of at least `least`, or refuse the argument called `name`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise BadConfig(f"{name} must be a whole number of at least {least}, got {value!r}")
    return number


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> Any:
    """Return the value if it is allowed, or refuse the argument called `name`."""
    choices = tuple(allowed)
    if value not in choices:
        shown = ", ".join(map(repr, choices))
        raise BadConfig(f"{name} must be one of {shown}, got {value!r}")
    return value


def as_rewards(
    rewards: Rewards | Iterable[Term | RewardFunction] | None,
) -> Callable[[Turn, Episode], RewardTerms]:
    """Return the rule that pays turns; None stands for CoRe-Code's."""
    if rewards is None:
        return corecode()
    return rewards if isinstance(rewards, Rewards) else Rewards(rewards)


def read_prefix(prefix: Any) -> list[tuple[str, str]]:
    """Return the stored turns that an episode is to start from.

    Raises:
        BadConfig: If they are not a list of pairs of strings.
    """
    form = "a list of (agent, text) pairs of strings"
    if isinstance(prefix, str) or not isinstance(prefix, Sequence):
        raise BadConfig(f"the option prefix must be {form}, got {prefix!r}")
    turns: list[tuple[str, str]] = []
    for place, item in enumerate(prefix):
        good = isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2
        if not good or not all(isinstance(part, str) for part in item):
            raise BadConfig(f"turn {place} of the option prefix must be {form}, got {item!r}")
        turns.append((item[0], item[1]))
    return turns
