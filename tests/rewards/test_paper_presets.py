"""What the rewards of searching and attacking teams pay, worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.rewards import mars2, solvita

AC, WA = Verdict.AC, Verdict.WA
TEAM = ("planner_0", "oracle_0", "solver_0", "hacker_0")


def judged(*verdicts: Verdict) -> Judgement:
    return Judgement("t", tuple(TestResult(verdict) for verdict in verdicts))


def turn(agent: str, judgement: Judgement | None = None, **facts: float) -> Turn:
    return Turn(agent, 0, {}, "text", judgement=judgement, facts=facts)


def paid(
    last: Turn, before: tuple[Turn, ...] = (), **weights: float
) -> Mapping[str, Mapping[str, float | None]]:
    return solvita(**weights)(last, Episode("t", 0, TEAM, (*before, last)))


# -------------------------------------------------------------------------------------- MARS²
@pytest.mark.parametrize(("verdicts", "value"), [((AC, AC), 1.0), ((AC, WA), 0.0)])
def test_a_node_pays_its_author_one_or_nothing(
    verdicts: tuple[Verdict, ...], value: float
) -> None:
    node = turn("coder_1", judged(*verdicts))
    agents = ("coder_0", "coder_1")
    terms = mars2(agents)(node, Episode("t", 0, agents, (node,)))
    assert terms == {"coder_0": {"solved": None}, "coder_1": {"solved": value}}


# ------------------------------------------------------------------------------------ outcome
@pytest.mark.parametrize(
    ("verdicts", "accepted", "planner", "oracle"),
    [
        ((AC, AC, AC, AC), 1.0, 1.0, 1.0),
        ((AC, AC, AC, AC), 0.0, 1.0, 1.0),
        ((AC, AC, AC, WA), 1.0, 0.25, 0.5),
        ((AC, WA, WA, WA), 1.0, -0.25, -0.5),
        ((AC, AC, AC, WA), 0.0, -1.0, -1.0),
    ],
)
def test_the_end_of_the_loop_pays_by_the_last_program(
    verdicts: tuple[Verdict, ...], accepted: float, planner: float, oracle: float
) -> None:
    program = turn("solver_0", judged(*verdicts), ready=1.0)
    terms = paid(turn("hacker_0", accepted=accepted), (program,))
    assert terms["planner_0"] == terms["solver_0"] == {"outcome": planner}
    assert terms["oracle_0"] == {"outcome": oracle}


def test_a_loop_that_ends_with_a_program_pays_by_it() -> None:
    terms = paid(turn("solver_0", judged(AC, WA), ready=0.0, accepted=0.0))
    assert terms["solver_0"] == {"outcome": -1.0}


def test_no_other_turn_pays_for_the_outcome() -> None:
    terms = paid(turn("solver_0", judged(AC, AC), ready=1.0))
    assert {terms[agent].get("outcome") for agent in TEAM} == {None}


# --------------------------------------------------------------------------------------- hacks
@pytest.mark.parametrize(
    ("numbers", "value"),
    [
        # inputs, failures, valid, breaks, severity
        ((4, 0, 0.5, 0.5, 0.4), 0.2 * 0.5 + 0.6 * 0.5 + 0.2 * 0.4),
        ((1, 0, 1.0, 1.0, 1.0), 1.0),
        ((1, 2, 1.0, 0.0, 0.0), 0.2 - 0.2),
        ((1, 4, 0.0, 0.0, 0.0), -0.3),
        ((0, 0, 0.0, 0.0, 0.0), -0.6),
        ((0, 5, 0.0, 0.0, 0.0), -0.9),
    ],
)
def test_a_hacker_is_paid_by_valid_inputs_breaks_and_severity(
    numbers: tuple[float, ...], value: float
) -> None:
    names = ("hack_inputs", "hack_failures", "valid_ratio", "break_ratio", "severity")
    facts: dict[str, Any] = dict(zip(names, numbers, strict=True))
    terms = paid(turn("hacker_0", **facts))
    assert terms["hacker_0"] == {"hack": pytest.approx(value)}


def test_a_hacker_without_an_oracle_is_not_paid() -> None:
    assert paid(turn("hacker_0", accepted=1.0))["hacker_0"] == {"hack": None}


# --------------------------------------------------------------------------------- certificate
def test_the_certificate_pays_only_where_it_is_asked_for() -> None:
    certified = turn("oracle_0", certificate=-0.7)
    assert paid(certified)["oracle_0"] == {"outcome": None}
    assert paid(certified, certificate=0.5)["oracle_0"]["certificate"] == pytest.approx(-0.35)


def test_a_weight_of_nothing_leaves_its_term_out() -> None:
    rewards = solvita(outcome=0.0, oracle=0.0)
    assert [term.name for term in rewards.terms] == ["hack"]
