"""Presets: the rewards that papers and practice use, each coefficient a parameter.

Sources: CoRe-Code (arXiv:2605.24812, reward section) and its authors' published code, whose
constants are the defaults. In a team with one program per plan the Planner's
softmax-weighted accuracy over its programs is that program's accuracy; the rule for several
programs needs the whole group and lives with the algorithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.verdict import Judgement, TestResult
from corecode_env.rewards.rewards import Rewards
from corecode_env.rewards.terms import RewardFunction, Term

CODER = ("coder",)
PLANNER = ("planner",)


# -------------------------------------------------------------------- what is measured
def accuracy(turn: Turn, episode: Episode) -> float | None:
    """Fraction of tests passed, public and hidden, in [0, 1]."""
    return None if turn.judgement is None else turn.judgement.pass_rate


def error_free(turn: Turn, episode: Episode) -> float | None:
    """1 if no test crashed, hung or could not run; wrong answers are no errors."""
    return None if turn.judgement is None else float(turn.judgement.error_free)


def score_or_accuracy(turn: Turn, episode: Episode) -> float | None:
    """Score of what was handed in where its tests give one, else `accuracy`.

    Kinds of task then pay by one measure: the score of a heuristic, of tests or of a commit
    message, the fraction of tests passed by a program.
    """
    if turn.judgement is None or turn.judgement.score is None:
        return accuracy(turn, episode)
    return turn.judgement.score


def all_tests_pass(turn: Turn, episode: Episode) -> float | None:
    """1 if every test was accepted."""
    return None if turn.judgement is None else float(turn.judgement.passed)


@dataclass(frozen=True, slots=True)
class Speed:
    """`exp(-rate * mean CPU seconds per test)` for a right program, 0 for a wrong one.

    The authors time the wall clock; CPU time is what the program alone causes, so that
    a busy machine does not change what it is paid.
    """

    rate: float
    """Per second."""

    def __call__(self, turn: Turn, episode: Episode) -> float | None:
        """Measure the turn's judgement."""
        return _decay(turn.judgement, self.rate, lambda result: result.cpu_seconds)


@dataclass(frozen=True, slots=True)
class Thrift:
    """`exp(-rate * mean peak MiB per test)` for a right program, 0 for a wrong one.

    Memory counts above the bare interpreter's, which alone would cost most of the bonus.
    """

    rate: float
    """Per MiB."""

    def __call__(self, turn: Turn, episode: Episode) -> float | None:
        """Measure the turn's judgement."""
        return _decay(turn.judgement, self.rate, lambda result: result.peak_bytes / 2**20)


def _decay(
    judgement: Judgement | None, rate: float, gauge: Callable[[TestResult], float]
) -> float | None:
    if judgement is None:
        return None
    if not judgement.passed:
        return 0.0
    mean = sum(gauge(result) for result in judgement.results) / len(judgement.results)
    return math.exp(-rate * mean)


# ----------------------------------------------------------------------------- presets
def corecode(
    *,
    coder_accuracy: float = 1.0,
    coder_error_free: float = 0.1,
    coder_all_pass: float = 0.2,
    planner_accuracy: float = 1.0,
    planner_error_free: float = 0.1,
) -> Rewards:
    """CoRe-Code without time or memory: equal programs always get equal rewards.

        Coder:    accuracy + 0.1 [error free] + 0.2 [all pass]     at most 1.3
        Planner:  accuracy + 0.1 [error free]                      at most 1.1

    Both are paid on turns whose program was judged. A coefficient of 0 leaves its term out.
    """
    return _preset(
        Term("accuracy", accuracy, weight=coder_accuracy, pays=CODER),
        Term("error_free", error_free, weight=coder_error_free, pays=CODER),
        Term("all_pass", all_tests_pass, weight=coder_all_pass, pays=CODER),
        Term("accuracy", accuracy, weight=planner_accuracy, pays=PLANNER),
        Term("error_free", error_free, weight=planner_error_free, pays=PLANNER),
    )


def corecode_efficiency(
    *,
    coder_accuracy: float = 1.0,
    coder_error_free: float = 0.0,
    coder_all_pass: float = 0.0,
    coder_time: float = 0.1,
    coder_memory: float = 0.1,
    planner_accuracy: float = 1.0,
    planner_error_free: float = 0.1,
    planner_time: float = 0.1,
    time_rate: float = 3.0,
    memory_rate: float = 0.1,
) -> Rewards:
    """CoRe-Code with time and memory. Not deterministic: it reads a clock and a gauge.

        Coder:    accuracy + [all pass] (0.1 exp(-3 s) + 0.1 exp(-0.1 MiB))    at most 1.2
        Planner:  accuracy + 0.1 [error free] + [all pass] 0.1 exp(-3 s)       at most 1.2

    with s the mean CPU seconds and MiB the mean peak memory above the interpreter's, per
    test. The Coder's form is the authors' variant with complexity, which drops the two
    bonuses of `corecode`; `coder_error_free` and `coder_all_pass` bring them back. The
    Planner's time term follows the paper's description with the Coder's constants, since the
    paper's own are not published.

    Args:
        coder_accuracy: Weight of the pass rate.
        coder_error_free: Weight of the bonus for no error.
        coder_all_pass: Weight of the bonus for a right program.
        coder_time: Weight of the Coder's speed.
        coder_memory: Weight of the Coder's thrift.
        planner_accuracy: Weight of the pass rate of the plan's program.
        planner_error_free: Weight of the bonus for no error.
        planner_time: Weight of the speed of the plan's program.
        time_rate: Decay per CPU second.
        memory_rate: Decay per MiB.
    """
    speed, thrift = Speed(time_rate), Thrift(memory_rate)
    return _preset(
        Term("accuracy", accuracy, weight=coder_accuracy, pays=CODER),
        Term("error_free", error_free, weight=coder_error_free, pays=CODER),
        Term("all_pass", all_tests_pass, weight=coder_all_pass, pays=CODER),
        _gauge("time", speed, coder_time, CODER),
        _gauge("memory", thrift, coder_memory, CODER),
        Term("accuracy", accuracy, weight=planner_accuracy, pays=PLANNER),
        Term("error_free", error_free, weight=planner_error_free, pays=PLANNER),
        _gauge("time", speed, planner_time, PLANNER),
    )


def pass_rate(*, weight: float = 1.0) -> Rewards:
    """Everybody gets the fraction of tests passed."""
    return _preset(Term("pass_rate", accuracy, weight=weight))


def score(*, weight: float = 1.0) -> Rewards:
    """Everybody gets the score, or the fraction of tests passed where there is none."""
    return _preset(Term("score", score_or_accuracy, weight=weight))


def all_pass(*, weight: float = 1.0) -> Rewards:
    """Everybody gets 1 for a program that passes every test, else 0."""
    return _preset(Term("all_pass", all_tests_pass, weight=weight))


def _gauge(name: str, fn: RewardFunction, weight: float, pays: Sequence[str]) -> Term:
    return Term(name, fn, weight=weight, pays=tuple(pays), deterministic=False)


def _preset(*terms: Term) -> Rewards:
    return Rewards(term for term in terms if term.weight != 0.0)
