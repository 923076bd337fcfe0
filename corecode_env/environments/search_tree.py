r"""Search trees: programs that were tried for one task, and which came from which.

    turns of an episode  ->  SearchTree (nodes with parents, scores, rewards)
    text of a coder      ->  Choice (which node to go on from)

A tree is read off the turns: it is no state of its own, so stored turns, forks and records
all bring it with them. Nodes are numbered from 0 in the order in which they were made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from corecode_env.core.episode import Turn
from corecode_env.core.messages import fenced, fenced_blocks
from corecode_env.core.verdict import Judgement, Verdict

NODE: Final = "node"
PARENT: Final = "parent"
SCORE: Final = "score"
"""Facts of a turn that made a node: its number, its parent's (`NO_PARENT`: started anew), and
its public score (left out if the task has no public tests)."""
NO_PARENT: Final = -1.0

NEW: Final = "new"
PASS: Final = "pass"
_GAP: Final = "\n\n"
_HEADER: Final = re.compile(rf"node:[ \t]*({NEW}|{PASS}|0|[1-9][0-9]{{0,5}})[ \t]*")


@dataclass(frozen=True, slots=True)
class SearchNode:
    """One program that was tried."""

    number: int
    parent: int | None
    """The node that it goes on from; None: started anew."""
    agent: str
    plan: str
    """What its author wrote before the program; may be empty."""
    program: str
    score: float | None
    """Public score: fraction of public tests passed, or mean score of a scored task; None
    without public tests."""
    reward: float
    """What its author was paid for it: raw, not shaped, hidden tests included."""
    turn: int
    """Place of its turn in the episode."""
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class SearchTree:
    """All nodes of an episode, a parent always before its children."""

    nodes: tuple[SearchNode, ...] = ()

    @property
    def parents(self) -> tuple[int | None, ...]:
        """Parent of each node; None: started anew."""
        return tuple(node.parent for node in self.nodes)

    @property
    def agents(self) -> tuple[str, ...]:
        """Author of each node."""
        return tuple(node.agent for node in self.nodes)

    @property
    def scores(self) -> tuple[float | None, ...]:
        """Public score of each node."""
        return tuple(node.score for node in self.nodes)

    @property
    def rewards(self) -> tuple[float, ...]:
        """Raw reward of each node, as its author was paid."""
        return tuple(node.reward for node in self.nodes)

    def children(self, number: int | None) -> tuple[int, ...]:
        """Return the nodes that go on from a node; None: those that were started anew."""
        return tuple(node.number for node in self.nodes if node.parent == number)

    @property
    def best(self) -> SearchNode | None:
        """The team's answer: the node of the best public score, the earliest of equals."""
        return max(self.nodes, key=_public_score, default=None)

    def by_score(self) -> list[SearchNode]:
        """Return the nodes, best public score first, the latest of equals first."""
        return sorted(self.nodes, key=lambda node: (-_public_score(node), -node.number))


def _public_score(node: SearchNode) -> float:
    return float("-inf") if node.score is None else node.score


def search_tree(turns: Sequence[Turn]) -> SearchTree:
    """Read the tree off an episode's turns, live or from a record."""
    nodes: list[SearchNode] = []
    for place, turn in enumerate(turns):
        if NODE not in turn.facts or turn.submission is None or turn.judgement is None:
            continue
        parent = turn.facts[PARENT]
        nodes.append(
            SearchNode(
                number=int(turn.facts[NODE]),
                parent=None if parent == NO_PARENT else int(parent),
                agent=turn.agent,
                plan=plan_of(turn.action),
                program=turn.submission.program,
                score=turn.facts.get(SCORE),
                reward=turn.reward(turn.agent),
                turn=place,
                judgement=turn.judgement,
            )
        )
    return SearchTree(tuple(nodes))


def public_score(judgement: Judgement, *, scored: bool) -> float | None:
    """Return how good a program looks to those who may see public tests only.

    Args:
        judgement: The program's.
        scored: Whether the task is of a kind that is scored (`optimize`).

    Returns:
        Fraction of public tests passed, or the mean of their scores; None without any.
    """
    if not scored:
        return judgement.public_pass_rate
    public = [result for result in judgement.results if result.public]
    scores = [(r.score or 0.0) if r.verdict is Verdict.AC else 0.0 for r in public]
    return sum(scores) / len(scores) if scores else None


# -------------------------------------------------------------------------------- choosing
@dataclass(frozen=True, slots=True)
class Choice:
    """What the first line of a coder's text says.

    Attributes:
        parent: The node to go on from; None: start anew.
        passes: Whether the coder leaves this turn to the others.
        rest: The text below the line.
    """

    parent: int | None = None
    passes: bool = False
    rest: str = ""


def read_choice(text: str, n_nodes: int) -> Choice | str:
    r"""Read the line that says which node a text goes on from.

    It must be the first line that is not blank, in exactly this form: `node: new`, `node: 3`
    or `node: pass`; only white space around it is free.

    Args:
        text: What the coder wrote.
        n_nodes: How many nodes there are.

    Returns:
        The choice; or, if the line is no such line, what is wrong with it.

    >>> read_choice("node: 0\n```python\nprint(1)\n```", 1).parent
    0
    """
    head, rest = _first_line(text)
    match = _HEADER.fullmatch(head)
    if match is None:
        shown = head if len(head) <= 60 else head[:57] + "..."
        return f"The first line must be {_forms(n_nodes)}, got {shown!r}."
    word = match[1]
    if word in (NEW, PASS):
        return Choice(passes=word == PASS, rest=rest)
    if int(word) >= n_nodes:
        return f"There is no node {word} yet: the first line must be {_forms(n_nodes)}."
    return Choice(parent=int(word), rest=rest)


def _first_line(text: str) -> tuple[str, str]:
    head, _, rest = text.replace("\r\n", "\n").lstrip().partition("\n")
    return head.rstrip(), rest


def _forms(n_nodes: int) -> str:
    if n_nodes == 0:
        return "'node: new'"
    known = "0" if n_nodes == 1 else f"0 to {n_nodes - 1}"
    return f"'node: new', or 'node: N' with N a node ({known})"


def plan_of(text: str) -> str:
    """Return the words between the first line and the first fence; empty without a fence."""
    _, rest = _first_line(text)
    blocks = fenced_blocks(rest)
    return rest[: blocks[0].start].strip() if blocks else ""


# ------------------------------------------------------------------------------- what is seen
def summary(
    tree: SearchTree,
    *,
    budget: int,
    scored: bool,
    report: Callable[[Judgement], str],
    max_chars: int,
) -> str:
    """Write down what coders may know of a tree, as much of it as fits.

    First one line a node, in order; then plan, program and report of the best nodes, each of
    them whole. Of equals, and where nothing may be told of them, the latest come first.

    Args:
        tree: The tree.
        budget: How many nodes it may have.
        scored: Whether the task is of a kind that is scored.
        report: What the team may be told of a judgement; empty: nothing.
        max_chars: Longest text, in characters.
    """

    def told(node: SearchNode) -> str:
        # Without public tests there is nothing to say of any node.
        return "" if node.score is None else report(node.judgement)

    best = tree.best
    ranked = best is not None and bool(told(best))
    lines = [f"Nodes: {len(tree.nodes)} of {budget}."]
    lines += [_line(node, told(node), scored=scored) for node in tree.nodes]
    if best is not None and ranked:
        lines.append(f"Best so far: node {best.number}.")
    parts = ["\n".join(lines)]
    left = max_chars - len(parts[0])
    left_out = []
    # The order would tell what no report does.
    for node in tree.by_score() if ranked else reversed(tree.nodes):
        shown = _in_full(node, told(node))
        if len(shown) + len(_GAP) > left:
            left_out.append(node.number)
            continue
        parts.append(shown)
        left -= len(shown) + len(_GAP)
    if left_out:
        parts.append(f"Too long to show: node {', '.join(map(str, sorted(left_out)))}.")
    return _GAP.join(parts)[:max_chars]


def _line(node: SearchNode, news: str, *, scored: bool) -> str:
    origin = "anew" if node.parent is None else f"from node {node.parent}"
    head = f"node {node.number} ({origin}, by {node.agent})"
    if not news:
        return head
    score = f" Score {node.score:g}." if scored else ""
    return f"{head}: {news.splitlines()[0]}{score}"


def _in_full(node: SearchNode, news: str) -> str:
    parts = [f"Node {node.number}.", node.plan, fenced(node.program), news]
    return "\n".join(part for part in parts if part)
