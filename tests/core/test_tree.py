"""What a tree promises: shared turns once, rewards of what lies below, nothing lost."""

import json

import numpy as np
import pytest

from corecode_env.core.episode import Turn
from corecode_env.core.tree import Node, Tree
from corecode_env.core.verdict import Judgement, TestResult, Verdict


def plan(text: str) -> Turn:
    return Turn("planner_0", 0, {}, text)


def program(reward: float, verdict: Verdict = Verdict.AC) -> Turn:
    terms = {"planner_0": {"acc": reward / 2}, "coder_0": {"acc": reward}}
    judgement = Judgement("t", (TestResult(verdict),))
    paid = terms if verdict is not Verdict.SE else {}
    return Turn("coder_0", 0, {}, "p", None, judgement, paid)


def tree(*programs: tuple[Turn, int]) -> Tree:
    plans = (Node(plan("a"), None), Node(plan("b"), None))
    nodes = tuple(Node(turn, parent) for turn, parent in programs)
    return Tree("t", 1, ("planner_0", "coder_0"), plans + nodes)


WIDE = tree((program(1.0), 0), (program(0.0), 0), (program(0.5), 1), (program(0.5), 1))


def test_siblings_are_a_group() -> None:
    assert [g.indices for g in WIDE.groups("coder_0")] == [(2, 3), (4, 5)]
    assert [g.indices for g in WIDE.groups("planner_0")] == [(0, 1)]
    assert WIDE.children(0) == [2, 3]
    assert WIDE.leaves() == [2, 3, 4, 5]


def test_a_plan_is_worth_the_mean_of_its_programs() -> None:
    assert WIDE.rewards("planner_0").tolist() == [0.25, 0.25]
    assert WIDE.rewards("coder_0").tolist() == [1.0, 0.0, 0.5, 0.5]


def test_a_sandbox_failure_is_left_out_of_every_mean() -> None:
    broken = program(0.0, Verdict.SE)
    grown = tree((program(1.0), 0), (broken, 0), (broken, 1))
    assert grown.rewards("planner_0")[0] == 0.5
    assert np.isnan(grown.rewards("planner_0")[1])
    assert np.isnan(grown.rewards("coder_0")[1:]).all()
    assert [e.valid for e in grown.episodes()] == [True, False, False]


def test_a_turn_is_worth_what_came_from_it_on() -> None:
    nodes = (Node(program(1.0), None), Node(program(0.25), 0))
    assert Tree("t", 1, ("coder_0",), nodes).rewards("coder_0").tolist() == [1.25, 0.25]


def test_every_leaf_is_an_episode() -> None:
    episodes = WIDE.episodes()
    assert [[t.action for t in e.turns] for e in episodes] == [["a", "p"]] * 2 + [
        ["b", "p"]
    ] * 2
    assert episodes[0].returns == {"planner_0": 0.5, "coder_0": 1.0}


def test_a_tree_survives_json() -> None:
    assert Tree.from_json(json.loads(json.dumps(WIDE.to_json()))) == WIDE
    with pytest.raises(ValueError, match="corecode/tree/1"):
        Tree.from_json({"schema": "x"})


@pytest.mark.parametrize("parent", [0, 1, -1])
def test_a_child_before_its_parent_is_refused(parent: int) -> None:
    with pytest.raises(ValueError, match="before its child"):
        Tree("t", 1, ("coder_0",), (Node(plan("a"), parent),))
