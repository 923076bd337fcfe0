"""Conformance: what agents and trainers build on, checked on any environment of text.

    environment  ->  check_text_env  ->  nothing, or every promise that it breaks

For authors of teams, acts, rewards and wrappers. PettingZoo's `api_test` checks the interface;
this checks what that cannot know: that text stays in its space, that equal seeds play
alike, that no hidden test gets out, that rewards add up from their terms, that forks are
apart. `docs/how-to/test-your-own-environment.md` shows it in use.
"""

from __future__ import annotations

import json
import math
import pickle
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NoReturn

import numpy as np
from gymnasium import spaces

from corecode_env.core.errors import ConformanceError
from corecode_env.core.registry import unknown_name
from corecode_env.core.verdict import Verdict
from corecode_env.environments.canaries import found_in, planted, talkative
from corecode_env.environments.forking import fork
from corecode_env.environments.judge_service import JudgeService
from corecode_env.environments.trial import (
    KINDS,
    Snapshot,
    Trace,
    answer,
    difference,
    engine_of,
    is_live,
    play,
    play_on,
    shown,
    snapshot,
)

INFO_KEYS: Final = (
    "active_agent",
    "task_id",
    "action_cut",
    "reward_valid",
    "reward_terms",
)
NEWS: Final = (
    "observations",
    "state",
    "agents",
    "agent_selection",
    "terminations",
    "truncations",
)
"""Parts of a snapshot that a policy may act upon."""


def check_text_env(env: Any, *, seed: int = 0, checks: Iterable[str] | None = None) -> None:
    """Check that an AEC environment of text keeps every promise that the package gives.

    Plays some dozens of episodes in the environment itself and in forks of it, with its
    own executor; give it an `InstantExecutor` where that should take no time.

    Args:
        env: An AEC environment on a `TeamEnv`, wrapped or not. It is reset, not closed.
        seed: Seed of the episodes.
        checks: Names of `CHECKS`; None: all of them.

    Raises:
        ConformanceError: If it breaks a promise; the message lists all that it breaks,
            each with where, what was found, and what to do.
        BadConfig: If it is no AEC environment on a `TeamEnv`, or takes no text.
        UnknownName: If there is no check of a name.
    """
    engine = engine_of(env)
    names = list(CHECKS) if checks is None else list(checks)
    for name in names:
        if name not in CHECKS:
            raise unknown_name("a check", name, sorted(CHECKS))
    trial, broken = Trial(env, seed), []
    for name in names:
        try:
            CHECKS[name](trial)
        except ConformanceError as error:
            broken.append(f"  {name}: {error}")
        except Exception as error:
            error.add_note(f"raised while check_text_env checked {name!r} of {engine}")
            raise
    if broken:
        raise ConformanceError(
            f"{engine} must pass all {len(names)} checks, got {len(broken)} that fail:\n"
            + "\n".join(broken)
        )


class Trial:
    """An environment under test, and the episodes that several checks look at."""

    def __init__(self, env: Any, seed: int) -> None:
        """Take the environment; play nothing yet."""
        self.env = env
        self.seed = seed
        self.engine = engine_of(env)

    @cached_property
    def traces(self) -> dict[str, Trace]:
        """One episode for each kind of answer."""
        return {kind: play(self.env, kind, self.seed) for kind in KINDS}

    def moments(self) -> Iterator[tuple[str, Snapshot]]:
        """Yield every snapshot of every trace, with where it was taken."""
        for kind, trace in self.traces.items():
            for turn, seen in enumerate(trace):
                yield f"after turn {turn} of {kind} answers", seen

    def fork_judged_by(self, public: Verdict, hidden: Verdict) -> Any:
        """Return a fork whose judge gives fixed verdicts and talks of hidden tests."""
        self.env.reset(seed=self.seed)
        child = fork(self.env, 1)[0]
        engine_of(child).judges = JudgeService(talkative(public, hidden))
        return child


def _refuse(what: str, rule: str, got: str, way_out: str) -> NoReturn:
    raise ConformanceError(f"{what} must {rule}, got {got}; {way_out}")


# -------------------------------------------------------------------------------- spaces
def check_spaces(trial: Trial) -> None:
    """Every observation and state lies in its space, and spaces are always the same."""
    env = trial.env
    for agent in env.possible_agents:
        for name in ("observation_space", "action_space"):
            space = getattr(env, name)
            if space(agent) is not space(agent):
                _refuse(
                    f"{name}({agent!r})",
                    "be the same object at every call",
                    "a new one",
                    "build the spaces once, in __init__: samplers seed them",
                )
    for where, seen in trial.moments():
        for agent, observation in seen["observations"].items():
            space = env.observation_space(agent)
            if observation not in space:
                _refuse(
                    f"{where} the observation of {agent!r}",
                    "lie in its space",
                    _what_is_outside(space, observation),
                    "cut texts by core.spaces.clean_text, and name every field in the space",
                )
        if seen["state"] not in env.unwrapped.state_space:
            _refuse(
                f"{where} the state",
                "lie in state_space",
                _what_is_outside(env.unwrapped.state_space, seen["state"]),
                "cut texts by core.spaces.clean_text",
            )
    _check_observations_are_copies(env, trial.seed)


def _what_is_outside(space: Any, value: Any) -> str:
    """Return the first field of a value that its space does not hold."""
    if not isinstance(space, spaces.Dict):
        return f"{shown(value)} outside {space!r}"
    if not isinstance(value, Mapping):
        return shown(value)
    if value.keys() != space.keys():
        return f"the fields {', '.join(value)} where the space has {', '.join(space)}"
    return next(
        f"{name!r} = {shown(value[name])} outside {part!r}"
        for name, part in space.items()
        if value[name] not in part
    )


def _check_observations_are_copies(env: Any, seed: int) -> None:
    env.reset(seed=seed)
    agent = env.agent_selection
    before = snapshot(env)
    env.observe(agent).clear()
    if found := difference(before, snapshot(env)):
        _refuse(
            f"a change that {agent!r} makes to its observation",
            "change nothing of the environment",
            found,
            "return a new dict from observe",
        )


# ------------------------------------------------------------------- seeds, determinism
def check_seeds(trial: Trial) -> None:
    """A seed fixes an episode and those that follow without one; NumPy's integers do too."""
    env, seed = trial.env, trial.seed

    def starts(given: Any) -> list[Snapshot]:
        env.reset(seed=given)
        first = snapshot(env)
        env.reset()
        return [first, snapshot(env)]

    expected = starts(seed)
    for given in (seed, np.int64(seed)):
        if found := difference(expected, starts(given)):
            _refuse(
                f"reset(seed={given!r}) and the reset() after it",
                "start as they did before",
                found,
                "draw from env.unwrapped.np_random, and clear in reset what an episode left",
            )


def check_determinism(trial: Trial) -> None:
    """Equal seeds and actions give equal observations, rewards and infos."""
    for kind in KINDS:
        again = play(trial.env, kind, trial.seed)
        if found := difference(trial.traces[kind], again):
            _refuse(
                f"two episodes of seed {trial.seed} with {kind} answers",
                "be equal",
                f"a difference at {found}",
                "draw from scene.rng() or env.unwrapped.np_random, keep clock readings "
                "out, and clear in reset what an episode left",
            )


def check_random_state(trial: Trial) -> None:
    """Nobody else's random numbers change: those of random, NumPy and torch."""
    before = _global_random_states()
    play(trial.env, "reference", trial.seed)
    after = _global_random_states()
    for library, state in before.items():
        if after[library] != state:
            _refuse(
                f"the global random state of {library}",
                "be untouched by reset and step",
                "another one after an episode",
                "draw from scene.rng() or env.unwrapped.np_random, never from the module",
            )


def _global_random_states() -> dict[str, bytes]:
    states = {
        "random": pickle.dumps(random.getstate()),
        "numpy.random": pickle.dumps(np.random.get_state()),
    }
    # Whoever has not imported torch cannot have used it.
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state().numpy().tobytes()
    return states


# --------------------------------------------------------------------------------- infos
def check_infos(trial: Trial) -> None:
    """Every agent has an info with the package's keys, in values that JSON can write."""
    for where, seen in trial.moments():
        over = all(seen["terminations"].values()) or all(seen["truncations"].values())
        active = None if over else seen["agent_selection"]
        for agent in seen["agents"]:
            info = seen["infos"].get(agent, {})
            name = f"{where} the info of {agent!r}"
            if missing := [key for key in INFO_KEYS if key not in info]:
                _refuse(
                    name, "have its keys", f"none of {missing}", "add to infos, replace none"
                )
            if info["active_agent"] != active:
                _refuse(
                    name,
                    f"name the agent whose turn it is, {active!r}, as active_agent",
                    repr(info["active_agent"]),
                    "leave that key to the engine",
                )
            try:
                json.dumps(info, allow_nan=False, default=_listed)
            except (TypeError, ValueError) as error:
                _refuse(name, "go through JSON", str(error), "put plain values into it")


def _listed(value: Any) -> Any:
    """Return an array, such as an action mask, as JSON can write it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{shown(value)} is no plain value")


# ------------------------------------------------------------------------------- rewards
def check_rewards(trial: Trial) -> None:
    """Rewards are finite, and add up from their terms: those of a step, and since."""
    for where, seen in trial.moments():
        for agent in seen["agents"]:
            pairs = (
                ("reward of the step", seen["rewards"], seen["turn terms"][agent]),
                (
                    "reward since its last action",
                    seen["cumulative rewards"],
                    seen["infos"][agent]["reward_terms"],
                ),
            )
            for name, rewards, terms in pairs:
                total = math.fsum(terms.values())
                if not math.isclose(rewards[agent], total, rel_tol=1e-9, abs_tol=1e-9):
                    _refuse(
                        f"{where} the {name} of {agent!r}",
                        "be the sum of its terms",
                        f"{rewards[agent]!r} and {shown(terms)}",
                        "change rewards in a RewardWrapper, which keeps the books",
                    )


def check_sandbox_failure(trial: Trial) -> None:
    """An episode in which the sandbox fails is truncated, and nobody is paid for it."""
    child = trial.fork_judged_by(Verdict.SE, Verdict.SE)
    seen = play(child, "reference", trial.seed)[-1]
    if not engine_of(child).episode.turns[-1].judgement:
        return  # nothing was judged, so nothing failed
    agents = seen["agents"]
    paid = {a: (seen["rewards"][a], seen["cumulative rewards"][a]) for a in agents}
    valid = [agent for agent in agents if seen["infos"][agent]["reward_valid"]]
    if not all(seen["truncations"].values()) or any(map(any, paid.values())) or valid:
        _refuse(
            "an episode in which the sandbox failed",
            "truncate all agents, pay 0.0 and say reward_valid=False",
            f"truncations {seen['truncations']}, rewards {paid}, valid for {valid}",
            "leave rewards alone where infos[agent]['reward_valid'] is False",
        )


# -------------------------------------------------------------------------- hidden tests
def check_hidden_tests(trial: Trial) -> None:
    """No value of a hidden test or reference reaches what agents are handed."""
    trial.env.reset(seed=trial.seed)
    task = trial.engine.task
    secret = planted(task)
    for public in (Verdict.AC, Verdict.WA, Verdict.CE):
        for hidden in (Verdict.AC, Verdict.WA, Verdict.RE):
            child = trial.fork_judged_by(public, hidden)
            for kind in ("useless", "reference"):
                child.reset(seed=trial.seed, options={"task": secret})
                _check_nothing_got_out(child)
                while is_live(child):
                    child.step(answer(child, kind, task))
                    _check_nothing_got_out(child)
    if trial.engine.stop == "public":
        _check_hidden_verdicts_are_no_news(trial)


def _check_nothing_got_out(env: Any) -> None:
    engine = engine_of(env)
    handed: dict[str, Any] = {}
    for agent in env.possible_agents:
        handed[f"observation of {agent!r}"] = env.observe(agent)
        handed[f"messages of {agent!r}"] = engine.messages(agent)
        handed[f"request of {agent!r}"] = engine.request(agent)
        handed[f"info of {agent!r}"] = env.infos.get(agent)
    handed["state"] = env.state()
    for name, value in handed.items():
        canary = found_in(value)
        if canary is not None:
            _refuse(
                f"after turn {len(engine.episode.turns)} the {name}",
                "hold nothing of a hidden test or reference",
                f"{canary!r}, which stands in no other place",
                "show public tests only: scene.report(judgement) does",
            )


def _check_hidden_verdicts_are_no_news(trial: Trial) -> None:
    """Two judges that differ on hidden tests alone must look alike."""
    seen = []
    for hidden in (Verdict.AC, Verdict.RE):
        child = trial.fork_judged_by(Verdict.WA, hidden)
        trace = play(child, "useless", trial.seed)
        seen.append([{name: moment[name] for name in NEWS} for moment in trace])
    if found := difference(seen[0], seen[1]):
        _refuse(
            "two programs that differ on hidden tests alone",
            "look alike to agents",
            f"a difference at {found}",
            "decide by judgement.public_passed, or make the environment with stop='all', "
            "which says that hidden tests show",
        )


# ------------------------------------------------------------------------- bad actions
def check_bad_actions(trial: Trial) -> None:
    """An action of a wrong type is a TypeError, and changes nothing."""
    env = trial.env
    env.reset(seed=trial.seed)
    before = snapshot(env)
    for action in (3.5, b"bytes", None, ["a list"]):
        try:
            env.step(action)
        except TypeError:
            pass
        else:
            _refuse(
                f"step({action!r}) of a live agent",
                "raise TypeError",
                "no error",
                "pass actions on as they are",
            )
        if found := difference(before, snapshot(env)):
            _refuse(
                f"step({action!r}), which is refused,",
                "change nothing",
                found,
                "step the environment inside first, and do your own part after it",
            )


# --------------------------------------------------------------------------------- forks
def check_forks(trial: Trial) -> None:
    """A fork goes on from where its parent stands; neither parent nor sibling notices."""
    env, unforked = trial.env, trial.traces["useless"]
    begun = len(unforked) > 2
    env.reset(seed=trial.seed)
    if begun:
        env.step(answer(env, "useless"))
    before = snapshot(env)
    child, sibling = fork(env, 2)
    way_out = "keep what belongs to an episode in attributes, so that fork can copy it"
    for name, copy in (("fork", child), ("second fork", sibling)):
        if found := difference(before, snapshot(copy)):
            _refuse(f"a {name}", "begin as its parent stands", found, way_out)
    play_on(child, "odd")
    child.reset(seed=trial.seed + 1)
    for name, other in (("parent", env), ("sibling", sibling)):
        if found := difference(before, snapshot(other)):
            _refuse(f"the {name} of a fork that plays on", "stay as it was", found, way_out)
    rest = play_on(env, "useless")
    if found := difference(unforked[begun:], rest):
        _refuse("the parent of forks", "go on as if there were none", found, way_out)


CHECKS: Final[Mapping[str, Callable[[Trial], None]]] = MappingProxyType(
    {
        "spaces": check_spaces,
        "seeds": check_seeds,
        "determinism": check_determinism,
        "random state": check_random_state,
        "infos": check_infos,
        "rewards": check_rewards,
        "sandbox failure": check_sandbox_failure,
        "hidden tests": check_hidden_tests,
        "bad actions": check_bad_actions,
        "forks": check_forks,
    }
)
"""All checks, by name."""
