"""Trees: many answers to one task, as a value.

    rollout  ->  Tree (nodes with parents), Group (siblings)  ->  algorithms

A plan may have many programs and a program many repairs. Each path from the root to a
leaf is one episode; a node is one turn, shared by every episode that goes through it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.task import Task

TREE_SCHEMA: Final = "corecode/tree/1"


@dataclass(frozen=True, slots=True)
class Node:
    """One turn of a tree."""

    turn: Turn
    parent: int | None
    """Index of the turn before it in `Tree.nodes`; None where the episode begins."""


@dataclass(frozen=True, slots=True)
class Group:
    """Answers of one agent to the same question: the unit that GRPO compares within."""

    agent: str
    parent: int | None
    """The node that they all follow; None where the episode begins."""
    indices: tuple[int, ...]
    """Their places in `Tree.nodes`."""


@dataclass(frozen=True, slots=True)
class Tree:
    """All answers to one task that grew from one reset.

    Attributes:
        task_id: Id of the task.
        seed: Seed of the tree; every answer's seed derives from it.
        agents: All agents of the team, in turn order.
        nodes: The turns; a parent stands before its children.
        index: Place of the task among those that were asked for, from 0.
        env_id: The environment.
        versions: Versions of the package, environment and Python.
        task: The task while it is live; None on a tree read from disk.

    Raises:
        ValueError: If a parent does not stand before its child.
    """

    task_id: str
    seed: int
    agents: tuple[str, ...]
    nodes: tuple[Node, ...] = ()
    index: int = 0
    env_id: str = ""
    versions: Mapping[str, str] = field(default_factory=dict, compare=False)
    task: Task | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse nodes that no walk from the root could reach."""
        for place, node in enumerate(self.nodes):
            if node.parent is not None and not 0 <= node.parent < place:
                raise ValueError(
                    f"a parent must stand before its child, got {node.parent} for node {place}"
                )

    # ------------------------------------------------------------------------ structure
    def indices(self, agent: str) -> list[int]:
        """Return the places of an agent's turns, in order."""
        return [i for i, node in enumerate(self.nodes) if node.turn.agent == agent]

    def children(self, index: int | None) -> list[int]:
        """Return the places of the turns that follow a node; None: those that begin."""
        return [i for i, node in enumerate(self.nodes) if node.parent == index]

    def leaves(self) -> list[int]:
        """Return the places of the last turns of all episodes."""
        parents = {node.parent for node in self.nodes}
        return [i for i in range(len(self.nodes)) if i not in parents]

    def path(self, index: int) -> list[int]:
        """Return the places from the first turn to this one."""
        path: list[int] = []
        place: int | None = index
        while place is not None:
            path.append(place)
            place = self.nodes[place].parent
        return path[::-1]

    def groups(self, agent: str) -> list[Group]:
        """Return an agent's turns, siblings together, in order of first appearance."""
        siblings: dict[int | None, list[int]] = {}
        for i in self.indices(agent):
            siblings.setdefault(self.nodes[i].parent, []).append(i)
        return [Group(agent, parent, tuple(found)) for parent, found in siblings.items()]

    # -------------------------------------------------------------------------- rewards
    def is_valid(self, leaf: int) -> bool:
        """Return whether the sandbox worked in the whole episode that ends in a leaf."""
        judged = (self.nodes[i].turn.judgement for i in self.path(leaf))
        return all(judgement is None or judgement.valid for judgement in judged)

    def rewards(self, agent: str) -> NDArray[np.float64]:
        """Return what each turn of an agent led to.

        The value of a turn is the sum of what the agent was paid from that turn on, in the
        mean over the episodes that go through it and in which the sandbox worked.

        Returns:
            One value per turn, in the order of `indices(agent)`; NaN where the sandbox
            failed in every episode below.
        """
        sums = np.zeros(len(self.nodes))
        counts = np.zeros(len(self.nodes))
        for leaf in self.leaves():
            if not self.is_valid(leaf):
                continue
            paid = 0.0
            for place in reversed(self.path(leaf)):
                paid += self.nodes[place].turn.reward(agent)
                sums[place] += paid
                counts[place] += 1
        means = np.full(len(self.nodes), math.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        values: NDArray[np.float64] = means[self.indices(agent)]
        return values

    def episodes(self) -> list[Episode]:
        """Return one episode for each leaf, in order."""
        return [
            Episode(
                task_id=self.task_id,
                seed=self.seed,
                agents=self.agents,
                turns=tuple(self.nodes[i].turn for i in self.path(leaf)),
                valid=self.is_valid(leaf),
                env_id=self.env_id,
                versions=self.versions,
                task=self.task,
            )
            for leaf in self.leaves()
        ]

    # ----------------------------------------------------------------------------- JSON
    def to_json(self) -> dict[str, Any]:
        """Return the tree as one JSON object."""
        return {
            "schema": TREE_SCHEMA,
            "env_id": self.env_id,
            "task_id": self.task_id,
            "seed": self.seed,
            "index": self.index,
            "agents": list(self.agents),
            "nodes": [
                {"parent": node.parent, "turn": node.turn.to_json()} for node in self.nodes
            ],
            "versions": dict(self.versions),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Tree:
        """Build a tree from what `to_json` returned.

        Raises:
            ValueError: If the record has another schema.
        """
        if record.get("schema") != TREE_SCHEMA:
            raise ValueError(
                f"schema must be {TREE_SCHEMA!r}, got {record.get('schema')!r}; read the "
                "file with the version that wrote it"
            )
        return cls(
            task_id=record["task_id"],
            seed=record["seed"],
            agents=tuple(record["agents"]),
            nodes=tuple(
                Node(Turn.from_json(node["turn"]), node["parent"]) for node in record["nodes"]
            ),
            index=record["index"],
            env_id=record["env_id"],
            versions=record["versions"],
        )
