"""Play: one episode, from reset to the last word.

AEC environment, {agent or role: Agent}  ->  Episode
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pettingzoo.utils.env import AECEnv

from corecode_env.core.calling import ObservationFunction, as_agent
from corecode_env.core.episode import Episode, RewardTerms, Turn
from corecode_env.core.errors import BadConfig, EpisodeError
from corecode_env.core.names import role_of
from corecode_env.core.seams import Agent, Reply, Request
from corecode_env.environments.engine import TeamEnv

Players = Mapping[str, Agent | ObservationFunction]
"""Who plays, by agent (`coder_0`) or role (`coder`); an agent's name goes before its role."""


def play(
    env: AECEnv[str, Any, Any],
    agents: Players,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
) -> Episode:
    """Play one episode and return its record.

    The environment stays open. Wrappers around it have their say: agents see the wrapped
    observations, and the record holds what the engine saw and what the wrappers paid.

    Args:
        env: An AEC environment of this package, wrapped or not.
        agents: Who plays. A function from one observation to a text is an agent too.
        seed: Seed of the episode; None goes on from the last one.
        options: Options of `reset`: `task`, `prefix`.

    Raises:
        BadConfig: If the environment is no team, an agent of it has nobody to play it, or
            what is to play it is no agent.
        EpisodeError: If an agent does not give exactly one answer.
    """
    engine = env.unwrapped
    if not isinstance(engine, TeamEnv):
        raise BadConfig(
            f"play needs an AEC environment of this package, got {type(engine).__name__}; "
            "make one with planner_coder_v0.env(...)"
        )
    players = cast_players(engine.possible_agents, agents)
    env.reset(seed=seed, options=options)
    replies: list[Reply] = []
    paid: list[RewardTerms] = []
    while env.agents:
        agent = env.agent_selection
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        assert observation is not None, "last() observes by default"
        request = engine.request(agent).seeing(observation)
        (reply,) = ask(players[agent], [request])
        replies.append(reply)
        env.step(reply.text)
        paid.append(paid_terms(env))
    return _with_replies(engine.episode, replies, paid)


def cast_players(names: Sequence[str], agents: Players) -> dict[str, Agent]:
    """Return who plays each agent of an environment.

    Raises:
        BadConfig: If somebody is missing, or is no agent.
    """
    players: dict[str, Agent] = {}
    for name in names:
        key = name if name in agents else role_of(name)
        if key not in agents:
            raise BadConfig(
                f"agents must name who plays {name!r}, got {sorted(agents)}; add "
                f"{role_of(name)!r}: an agent, such as ReferenceAgent()"
            )
        players[name] = as_agent(agents[key])
    return players


def ask(agent: Agent, requests: Sequence[Request]) -> list[Reply]:
    """Return an agent's answers, one for each request.

    Raises:
        EpisodeError: If it does not give exactly one text for each.
    """
    try:
        answers = agent.act(requests)
    except StopIteration as error:
        # Let through, it would end whatever generator stands above without a word.
        raise EpisodeError(f"{requests[0].agent} must answer, got StopIteration") from error
    return checked_replies(answers, requests)


def checked_replies(answers: object, requests: Sequence[Request]) -> list[Reply]:
    """Return what an agent answered, if it is one text or Reply for each request.

    Raises:
        EpisodeError: If it is anything else.
    """
    who, number = requests[0].agent, len(requests)
    if isinstance(answers, str) or not isinstance(answers, Sequence) or len(answers) != number:
        raise EpisodeError(
            f"{who} must answer each request with one text, got {answers!r} for {number} "
            f"request{'s' if number > 1 else ''}; return a list of {number}"
        )
    replies: list[Reply] = []
    for answer in answers:
        if not isinstance(answer, str | Reply):
            raise EpisodeError(
                f"{who} must answer with a text or a Reply, got {type(answer).__name__}; "
                "return str(...)"
            )
        replies.append(Reply(answer) if isinstance(answer, str) else answer)
    return replies


def paid_terms(env: AECEnv[str, Any, Any]) -> RewardTerms:
    """Return what the last step of an environment paid, wrappers included.

    The engine's record of the turn is the base, since it names the terms that did not apply
    too; where the sandbox failed nothing was paid.
    """
    engine = cast(TeamEnv, env.unwrapped)
    turn = engine.episode.turns[-1]
    if turn.judgement is not None and not turn.judgement.valid:
        return turn.reward_terms
    paid: Mapping[str, Mapping[str, float]] = env.turn_terms  # type: ignore[attr-defined]
    agents = dict.fromkeys([*turn.reward_terms, *paid])
    return {a: {**turn.reward_terms.get(a, {}), **paid.get(a, {})} for a in agents}


def _with_replies(
    episode: Episode, replies: Sequence[Reply], paid: Sequence[RewardTerms]
) -> Episode:
    """Return the episode with what agents said about their generation, and were paid."""
    # Turns of a prefix were not generated here, and stand first.
    stored = len(episode.turns) - len(replies)
    played = (
        annotated(turn, reply, terms)
        for turn, reply, terms in zip(episode.turns[stored:], replies, paid, strict=True)
    )
    return replace(episode, turns=(*episode.turns[:stored], *played))


def annotated(turn: Turn, reply: Reply, paid: RewardTerms) -> Turn:
    """Return a turn with what its agent said about the generation, and what it paid."""
    return replace(
        turn,
        reward_terms=paid,
        finish_reason=reply.finish_reason,
        token_ids=reply.token_ids,
        logprobs=reply.logprobs,
        prompt_ids=reply.prompt_ids,
    )
