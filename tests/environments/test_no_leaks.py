"""Nothing of a hidden test reaches a policy.

Hidden tests carry canary values. They are looked for in everything that agents are handed,
in every mode, for programs of every quality, through to the end of the episode.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Checker,
    Function,
    ScoreTest,
    Stdio,
    StdioTest,
    Task,
)
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.environments import planner_coder_v0
from corecode_env.environments.registration import load
from corecode_env.executor.testing import InstantExecutor

CANARIES = ("canary-bird", "70707", "canary_output", "canaryscore")

HIDDEN: dict[str, dict[str, Any]] = {
    "call": {
        "interface": Function("solve", "def solve(xs):"),
        "hidden_tests": (CallTest(([70707], "canary-bird"), {}, "canary_output"),),
        "public_tests": (CallTest(([1],), {}, 1),),
    },
    "stdio": {
        "interface": Stdio(),
        "hidden_tests": (StdioTest("canary-bird 70707\n", "canary_output\n"),),
        "public_tests": (StdioTest("1\n", "1\n"),),
    },
    "assert": {
        "interface": Function("solve"),
        "hidden_tests": (AssertTest("assert solve(70707) == 'canary_output'"),),
        "public_tests": (AssertTest("assert solve(1) == 1"),),
    },
    "score": {
        "kind": "optimize",
        "interface": Stdio(),
        "hidden_tests": (ScoreTest("canary-bird", "canaryscore", 70707.0),),
        "public_tests": (ScoreTest("small", "first"),),
        "checker": Checker("source", source="# 70707\ndef score(instance, output): return 1"),
    },
    "no public test": {
        "interface": Function("solve", "def solve(xs):"),
        "hidden_tests": (CallTest((70707, "canary-bird"), {}, "canary_output"),),
        "public_tests": (),
    },
}


GAMES: list[tuple[str, dict[str, Any]]] = [
    ("planner_coder_v0", {"coder_sees": "both"}),
    ("planner_coder_v0", {"coder_sees": "plan"}),
    ("solo_coder_v0", {}),
    ("debug_team_v0", {"repairs": 2}),
    ("retrieval_team_v0", {}),
    ("helper_main_v0", {"main_sees": "nothing"}),
    ("helper_main_v0", {"main_sees": "aux"}),
    ("tree_search_v0", {"early_stop": True}),
    ("tree_search_v0", {"early_stop": False}),
    ("solvita_v0", {}),
]


def talkative(public: Verdict, hidden: Verdict) -> InstantExecutor:
    """Return an executor that writes the canaries wherever a hidden result has room."""

    def judge(task: Task, program: str) -> Judgement:
        n_public = len(task.public_tests)
        shown = [TestResult(public, public=True)] * n_public
        kept = TestResult(hidden, note=" ".join(CANARIES), flags=CANARIES)
        return Judgement(task.id, (*shown, *[kept] * len(task.hidden_tests)))

    return InstantExecutor(judge)


def handed_out(env: Any) -> Iterator[str]:
    """Yield all that agents are handed at this moment."""
    for agent in env.possible_agents:
        yield repr(env.observe(agent))
        yield repr(env.messages(agent))
        request = env.request(agent)
        yield repr((request.observation, request.messages, request))
    yield repr(env.infos)
    yield repr(env.state())


def plays(name: str, task: Task, stop: str) -> bool:
    """Return whether a game takes a task and a rule to stop."""
    if name == "helper_main_v0":
        return isinstance(task.interface, Function)
    if name == "solvita_v0":
        return task.kind == "code" and isinstance(task.interface, Stdio) and stop == "public"
    return True


@pytest.mark.parametrize("form", HIDDEN)
@pytest.mark.parametrize("hidden", [Verdict.WA, Verdict.AC, Verdict.RE, Verdict.SE])
@pytest.mark.parametrize("public", [Verdict.WA, Verdict.AC, Verdict.CE])
def test_no_canary_gets_out(
    form: str, public: Verdict, hidden: Verdict, say: SimpleNamespace
) -> None:
    task = say.task(reference_program=None, reference_plan=None, **HIDDEN[form])
    solved = say.task(1)
    modes = itertools.product(("none", "verdict", "public"), ("public", "all"), GAMES)
    for feedback, stop, (name, own_options) in modes:
        options: Any = {
            "tasks": [task, solved],
            "executor": talkative(public, hidden),
            "feedback": feedback,
            "stop": stop,
            "max_cycles": 2,
        }
        if not plays(name, task, stop):
            continue
        env: Any = load(name).raw_env(**options, **own_options)
        env.reset(seed=0, options={"task": task})
        texts = [*handed_out(env)]
        while env.agents:
            done = (
                env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
            )
            # The first line makes a node where there is a tree.
            env.step(None if done else "node: new\nsomething")
            if env.agents == env.possible_agents:
                texts += handed_out(env)
        assert len(texts) > 8
        for canary, text in itertools.product(CANARIES, texts):
            assert canary not in text


def test_the_canaries_would_be_seen(say: SimpleNamespace) -> None:
    """The same values in public tests do reach agents: the search above can find them."""
    fields = {**HIDDEN["call"], "public_tests": HIDDEN["call"]["hidden_tests"]}
    env = planner_coder_v0.raw_env(
        tasks=[say.task(**fields)],
        executor=talkative(Verdict.WA, Verdict.WA),
        coder_sees="plan",
        max_cycles=2,
    )
    env.reset(seed=0)
    assert "canary-bird" in "".join(handed_out(env))


@pytest.mark.parametrize("hidden", [Verdict.AC, Verdict.WA])
def test_a_hidden_verdict_changes_nothing_that_is_observed(
    hidden: Verdict, say: SimpleNamespace
) -> None:
    """With the default stop rule an agent cannot tell how the hidden tests went."""

    def observed(verdict: Verdict) -> list[str]:
        env = planner_coder_v0.raw_env(
            tasks=[say.task()],
            executor=talkative(Verdict.WA, verdict),
            max_cycles=2,
        )
        env.reset(seed=0)
        for turn in ("p", "x"):
            env.step(turn)
        return [repr(env.observe(agent)) for agent in env.agents] + [repr(env.state())]

    assert observed(hidden) == observed(Verdict.RE)
