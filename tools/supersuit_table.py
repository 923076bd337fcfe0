"""Try every wrapper of SuperSuit on text, and print what becomes of it as a table.

    python tools/supersuit_table.py > the table of docs/how-to/change-what-agents-read.md

A wrapper works if a whole episode can be played through it, every observation lies in its
space, and the texts of an untouched episode come through (save where the wrapper is meant to
change them).
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import supersuit
from gymnasium import spaces

from corecode_env.core.episode import Episode
from corecode_env.core.spaces import UnicodeText
from corecode_env.core.task import CallTest, Function, Task
from corecode_env.environments import TurnParallelEnv, planner_coder_v0
from corecode_env.executor.testing import InstantExecutor

TEXT = "A plan, and a program:\n```python\ndef f(x):\n    return x + 1\n```\n"
TASK = Task(
    id="t",
    statement="Return x plus one.",
    interface=Function("f"),
    hidden_tests=(CallTest((1,), {}, 2),),
)


class Wrong(Exception):
    """What a wrapper shows or pays is not what it should be."""


@dataclass(frozen=True)
class Attempt:
    """One wrapper, how it is called, and what to use where it fails."""

    name: str
    arguments: tuple[Any, ...] = ()
    instead: str = ""
    changes: bool = False
    """Whether it is meant to change observations."""
    pays: float = 1.0
    """What it makes of a reward of 1."""
    play: str = ""
    """`aec_vector` or `parallel_vector` where it makes several environments of one."""


def shout(seen: dict[str, Any], space: Any) -> dict[str, Any]:
    """Write a prompt in capitals, inside the same space."""
    return {**seen, "prompt": seen["prompt"].upper()}


def same_space(space: Any) -> Any:
    """Return the space as it is."""
    return space


def keep_action(action: Any, space: Any) -> Any:
    """Return the action as it is."""
    return action


def half(reward: float) -> float:
    """Halve a reward."""
    return reward / 2


OURS = "`{}`".format
ATTEMPTS = (
    Attempt("reward_lambda_v0", (half,), pays=0.5),
    Attempt("clip_reward_v0"),
    Attempt("observation_lambda_v0", (shout, same_space), changes=True),
    Attempt("observation_lambda_v0", (shout,), OURS("TextWrapper"), changes=True),
    Attempt("action_lambda_v1", (keep_action, same_space)),
    Attempt("sticky_actions_v0", (0.5,)),
    Attempt("frame_skip_v0", (2,), "nothing: a text is not said twice"),
    Attempt("frame_stack_v1", (2,), OURS("History"), changes=True),
    Attempt("frame_stack_v2", (2,), OURS("History"), changes=True),
    Attempt("delay_observations_v0", (1,), OURS("TextWrapper"), changes=True),
    Attempt("max_observation_v0", (2,), OURS("TextWrapper"), changes=True),
    Attempt("agent_indicator_v0", (), OURS("RoleIndicator"), changes=True),
    Attempt("pad_observations_v0", (), "not needed: all spaces are alike", changes=True),
    Attempt("pad_action_space_v0", (), "not needed: all spaces are alike"),
    Attempt("black_death_v3", (), "not needed: all agents stay to the end", changes=True),
    Attempt("nan_noop_v0", ("",), "not needed: no action is a number"),
    Attempt("nan_random_v0", (), "not needed: no action is a number"),
    Attempt("nan_zeros_v0", (), "not needed: no action is a number"),
    Attempt("clip_actions_v0", (), "`max_chars`"),
    Attempt("scale_actions_v0", (2.0,), "nothing: texts have no scale"),
    Attempt("normalize_obs_v0", (), "nothing: texts have no scale", changes=True),
    Attempt("dtype_v0", ("float32",), "nothing: texts have no dtype", changes=True),
    Attempt("flatten_v0", (), "`gymnasium.spaces.flatten`", changes=True),
    Attempt("reshape_v0", ((1,),), "nothing: texts have no shape", changes=True),
    Attempt("resize_v1", (2, 2), OURS("Truncate"), changes=True),
    Attempt("color_reduction_v0", (), "nothing: texts have no colour", changes=True),
    Attempt("vectorize_aec_env_v0", (2,), "`gymnasium.make_vec`", play="aec_vector"),
    Attempt(
        "pettingzoo_env_to_vec_env_v1", (), "`gymnasium.make_vec`", play="parallel_vector"
    ),
)


def game() -> Any:
    """Make a game that needs no process."""
    return planner_coder_v0.env(tasks=[TASK], executor=InstantExecutor(), max_cycles=2)


def try_aec(attempt: Attempt) -> None:
    """Play two rounds through a wrapper.

    Raises:
        Exception: What the wrapper raised.
        Wrong: If what it shows is not what it should.
    """
    env = getattr(supersuit, attempt.name)(game(), *attempt.arguments)
    env.reset(seed=1)
    paid = 0.0
    for agent in env.agent_iter():
        seen, reward, terminated, truncated, _ = env.last()
        paid += reward
        check(attempt, seen, env.observation_space(agent), env.unwrapped.observe(agent))
        env.step(None if terminated or truncated else TEXT)
    episode = env.unwrapped.episode
    turns = [turn.action for turn in episode.turns]
    if turns != [TEXT] * 4:
        raise Wrong(f"{len(turns)} turns were played, not 4 of the same text")
    check_pay(attempt, paid, episode)


def try_parallel(attempt: Attempt) -> None:
    """Play two rounds through a wrapper of the parallel view.

    Raises:
        Exception: As `try_aec`.
    """
    env = getattr(supersuit, attempt.name)(TurnParallelEnv(game()), *attempt.arguments)
    observations, _ = env.reset(seed=1)
    steps, paid = 0, 0.0
    while env.agents:
        for agent, seen in observations.items():
            inner = env.unwrapped.observe(agent)
            check(attempt, seen, env.observation_space(agent), inner)
        observations, rewards, *_ = env.step(dict.fromkeys(env.agents, TEXT))
        paid += sum(rewards.values())
        steps += 1
    if steps != 4:
        raise Wrong(f"{steps} steps were played, not 4")
    check_pay(attempt, paid, env.unwrapped.episode)


def check_pay(attempt: Attempt, paid: float, episode: Episode) -> None:
    """Refuse another sum of rewards than a wrapper should pay.

    Raises:
        Wrong: If it is another.
    """
    expected = attempt.pays * sum(episode.returns.values())
    if not expected or not math.isclose(paid, expected):
        raise Wrong(f"{paid:g} was paid, not {expected:g}")


def try_aec_vector(attempt: Attempt) -> None:
    """Make two environments of one, and play two rounds in both.

    Raises:
        Exception: As `try_aec`.
    """
    env = getattr(supersuit, attempt.name)(game(), *attempt.arguments)
    inner = game()
    env.reset(seed=1)
    inner.reset(seed=1)
    for _ in range(4):
        agent = inner.agent_selection
        observations, *_ = env.last()
        if env.agent_selection != agent or list(observations) != [inner.observe(agent)] * 2:
            raise Wrong("other texts than the environment's")
        env.step([TEXT, TEXT])
        inner.step(TEXT)


def try_parallel_vector(attempt: Attempt) -> None:
    """Make a vectorised environment of a parallel view, and step it.

    Raises:
        Exception: As `try_aec`.
    """
    env = getattr(supersuit, attempt.name)(TurnParallelEnv(game()), *attempt.arguments)
    observations, _ = env.reset(seed=1)
    prompts = [observations["prompt"][i] for i in range(2)]
    inner = TurnParallelEnv(game()).reset(seed=1)[0]
    if prompts != [seen["prompt"] for seen in inner.values()]:
        raise Wrong("other texts than the environment's")
    env.step([TEXT, TEXT])


def check(attempt: Attempt, seen: Any, space: Any, inner: Any) -> None:
    """Refuse an observation that is not what a wrapper should show.

    Raises:
        Wrong: If it lies outside its space, or texts were lost.
    """
    if not isinstance(space, spaces.Dict) or not isinstance(space["prompt"], UnicodeText):
        raise Wrong("the space is one of texts no more")
    if seen not in space:
        raise Wrong("observations lie outside their space")
    if not attempt.changes and seen != inner:
        raise Wrong("other texts than the environment's")


def outcome(attempt: Attempt, play: Callable[[Attempt], None]) -> str:
    """Return `works`, or how it fails."""
    try:
        with redirect_stdout(sys.stderr):
            play(attempt)
    except Wrong as error:
        return str(error)
    except Exception as error:  # whatever a wrapper raises is the finding
        said = shorten(" ".join(str(error).split()).replace("|", "/"), 70, placeholder=" ...")
        return f"{type(error).__name__}: {said}"
    return "works"


def rows() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield wrapper, works or fails in the AEC and the parallel view, why, what to use."""
    for attempt in ATTEMPTS:
        told = ", ".join(
            argument.__name__ if callable(argument) else repr(argument)
            for argument in attempt.arguments
        )
        plays = {"aec": try_aec, "parallel": try_parallel}
        if attempt.play:
            view = attempt.play.partition("_")[0]
            plays = {view: {"aec": try_aec_vector, "parallel": try_parallel_vector}[view]}
        found = {view: outcome(attempt, play) for view, play in plays.items()}
        problems = dict.fromkeys(each for each in found.values() if each != "works")
        marks = [
            {"works": "works", "-": "-"}.get(found.get(view, "-"), "fails")
            for view in ("aec", "parallel")
        ]
        instead = attempt.instead if problems else ""
        yield f"`{attempt.name}({told})`", marks[0], marks[1], "; ".join(problems), instead


def table() -> str:
    """Return all rows as Markdown."""
    lines = ["| SuperSuit | AEC | parallel | why | use instead |", "|---|---|---|---|---|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(f"SuperSuit {supersuit.__version__}:\n")
    print(table(), end="")
