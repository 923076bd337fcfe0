"""What larger teams are paid, worked by hand from the papers' rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import RewardError
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.rewards import Rewards, corecode, corecode_team, helper_main

HALF = Judgement("t", (TestResult(Verdict.AC), TestResult(Verdict.WA)))
RIGHT = Judgement("t", (TestResult(Verdict.AC),))
DEBUG = corecode_team(writers=("coder", "debugger"))
RETRIEVE = corecode_team(planners=("retriever", "planner"))


def paid(rewards: Rewards, turn: Turn, *agents: str) -> dict[str, float]:
    terms = rewards(turn, Episode("t", 0, agents, (turn,)))
    rewarded = replace(turn, reward_terms=terms)
    return {agent: rewarded.reward(agent) for agent in agents}


def test_a_writer_is_paid_for_its_own_program_and_a_planner_for_the_first_writers() -> None:
    agents = ("planner_0", "coder_0", "debugger_0")
    coded = paid(DEBUG, Turn("coder_0", 0, {}, "x", judgement=HALF), *agents)
    mended = paid(DEBUG, Turn("debugger_0", 0, {}, "x", judgement=RIGHT), *agents)
    assert coded == pytest.approx({"planner_0": 0.6, "coder_0": 0.6, "debugger_0": 0.0})
    assert mended == pytest.approx({"planner_0": 0.0, "coder_0": 0.0, "debugger_0": 1.3})


def test_everybody_who_plans_is_paid_as_the_planner() -> None:
    agents = ("retriever_0", "planner_0", "coder_0")
    turn = Turn("coder_0", 0, {}, "x", judgement=RIGHT)
    assert paid(RETRIEVE, turn, *agents) == pytest.approx(
        {"retriever_0": 1.1, "planner_0": 1.1, "coder_0": 1.3}
    )


@pytest.mark.parametrize("agent", ["retriever_0", "planner_0"])
def test_a_turn_without_a_program_pays_nothing(agent: str) -> None:
    agents = ("retriever_0", "planner_0", "coder_0")
    assert set(paid(RETRIEVE, Turn(agent, 0, {}, "x"), *agents).values()) == {0.0}


@pytest.mark.parametrize("judgement", [HALF, RIGHT, None])
def test_of_one_writer_and_one_planner_it_is_corecode(judgement: Judgement | None) -> None:
    turn = Turn("coder_0", 0, {}, "x", judgement=judgement)
    agents = ("planner_0", "coder_0")
    assert paid(corecode_team(), turn, *agents) == paid(corecode(), turn, *agents)


def test_a_team_may_have_no_planner_but_needs_a_writer() -> None:
    alone = corecode_team(planners=())
    turn = Turn("coder_0", 0, {}, "x", judgement=RIGHT)
    assert paid(alone, turn, "coder_0") == pytest.approx({"coder_0": 1.3})
    with pytest.raises(RewardError, match=r"writers=\('coder',\)"):
        corecode_team(writers=())


# ------------------------------------------------------------------------ helper and main
ALL = ("aux_defined", "main_defined", "syntax", "uses_aux", "own_work")


def levels(*true: str, tests: float | None = None) -> dict[str, float]:
    facts = {name: float(name in true) for name in (*ALL, "ignores_aux")}
    return facts if tests is None else facts | {"tests": tests}


@pytest.mark.parametrize(
    ("facts", "reward"),
    [
        (levels(), 0.0),
        (levels("aux_defined"), 0.4),
        (levels("main_defined"), 0.6),
        (levels("aux_defined", "main_defined"), 1.0),
        (levels(*ALL[:3], tests=0.0), 1.5),  # 0.4 + 0.6 + 0.5
        (levels(*ALL[:3], tests=0.5), 2.0),
        (levels(*ALL[:4], tests=1.0), 3.0),  # a wrapper
        (levels(*ALL, tests=1.0), 4.0),
        (levels(*ALL, "ignores_aux", tests=1.0), 3.5),
    ],
)
def test_helper_and_main_are_paid_the_same_by_levels(
    facts: dict[str, float], reward: float
) -> None:
    turn = Turn("main_0", 0, {}, "x", judgement=HALF, facts=facts)
    assert paid(helper_main(), turn, "helper_0", "main_0") == pytest.approx(
        {"helper_0": reward, "main_0": reward}
    )


def test_the_helpers_own_turn_pays_nothing() -> None:
    turn = Turn("helper_0", 0, {}, "x")
    assert paid(helper_main(), turn, "helper_0", "main_0") == {"helper_0": 0.0, "main_0": 0.0}
    terms = helper_main()(turn, Episode("t", 0, ("helper_0", "main_0"), (turn,)))
    assert set(terms["helper_0"].values()) == {None}


def test_a_weight_of_zero_leaves_a_level_out() -> None:
    assert "own_work" not in repr(helper_main(own_work=0.0))
