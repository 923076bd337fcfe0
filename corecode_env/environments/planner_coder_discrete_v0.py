"""# Planner and Coder by index.

The numeric companion of `planner_coder_v0`: the Planner chooses a plan from a list, the
Coder a program from another, and the sandbox judges that program on the task as it would
any other, so that both are paid the very same rewards. Observations are numbers, so that
tabular code, Stable-Baselines3, RLlib and other learners of arrays can play.

A few tasks come up (`n_tasks`). The lists are the same in every episode: the reference plans
and programs of these tasks, then those of some further tasks that never come up
(`distractors`). The Planner sees the task; the Coder sees which plan was chosen, but not the
task. So the pair must agree what a plan stands for: only if every task gets a plan of its
own, and the Coder answers each with that task's program, is every program right. Entry i of
each list belongs to task i, yet any other code that tells the tasks apart is as good. With
`coder_sees="both"` the Coder sees the task too and needs nobody.

| | |
|---|---|
| Creation | `pettingzoo.make("aec", "corecode/planner_coder_discrete-v0")` |
| Seat view | `gymnasium.make("corecode/PlannerCoderDiscrete-v0", seat="coder_0")` |
| Agents | `planner_0`, `coder_0` |
| Actions | numbers |
| Parallel API | yes: only the active agent's action counts |
| Manual control | no |
| Action shape | `Discrete(6)` by default: the length of the agent's list |
| Observation shape | `Dict`: `observation` a `Box`, `action_mask` one number an action |
| Render modes | `ansi`, `human` |

### Observation space

`observation` is a flat `Box` of numbers from 0 to 1, of one length for both agents;
`unwrapped.layout` names its parts and where they stand:

| part | holds |
|---|---|
| `role` | one-hot: Planner, Coder |
| `task` | one-hot: which task it is; all 0 where the agent does not see it |
| `plan` | one-hot: the plan that was chosen last; all 0 before |
| `program` | one-hot: the program that was chosen last; all 0 before |
| `passed` | the fraction of public tests it passed; 0 with `feedback="none"` |
| `round` | one-hot: this round |

`action_mask` is 1 for what may be chosen: all but programs that were judged in this episode
already. It is in `infos[agent]["action_mask"]` too.

### Action space

An index into the agent's list, `unwrapped.menus.plans` or `unwrapped.menus.programs`. The
text of an entry is taken as well, so that the reference agent can play. A masked index, or
one that is no entry, raises `EpisodeError` and changes nothing.

### Rewards

Those of `planner_coder_v0`. Equal programs of a task are judged once.

### Arguments

| argument | default | meaning |
|---|---|---|
| `n_tasks` | 4 | tasks that come up: the first of `tasks` that differ |
| `distractors` | 2 | further tasks whose plan and program stand in the lists |
| `plans` | None | a list of plans in place of the tasks' own |
| `programs` | None | a list of programs in place of the tasks' own |
| `coder_sees` | `"plan"` | `plan`: the plan's index; `both`: the task's too |

All others as in `planner_coder_v0`; `max_cycles` is at most the number of programs.

### Baseline scores

One round, default rewards, 100 seeded episodes a row (`benchmarks/baseline_scores.py`).

| tasks | all agents | `planner_0` | `coder_0` | solved |
|---|---|---|---|---|
| `pipelines/1`, `pipelines/4` | `reference` | 1.10 | 1.30 | 100 % |

### Versions

* v0: first release (0.1.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Unpack

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from corecode_env.core.errors import BadConfig, EpisodeError
from corecode_env.core.task import Task
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.judge_service import JudgeService, local_executor
from corecode_env.environments.menus import menus_of
from corecode_env.environments.options import (
    RENDER_MODES,
    TeamOptions,
    one_of,
    whole_number,
)
from corecode_env.environments.planner_coder_v0 import TEAMS, CoderSees
from corecode_env.environments.task_source import TaskSource
from corecode_env.environments.turn_parallel import TurnParallelEnv
from corecode_env.executor.remembering import RememberingExecutor

__all__ = ["env", "parallel_env", "raw_env"]

PARTS: Final = ("role", "task", "plan", "program", "passed", "round")
"""Parts of an observation, in order."""
DEFAULT_TASKS: Final = 4
DEFAULT_DISTRACTORS: Final = 2


def _remembering_executor() -> RememberingExecutor:
    return RememberingExecutor(local_executor())


class raw_env(TeamEnv):
    """The environment without wrappers; the module says all about it.

    Attributes:
        menus: Tasks, plans and programs.
        layout: Where each part of an observation stands.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  PettingZoo's annotation
        "name": "planner_coder_discrete_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        *,
        n_tasks: int = DEFAULT_TASKS,
        distractors: int = DEFAULT_DISTRACTORS,
        plans: Sequence[str] | None = None,
        programs: Sequence[str] | None = None,
        coder_sees: CoderSees = "plan",
        **options: Unpack[TeamOptions],
    ) -> None:
        """Make the environment.

        Args:
            n_tasks: Tasks that come up, at least 2.
            distractors: Further tasks whose plans and programs stand in the lists.
            plans: Plans in place of the tasks' own.
            programs: Programs in place of the tasks' own.
            coder_sees: `plan` (the plan's index) or `both` (the task's too).
            **options: See `TeamOptions`.

        Raises:
            BadConfig: If an argument cannot work.
        """
        coder_sees = one_of("coder_sees", coder_sees, TEAMS)
        source = TaskSource(options.get("tasks", "pipelines/1"), options.get("split", "train"))
        self.menus = menus_of(
            source.drawn,
            whole_number("n_tasks", n_tasks, 2),
            whole_number("distractors", distractors, 0),
            plans,
            programs,
        )
        options |= {"tasks": self.menus.tasks, "split": "all"}
        super().__init__(TEAMS[coder_sees], **options)
        self.coder_sees = coder_sees
        if self.max_cycles > len(self.menus.programs):
            raise BadConfig(
                f"max_cycles must be at most {len(self.menus.programs)}, got "
                f"{self.max_cycles}: no program may be chosen twice in an episode"
            )
        given = options.get("executor")
        self.judges = JudgeService(
            None if given is None else RememberingExecutor(given), _remembering_executor
        )
        self._task_numbers = {task.id: i for i, task in enumerate(self.menus.tasks)}
        for role in self.team.roles:
            texts = [self.menus.text(role.name, i) for i in range(self.menus.size(role.name))]
            if (longest := max(map(len, texts))) > self.max_chars:
                raise BadConfig(
                    f"max_chars must be at least {longest}, got {self.max_chars}: what can "
                    "be chosen must not be cut"
                )
        self._set_spaces()

    def _set_spaces(self) -> None:
        menus = self.menus
        lengths = 2, len(menus.tasks), len(menus.plans), len(menus.programs), 1
        ends = np.cumsum([0, *lengths, self.max_cycles]).tolist()
        self.layout: dict[str, slice] = {
            part: slice(ends[i], ends[i + 1]) for i, part in enumerate(PARTS)
        }
        self._shape: tuple[int] = (ends[-1],)
        self.state_space = spaces.Box(0.0, 1.0, self._shape, np.float32)  # type: ignore[assignment]
        self._choices = {
            role.agent: spaces.Discrete(menus.size(role.name)) for role in self.team.roles
        }
        self._observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0.0, 1.0, self._shape, np.float32),
                    "action_mask": spaces.Box(0, 1, (int(choice.n),), np.int8),
                }
            )
            for agent, choice in self._choices.items()
        }

    def action_space(self, agent: str) -> spaces.Discrete:  # type: ignore[override]
        """Return the space of an agent's actions, the same object at every call."""
        return self._choices[agent]

    def check_task(self, task: Task) -> None:
        """Refuse a task that is not in the game.

        Raises:
            BadConfig: If it is another one.
        """
        if task.id not in self._task_numbers:
            raise BadConfig(
                f"the option task must be one of {list(self._task_numbers)}, got "
                f"{task.id!r}; pass tasks=[...] and n_tasks for others"
            )

    def step(self, action: Any) -> None:
        """Take the choice of the agent whose turn it is; None for one that is done.

        Args:
            action: An index into the agent's list, or the text of an entry.

        Raises:
            TypeError: If the action is neither.
            EpisodeError: If there is no such entry, it is masked, or there is no episode.
            RewardError: If a term of the reward fails.
        """
        if action is not None and self.agents and self._is_live():
            role = self._role.name
            action = self.menus.text(role, self.menus.index(role, action))
        super().step(action)

    def _play(self, action: str) -> None:
        """Play one turn of a live agent, if its choice is one."""
        agent, role = self.agent_selection, self._role.name
        index = self.menus.index(role, action)
        if not self.action_mask(agent)[index]:
            raise EpisodeError(
                f"the action of {agent!r} must be one that action_mask allows, got {index}: "
                "this program was judged in this episode already"
            )
        super()._play(self.menus.text(role, index))

    def action_mask(self, agent: str) -> NDArray[np.int8]:
        """Return what an agent may choose: 1 or 0 for each action, shape (actions,)."""
        self._require_episode()
        mask = np.ones(int(self._choices[agent].n), dtype=np.int8)
        if self._roles[agent].acts == "program":
            mask[[index for kind, index in self._chosen() if kind == "program"]] = 0
        return mask

    def _chosen(self) -> list[tuple[str, int]]:
        """Return what was chosen so far: `plan` or `program`, and the index."""
        roles = ((self._roles[turn.agent], turn.action) for turn in self._turns)
        return [(role.acts, self.menus.index(role.name, text)) for role, text in roles]

    def observe(self, agent: str) -> dict[str, Any]:
        """Return what an agent sees now; see the module."""
        role = self._roles[agent]
        numbers = self._numbers(sees_task=role.task_view == "statement")
        numbers[self.layout["role"].start + self._agent_tuple.index(agent)] = 1.0
        return {"observation": numbers, "action_mask": self.action_mask(agent)}

    def state(self) -> NDArray[np.float32]:  # type: ignore[override]
        """Return what the whole team knows, laid out as an observation is.

        `role` says whose turn it is; it is all 0 when the episode is over.
        """
        numbers = self._numbers(sees_task=True)
        if self.agents and self._is_live():
            active = self._agent_tuple.index(self.agent_selection)
            numbers[self.layout["role"].start + active] = 1.0
        return numbers

    def _numbers(self, *, sees_task: bool) -> NDArray[np.float32]:
        """Return an observation without the role; nothing of a hidden test is in it."""
        self._require_episode()
        numbers = np.zeros(self._shape, dtype=np.float32)
        places = dict(self._chosen())  # the last one of each kind
        places["round"] = self._board.round
        if sees_task:
            places["task"] = self._task_numbers[self.task.id]
        for part, place in places.items():
            numbers[self.layout[part].start + place] = 1.0
        judgement = self.judgement if self.feedback != "none" else None
        if judgement is not None and judgement.valid:
            numbers[self.layout["passed"]] = judgement.public_pass_rate or 0.0
        return numbers

    def _new_infos(self, active: str | None) -> dict[str, dict[str, Any]]:
        infos = super()._new_infos(active)
        for agent, info in infos.items():
            info["action_mask"] = self.action_mask(agent)
        return infos

    def shared_parts(self) -> tuple[object, ...]:
        """Return what forks share instead of copying."""
        return (*super().shared_parts(), self.menus)


class Options(TeamOptions, total=False):
    """What the environment takes, all optional, all by keyword; see `raw_env`.

    Attributes:
        n_tasks: Tasks that come up.
        distractors: Further tasks whose plans and programs stand in the lists.
        plans: Plans in place of the tasks' own.
        programs: Programs in place of the tasks' own.
        coder_sees: `plan` or `both`.
    """

    n_tasks: int
    distractors: int
    plans: Sequence[str] | None
    programs: Sequence[str] | None
    coder_sees: CoderSees


def env(
    **options: Unpack[Options],
) -> OrderEnforcingWrapper[str, dict[str, Any], Any]:
    """Make the environment for PettingZoo's AEC interface.

    Args:
        **options: See `raw_env`.
    """
    return OrderEnforcingWrapper(raw_env(**options))


def parallel_env(**options: Unpack[Options]) -> TurnParallelEnv:
    """Make the environment for PettingZoo's parallel interface: one turn a step.

    Args:
        **options: See `raw_env`.
    """
    return TurnParallelEnv(env(**options))
