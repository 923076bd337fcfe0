"""What `check_text_env` promises: it passes what keeps the promises, and catches what does not.

Every check has an environment here that breaks just that promise.
"""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest
from pettingzoo.utils.wrappers import BaseWrapper

from corecode_env.core.errors import BadConfig, ConformanceError, UnknownName
from corecode_env.core.spaces import UnicodeText
from corecode_env.core.task import AssertTest, Checker, ScoreTest, Stdio, StdioTest, Task
from corecode_env.environments import Outcome, Role, Scene, Team, TeamEnv, planner_coder_v0
from corecode_env.environments.registration import ENVIRONMENTS, load
from corecode_env.environments.turn_parallel import TurnParallelEnv
from corecode_env.tasks import load_tasks
from corecode_env.testing import CHECKS, InstantExecutor, check_text_env

FEEDBACK = ("none", "verdict", "public")
TASKS_OF = {"solvita_v0": "pipelines/1/stdio"}
"""What an environment plays that does not play every task."""


# ----------------------------------------------------------------- what keeps the promises
@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_of_the_package_passes(name: str, feedback: str) -> None:
    tasks = load_tasks(TASKS_OF.get(name, "pipelines/1")).head(12)
    for max_cycles in (1, 3):
        check_text_env(
            load(name).env(
                tasks=tasks,
                split="all",
                executor=InstantExecutor(),
                feedback=feedback,
                max_cycles=max_cycles,
            )
        )


FORMS: dict[str, dict[str, Any]] = {
    "stdio": {
        "interface": Stdio(),
        "public_tests": (StdioTest("1 2\n", "3\n"),),
        "hidden_tests": (StdioTest("4 5\n", "9\n"),),
    },
    "assert": {
        "public_tests": (AssertTest("assert solve([1]) == 1"),),
        "hidden_tests": (AssertTest("assert solve([2]) == 2"),),
    },
    "score": {
        "kind": "optimize",
        "interface": Stdio(),
        "public_tests": (ScoreTest("1", "small"),),
        "hidden_tests": (ScoreTest("2", "large", 3.0),),
        "checker": Checker("source", source="def score(instance, output): return 1"),
    },
    "no public test": {"public_tests": ()},
}
ANY_TASK = ("planner_coder_v0", "solo_coder_v0", "debug_team_v0", "tree_search_v0")
PLAYED = {
    "stdio": (*ANY_TASK, "retrieval_team_v0", "solvita_v0"),
    "assert": (*ANY_TASK, "retrieval_team_v0", "helper_main_v0"),
    "score": (*ANY_TASK, "retrieval_team_v0"),
    "no public test": (*ANY_TASK, "retrieval_team_v0", "helper_main_v0"),
}


@pytest.mark.parametrize(
    ("form", "name"), [(form, name) for form, names in PLAYED.items() for name in names]
)
def test_tasks_of_every_form_are_checked(form: str, name: str, say: SimpleNamespace) -> None:
    task = say.task(**FORMS[form])
    check_text_env(load(name).env(tasks=[task], executor=InstantExecutor(), max_cycles=2))


def test_an_environment_with_the_real_sandbox_passes() -> None:
    env = planner_coder_v0.env(max_cycles=2)
    check_text_env(env)
    env.close()


def test_it_leaves_the_environment_and_its_executor_usable(executor: InstantExecutor) -> None:
    env = planner_coder_v0.env(executor=executor)
    check_text_env(env)
    assert not executor.closed
    env.reset(seed=0)
    assert env.agents


# -------------------------------------------------------------------- what breaks a promise
class Broken(BaseWrapper[str, dict[str, Any], str | None]):
    """A user's wrapper; those below do each one thing wrong."""

    def step(self, action: str | None) -> None:
        super().step(action)
        self.after_step()

    def after_step(self) -> None:
        """Do what is wrong."""


class NewSpaces(Broken):
    def action_space(self, agent: str) -> Any:
        return UnicodeText(20_000)


class TooLong(Broken):
    def observe(self, agent: str) -> Any:
        seen = super().observe(agent) or {}
        return {**seen, "plan": "x" * 20_001}


class OneFieldMore(Broken):
    def observe(self, agent: str) -> Any:
        return {**(super().observe(agent) or {}), "hint": "be quick"}


class StateOutside(Broken):
    def state(self) -> Any:
        return {"plan": "a"}


class KeepsItsObservation(Broken):
    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        self._seen = {a: super(Broken, self).observe(a) for a in self.env.possible_agents}

    def step(self, action: str | None) -> None:
        super().step(action)
        self._seen = {a: super(Broken, self).observe(a) for a in self.env.possible_agents}

    def observe(self, agent: str) -> Any:
        return self._seen[agent]


class RemembersEpisodes(Broken):
    """Its second episode of a seed is not its first."""

    count = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        self.count += 1
        self.episode_number = self.count

    def observe(self, agent: str) -> Any:
        return {**(super().observe(agent) or {}), "plan": f"episode {self.episode_number}"}


class IgnoresSeeds(Broken):
    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(None, options)


class ShowsTheClock(Broken):
    """As the episode begins it shows nothing yet."""

    shown = ""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        self.shown = ""

    def after_step(self) -> None:
        self.shown = str(time.perf_counter_ns())

    def observe(self, agent: str) -> Any:
        return {**(super().observe(agent) or {}), "plan": self.shown}


class RollsDice(Broken):
    def after_step(self) -> None:
        random.random()


class BareInfos(Broken):
    def after_step(self) -> None:
        self.infos = {agent: {"task_id": "t"} for agent in self.env.agents}


class ObjectInfos(Broken):
    def after_step(self) -> None:
        self.infos = {agent: {**info, "me": self} for agent, info in self.env.infos.items()}


class AddsReward(Broken):
    def after_step(self) -> None:
        self.rewards = {agent: paid + 1.0 for agent, paid in self.env.rewards.items()}


class AddsCumulativeReward(Broken):
    def after_step(self) -> None:
        self._cumulative_rewards = {a: 1.0 for a in self.env._cumulative_rewards}


class PaysAFailedSandbox(Broken):
    """Pays every turn and books it, but does not look whether the reward is valid."""

    def after_step(self) -> None:
        env: Any = self.env
        if env.agents and not all(info["reward_valid"] for info in env.infos.values()):
            self.rewards = dict.fromkeys(env.agents, 1.0)


class TakesAnything(Broken):
    def step(self, action: Any) -> None:
        dead = self.terminations[self.agent_selection]
        super().step(action if dead else str(action))


class ActsBeforeItLooks(Broken):
    steps = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        self.steps = 0

    def step(self, action: str | None) -> None:
        self.steps += 1
        super().step(action)

    def observe(self, agent: str) -> Any:
        return {**(super().observe(agent) or {}), "plan": f"step {self.steps}"}


class SharesItsList(Broken):
    """Keeps one list for all forks."""

    texts: list[str]

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.texts = []

    def shared_parts(self) -> tuple[object, ...]:
        return (self.texts,)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.texts.clear()
        super().reset(seed, options)

    def after_step(self) -> None:
        self.texts.append("x")

    def observe(self, agent: str) -> Any:
        return {**(super().observe(agent) or {}), "plan": "".join(self.texts)}


class CopiesAway(Broken):
    """Its forks begin with another text than their parent shows."""

    text = "parent"

    def __deepcopy__(self, memo: Any) -> CopiesAway:
        from copy import deepcopy

        new = CopiesAway(deepcopy(self.env, memo))
        new.text = "fork"
        return new

    def observe(self, agent: str) -> Any:
        return {**(super().observe(agent) or {}), "plan": self.text}


BROKEN: list[tuple[str, type[Broken], str]] = [
    ("spaces", NewSpaces, r"action_space\('planner_0'\) must be the same object"),
    ("spaces", TooLong, r"observation of 'planner_0' must lie in its space, got 'plan' ="),
    ("spaces", OneFieldMore, "observation of 'planner_0' must lie in its space.*hint"),
    ("spaces", StateOutside, "the state must lie in state_space"),
    ("spaces", KeepsItsObservation, "makes to its observation must change nothing"),
    ("seeds", RemembersEpisodes, r"reset\(seed=0\).*observations.planner_0.plan"),
    ("seeds", IgnoresSeeds, r"reset\(seed=0\) and the reset\(\) after it must start as"),
    ("determinism", ShowsTheClock, "two episodes of seed 0 .* must be equal.*plan"),
    ("random state", RollsDice, "random state of random must be untouched"),
    ("infos", BareInfos, "the info of 'planner_0' must have its keys"),
    ("infos", ObjectInfos, "the info of 'planner_0' must go through JSON"),
    ("rewards", AddsReward, "reward of the step of 'planner_0' must be the sum"),
    ("rewards", AddsCumulativeReward, "reward since its last action of .* must be the sum"),
    ("sandbox failure", PaysAFailedSandbox, "in which the sandbox failed must truncate"),
    ("bad actions", TakesAnything, r"step\(3.5\) of a live agent must raise TypeError"),
    ("bad actions", ActsBeforeItLooks, "which is refused, must change nothing"),
    ("forks", SharesItsList, "the parent of a fork that plays on must stay as it was"),
    ("forks", CopiesAway, "a fork must begin as its parent stands"),
]


@pytest.mark.parametrize(
    ("check", "wrapper", "message"), BROKEN, ids=[b[1].__name__ for b in BROKEN]
)
def test_a_broken_wrapper_is_caught_with_where_and_what(
    check: str, wrapper: type[Broken], message: str, tasks: list[Task], executor: Any
) -> None:
    env = wrapper(planner_coder_v0.env(tasks=tasks, executor=executor, max_cycles=2))
    with pytest.raises(
        ConformanceError, match=f"(?s)1 that fail:\n  {check}: .*{message}"
    ) as e:
        check_text_env(env, checks=[check])
    assert "; " in str(e.value), "the way out"


# -------------------------------------------------------------- acts and rules that leak
class Hinter:
    """A helpful act: it says what it should not."""

    def __init__(self, hint: Any) -> None:
        self.hint = hint

    def apply(self, text: str, scene: Scene) -> Outcome:
        return Outcome({"hint": self.hint(scene)})


def first_hidden_test(scene: Scene) -> str:
    return f"Remember {scene.task.hidden_tests[0]}"


def the_reference(scene: Scene) -> str:
    return scene.task.reference_program or ""


def what_the_judge_said(scene: Scene) -> str:
    judged = scene.judge(scene.task, "pass")
    return " ".join(result.note for result in judged.results)


def how_hidden_tests_went(scene: Scene) -> str:
    return str(scene.judge(scene.task, "pass").hidden_pass_rate)


def leaking_env(hint: Any, tasks: list[Task], executor: Any, **options: Any) -> TeamEnv:
    hinter = Role(
        "hinter", acts="text", writes="hint", act=Hinter(hint), prompt="Hint at $problem"
    )
    coder = Role(
        "coder", acts="program", sees=frozenset({"hint"}), prompt="Solve $problem $hint"
    )
    return TeamEnv(Team((hinter, coder)), tasks=tasks, executor=executor, **options)


@pytest.mark.parametrize("hint", [first_hidden_test, the_reference, what_the_judge_said])
def test_an_act_that_tells_a_hidden_test_is_caught(
    hint: Any, tasks: list[Task], executor: Any
) -> None:
    with pytest.raises(
        ConformanceError,
        match=r"hidden tests: after turn 1 the observation of 'coder_0' must hold nothing",
    ):
        check_text_env(leaking_env(hint, tasks, executor))


def test_a_hidden_verdict_that_shows_is_caught(tasks: list[Task], executor: Any) -> None:
    env = leaking_env(how_hidden_tests_went, tasks, executor)
    with pytest.raises(
        ConformanceError, match=r"must look alike.*0\.0' and .*1\.0|1\.0.*0\.0"
    ):
        check_text_env(env, checks=["hidden tests"])


def test_hidden_verdicts_may_show_where_the_environment_says_so(
    tasks: list[Task], executor: Any
) -> None:
    env = leaking_env(how_hidden_tests_went, tasks, executor, stop="all")
    check_text_env(env, checks=["hidden tests"])


class LeaksInInfo(Broken):
    def after_step(self) -> None:
        task = self.unwrapped.task  # type: ignore[attr-defined]
        self.infos = {a: {**i, "tests": repr(task)} for a, i in self.env.infos.items()}


def test_a_hidden_test_in_an_info_is_caught(tasks: list[Task], executor: Any) -> None:
    env = LeaksInInfo(planner_coder_v0.env(tasks=tasks, executor=executor))
    with pytest.raises(ConformanceError, match="the info of 'planner_0' must hold nothing"):
        check_text_env(env, checks=["hidden tests"])


class DrawsAfresh:
    """An act with a stream of its own, which no seed fixes."""

    stream = itertools.count()

    def apply(self, text: str, scene: Scene) -> Outcome:
        return Outcome({"hint": f"draw {next(self.stream)}"})


def test_an_act_that_keeps_state_is_caught(tasks: list[Task], executor: Any) -> None:
    env = leaking_env(first_hidden_test, tasks, executor)
    hinter, coder = env.team.roles
    stateful = TeamEnv(
        Team((replace(hinter, act=DrawsAfresh()), coder)), tasks=tasks, executor=executor
    )
    with pytest.raises(ConformanceError, match=r"two episodes of seed 0 .*draw \d"):
        check_text_env(stateful, checks=["determinism"])


def test_a_team_that_never_ends_is_caught(tasks: list[Task], executor: Any) -> None:
    def again(team: Team, turns: Any) -> Role:
        return team.roles[0]

    team = Team((Role("coder", acts="program"),), again)
    env = TeamEnv(team, tasks=tasks, executor=executor)
    with pytest.raises(ConformanceError, match="an episode must end"):
        check_text_env(env, checks=["determinism"])


# ------------------------------------------------------------------------------- messages
def test_all_broken_promises_are_listed_at_once(tasks: list[Task], executor: Any) -> None:
    env = RollsDice(NewSpaces(planner_coder_v0.env(tasks=tasks, executor=executor)))
    with pytest.raises(ConformanceError, match=f"pass all {len(CHECKS)} checks, got 2") as e:
        check_text_env(env)
    assert str(e.value).count("\n") == 2


def test_an_exception_says_which_check_met_it(tasks: list[Task], executor: Any) -> None:
    class Falls(Broken):
        def after_step(self) -> None:
            raise KeyError("lost")

    env = Falls(planner_coder_v0.env(tasks=tasks, executor=executor))
    with pytest.raises(KeyError, match="lost") as e:
        check_text_env(env)
    assert "'spaces' of planner_coder_v0" in e.value.__notes__[0]


def test_what_is_no_environment_of_text_is_refused(tasks: list[Task], executor: Any) -> None:
    env = planner_coder_v0.env(tasks=tasks, executor=executor)
    for other in (gymnasium.Env(), TurnParallelEnv(env), "planner_coder_v0"):
        with pytest.raises(BadConfig, match="AEC environment on a TeamEnv"):
            check_text_env(other)
    with pytest.raises(UnknownName, match="did you mean 'forks'"):
        check_text_env(env, checks=["fork"])


def test_every_check_has_an_environment_here_that_it_catches() -> None:
    assert {check for check, _, _ in BROKEN} | {"hidden tests"} == set(CHECKS)
