"""Engine: plays a team of text agents in turns, judges programs, pays rewards.

    Task  ->  TeamEnv  ->  Request, observation  ->  agents
                 ^                                     |
                 +------------- text action -----------+

One engine runs every environment of the package; an environment is a `Team` with defaults.
The engine knows nothing of learning, and of a task's hidden tests it sees only what the
executor makes of them: a judgement, from which rewards are paid. The file is long because
the life of an episode reads best from top to bottom in one place.
"""

from __future__ import annotations

import operator
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import logger, spaces
from pettingzoo.utils.env import AECEnv

from corecode_env import __version__
from corecode_env.core.episode import Episode, RewardTerms, Turn
from corecode_env.core.errors import BadConfig, EpisodeError, ExecutorError
from corecode_env.core.messages import extract_program
from corecode_env.core.seams import Executor, Request
from corecode_env.core.seeding import derive_seed, generator
from corecode_env.core.spaces import UnicodeText, clean_text
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement
from corecode_env.environments.acts import Outcome, Scene, WatchedJudge
from corecode_env.environments.brief import Brief, brief_of
from corecode_env.environments.feedback import FEEDBACK, Feedback, feedback_text
from corecode_env.environments.judge_service import JudgeService
from corecode_env.environments.options import (
    DEFAULT_MAX_CHARS,
    MIN_MAX_CHARS,
    RENDER_MODES,
    STOPS,
    Stop,
    as_rewards,
    check_reset_options,
    one_of,
    read_prefix,
    whole_number,
)
from corecode_env.environments.task_source import TaskSource
from corecode_env.environments.team import Role, Team
from corecode_env.environments.templates import Prompts
from corecode_env.environments.views import (
    KNOWN_TO_TEAM,
    OBSERVED,
    empty_board,
    space_of,
    state_of,
    view_of,
)
from corecode_env.rewards import RewardFunction, Rewards, Term

_BRIEFS_KEPT: Final = 256


class TeamEnv(AECEnv[str, dict[str, Any], str | None]):
    """A team of agents that solves a task in text, one turn at a time."""

    metadata: dict[str, Any] = {  # noqa: RUF012  PettingZoo's annotation
        "name": "team",
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        team: Team,
        *,
        tasks: str | Path | Sequence[Task] = "pipelines/1",
        split: str = "train",
        rewards: Rewards | Iterable[Term | RewardFunction] | None = None,
        executor: Executor | None = None,
        max_cycles: int = 1,
        feedback: Feedback = "public",
        stop: Stop = "public",
        prompts: Mapping[str, Path] | None = None,
        max_chars: int = DEFAULT_MAX_CHARS,
        render_mode: str | None = None,
    ) -> None:
        """Check every argument, load the tasks and read the prompts; run nothing.

        Args:
            team: Who plays.
            tasks: See `TeamOptions`, as for all that follow.
            split: Split of the tasks that `reset` draws from.
            rewards: Terms of the reward.
            executor: Who judges.
            max_cycles: Rounds.
            feedback: What the team learns of its program.
            stop: When the episode ends early.
            prompts: Files that replace prompt templates, by role.
            max_chars: Longest text, in characters.
            render_mode: How `render` shows the episode.

        Raises:
            BadConfig: If an argument cannot work.
            UnknownName: If the tasks or a role of `prompts` are unknown.
            RewardError: If a reward term has a wrong form.
        """
        super().__init__()
        self.max_cycles = whole_number("max_cycles", max_cycles, 1)
        self.max_chars = whole_number("max_chars", max_chars, MIN_MAX_CHARS)
        self.feedback: Feedback = one_of("feedback", feedback, FEEDBACK)
        self.stop: Stop = one_of("stop", stop, STOPS)
        self.render_mode = one_of("render_mode", render_mode, (None, *RENDER_MODES))
        self.team = team
        self.rewards_rule = as_rewards(rewards)
        self.source = TaskSource(tasks, split)
        self.prompts = Prompts(team, prompts)
        self.judges = JudgeService(executor)
        self._owns_judges = True

        self.possible_agents = list(team.agents)
        self._roles = {role.agent: role for role in team.roles}
        self._writes = {role.agent: role.fields for role in team.roles}
        self._agent_tuple = team.agents
        size = self.max_chars, self.max_cycles
        seen, known = (*OBSERVED, *team.fields), (*KNOWN_TO_TEAM, *team.fields)
        self._observation_spaces = {a: space_of(seen, *size) for a in team.agents}
        self._action_spaces = {a: UnicodeText(self.max_chars) for a in team.agents}
        self.state_space = space_of(known, *size)

        self.agents: list[str] = []
        self._seed: int | None = None
        self._episode_number = 0
        self._fork_path: tuple[int, ...] = ()
        self._briefs: dict[int, tuple[Task, Brief]] = {}
        self._versions = {
            "corecode_env": __version__,
            "environment": str(self),
            "python": platform.python_version(),
        }

    # ------------------------------------------------------------------ PettingZoo: spaces
    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of an agent's observations, the same object at every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> UnicodeText:
        """Return the space of an agent's actions, the same object at every call."""
        return self._action_spaces[agent]

    # ------------------------------------------------------------------- PettingZoo: reset
    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode.

        Args:
            seed: Any whole number; fixes this episode and those that follow without one.
            options: `task`: id of a task, or a Task; `prefix`: stored turns
                `[(agent, text), ...]` to start from. They are played and judged again;
                what they paid is in the episode, but not in the first rewards.

        Raises:
            UnknownName: If no task has the id.
            BadConfig: If an option has another form, or the prefix another order of
                agents than this team, or it ends the episode.
            ExecutorError: If the sandbox fails while the prefix is played.
        """
        task, prefix = self._read_options(options or {})
        if seed is not None:
            try:
                self._seed = operator.index(seed)
            except TypeError as error:
                raise BadConfig(f"seed must be a whole number, got {seed!r}") from error
            self._episode_number = 0
        elif self._seed is None:
            self._seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        else:
            self._episode_number += 1
        self._given_seed = None if seed is None else self._seed
        self._np_random: np.random.Generator | None = None
        task = task or self.source.draw(self._seed, *self._path)
        self.check_task(task)
        self._start(task)
        if prefix:
            self._replay(prefix)
        if self.render_mode == "human":
            self.render()

    def _read_options(
        self, options: Mapping[str, Any]
    ) -> tuple[Task | None, list[tuple[str, str]]]:
        check_reset_options(options, stacklevel=5)
        wanted = options.get("task")
        task = None if wanted is None else self.source.find(wanted)
        return task, read_prefix(options.get("prefix") or ())

    def check_task(self, task: Task) -> None:
        """Refuse a task that this game cannot be played on; the engine itself takes all.

        Raises:
            BadConfig: If a subclass does.
        """

    @property
    def _path(self) -> tuple[str | int, ...]:
        """Where the random streams of this episode are derived from, after the seed."""
        return ("episode", self._episode_number, *self._fork_path)

    def _start(self, task: Task) -> None:
        agents = self._agent_tuple
        self.task = task
        self._brief = self._brief_of(task)
        self._turns: list[Turn] = []
        self._board = empty_board(self.max_cycles, self.team.fields)
        self._round_start = 0
        self._valid = True
        self._views: dict[str, dict[str, Any]] = {}
        self._rendered = 0

        self.agents = list(agents)
        self.rewards = dict.fromkeys(agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(agents, 0.0)
        self.terminations = dict.fromkeys(agents, False)
        self.truncations = dict.fromkeys(agents, False)
        # PettingZoo's own place to go on at when the last dead agent has stepped.
        self._skip_agent_selection: str | None = None  # type: ignore[assignment]
        self._earned: dict[str, dict[str, float]] = {agent: {} for agent in agents}
        self.turn_terms: dict[str, dict[str, float]] = {agent: {} for agent in agents}
        self._cut = dict.fromkeys(agents, False)
        self._role: Role = self._first_role()
        self.agent_selection = self._role.agent
        self.infos = self._new_infos(self.agent_selection)

    def _first_role(self) -> Role:
        role = self._pick(())
        if role is None:
            raise BadConfig(
                "a team's rule must name a first role in every round, got None for a "
                "round without turns"
            )
        return role

    def _pick(self, turns: Sequence[Turn]) -> Role | None:
        """Ask the team whose turn is next in this round."""
        role = self.team.rule(self.team, turns)
        if role is not None and role.agent not in self._roles:
            raise BadConfig(
                f"a team's rule must name a role of the team, got {role.agent!r}; the team "
                f"has {', '.join(self._roles)}"
            )
        return role

    def _brief_of(self, task: Task) -> Brief:
        known = self._briefs.get(id(task))
        # An id may be used again for another task once the first is gone.
        if known is not None and known[0] is task:
            return known[1]
        if len(self._briefs) >= _BRIEFS_KEPT:
            self._briefs.clear()
        brief = brief_of(task, self.max_chars)
        self._briefs[id(task)] = (task, brief)
        return brief

    def _replay(self, prefix: Sequence[tuple[str, str]]) -> None:
        """Play stored turns, then begin with clean rewards."""
        try:
            for place, (agent, text) in enumerate(prefix):
                if not self._is_live():
                    raise BadConfig(
                        f"the option prefix must leave the episode open, got one that ends "
                        f"after {place} of {len(prefix)} turns; give fewer turns"
                    )
                if agent != self.agent_selection:
                    raise BadConfig(
                        f"turn {place} of the option prefix must be that of "
                        f"{self.agent_selection!r}, got {agent!r}; give the turns in order"
                    )
                self._play(text)
            if not self._valid:
                raise ExecutorError(
                    "the sandbox failed while the option prefix was played; reset again"
                )
            if not self._is_live():
                raise BadConfig(
                    f"the option prefix must leave the episode open, got one that ends it "
                    f"with turn {len(prefix) - 1}; give fewer turns"
                )
        except BaseException:
            self.agents = []
            raise
        for agent in self.agents:
            self.rewards[agent] = self._cumulative_rewards[agent] = 0.0
            self._earned[agent], self.turn_terms[agent] = {}, {}
        self.infos = self._new_infos(self.agent_selection)

    def _is_live(self) -> bool:
        agent = self.agent_selection
        return not (self.terminations[agent] or self.truncations[agent])

    # -------------------------------------------------------------------- PettingZoo: step
    def step(self, action: str | None) -> None:
        """Take the text of the agent whose turn it is; None for one that is done.

        Blocks while a program is judged. If anything raises, nothing has changed.

        Raises:
            TypeError: If the action is not a string.
            EpisodeError: If there is no episode to step.
            RewardError: If a term of the reward fails.
        """
        if not self.agents:
            raise EpisodeError(
                "step must follow reset, got a step while no agent is playing; call reset()"
            )
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if not isinstance(action, str):
            raise TypeError(
                f"the action of {agent!r} must be a string, got "
                f"{type(action).__name__}; pass the text itself"
            )
        self._play(action)
        if self.render_mode == "human":
            self.render()

    def _play(self, action: str) -> None:
        """Play one turn of a live agent."""
        agent, role = self.agent_selection, self._role
        text = clean_text(str(action), self.max_chars)
        outcome, failed = self._act(role, text)
        judgement, valid = failed or outcome.judgement, failed is None
        # What befell the sandbox is no news about the program.
        fields = self._checked_fields(role, outcome) if valid else {}
        feedback = self._feedback_after(outcome) if valid else ""
        terms: dict[str, Mapping[str, float | None]] = {}
        turn = Turn(
            agent=agent,
            round=self._board.round,
            observation=self._view(agent),
            action=text,
            submission=outcome.submission,
            judgement=judgement,
            reward_terms=terms,
            written={name: new for name, new in fields.items() if new != text},
            facts=dict(outcome.facts),
        )
        if valid:
            # What the turn pays is written into it: a reward looks at the turn itself.
            terms.update(self.rewards_rule(turn, self._episode((*self._turns, turn))))
        following, round_ = self._next(turn, outcome.ends) if valid else (None, turn.round)
        # From here on nothing raises: a step happens as a whole or not at all.
        self._turns.append(turn)
        self._cut[agent] = len(action) > self.max_chars
        self._board.texts.update(fields)
        if outcome.submission is not None:
            program = clean_text(outcome.submission.program, self.max_chars)
            self._board.texts["program"] = program
        self._board.texts["feedback"] = feedback
        self._views = {}
        if valid:
            self._collect(agent, terms)
            self._advance(following, round_)
        else:
            self._truncate()

    def _act(self, role: Role, text: str) -> tuple[Outcome, Judgement | None]:
        """Return what a role's text does, and the judgement in which the sandbox failed."""
        if role.act is not None:
            judge = WatchedJudge(self.judges.judge)
            outcome = role.act.apply(text, self._scene(role.agent, judge))
            return outcome, judge.failed
        if role.acts != "program":
            return Outcome(dict.fromkeys(self._writes[role.agent], text)), None
        submission = extract_program(text)
        judgement = self.judges.judge(self.task, submission.program)
        outcome = Outcome(submission=submission, judgement=judgement)
        return outcome, None if judgement.valid else judgement

    def _scene(self, agent: str, judge: WatchedJudge) -> Scene:
        return Scene(
            task=self.task,
            agent=agent,
            round=self._board.round,
            rounds_left=self._board.rounds_left,
            fields=dict(self._board.texts),
            turns=tuple(self._turns),
            judge=judge,
            report=self._feedback_on,
            seed=self._require_episode(),
            # Not by the path of forks: stored turns of a fork must play again as they did.
            stream=("act", self._episode_number, len(self._turns), agent),
            max_chars=self.max_chars,
        )

    def _checked_fields(self, role: Role, outcome: Outcome) -> Mapping[str, str]:
        """Return what an outcome writes, as long as texts may be.

        Raises:
            BadConfig: If it writes what its role does not, or judges another task.
        """
        if role.act is None:
            return outcome.fields
        known, judged = self._writes[role.agent], outcome.judgement
        if stray := [name for name in outcome.fields if name not in known]:
            raise BadConfig(
                f"the act of {role.agent} must write only {list(known)}, got "
                f"{sorted(stray)}; name them in the role's writes"
            )
        if judged is not None and (judged.task_id != self.task.id or not judged.valid):
            raise BadConfig(
                f"the act of {role.agent} must give a judgement of {self.task.id!r} by "
                f"scene.judge, got one of {judged.task_id!r} ({judged.verdict.meaning}); keep "
                "those of derived tasks as facts"
            )
        return {
            name: clean_text(text, self.max_chars) for name, text in outcome.fields.items()
        }

    def _feedback_after(self, outcome: Outcome) -> str:
        if outcome.feedback is not None:
            return clean_text(outcome.feedback, self.max_chars)
        if outcome.judgement is not None:
            return self._feedback_on(outcome.judgement)
        return self._board.texts["feedback"]

    def _feedback_on(self, judgement: Judgement) -> str:
        text = feedback_text(self.feedback, self.task, self._brief.public_tests, judgement)
        return clean_text(text, self.max_chars)

    def _collect(self, actor: str, terms: RewardTerms) -> None:
        """Book what a turn paid: for the step, and since each agent's last action."""
        self._cumulative_rewards[actor] = 0.0
        self._earned[actor] = {}
        for agent in self._agent_tuple:
            paid: dict[str, float] = {}
            reward, earned = 0.0, self._earned[agent]
            for name, value in terms.get(agent, {}).items():
                if value is not None:
                    paid[name] = value
                    earned[name] = earned.get(name, 0.0) + value
                    reward += value
            self.turn_terms[agent] = paid
            self.rewards[agent] = reward
            self._cumulative_rewards[agent] += reward

    def _next(self, turn: Turn, ends: bool | None) -> tuple[Role | None, int]:
        """Return whose turn follows a turn, and in which round; None: the episode is over."""
        round_ = self._board.round
        if ends is None:
            ends = turn.judgement is not None and self._solved(turn.judgement)
        if ends:
            return None, round_
        role = self._pick([*self._turns[self._round_start :], turn])
        if role is not None or round_ + 1 == self.max_cycles:
            return role, round_
        return self._first_role(), round_ + 1

    def _advance(self, role: Role | None, round_: int) -> None:
        """Hand over to the next role, or end the episode."""
        if role is not None:
            if round_ != self._board.round:
                self._board.round, self._round_start = round_, len(self._turns)
            self._role = role
            self.agent_selection = role.agent
            self.infos = self._new_infos(role.agent)
            return
        self.terminations = dict.fromkeys(self._agent_tuple, True)
        self.agent_selection = self._agent_tuple[0]
        self.infos = self._new_infos(None)

    def _solved(self, judgement: Judgement) -> bool:
        # In a scored task AC means "a valid answer": there is always a better one.
        if self.task.kind == "optimize":
            return False
        return judgement.passed if self.stop == "all" else judgement.public_passed

    def _truncate(self) -> None:
        """End an episode in which the sandbox failed: nobody is paid for it."""
        self._valid = False
        agents = self._agent_tuple
        self.truncations = dict.fromkeys(agents, True)
        self.rewards = dict.fromkeys(agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(agents, 0.0)
        self._earned = {agent: {} for agent in agents}
        self.turn_terms = {agent: {} for agent in agents}
        self.agent_selection = agents[0]
        self.infos = self._new_infos(None)

    def _new_infos(self, active: str | None) -> dict[str, dict[str, Any]]:
        return {
            agent: {
                "active_agent": active,
                "task_id": self.task.id,
                "action_cut": self._cut[agent],
                "reward_valid": self._valid,
                "reward_terms": dict(self._earned[agent]),
            }
            for agent in self.agents
        }

    # ------------------------------------------------------------- what agents get to see
    def observe(self, agent: str) -> dict[str, Any]:
        """Return what an agent sees now."""
        self._require_episode()
        return dict(self._view(agent))

    def _view(self, agent: str) -> dict[str, Any]:
        view = self._views.get(agent)
        if view is None:
            view = self._views[agent] = self._build_view(self._roles[agent])
        return view

    def _build_view(self, role: Role) -> dict[str, Any]:
        template = self.prompts.of(role.agent, self.task.kind)
        return view_of(role, self._brief, self._board, template, self.max_chars)

    def role_of(self, agent: str) -> Role:
        """Return the role that an agent plays."""
        return self._roles[agent]

    def messages(self, agent: str) -> tuple[dict[str, str], ...]:
        """Return an agent's prompt as chat messages."""
        self._require_episode()
        return ({"role": "user", "content": self._view(agent)["prompt"]},)

    def request(self, agent: str) -> Request:
        """Return an agent's turn as agents are asked for it."""
        seed, role = self._require_episode(), self._roles[agent]
        return Request(
            agent=agent,
            role=role.name,
            observation=self.observe(agent),
            messages=self.messages(agent),
            task_id=self.task.id,
            seed=derive_seed(seed, "turn", *self._path, len(self._turns), agent),
            task=self.task,
            acts=role.acts,
            reference=role.reference,
        )

    def state(self) -> dict[str, Any]:  # type: ignore[override]
        """Return what the whole team knows, for a central critic; no hidden test."""
        self._require_episode()
        playing = bool(self.agents) and self._is_live()
        return state_of(self._brief, self._board, self.agent_selection if playing else "")

    # --------------------------------------------------------------------------- records
    @property
    def episode(self) -> Episode:
        """The episode so far.

        Raises:
            EpisodeError: Before the first reset.
        """
        self._require_episode()
        return self._episode(tuple(self._turns))

    def _require_episode(self) -> int:
        """Return the seed of the episode, or say that there is none yet."""
        if self._seed is None:
            raise EpisodeError("there must be an episode first, got none yet; call reset()")
        return self._seed

    def _episode(self, turns: tuple[Turn, ...]) -> Episode:
        return Episode(
            task_id=self.task.id,
            seed=self._given_seed,
            agents=self._agent_tuple,
            turns=turns,
            valid=self._valid,
            env_id=self._versions["environment"],
            versions=self._versions,
            task=self.task,
        )

    @property
    def judgement(self) -> Judgement | None:
        """The last judgement of the episode, None before its first program."""
        return self.episode.judgement

    @property
    def np_random(self) -> np.random.Generator:
        """A random stream of this episode and fork alone, for wrappers and rules."""
        if self._np_random is None:
            self._np_random = generator(self._seed, *self._path)
        return self._np_random

    # ------------------------------------------------------------------------------ forks
    def shared_parts(self) -> tuple[object, ...]:
        """Return what forks share instead of copying: nothing here changes while playing."""
        return (
            self.team,
            *self.team.roles,
            self.source,
            self.prompts,
            self.rewards_rule,
            self.judges,
            self._briefs,
            self.task,
            self._brief,
            *self._turns,
        )

    def become_fork(self, number: int) -> None:
        """Take up an own random stream, and leave the shared executor to the parent."""
        self._fork_path = (*self._fork_path, number)
        self._np_random = None
        self._owns_judges = False

    # --------------------------------------------------------------------------- the rest
    def render(self) -> str | None:
        """Show the episode: a coloured text (`ansi`), or print its news (`human`)."""
        if self.render_mode is None:
            logger.warn(
                "render needs a render_mode, got None; make the environment with "
                "render_mode='ansi' or 'human'"
            )
            return None
        # Only here: rich is not needed by who never looks.
        from corecode_env.environments.render import print_news, transcript

        if self.render_mode == "ansi":
            return transcript(self.episode)
        print_news(self.episode, self._rendered)
        self._rendered = len(self._turns) + 1
        return None

    def close(self) -> None:
        """Close the executor if this environment made it; idempotent."""
        if self._owns_judges:
            self.judges.close()
