"""Batches: the rows that a policy learns from, out of trees.

    trees, advantages  ->  rows of one agent  ->  mini-batches  ->  micro-batches

A row is one answer: the tokens of its prompt, its own tokens, and how much better it was
than its siblings. Nothing here knows a model.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from corecode_env.algorithms.advantages import AdvantageRule, Floats
from corecode_env.core.episode import Turn
from corecode_env.core.errors import BadConfig
from corecode_env.core.seeding import generator
from corecode_env.core.tree import Tree

LENGTH: Final = "length"
"""The finish reason of an answer that was cut."""


@dataclass(frozen=True, slots=True)
class Row:
    """One answer to learn from."""

    prompt_ids: tuple[int, ...]
    answer_ids: tuple[int, ...]
    sampler_logprobs: tuple[float, ...] | None
    advantage: float


def advantages_of(trees: Sequence[Tree], agent: str, rule: AdvantageRule) -> list[Floats]:
    """Return what a rule gives an agent's turns, tree by tree.

    Raises:
        BadConfig: If it gives another number of values than there are turns, or an
            infinite one.
    """
    found: list[Floats] = []
    for tree in trees:
        values = np.asarray(rule(tree, agent), dtype=np.float64)
        turns = len(tree.indices(agent))
        if values.shape != (turns,) or np.isinf(values).any():
            raise BadConfig(
                f"the advantage rule of {agent} must give one finite value or NaN for each "
                f"of the {turns} turns of {tree.task_id!r}, got {values!r}"
            )
        found.append(values)
    return found


def rows_of(
    trees: Sequence[Tree],
    agent: str,
    advantages: Sequence[Floats],
    *,
    keep_truncated: bool = True,
    stored: Collection[str] = (),
) -> list[Row]:
    """Return what one agent can learn from, in the order of the trees.

    Args:
        trees: The trees.
        agent: Who learns.
        advantages: For each tree one value per turn of the agent; NaN: left out.
        keep_truncated: Whether answers that were cut are learnt from. They count among
            their siblings either way.
        stored: Ids of tasks that start from stored turns, which bring no tokens.

    Raises:
        BadConfig: If a turn has no tokens.
    """
    rows: list[Row] = []
    for tree, values in zip(trees, advantages, strict=True):
        for place, value in zip(tree.indices(agent), values, strict=True):
            turn = tree.nodes[place].turn
            if math.isnan(value) or (turn.token_ids is None and tree.task_id in stored):
                continue
            if keep_truncated or turn.finish_reason != LENGTH:
                rows.append(_row(turn, float(value)))
    return rows


def _row(turn: Turn, advantage: float) -> Row:
    if turn.prompt_ids is None or not turn.token_ids:
        raise BadConfig(
            f"a policy that learns must reply with prompt_ids and token_ids, got none from "
            f"{turn.agent}; see TrainablePolicy"
        )
    return Row(turn.prompt_ids, turn.token_ids, turn.logprobs, advantage)


def mini_batches(number: int, parts: int, seed: int, *path: str | int) -> list[list[int]]:
    """Return which rows go into which update of the weights; every row into one.

    Args:
        number: How many rows there are.
        parts: How many updates; some may be empty.
        seed: Seed of the run.
        *path: What the order is for, such as an agent, a step and an epoch.
    """
    if parts == 1:
        return [list(range(number))]
    order = generator(seed, "mini_batches", *path).permutation(number)
    return [sorted(int(i) for i in part) for part in np.array_split(order, parts)]


def micro_batches(
    rows: Sequence[int], lengths: Sequence[int], size: int
) -> Iterator[list[int]]:
    """Yield rows in small batches, answers of like length together to save padding.

    Args:
        rows: Places of the rows.
        lengths: Tokens of every row, by place.
        size: Rows in a batch, at most.
    """
    by_length = sorted(rows, key=lambda row: (lengths[row], row))
    for start in range(0, len(by_length), size):
        yield by_length[start : start + size]
