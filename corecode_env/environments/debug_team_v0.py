"""# Debug Team.

A Planner writes a plan, a Coder a program from it, and where the program fails the public
tests a Debugger, who sees plan, program and what the tests said, hands in a mended one. The
game of CoRe-Code's Debugging agent in MapCoder's pipeline (arXiv:2605.24812, table 4).

The Debugger writes the whole mended program, not a critique: so its turn is judged by
itself, its reward needs no other agent's turn, and several mends of one failing program
form a group that can be compared. A team with a critic is a few lines of your own
([Write your own team](../how-to/write-your-own-team.md)).

| | |
|---|---|
| Creation | `pettingzoo.make("aec", "corecode/debug_team-v0")` |
| Seat view | `gymnasium.make("corecode/DebugTeam-v0", seat="debugger_0", partners=...)` |
| Agents | `planner_0`, `coder_0`, `debugger_0` |
| Actions | text |
| Parallel API | yes: only the active agent's action counts |
| Manual control | `corecode play --env debug_team_v0 --agent debugger=human` |
| Action shape | `UnicodeText(max_chars)` |
| Observation shape | `Dict` of six texts and two numbers |
| Render modes | `ansi`, `human` |

### Observation space

As in `planner_coder_v0`; `role` may be `debugger` too. All three see `plan`, `program` and
`feedback`.

### Action space

Any text. The Planner's whole text is the plan. Of the Coder's and the Debugger's text the
last block fenced as Python is the program, without one the last unmarked block, without any
the whole text.

### Turns

A round is a plan, a program, and up to `repairs` turns of the Debugger. The episode ends
with the first program that meets the rule `stop`, so the Debugger only speaks where there
is something to mend. In a seat view of the Debugger the default partners would solve the
task before it: give it a Coder that errs,
`partners={"coder_0": make_agent("faulty:off_by_one")}`.

### Rewards

`rewards.corecode_team(writers=("coder", "debugger"))` by default: Coder and Debugger each get
for their own programs the fraction of tests passed, 0.1 for no crash or overrun and 0.2 for
all tests passed; the Planner the fraction and 0.1 for the Coder's.

### Arguments

As in `planner_coder_v0`, without `coder_sees`, and with

| argument | default | meaning |
|---|---|---|
| `repairs` | 1 | most turns of the Debugger in a round |

### Baseline scores

One round, default rewards, 100 seeded episodes a row (`benchmarks/baseline_scores.py`).

| tasks | agents | `planner_0` | `coder_0` | `debugger_0` | solved |
|---|---|---|---|---|---|
| `pipelines/1`, `pipelines/4` | `reference` | 1.10 | 1.30 | 0.00 | 100 % |
| `pipelines/1`, `pipelines/4` | `coder=faulty:off_by_one` | 0.10 | 0.10 | 1.30 | 100 % |
| `pipelines/1`, `pipelines/4` | `faulty:off_by_one` | 0.10 | 0.10 | 0.10 | 0 % |
| `pipelines/1`, `pipelines/4` | `faulty:wrong_name` | 0.00 | 0.00 | 0.00 | 0 % |
| `pipelines/1`, `pipelines/4` | `random` | 0.00 | 0.00 | 0.00 | 0 % |

### Versions

* v0: first release (0.1.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Unpack

from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from corecode_env.core.episode import Turn
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.options import RENDER_MODES, TeamOptions, whole_number
from corecode_env.environments.team import Role, Team
from corecode_env.environments.turn_parallel import TurnParallelEnv
from corecode_env.rewards import corecode_team

__all__ = ["env", "parallel_env", "raw_env"]

ROLES: Final = (
    Role("planner", acts="plan"),
    Role("coder", acts="program"),
    Role("debugger", acts="program"),
)


@dataclass(frozen=True, slots=True)
class LastAgain:
    """Let every role act once, and the last one up to `times` times."""

    times: int

    def __call__(self, team: Team, turns: Sequence[Turn]) -> Role | None:
        """Return whose turn is next."""
        if len(turns) >= len(team.roles) - 1 + self.times:
            return None
        return team.roles[min(len(turns), len(team.roles) - 1)]


class raw_env(TeamEnv):
    """The environment without wrappers; the module says all about it."""

    metadata: dict[str, Any] = {  # noqa: RUF012  PettingZoo's annotation
        "name": "debug_team_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        # Each turn needs the one before it.
        "is_parallelizable": False,
    }

    def __init__(self, *, repairs: int = 1, **options: Unpack[TeamOptions]) -> None:
        """Make the environment.

        Args:
            repairs: Most turns of the Debugger in a round.
            **options: See `TeamOptions`.

        Raises:
            BadConfig: If an argument cannot work.
        """
        self.repairs = whole_number("repairs", repairs, 1)
        if options.get("rewards") is None:
            options["rewards"] = corecode_team(writers=("coder", "debugger"))
        super().__init__(Team(ROLES, LastAgain(self.repairs)), **options)


def env(
    *, repairs: int = 1, **options: Unpack[TeamOptions]
) -> OrderEnforcingWrapper[str, dict[str, Any], str | None]:
    """Make the environment for PettingZoo's AEC interface.

    Args:
        repairs: Most turns of the Debugger in a round.
        **options: See `TeamOptions`.
    """
    return OrderEnforcingWrapper(raw_env(repairs=repairs, **options))


def parallel_env(*, repairs: int = 1, **options: Unpack[TeamOptions]) -> TurnParallelEnv:
    """Make the environment for PettingZoo's parallel interface: one turn a step.

    Args:
        repairs: Most turns of the Debugger in a round.
        **options: See `TeamOptions`.
    """
    return TurnParallelEnv(env(repairs=repairs, **options))
