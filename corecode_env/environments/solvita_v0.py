"""# Solvita.

Four agents make a program that withstands attack. A Planner plans; an Oracle writes an input
generator, a validator, a checker and a brute force, which are tried out and give certified
tests; a Solver writes the program; a Hacker writes inputs that are to break it. Every input
is validated and really run. A program that was broken goes back to the next round, with the
breaking input among its tests. This is the loop of Solvita (arXiv:2605.15301, and its
published code), as a game on tasks of standard input and output.

| | |
|---|---|
| Creation | `pettingzoo.make("aec", "corecode/solvita-v0")` |
| Seat view | `gymnasium.make("corecode/Solvita-v0", seat="hacker_0", partners=...)` |
| Agents | `planner_0`, `oracle_0`, `solver_0`, `hacker_0` |
| Actions | text |
| Parallel API | yes: only the active agent's action counts |
| Manual control | `corecode play --env solvita_v0 --agent hacker=human --tasks ...` |
| Action shape | `UnicodeText(max_chars)` |
| Observation shape | `Dict` of ten texts and two numbers |
| Render modes | `ansi`, `human` |

### Observation space

As in `planner_coder_v0`, and

| field | holds | seen by |
|---|---|---|
| `certificate` | what came of the Oracle's programs | Oracle |
| `hacks` | what came of the Hacker's last inputs | Hacker |
| `certified` | generated tests with answers, as JSON | nobody |
| `breaks` | inputs that broke a program with answers, as JSON | nobody |

The last two are part of `state()`. `feedback` tells Planner and Solver of the public tests;
of the first certified tests and breaks that the program fails; and, after the Hacker, of what
broke it. The Hacker sees the program.

### Action space

Any text. Planner and Solver as in `planner_coder_v0`. The Oracle fences its programs under
their names, and each reads standard input and prints:

| block | reads | prints |
|---|---|---|
| ```` ```python generator ```` | a line with a seed | an input of the task |
| ```` ```python validator ```` | an input | `valid`, or anything else |
| ```` ```python brute ```` | an input | the right answer |
| ```` ```python checker ```` | JSON with `input`, `answer`, `output` | `right` or `wrong` |

The checker may be left out where every input has one right answer. The text `keep` leaves
the programs of an earlier round in force. The Hacker hands in up to five inputs: a block
fenced as `input` is one as it stands, a block fenced as `python` is a program that prints one.

### What is certified, and what a hack is

The brute force must pass the public tests (in twice the task's time), and the validator
take their inputs. The generator is run on up to 16 seeds, and its first 8 different inputs
count; at least 80 % of them must be valid and have an answer. A checker must take the answers
of the public tests, and refuse each with garbage behind it, else outputs are compared as the
task does it. Programs of the Oracle that fall short are not used.

A hack counts if the validator takes the input, the brute force answers it, and the program
crashes, overruns, or answers otherwise (with a certified checker: answers what the checker
calls `wrong`). Without a certified Oracle there are no hacks. A sandbox that fails (`SE`) is
never a hack: it ends the episode unpaid.

### Turns

A round is Planner, Oracle, Solver, Hacker; a program that fails a public test, a certified
test or an earlier break ends its round before the Hacker. The episode ends when the Hacker
breaks nothing (the program is accepted), or after `max_cycles` rounds. `stop` must be left
as it is: the Hacker decides.

### Rewards

`rewards.solvita()` by default, the numbers of the published code. At the end of the episode
Planner and Solver get 1 if the last program passes every test, -1 if the rounds ran out
before it was accepted, else the fraction of tests passed less 0.5; the Oracle the same, with
twice the fraction less 1. On its turns the Hacker gets 0.2 for the fraction of valid inputs,
0.6 for the fraction of these that broke the program, 0.2 for the severity of the worst break,
less 0.1 for each of its programs that made no input (at most 0.3); -0.6 without any input.
Hidden tests count at the end alone.

### Tasks

Tasks of kind `code` on standard input and output that show at least one test: the default
`pipelines/4/stdio`, `google_contests`, or your own. Others are refused by `reset`.

### Arguments

As in `planner_coder_v0`, without `coder_sees`; `tasks` is `"pipelines/4/stdio"` and
`max_cycles` 3 by default.

### Baseline scores

Three rounds, default rewards, 20 seeded episodes a row
(`benchmarks/baseline_scores.py --envs solvita_v0 --episodes 20`).

| tasks | agents | `planner_0` | `oracle_0` | `solver_0` | `hacker_0` | solved |
|---|---|---|---|---|---|---|
| `pipelines/1/stdio`, `pipelines/4/stdio` | `reference` | 1.00 | 1.00 | 1.00 | 0.20 | 100 % |
| `pipelines/1/stdio` | `solver=faulty:corner_case` | -1.00 | -1.00 | -1.00 | 0.60 | 0 % |
| `pipelines/4/stdio` | `solver=faulty:corner_case` | -0.80 | -0.80 | -0.80 | 0.58 | 10 % |
| both | `faulty:off_by_one` | -1.00 | -1.00 | -1.00 | 0.00 | 0 % |
| both | `faulty:wrong_name` | -1.00 | -1.00 | -1.00 | 0.00 | 0 % |
| both | `random` | -1.00 | -1.00 | -1.00 | 0.00 | 0 % |

The fault `corner_case` shows on inputs of fewer than two numbers alone; on some tasks the
program is right all the same. The Solver repeats it, so the rounds run out.

### Versions

* v0: first release (0.1.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Unpack

from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from corecode_env.core.episode import Turn
from corecode_env.core.errors import BadConfig
from corecode_env.core.task import Stdio, StdioTest, Task
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.feedback import FEEDBACK, Feedback
from corecode_env.environments.options import RENDER_MODES, TeamOptions, one_of
from corecode_env.environments.solvita_acts import READY, Attack, Certify, Solve
from corecode_env.environments.solvita_players import reference_hacker, reference_oracle
from corecode_env.environments.team import Role, Team, in_order
from corecode_env.environments.turn_parallel import TurnParallelEnv
from corecode_env.rewards import solvita

__all__ = ["env", "parallel_env", "raw_env"]

TASKS: Final = "pipelines/4/stdio"
ROUNDS: Final = 3
"""Rounds of hacking in the published code."""


def until_ready(team: Team, turns: Sequence[Turn]) -> Role | None:
    """Let all act in order; the Hacker only on a program that is ready for it."""
    if turns and not turns[-1].facts.get(READY, 1.0):
        return None
    return in_order(team, turns)


def team_of(feedback: Feedback) -> Team:
    """Return the team, whose acts tell as much as the argument `feedback` allows."""
    return Team(
        (
            Role("planner", acts="plan"),
            Role(
                "oracle",
                acts="text",
                sees=frozenset({"certificate"}),
                writes=("certificate", "certified"),
                act=Certify(feedback),
                reference=reference_oracle,
            ),
            Role("solver", acts="program", template="coder", act=Solve(feedback)),
            Role(
                "hacker",
                acts="text",
                sees=frozenset({"program", "hacks"}),
                writes=("hacks", "breaks"),
                act=Attack(feedback),
                reference=reference_hacker,
            ),
        ),
        until_ready,
    )


class raw_env(TeamEnv):
    """The environment without wrappers; the module says all about it."""

    metadata: dict[str, Any] = {  # noqa: RUF012  PettingZoo's annotation
        "name": "solvita_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        # Each turn needs the one before it.
        "is_parallelizable": False,
    }

    def __init__(self, **options: Unpack[TeamOptions]) -> None:
        """Make the environment.

        Args:
            **options: See `TeamOptions`.

        Raises:
            BadConfig: If an argument cannot work.
        """
        stop = options.get("stop", "public")
        if stop != "public":
            raise BadConfig(
                f"stop must be left out, got {stop!r}: in solvita_v0 an episode "
                "ends when the Hacker breaks nothing"
            )
        options.setdefault("tasks", TASKS)
        options.setdefault("max_cycles", ROUNDS)
        if options.get("rewards") is None:
            options["rewards"] = solvita()
        feedback: Feedback = one_of("feedback", options.get("feedback", "public"), FEEDBACK)
        super().__init__(team_of(feedback), **options)

    def check_task(self, task: Task) -> None:
        """Refuse a task whose inputs no Oracle could make or check.

        Raises:
            BadConfig: If it is not of kind `code` on standard input and output with public
                tests.
        """
        fault = ""
        if task.kind != "code":
            fault = f"whose kind is {task.kind!r}"
        elif not isinstance(task.interface, Stdio):
            fault = f"whose interface is {type(task.interface).__name__.lower()}"
        elif not all(isinstance(test, StdioTest) for test in task.tests):
            fault = "whose tests are not all of an input and an output"
        elif not task.public_tests:
            fault = "which has no public tests"
        if fault:
            raise BadConfig(
                "tasks of solvita_v0 must read standard input, print an answer, and show a "
                f"test, got {task.id!r}, {fault}; choose others, such as {TASKS!r} or "
                "'google_contests'"
            )


def env(
    **options: Unpack[TeamOptions],
) -> OrderEnforcingWrapper[str, dict[str, Any], str | None]:
    """Make the environment for PettingZoo's AEC interface.

    Args:
        **options: See `TeamOptions`.
    """
    return OrderEnforcingWrapper(raw_env(**options))


def parallel_env(**options: Unpack[TeamOptions]) -> TurnParallelEnv:
    """Make the environment for PettingZoo's parallel interface: one turn a step.

    Args:
        **options: See `TeamOptions`.
    """
    return TurnParallelEnv(env(**options))
