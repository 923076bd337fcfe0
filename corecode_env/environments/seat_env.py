"""Seat view: one agent's game as a Gymnasium environment, the others played by partners.

action  ->  SeatEnv  ->  AEC environment  <->  partners
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import gymnasium
from pettingzoo.utils.env import AECEnv

from corecode_env.core.calling import ObservationFunction, as_agent
from corecode_env.core.errors import BadConfig, EpisodeError, ExecutorError
from corecode_env.core.messages import fenced
from corecode_env.core.registry import unknown_name
from corecode_env.core.seams import Agent, Reply
from corecode_env.core.task import Task
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.registration import load
from corecode_env.environments.team import Role

Partner = Agent | ObservationFunction
"""An agent, or a function from an observation to a text."""


class SeatEnv(gymnasium.Env[dict[str, Any], str]):
    """One seat of a team; an episode of it is one of the whole team.

    The reward of a step is all that the seat was paid since its last action, and what was
    paid before its first action comes with the first step.
    """

    # What `gymnasium.make` looks at before there is an instance; all environments share it.
    metadata: dict[str, Any] = {"render_modes": ["ansi", "human"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        env: AECEnv[str, dict[str, Any], str | None],
        seat: str | None = None,
        partners: Mapping[str, Partner] | None = None,
    ) -> None:
        """Take a seat.

        Args:
            env: A `TeamEnv`, wrapped or not.
            seat: The agent to be played from outside; may be left out if there is one.
            partners: Who plays the others; whom it does not name answers with the task's
                reference plan or program.

        Raises:
            UnknownName: If the seat or a partner's is not in the team.
            BadConfig: If the seat is left open, or given to a partner as well, or a
                partner is no agent.
        """
        agents = list(env.possible_agents)
        if seat is None:
            if len(agents) > 1:
                raise BadConfig(
                    f"seat must be one of {', '.join(agents)}, got none; pass "
                    f"seat={agents[-1]!r}"
                )
            seat = agents[0]
        if seat not in agents:
            raise unknown_name("a seat of this team", seat, agents)
        for agent in partners or {}:
            if agent not in agents:
                raise unknown_name("a seat of this team", agent, agents)
            if agent == seat:
                raise BadConfig(
                    f"partners must not play the seat itself, got one for {seat!r}; leave "
                    "it out"
                )
        self.team_env = env
        self.seat = seat
        self.partners: dict[str, Agent] = {
            agent: as_agent(partner) for agent, partner in (partners or {}).items()
        }
        self.observation_space = env.observation_space(seat)
        self.action_space = cast("gymnasium.Space[str]", env.action_space(seat))
        self.metadata = {**env.metadata}
        self.render_mode = self.engine.render_mode
        self._paid_early = 0.0
        self._early_terms: dict[str, float] = {}

    def replace_game(
        self, wrap: Callable[[AECEnv[str, dict[str, Any], str | None]], Any]
    ) -> None:
        """Put a wrapper around the game inside; an episode under way is lost."""
        self.team_env = wrap(self.team_env)
        self.observation_space = self.team_env.observation_space(self.seat)
        self.action_space = cast("gymnasium.Space[str]", self.team_env.action_space(self.seat))

    @property
    def engine(self) -> TeamEnv:
        """The engine inside, with `episode`, `judgement` and `messages`."""
        return cast(TeamEnv, self.team_env.unwrapped)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode, and let partners play until it is the seat's turn.

        Args:
            seed: See `TeamEnv.reset`.
            options: See `TeamEnv.reset`.

        Raises:
            EpisodeError: If a partner's turn ends the episode before the seat's first.
            ExecutorError: If the sandbox fails before it.
        """
        super().reset(seed=seed)
        self.team_env.reset(seed=seed, options=options)
        self._let_partners_play()
        observation, reward, terminated, truncated, info = self.team_env.last()
        if truncated:
            raise ExecutorError(
                f"the sandbox failed before the first turn of {self.seat!r}; reset again"
            )
        if terminated:
            raise EpisodeError(
                f"the seat {self.seat!r} must get a turn, got an episode that its partners "
                "ended before; choose other partners, tasks or an earlier seat"
            )
        self._paid_early = float(reward)
        self._early_terms = dict(info["reward_terms"])
        return cast("dict[str, Any]", observation), _copied(info)

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Play the seat's action, then partners until it is the seat's turn again.

        Raises:
            TypeError: If the action is not a string.
            EpisodeError: If the episode is over.
        """
        if not self._is_live():
            raise EpisodeError(
                f"step must follow reset, got a step of {self.seat!r} when its episode is "
                "over; call reset()"
            )
        self.team_env.step(action)
        self._let_partners_play()
        observation, reward, terminated, truncated, info = self.team_env.last()
        reward, info = float(reward), _copied(info)
        if info["reward_valid"]:
            reward += self._paid_early
            for name, value in self._early_terms.items():
                terms = info["reward_terms"]
                terms[name] = terms.get(name, 0.0) + value
        self._paid_early, self._early_terms = 0.0, {}
        return cast("dict[str, Any]", observation), reward, terminated, truncated, info

    def _is_live(self) -> bool:
        env = self.team_env
        return (
            self.seat in self.engine.agents
            and env.agent_selection == self.seat
            and not (env.terminations[self.seat] or env.truncations[self.seat])
        )

    def _let_partners_play(self) -> None:
        """Play everybody else until the seat is next, alive or done."""
        env = self.team_env
        while (agent := env.agent_selection) != self.seat:
            done = env.terminations[agent] or env.truncations[agent]
            env.step(None if done else self._answer(agent))

    def _answer(self, agent: str) -> str:
        partner = self.partners.get(agent)
        if partner is None:
            return reference_answer(self.engine.task, self.engine.role_of(agent))
        return ask_partner(partner, self.team_env, agent)

    def render(self) -> Any:
        """Show the episode; see `TeamEnv.render`."""
        return self.team_env.render()

    def close(self) -> None:
        """Close the environment inside."""
        self.team_env.close()


def ask_partner(
    partner: Agent, game: AECEnv[str, dict[str, Any], str | None], agent: str
) -> str:
    """Return what a partner says in an agent's place.

    Args:
        partner: Who is asked.
        game: The game, with the wrappers that may change what agents see.
        agent: Whose turn it is.
    """
    observation = game.observe(agent)
    assert observation is not None, "an agent that is to act sees something"
    request = cast(TeamEnv, game.unwrapped).request(agent).seeing(observation)
    reply = partner.act([request])[0]
    # Where actions are numbers, functions answer with numbers.
    return reply.text if isinstance(reply, Reply) else reply


def reference_answer(task: Task, role: Role) -> str:
    """Return what the task's own author would say in a seat.

    Args:
        task: The task.
        role: The seat. If it plans or writes a note and nobody wrote down what it should
            say, the answer says so, which leaves the task itself to whoever reads it.

    Raises:
        EpisodeError: If the task has no reference for a seat that needs one.
    """
    if role.reference is not None:
        answer = role.reference(task)
    elif role.acts == "program":
        program = task.reference_program
        answer = None if program is None else fenced(program.rstrip()) + "\n"
    else:
        plan = task.reference_plan if role.acts == "plan" else None
        name = (*role.fields, role.acts)[0]
        answer = plan or f"No {name} was written down; follow the problem's text."
    if answer is None:
        raise EpisodeError(
            f"the default partner must know a reference program, got none in {task.id!r}; "
            "pass partners={...}, or choose tasks that have one"
        )
    return answer


def _copied(info: dict[str, Any]) -> dict[str, Any]:
    return {**info, "reward_terms": dict(info["reward_terms"])}


def make_seat(
    env_id: str,
    seat: str | None = None,
    partners: Mapping[str, Partner] | None = None,
    **options: Any,
) -> SeatEnv:
    """Make a seat view of an environment.

    Args:
        env_id: Id of the environment, such as `planner_coder_v0`.
        seat: The agent to be played from outside.
        partners: Who plays the others; by default the task's reference.
        **options: Arguments of the environment.
    """
    return SeatEnv(load(env_id).env(**options), seat, partners)
