"""Step metrics: what the trees of one step showed, as numbers.

trees, advantages  ->  {name: number}
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from corecode_env.algorithms.advantages import Floats
from corecode_env.algorithms.batches import LENGTH
from corecode_env.core.tree import Tree
from corecode_env.core.verdict import TestResult

Metrics = dict[str, float]


def outcome(trees: Sequence[Tree]) -> Metrics:
    """Return how the episodes ended.

    Episodes in which the sandbox failed are counted and otherwise left out.
    """
    episodes = [episode for tree in trees for episode in tree.episodes()]
    valid = [episode for episode in episodes if episode.valid]
    judged = [e.judgement for e in valid if e.judgement is not None]
    return {
        "episodes": len(episodes),
        "sandbox_errors": len(episodes) - len(valid),
        # An episode that ended without a program is unsolved, not left out.
        "solved": _mean([float(j.passed) for j in judged], len(valid)),
        "pass_rate": _mean([j.pass_rate for j in judged], len(valid)),
        "seconds/judge": sum(result.wall_seconds for result in _results(trees)),
    }


def evaluation_of(trees: Sequence[Tree], step: int) -> Metrics:
    """Return how an evaluation went, as `summary.json` has it."""
    seen = outcome(trees)
    return {
        "step": step,
        "pass@1": seen["solved"],
        "pass_rate": seen["pass_rate"],
        "sandbox_errors": seen["sandbox_errors"],
    }


def eval_metrics(found: Metrics) -> Metrics:
    """Return the same as a line of metrics has it."""
    return {f"eval/{name}": value for name, value in found.items() if name != "step"}


def _results(trees: Sequence[Tree]) -> Iterator[TestResult]:
    for tree in trees:
        for node in tree.nodes:
            if node.turn.judgement is not None:
                yield from node.turn.judgement.results


def answers(trees: Sequence[Tree], agent: str) -> Metrics:
    """Return what one agent said and earned."""
    turns = [tree.nodes[i].turn for tree in trees for i in tree.indices(agent)]
    tokens = [len(turn.token_ids) for turn in turns if turn.token_ids is not None]
    paid = [float(r) for tree in trees for r in tree.rewards(agent) if not math.isnan(r)]
    return {
        f"{agent}/reward": _mean(paid),
        f"{agent}/tokens": _mean(tokens),
        f"{agent}/chars": _mean([len(turn.action) for turn in turns]),
        f"{agent}/truncated": sum(turn.finish_reason == LENGTH for turn in turns),
    }


def flat_groups(trees: Sequence[Tree], advantages: Sequence[Floats], agent: str) -> float:
    """Return the share of an agent's groups from which nothing can be learnt.

    Args:
        trees: The trees.
        advantages: For each tree one value per turn of the agent.
        agent: Who.
    """
    flat: list[float] = []
    for tree, values in zip(trees, advantages, strict=True):
        place = {index: i for i, index in enumerate(tree.indices(agent))}
        for group in tree.groups(agent):
            members = [float(values[place[index]]) for index in group.indices]
            flat.append(float(all(math.isnan(v) or v == 0.0 for v in members)))
    return _mean(flat)


def _mean(values: Sequence[float], number: int | None = None) -> float:
    number = len(values) if number is None else number
    return sum(values) / number if number else 0.0
