"""Branching: one tree grows, turn by turn, from one reset.

environment, answers  ->  Growth  ->  Tree
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pettingzoo.utils.env import AECEnv

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import BadConfig
from corecode_env.core.names import role_of
from corecode_env.core.registry import unknown_name
from corecode_env.core.seams import Reply, Request
from corecode_env.core.seeding import derive_seed
from corecode_env.core.task import Task
from corecode_env.core.tree import Node, Tree
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.forking import fork
from corecode_env.rollout.play import annotated, paid_terms

Path = tuple[int, ...]
"""Which sample was taken at each turn from the root; names one node of a tree."""


def check_samples(samples: Mapping[str, int], agents: Sequence[str]) -> dict[str, int]:
    """Return how many answers each agent gives to one question, 1 where nothing is said.

    Raises:
        UnknownName: If a key is neither an agent nor a role here.
        BadConfig: If a number is not a whole number of at least 1.
    """
    known = [*agents, *(role_of(agent) for agent in agents)]
    for name, number in samples.items():
        if name not in known:
            raise unknown_name("an agent or role here", name, sorted(set(known)))
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise BadConfig(
                f"samples[{name!r}] must be a whole number of at least 1, got {number!r}"
            )
    return {a: samples.get(a, samples.get(role_of(a), 1)) for a in agents}


@dataclass(slots=True)
class Growth:
    """A tree that is growing: each turn by its path."""

    task: str | Task
    index: int
    seed: int
    """Seed of this tree alone."""
    turns: dict[Path, Turn] = field(default_factory=dict)

    def tree(self, episode: Episode) -> Tree:
        """Return the finished tree: parents first, siblings in the order of their samples.

        Args:
            episode: Any episode of the tree, for what they have in common.
        """
        order = sorted(self.turns, key=lambda path: (len(path), path))
        places = {path: place for place, path in enumerate(order)}
        return Tree(
            task_id=episode.task_id,
            seed=self.seed,
            agents=episode.agents,
            nodes=tuple(Node(self.turns[path], places.get(path[:-1])) for path in order),
            index=self.index,
            env_id=episode.env_id,
            versions=episode.versions,
            task=episode.task,
        )


@dataclass(slots=True)
class Seat:
    """One episode under way: an environment, and where in the tree it stands."""

    env: AECEnv[str, Any, Any]
    path: Path = ()

    @property
    def engine(self) -> TeamEnv:
        """The engine below all wrappers."""
        engine = self.env.unwrapped
        assert isinstance(engine, TeamEnv), "collect checks it"
        return engine

    def bury_the_dead(self) -> None:
        """Step agents that are done, as PettingZoo asks for."""
        while self.env.agents:
            agent = self.env.agent_selection
            if not (self.env.terminations[agent] or self.env.truncations[agent]):
                return
            self.env.step(None)

    @property
    def live(self) -> bool:
        """Whether somebody is to speak."""
        return bool(self.env.agents)

    def branch(self, samples: Mapping[str, int]) -> list[Seat]:
        """Return one seat for each answer that is wanted here.

        An agent answers several times on its first turn of an episode only, so that trees
        stay as wide as `samples` says however many rounds are played.
        """
        agent = self.env.agent_selection
        spoken = any(turn.agent == agent for turn in self.engine.episode.turns)
        number = 1 if spoken else samples[agent]
        if number == 1:
            return [Seat(self.env, (*self.path, 0))]
        return [Seat(env, (*self.path, i)) for i, env in enumerate(fork(self.env, number))]

    def request(self, seed: int) -> Request:
        """Return the turn to play as its agent is asked for it."""
        observation, *_ = self.env.last()
        assert observation is not None, "last() observes by default"
        request = self.engine.request(self.env.agent_selection).seeing(observation)
        return replace(request, seed=derive_seed(seed, *self.path, request.agent))

    def step(self, reply: Reply) -> Turn:
        """Play an answer; blocks while a program is judged."""
        self.env.step(reply.text)
        turn = annotated(self.engine.episode.turns[-1], reply, paid_terms(self.env))
        self.bury_the_dead()
        return turn
