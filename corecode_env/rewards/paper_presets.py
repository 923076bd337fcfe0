"""Paper presets: rewards of methods whose teams search or attack.

Sources: MARS² (arXiv:2604.14564) and the authors' published code; Solvita (arXiv:2605.15301)
and its published code, whose constants are the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from corecode_env.core.episode import Episode, Turn
from corecode_env.rewards.presets import all_tests_pass
from corecode_env.rewards.rewards import Rewards
from corecode_env.rewards.team_presets import Fact, OnTurnsOf
from corecode_env.rewards.terms import Term


def mars2(agents: Sequence[str]) -> Rewards:
    """MARS²'s reward of a node: 1 if its program passes every test, paid to its author.

    Raw: what the paper makes of it, tree-consistent shaping and a normalisation over all
    nodes of a tree, is an algorithm's business.

    Args:
        agents: All that may write programs, such as `("coder_0", "coder_1")`.
    """
    return Rewards(
        Term("solved", OnTurnsOf(agent, all_tests_pass), pays=(agent,)) for agent in agents
    )


# -------------------------------------------------------------------------------- Solvita
def loop_outcome(turn: Turn, episode: Episode) -> float | None:
    """What the end of the loop is worth to Planner and Solver, in [-1, 1].

    1 if the last program passes every test, hidden ones too; -1 if the rounds ran out
    before a program was accepted; else the fraction of tests passed, less 0.5. None on
    every turn but the last.
    """
    return _outcome(turn, episode, lambda rate: rate - 0.5)


def oracle_outcome(turn: Turn, episode: Episode) -> float | None:
    """What the end of the loop is worth to the Oracle, in [-1, 1].

    As `loop_outcome`, but `2 * rate - 1` in the third case.
    """
    return _outcome(turn, episode, lambda rate: 2 * rate - 1)


def _outcome(turn: Turn, episode: Episode, partly: Callable[[float], float]) -> float | None:
    judgement = episode.judgement
    if "accepted" not in turn.facts or judgement is None:
        return None
    if judgement.passed:
        return 1.0
    return partly(judgement.pass_rate) if turn.facts["accepted"] else -1.0


def hack_value(turn: Turn, episode: Episode) -> float | None:
    """What a Hacker's turn is worth, in [-1, 1].

        0.2 valid + 0.6 breaks + 0.2 severity - min(0.3, 0.1 failures)

    with `valid` the fraction of inputs that the validator takes, `breaks` the fraction of
    valid ones that break the program, `severity` that of the worst break, and `failures` the
    Hacker's programs that made no input. Without any input: -0.6 less the same penalty. None
    where there was nothing to try the inputs with.
    """
    facts = turn.facts
    if "hack_inputs" not in facts:
        return None
    penalty = min(0.3, 0.1 * facts["hack_failures"])
    if not facts["hack_inputs"]:
        return -0.6 - penalty
    breaks = 0.6 * facts["break_ratio"] + 0.2 * facts["severity"]
    return min(1.0, max(-1.0, 0.2 * facts["valid_ratio"] + breaks - penalty))


def solvita(
    *, outcome: float = 1.0, oracle: float = 1.0, hack: float = 1.0, certificate: float = 0.0
) -> Rewards:
    """Solvita's rewards: the outcome of the loop, and what each hack was worth.

    In the paper they move the weights of routing networks over a frozen model; here they are
    rewards of the roles' turns. Hidden tests count at the end of the loop alone.

    Args:
        outcome: Weight of `loop_outcome`, for Planner and Solver.
        oracle: Weight of `oracle_outcome`.
        hack: Weight of `hack_value`, for the Hacker.
        certificate: Weight of what the Oracle's programs are worth by themselves: -1 or -0.7
            for a brute force that crashes on the public tests, or answers wrong; 0.9 of the
            fraction of wanted tests that were certified; for all of them 1, -0.2 or -0.5, as a
            program that is known to be right agrees with all, some or none. The paper pays so
            where the Oracle is trained without the others.
    """
    terms = (
        Term("outcome", loop_outcome, weight=outcome, pays=("planner", "solver")),
        Term("outcome", oracle_outcome, weight=oracle, pays=("oracle",)),
        Term("hack", hack_value, weight=hack, pays=("hacker",)),
        Term("certificate", Fact("certificate"), weight=certificate, pays=("oracle",)),
    )
    return Rewards(term for term in terms if term.weight != 0.0)
