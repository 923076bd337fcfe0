"""# Planner and Coder.

A Planner reads a programming task and writes a plan in words; a Coder turns task and plan
into a Python program; a sandbox runs the program on the task's tests, and what the tests
say pays both. This is the game of CoRe-Code (arXiv:2605.24812, section 3), one round by
default; with more rounds both see the program and what its public tests said, and mend.

| | |
|---|---|
| Creation | `pettingzoo.make("aec", "corecode/planner_coder-v0")` |
| Seat view | `gymnasium.make("corecode/PlannerCoder-v0", seat="coder_0")` |
| Agents | `planner_0`, `coder_0` |
| Actions | text |
| Parallel API | yes: only the active agent's action counts |
| Manual control | `corecode play --coder human` |
| Action shape | `UnicodeText(max_chars)` |
| Observation shape | `Dict` of six texts and two numbers |
| Render modes | `ansi`, `human` |

### Observation space

| field | holds |
|---|---|
| `prompt` | the finished prompt; `unwrapped.messages(agent)` has it as chat messages |
| `statement` | the task; for a Coder with `coder_sees="plan"` only signature and examples |
| `plan` | the latest plan |
| `program` | the latest program |
| `feedback` | what the public tests said of it |
| `role` | `planner` or `coder` |
| `round`, `rounds_left` | this round, from 0, and how many follow it |

Nothing of a hidden test is in any field. Texts are cut to `max_chars`.

### Action space

Any text. The Planner's whole text is the plan. Of the Coder's text the last block fenced as
Python is the program, without one the last unmarked block, without any the whole text.

### Rewards

`rewards.corecode()` by default: after each program the Coder gets the fraction of tests
passed, 0.1 for no crash or overrun and 0.2 for all tests passed; the Planner the fraction
and 0.1 for no crash. `infos[agent]["reward_terms"]` has the parts. If the sandbox itself
fails, everybody truncates with reward 0.0 and `infos[agent]["reward_valid"]` is False.

### Arguments

| argument | default | meaning |
|---|---|---|
| `tasks` | `"pipelines/1"` | name or path for `load_tasks`, or a TaskSet |
| `split` | `"train"` | `train`, `validation`, `test` or `all` |
| `rewards` | None | `Rewards`, or a list of terms; None: `rewards.corecode()` |
| `executor` | None | who judges; None: a `LocalExecutor` of its own |
| `max_cycles` | 1 | rounds of plan and program |
| `coder_sees` | `"both"` | `both`: task and plan; `plan`: signature, public tests and plan |
| `feedback` | `"public"` | `none`, `verdict` (how each public test ended) or `public` |
| `stop` | `"public"` | end early when the `public` tests pass, or when `all` do |
| `prompts` | None | prompt files by role, in place of the package's |
| `max_chars` | 20000 | longest text, in characters |
| `render_mode` | None | `ansi` or `human` |

With `stop="all"` the mere existence of a second round tells a policy that a hidden test
failed. Scored tasks (kind `optimize`) play all rounds.

`reset(options={"task": id or Task, "prefix": [(agent, text), ...]})` picks the task and
starts from stored turns.

### Baseline scores

One round, default rewards, 100 seeded episodes a row (`benchmarks/baseline_scores.py`).

| tasks | all agents | `planner_0` | `coder_0` | solved |
|---|---|---|---|---|
| `pipelines/1`, `pipelines/4` | `reference` | 1.10 | 1.30 | 100 % |
| `pipelines/1`, `pipelines/4` | `faulty:off_by_one` | 0.10 | 0.10 | 0 % |
| `pipelines/1`, `pipelines/4` | `faulty:wrong_name` | 0.00 | 0.00 | 0 % |
| `pipelines/1`, `pipelines/4` | `random` | 0.00 | 0.00 | 0 % |

### Versions

* v0: first release (0.1.0)
"""

from __future__ import annotations

from typing import Any, Final, Literal, Unpack

from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from corecode_env.core.errors import BadConfig
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.options import RENDER_MODES, TeamOptions
from corecode_env.environments.team import Role, Team
from corecode_env.environments.turn_parallel import TurnParallelEnv

__all__ = ["env", "parallel_env", "raw_env"]

CoderSees = Literal["both", "plan"]

PLANNER: Final = Role("planner", acts="plan")
TEAMS: Final[dict[str, Team]] = {
    "both": Team((PLANNER, Role("coder", acts="program"))),
    "plan": Team((PLANNER, Role("coder", acts="program", task_view="interface"))),
}


class raw_env(TeamEnv):
    """The environment without wrappers; the module says all about it."""

    metadata: dict[str, Any] = {  # noqa: RUF012  PettingZoo's annotation
        "name": "planner_coder_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        # The Coder needs this round's plan: turns cannot be taken at once.
        "is_parallelizable": False,
    }

    def __init__(
        self, *, coder_sees: CoderSees = "both", **options: Unpack[TeamOptions]
    ) -> None:
        """Make the environment.

        Args:
            coder_sees: `both` (task and plan) or `plan` (signature, public tests, plan).
            **options: See `TeamOptions`.

        Raises:
            BadConfig: If an argument cannot work.
        """
        if coder_sees not in TEAMS:
            raise BadConfig(
                f"coder_sees must be one of {', '.join(map(repr, TEAMS))}, got {coder_sees!r}"
            )
        super().__init__(TEAMS[coder_sees], **options)
        self.coder_sees = coder_sees


def env(
    *, coder_sees: CoderSees = "both", **options: Unpack[TeamOptions]
) -> OrderEnforcingWrapper[str, dict[str, Any], str | None]:
    """Make the environment for PettingZoo's AEC interface.

    Args:
        coder_sees: `both` (task and plan) or `plan` (signature, public tests, plan).
        **options: See `TeamOptions`.
    """
    return OrderEnforcingWrapper(raw_env(coder_sees=coder_sees, **options))


def parallel_env(
    *, coder_sees: CoderSees = "both", **options: Unpack[TeamOptions]
) -> TurnParallelEnv:
    """Make the environment for PettingZoo's parallel interface: one turn a step.

    Args:
        coder_sees: `both` (task and plan) or `plan` (signature, public tests, plan).
        **options: See `TeamOptions`.
    """
    return TurnParallelEnv(env(coder_sees=coder_sees, **options))
