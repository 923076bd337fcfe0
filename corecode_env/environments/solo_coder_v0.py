"""# Solo Coder.

One agent reads a programming task and writes a Python program; a sandbox runs it on the
task's tests, which pay the agent. The baseline that a team has to beat, and the shape that
single-agent libraries expect. With more rounds the agent sees its last program and what its
public tests said.

| | |
|---|---|
| Creation | `pettingzoo.make("aec", "corecode/solo_coder-v0")` |
| Seat view | `gymnasium.make("corecode/SoloCoder-v0")` |
| Agents | `coder_0` |
| Actions | text |
| Parallel API | yes |
| Manual control | `corecode play --env solo_coder_v0 --coder human` |
| Action shape | `UnicodeText(max_chars)` |
| Observation shape | `Dict` of six texts and two numbers |
| Render modes | `ansi`, `human` |

### Observation space

As in `planner_coder_v0`, with `plan` always empty.

### Action space

Any text. The last block fenced as Python is the program, without one the last unmarked
block, without any the whole text.

### Rewards

`rewards.corecode()` by default: the fraction of tests passed, 0.1 for no crash or overrun
and 0.2 for all tests passed, after each program.

### Arguments

As in `planner_coder_v0`, without `coder_sees`. `max_cycles` is the number of attempts.

### Baseline scores

One round, default rewards, 100 seeded episodes a row (`benchmarks/baseline_scores.py`).

| tasks | agent | `coder_0` | solved |
|---|---|---|---|
| `pipelines/1`, `pipelines/4` | `reference` | 1.30 | 100 % |
| `pipelines/1`, `pipelines/4` | `faulty:off_by_one` | 0.10 | 0 % |
| `pipelines/1`, `pipelines/4` | `faulty:wrong_name` | 0.00 | 0 % |
| `pipelines/1`, `pipelines/4` | `random` | 0.00 | 0 % |

### Versions

* v0: first release (0.1.0)
"""

from __future__ import annotations

from typing import Any, Final, Unpack

from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.options import RENDER_MODES, TeamOptions
from corecode_env.environments.team import Role, Team
from corecode_env.environments.turn_parallel import TurnParallelEnv

__all__ = ["env", "parallel_env", "raw_env"]

TEAM: Final = Team(
    (
        Role(
            "coder",
            acts="program",
            sees=frozenset({"program", "feedback"}),
            template="solo",
        ),
    )
)


class raw_env(TeamEnv):
    """The environment without wrappers; the module says all about it."""

    metadata: dict[str, Any] = {  # noqa: RUF012  PettingZoo's annotation
        "name": "solo_coder_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        "is_parallelizable": True,
    }

    def __init__(self, **options: Unpack[TeamOptions]) -> None:
        """Make the environment.

        Args:
            **options: See `TeamOptions`.
        """
        super().__init__(TEAM, **options)


def env(
    **options: Unpack[TeamOptions],
) -> OrderEnforcingWrapper[str, dict[str, Any], str | None]:
    """Make the environment for PettingZoo's AEC interface.

    Args:
        **options: See `TeamOptions`.
    """
    return OrderEnforcingWrapper(raw_env(**options))


def parallel_env(**options: Unpack[TeamOptions]) -> TurnParallelEnv:
    """Make the environment for PettingZoo's parallel interface.

    Args:
        **options: See `TeamOptions`.
    """
    return TurnParallelEnv(env(**options))
