"""Episodes: what was said, run and paid, as values.

    environments  ->  Turn, Episode  ->  rewards, records, rollout

Equal episodes compare equal: clock readings inside judgements do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement

EPISODE_SCHEMA: Final = "corecode/episode/1"

ANSWER: Final = "answer"
"""Fact of a judged turn: place in the episode of the turn whose program is the team's answer
by then, where that need not be the latest."""

RewardTerms = Mapping[str, Mapping[str, float | None]]
"""{agent: {term: weighted value}}; None: the term does not apply."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A program taken from an action."""

    program: str
    language: str = "python"
    found: str = "whole text"
    """Where it stood: `whole text`, `fence`, `open fence` or `fence 2 of 3`."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One action of one agent and what came of it."""

    agent: str
    round: int
    """Cycle of the team, from 0."""
    observation: Mapping[str, Any]
    """The text fields (and numbers) that the agent saw."""
    action: str
    submission: Submission | None = None
    judgement: Judgement | None = None
    reward_terms: RewardTerms = field(default_factory=dict)
    """What this turn paid, to whom; a turn may pay others than the one who acted."""
    finish_reason: str | None = None
    """Why generation stopped: `stop`, `length`, ...; None if the agent did not say."""
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    """Log-probability of each token as it was sampled, in nats."""
    prompt_ids: tuple[int, ...] | None = None
    """Tokens of the prompt, as the policy saw them."""
    written: Mapping[str, str] = field(default_factory=dict)
    """What the turn wrote for the team to read, by field, where that is not the action
    itself: what a query found, for example."""
    facts: Mapping[str, float] = field(default_factory=dict)
    """Numbers that the environment found out for reward terms; no agent sees them."""

    def reward(self, agent: str) -> float:
        """Return what this turn paid to an agent; terms that do not apply pay 0."""
        return sum(v for v in self.reward_terms.get(agent, {}).values() if v is not None)

    def to_json(self) -> dict[str, Any]:
        """Return the turn as a JSON object."""
        submission = self.submission
        own = {"written": dict(self.written), "facts": dict(self.facts)}
        return {
            "agent": self.agent,
            "round": self.round,
            "observation": dict(self.observation),
            "action": self.action,
            "submission": submission
            and {
                "program": submission.program,
                "language": submission.language,
                "found": submission.found,
            },
            "judgement": self.judgement and self.judgement.to_json(),
            "reward_terms": {a: dict(terms) for a, terms in self.reward_terms.items()},
            "finish_reason": self.finish_reason,
            "token_ids": None if self.token_ids is None else list(self.token_ids),
            "logprobs": None if self.logprobs is None else list(self.logprobs),
            "prompt_ids": None if self.prompt_ids is None else list(self.prompt_ids),
            # Most teams have neither, and most files are long.
            **{name: value for name, value in own.items() if value},
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Turn:
        """Build a turn from what `to_json` returned."""
        submission, judgement = record["submission"], record["judgement"]
        ids, logprobs = record["token_ids"], record["logprobs"]
        prompt_ids = record.get("prompt_ids")
        return cls(
            agent=record["agent"],
            round=record["round"],
            observation=record["observation"],
            action=record["action"],
            submission=None if submission is None else Submission(**submission),
            judgement=None if judgement is None else Judgement.from_json(judgement),
            reward_terms=record["reward_terms"],
            finish_reason=record["finish_reason"],
            token_ids=None if ids is None else tuple(ids),
            logprobs=None if logprobs is None else tuple(logprobs),
            prompt_ids=None if prompt_ids is None else tuple(prompt_ids),
            written=record.get("written", {}),
            facts=record.get("facts", {}),
        )


@dataclass(frozen=True, slots=True)
class Episode:
    """One played episode.

    Attributes:
        task: The task while it is live; None on an episode read from disk.
        task_id: Its id.
        seed: Seed that `reset` was given, None if none was.
        agents: All agents of the team, in turn order.
        turns: What happened, in order.
        valid: False if the sandbox failed: nothing was rewarded.
        versions: Versions of the package, environment and Python.
    """

    task_id: str
    seed: int | None
    agents: tuple[str, ...]
    turns: tuple[Turn, ...] = ()
    valid: bool = True
    env_id: str = ""
    versions: Mapping[str, str] = field(default_factory=dict, compare=False)
    task: Task | None = field(default=None, compare=False, repr=False)

    @property
    def returns(self) -> dict[str, float]:
        """Sum of rewards per agent."""
        return {a: sum(turn.reward(a) for turn in self.turns) for a in self.agents}

    @property
    def answer(self) -> Turn | None:
        """The turn whose program is the team's answer, None before any.

        The last one that was judged, or the one that it names by the fact `ANSWER`.
        """
        judged = next((turn for turn in reversed(self.turns) if turn.judgement), None)
        if judged is None or ANSWER not in judged.facts:
            return judged
        return self.turns[int(judged.facts[ANSWER])]

    @property
    def judgement(self) -> Judgement | None:
        """The judgement of the team's answer, None if no program was judged."""
        return None if self.answer is None else self.answer.judgement

    def to_json(self) -> dict[str, Any]:
        """Return the episode as one object of the *episodes* file format."""
        return {
            "schema": EPISODE_SCHEMA,
            "env_id": self.env_id,
            "task_id": self.task_id,
            "seed": self.seed,
            "agents": list(self.agents),
            "turns": [turn.to_json() for turn in self.turns],
            "returns": self.returns,
            "valid": self.valid,
            "versions": dict(self.versions),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Episode:
        """Build an episode from what `to_json` returned.

        Raises:
            ValueError: If the record has another schema.
        """
        if record.get("schema") != EPISODE_SCHEMA:
            raise ValueError(
                f"schema must be {EPISODE_SCHEMA!r}, got {record.get('schema')!r}; "
                "read the file with the version that wrote it"
            )
        return cls(
            task_id=record["task_id"],
            seed=record["seed"],
            agents=tuple(record["agents"]),
            turns=tuple(Turn.from_json(turn) for turn in record["turns"]),
            valid=record["valid"],
            env_id=record["env_id"],
            versions=record["versions"],
        )
