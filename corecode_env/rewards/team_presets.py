"""Team presets: what the roles of larger teams are paid.

CoRe-Code's rules (arXiv:2605.24812) carried over to teams in which more than a Planner and a
Coder act, and the levels of CoMLRL's game of a helper and a main function
(arXiv:2508.04652, and the authors' published code, whose numbers are the defaults).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import RewardError
from corecode_env.core.names import role_of
from corecode_env.rewards.presets import accuracy, all_tests_pass, error_free
from corecode_env.rewards.rewards import Rewards
from corecode_env.rewards.terms import RewardFunction, Term

LEVELS: Final = (
    "aux_defined",
    "main_defined",
    "syntax",
    "uses_aux",
    "own_work",
    "ignores_aux",
)
"""Facts of a turn of `helper_main_v0` that the reward `helper_main` pays by."""


@dataclass(frozen=True, slots=True)
class OnTurnsOf:
    """A reward function that applies to the turns of one role or agent alone."""

    who: str
    fn: RewardFunction

    def __call__(self, turn: Turn, episode: Episode) -> float | None:
        """Return what the function says of a turn of theirs, else None."""
        theirs = self.who in (turn.agent, role_of(turn.agent))
        return self.fn(turn, episode) if theirs else None


@dataclass(frozen=True, slots=True)
class Fact:
    """A number that the environment noted in the turn; None where it did not."""

    name: str

    def __call__(self, turn: Turn, episode: Episode) -> float | None:
        """Look it up."""
        return turn.facts.get(self.name)


def corecode_team(
    *,
    writers: Sequence[str] = ("coder",),
    planners: Sequence[str] = ("planner",),
    writer_accuracy: float = 1.0,
    writer_error_free: float = 0.1,
    writer_all_pass: float = 0.2,
    planner_accuracy: float = 1.0,
    planner_error_free: float = 0.1,
) -> Rewards:
    """CoRe-Code's rewards for a team of several writers or planners.

        each writer:   accuracy + 0.1 [error free] + 0.2 [all pass]   of its own programs
        each planner:  accuracy + 0.1 [error free]                    of the first writer's

    Nobody is paid for another writer's program: a Coder that was paid for the Debugger's
    too would earn more by failing first.

    Args:
        writers: Roles that hand in programs; planners are paid by those of the first.
        planners: Roles that others write programs from, such as `planner`, `retriever`.
        writer_accuracy: Weight of the pass rate.
        writer_error_free: Weight of the bonus for no error.
        writer_all_pass: Weight of the bonus for a right program.
        planner_accuracy: Weight of the pass rate of the first writer's program.
        planner_error_free: Weight of the bonus for no error in it.

    Raises:
        RewardError: If there is no writer.
    """
    if not writers:
        raise RewardError(
            "writers must name at least one role, got none: nobody's program would be paid "
            "for; pass writers=('coder',)"
        )
    terms = []
    for role in writers:
        terms += [
            Term("accuracy", OnTurnsOf(role, accuracy), weight=writer_accuracy, pays=(role,)),
            Term(
                "error_free",
                OnTurnsOf(role, error_free),
                weight=writer_error_free,
                pays=(role,),
            ),
            Term(
                "all_pass",
                OnTurnsOf(role, all_tests_pass),
                weight=writer_all_pass,
                pays=(role,),
            ),
        ]
    paid = tuple(planners)
    if paid:
        first = writers[0]
        terms += [
            Term("accuracy", OnTurnsOf(first, accuracy), weight=planner_accuracy, pays=paid),
            Term(
                "error_free",
                OnTurnsOf(first, error_free),
                weight=planner_error_free,
                pays=paid,
            ),
        ]
    return Rewards(term for term in terms if term.weight != 0.0)


def helper_main(
    *,
    aux_defined: float = 0.4,
    main_defined: float = 0.6,
    syntax: float = 0.5,
    tests: float = 1.0,
    uses_aux: float = 0.5,
    own_work: float = 1.0,
    ignores_aux: float = -0.5,
) -> Rewards:
    """CoMLRL's levels for a helper `aux` and a main function; both get the same.

        level 1:  0.4 [aux returns a value] + 0.6 [main returns a value]
        level 2:  0.5 [both together parse]                         if main is defined
        level 3:  1.0 fraction of tests passed                      if level 2 is reached
                  + 0.5 [main calls aux] + 1.0 [and does more than hand its result on]
                  - 0.5 [a call whose result is dropped]            if a test passed

    At most 4.0. The facts come from `helper_main_v0`, which reads the programs as syntax
    trees; the fraction of tests from the sandbox.
    """
    weights = (aux_defined, main_defined, syntax, uses_aux, own_work, ignores_aux)
    levels = zip(LEVELS, weights, strict=True)
    terms = [Term(name, Fact(name), weight=weight) for name, weight in levels]
    terms.insert(3, Term("tests", Fact("tests"), weight=tests))
    return Rewards(term for term in terms if term.weight != 0.0)
