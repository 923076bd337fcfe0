"""# Helper and Main.

Two coders share one program: the Helper writes a function `aux`, the Main coder writes the
function that the task asks for and may call `aux`. Both are paid the same, for what each
function is, for how they work together, and for the tests passed. The game of CoMLRL's code
environment (arXiv:2508.04652), to be compared like for like: as there, neither sees what the
other writes in the same round.

| | |
|---|---|
| Creation | `pettingzoo.make("aec", "corecode/helper_main-v0")` |
| Seat view | `gymnasium.make("corecode/HelperMain-v0", seat="main_0")` |
| Agents | `helper_0`, `main_0` |
| Actions | text |
| Parallel API | yes: only the active agent's action counts |
| Manual control | `corecode play --env helper_main_v0 --agent main=human` |
| Action shape | `UnicodeText(max_chars)` |
| Observation shape | `Dict` of seven texts and two numbers |
| Render modes | `ansi`, `human` |

### Observation space

As in `planner_coder_v0`, with `plan` always empty; `role` is `helper` or `main`, `program`
holds both functions of the last round together, and there is one more text:

| field | holds |
|---|---|
| `aux` | the Helper's latest source; for the Main coder only with `main_sees="aux"` |

Nothing of a hidden test is in any field.

### Action space

Any text, of which the last block fenced as Python is the source, without one the last
unmarked block, without any the whole text. The program that is judged is the Helper's source
with Main's below it.

### Tasks

Those whose tests call a function. Others (programs on standard input, values to predict)
are refused when they are drawn or asked for.

### Rewards

`rewards.helper_main()` by default: CoMLRL's levels, 4.0 at most, paid to both after Main's
turn: 0.4 for an `aux` and 0.6 for a main function that return a value; with a main function
0.5 for a whole that parses; with that the fraction of tests passed; and where a test passed
0.5 if main calls `aux`, 1.0 more if it does not merely hand its result on, less 0.5 if it
drops the result of a call.

What differs from the authors' code: programs run in the sandbox, so a value that claims to
equal everything or a program that exits passes no test; functions are found in the syntax
tree, not by patterns, so that comments and strings do not count; imports and further
functions of an answer are kept; a main answer that brings an `aux` of its own is not paid
for using the Helper's; tests that run too long just fail.

### Arguments

As in `planner_coder_v0`, without `coder_sees`, and with

| argument | default | meaning |
|---|---|---|
| `main_sees` | `"nothing"` | `aux`: the Main coder reads the Helper's source of this round |

### Baseline scores

One round, default rewards, 100 seeded episodes a row (`benchmarks/baseline_scores.py`).

| tasks | all agents | `helper_0` | `main_0` | solved |
|---|---|---|---|---|
| `pipelines/1` | `reference` | 3.78 | 3.78 | 100 % |
| `pipelines/4` | `reference` | 4.00 | 4.00 | 100 % |
| `pipelines/1`, `pipelines/4` | `faulty:off_by_one` | 1.50 | 1.50 | 0 % |
| `pipelines/1`, `pipelines/4` | `faulty:wrong_name` | 0.40 | 0.40 | 0 % |
| `pipelines/1`, `pipelines/4` | `random` | 0.00 | 0.00 | 0 % |

The reference Helper does the first half of the reference program, the reference Main coder
the rest; where that is a single `return` of the helper's value, the whole is worth 3.0.

### Versions

* v0: first release (0.1.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, Unpack

from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from corecode_env.core.episode import Submission
from corecode_env.core.errors import BadConfig
from corecode_env.core.messages import extract_program, fenced
from corecode_env.core.task import Function, Task
from corecode_env.environments.acts import Outcome, Scene
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.joint_program import facts_of, joined
from corecode_env.environments.options import RENDER_MODES, TeamOptions, one_of
from corecode_env.environments.split_program import split_program
from corecode_env.environments.team import Role, Team
from corecode_env.environments.turn_parallel import TurnParallelEnv
from corecode_env.rewards import helper_main

__all__ = ["env", "parallel_env", "raw_env"]

MainSees = Literal["nothing", "aux"]


@dataclass(frozen=True, slots=True)
class WriteAux:
    """The source in the text goes to the field `aux`."""

    def apply(self, text: str, scene: Scene) -> Outcome:
        """Take the source out."""
        return Outcome({"aux": extract_program(text).program})


@dataclass(frozen=True, slots=True)
class JoinAux:
    """The source in the text is joined to the helper's, judged and looked at."""

    def apply(self, text: str, scene: Scene) -> Outcome:
        """Judge both sources as one program, and note how far the levels are reached."""
        aux, main = scene.fields["aux"], extract_program(text)
        program = joined(aux, main.program)
        judgement = scene.judge(scene.task, program)
        facts = facts_of(aux, main.program, entry_of(scene.task))
        if facts["syntax"]:
            facts["tests"] = judgement.pass_rate
        if not facts.get("tests"):
            facts |= dict.fromkeys(("uses_aux", "own_work", "ignores_aux"), 0.0)
        submission = Submission(program, found=f"aux and {main.found}")
        return Outcome(submission=submission, judgement=judgement, facts=facts)


def entry_of(task: Task) -> str:
    """Return the name of the function that a task asks for.

    Raises:
        BadConfig: If its tests call none.
    """
    if not isinstance(task.interface, Function):
        raise BadConfig(
            f"tasks of helper_main_v0 must ask for a function, got {task.id!r}, whose "
            f"interface is {type(task.interface).__name__.lower()}; choose others, such as "
            "'pipelines/2' or 'mbpp'"
        )
    return task.interface.name


def reference_helper(task: Task) -> str | None:
    """Return the first half of the reference program as `aux`, None if there is none."""
    program = task.reference_program
    return None if program is None else fenced(split_program(program, entry_of(task)).aux)


def reference_main(task: Task) -> str | None:
    """Return what is left of the reference program, None if there is none."""
    program = task.reference_program
    return None if program is None else fenced(split_program(program, entry_of(task)).main)


def team_of(main_sees: MainSees) -> Team:
    """Return the team: a Main coder that is blind, or that reads the helper's source."""
    own = {"program", "feedback"}
    helper = Role(
        "helper",
        acts="text",
        sees=frozenset({*own, "aux"}),
        writes="aux",
        act=WriteAux(),
        reference=reference_helper,
    )
    main = Role(
        "main",
        acts="program",
        sees=frozenset({*own, "aux"} if main_sees == "aux" else own),
        act=JoinAux(),
        reference=reference_main,
    )
    return Team((helper, main))


TEAMS: Final[dict[MainSees, Team]] = {"nothing": team_of("nothing"), "aux": team_of("aux")}


class raw_env(TeamEnv):
    """The environment without wrappers; the module says all about it."""

    metadata: dict[str, Any] = {  # noqa: RUF012  PettingZoo's annotation
        "name": "helper_main_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        # The whole is judged when Main has spoken: turns are taken one after the other.
        "is_parallelizable": False,
    }

    def __init__(
        self, *, main_sees: MainSees = "nothing", **options: Unpack[TeamOptions]
    ) -> None:
        """Make the environment.

        Args:
            main_sees: `nothing` of this round's helper, or its source (`aux`).
            **options: See `TeamOptions`.

        Raises:
            BadConfig: If an argument cannot work.
        """
        self.main_sees: MainSees = one_of("main_sees", main_sees, TEAMS)
        if options.get("rewards") is None:
            options["rewards"] = helper_main()
        super().__init__(TEAMS[self.main_sees], **options)

    def check_task(self, task: Task) -> None:
        """Refuse a task that asks for no function."""
        entry_of(task)


def env(
    *, main_sees: MainSees = "nothing", **options: Unpack[TeamOptions]
) -> OrderEnforcingWrapper[str, dict[str, Any], str | None]:
    """Make the environment for PettingZoo's AEC interface.

    Args:
        main_sees: `nothing` of this round's helper, or its source (`aux`).
        **options: See `TeamOptions`.
    """
    return OrderEnforcingWrapper(raw_env(main_sees=main_sees, **options))


def parallel_env(
    *, main_sees: MainSees = "nothing", **options: Unpack[TeamOptions]
) -> TurnParallelEnv:
    """Make the environment for PettingZoo's parallel interface: one turn a step.

    Args:
        main_sees: `nothing` of this round's helper, or its source (`aux`).
        **options: See `TeamOptions`.
    """
    return TurnParallelEnv(env(main_sees=main_sees, **options))
