"""# Retrieval Team.

A Retriever writes a query; the solved training tasks that are most like it come back. A
Planner reads them beside the problem and writes a plan, a Coder turns the plan into a
program, and what the tests say pays all three. The game of CoRe-Code's Retrieval agent
(arXiv:2605.24812, table 4), in which MapCoder's model recalls problems from its own memory;
here they are real ones, so that what a plan is drawn from is right.

| | |
|---|---|
| Creation | `pettingzoo.make("aec", "corecode/retrieval_team-v0")` |
| Seat view | `gymnasium.make("corecode/RetrievalTeam-v0", seat="retriever_0")` |
| Agents | `retriever_0`, `planner_0`, `coder_0` |
| Actions | text |
| Parallel API | yes: only the active agent's action counts |
| Manual control | `corecode play --env retrieval_team_v0 --agent retriever=human` |
| Action shape | `UnicodeText(max_chars)` |
| Observation shape | `Dict` of eight texts and two numbers |
| Render modes | `ansi`, `human` |

### Observation space

As in `planner_coder_v0`; `role` may be `retriever` too, and there are two more texts:

| field | holds |
|---|---|
| `query` | the latest query, for the Retriever |
| `retrieved` | what it found, for Retriever and Planner: statement, plan and program of each |

Nothing of a hidden test is in any field. The library holds tasks of the split `train` only,
and never gives out the task at hand or one that has the same statement or solution.

### Action space

Any text. The Retriever's whole text is the query: its words are looked for in the
statements of the library (BM25). The Planner's whole text is the plan. Of the Coder's text
the last block fenced as Python is the program, without one the last unmarked block, without
any the whole text.

### Rewards

`rewards.corecode_team(planners=("retriever", "planner"))` by default: the Coder gets the
fraction of tests passed, 0.1 for no crash or overrun and 0.2 for all tests passed; Retriever
and Planner the fraction and 0.1 for no crash.

### Arguments

As in `planner_coder_v0`, without `coder_sees`, and with

| argument | default | meaning |
|---|---|---|
| `library` | None | where solved tasks come from, in the forms of `tasks` |
| `k` | 3 | how many come back |

Without a `library` it is `tasks` itself, or the bundled `mbpp` where these hold no solved
training task.

### Baseline scores

One round, default rewards, 100 seeded episodes a row (`benchmarks/baseline_scores.py`).

| tasks | all agents | `retriever_0` | `planner_0` | `coder_0` | solved |
|---|---|---|---|---|---|
| `pipelines/1`, `pipelines/4` | `reference` | 1.10 | 1.10 | 1.30 | 100 % |
| `pipelines/1`, `pipelines/4` | `faulty:off_by_one` | 0.10 | 0.10 | 0.10 | 0 % |
| `pipelines/1`, `pipelines/4` | `faulty:wrong_name` | 0.00 | 0.00 | 0.00 | 0 % |
| `pipelines/1`, `pipelines/4` | `random` | 0.00 | 0.00 | 0.00 | 0 % |

### Versions

* v0: first release (0.1.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Unpack

from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from corecode_env.core.task import Task
from corecode_env.environments.acts import Outcome, Scene
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.options import RENDER_MODES, TeamOptions, whole_number
from corecode_env.environments.task_source import as_task_set
from corecode_env.environments.team import Role, Team
from corecode_env.environments.turn_parallel import TurnParallelEnv
from corecode_env.rewards import corecode_team
from corecode_env.tasks.library import Library, has_solved_training_task

__all__ = ["env", "parallel_env", "raw_env"]

DEFAULT_LIBRARY: Final = "mbpp"
NOTHING_FOUND: Final = "No solved problem has a word of the query."


@dataclass(frozen=True, slots=True)
class Search:
    """The text is a query; what the library has for it goes to the board."""

    library: Library
    k: int

    def apply(self, text: str, scene: Scene) -> Outcome:
        """Look the query up."""
        found = self.library.search(text, self.k, but=scene.task)
        shown = [_shown(number, result.task) for number, result in enumerate(found, 1)]
        return Outcome({"query": text, "retrieved": "\n\n".join(shown) or NOTHING_FOUND})


def _shown(number: int, task: Task) -> str:
    parts = [f"Solved problem {number}:\n{task.statement.strip()}"]
    if task.reference_plan:
        parts.append(f"Its plan:\n{task.reference_plan.strip()}")
    parts.append(f"Its program:\n```python\n{(task.reference_program or '').strip()}\n```")
    return "\n\n".join(parts)


def statement_of(task: Task) -> str:
    """Return the query of a Retriever who knows no better: the statement's own words."""
    return task.statement


def team_with(library: Library, k: int) -> Team:
    """Return the team whose Retriever searches a library."""
    shared = {"plan", "program", "feedback"}
    retriever = Role(
        "retriever",
        acts="text",
        sees=frozenset({"query", "retrieved", "program", "feedback"}),
        writes=("query", "retrieved"),
        act=Search(library, k),
        reference=statement_of,
    )
    planner = Role(
        "planner",
        acts="plan",
        sees=frozenset({*shared, "retrieved"}),
        template="planner_with_examples",
    )
    return Team((retriever, planner, Role("coder", acts="program")))


class raw_env(TeamEnv):
    """The environment without wrappers; the module says all about it."""

    metadata: dict[str, Any] = {  # noqa: RUF012  PettingZoo's annotation
        "name": "retrieval_team_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        # Each turn needs the one before it.
        "is_parallelizable": False,
    }

    def __init__(
        self,
        *,
        library: str | Path | Sequence[Task] | None = None,
        k: int = 3,
        **options: Unpack[TeamOptions],
    ) -> None:
        """Make the environment.

        Args:
            library: Where solved tasks come from: a name or path for `load_tasks`, a
                TaskSet, or a sequence of tasks; None: the tasks of the environment, or
                those of MBPP if none of these is a solved training task.
            k: How many come back, at most.
            **options: See `TeamOptions`.

        Raises:
            BadConfig: If an argument cannot work, or the library has no solved training
                task.
        """
        self.k = whole_number("k", k, 1)
        if options.get("rewards") is None:
            options["rewards"] = corecode_team(planners=("retriever", "planner"))
        tasks = options["tasks"] = as_task_set(options.get("tasks", "pipelines/1"))
        if library is None:
            library = tasks if has_solved_training_task(tasks) else DEFAULT_LIBRARY
        self.library = Library(as_task_set(library))
        super().__init__(team_with(self.library, self.k), **options)

    def shared_parts(self) -> tuple[object, ...]:
        """Return what forks share instead of copying."""
        return (*super().shared_parts(), self.library)


def env(
    *,
    library: str | Path | Sequence[Task] | None = None,
    k: int = 3,
    **options: Unpack[TeamOptions],
) -> OrderEnforcingWrapper[str, dict[str, Any], str | None]:
    """Make the environment for PettingZoo's AEC interface.

    Args:
        library: Where solved tasks come from; None: `tasks`, or MBPP if they have none.
        k: How many come back, at most.
        **options: See `TeamOptions`.
    """
    return OrderEnforcingWrapper(raw_env(library=library, k=k, **options))


def parallel_env(
    *,
    library: str | Path | Sequence[Task] | None = None,
    k: int = 3,
    **options: Unpack[TeamOptions],
) -> TurnParallelEnv:
    """Make the environment for PettingZoo's parallel interface: one turn a step.

    Args:
        library: Where solved tasks come from; None: `tasks`, or MBPP if they have none.
        k: How many come back, at most.
        **options: See `TeamOptions`.
    """
    return TurnParallelEnv(env(library=library, k=k, **options))
