"""Metrics: what many programs come to, every number with its interval.

    Sample, Sample, ...  ->  Metrics (name -> Estimate), whole and by group

Each metric is a sum over tasks divided by another, so that one bootstrap over tasks serves
all. `docs/reference/metrics-of-evaluation.md` says what each name means.
"""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from corecode_env.core.errors import BadConfig
from corecode_env.core.verdict import Judgement, Verdict
from corecode_env.evaluation.intervals import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    ratio_estimates,
    sure_share,
    task_mean,
)
from corecode_env.evaluation.pass_at_k import pass_at_k
from corecode_env.evaluation.program_text import code_tokens, cyclomatic_complexity
from corecode_env.evaluation.samples import Sample, by_task

METRICS_SCHEMA: Final = "corecode/metrics/1"

FAILURES: Final[Mapping[Verdict, str]] = {
    Verdict.TLE: "timeout",
    Verdict.ILE: "timeout",
    Verdict.MLE: "memory",
    Verdict.OLE: "output",
    Verdict.CE: "compile",
    Verdict.NOCALL: "no_call",
    Verdict.SV: "security",
    Verdict.SKIP: "skipped",
}
"""Kinds of failure by verdict; a runtime error is told apart by its exception."""

SHARES: Final = ("pass@", "apr", "verdict/", "failure")
"""How the names of metrics begin that lie in [0, 1]."""

_EXCEPTION: Final = re.compile(r"([A-Za-z_]\w*)(?:: |; |$)")

Parts = dict[str, tuple[float, float]]
"""What one task adds to each metric: numerator and denominator."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What tokens cost, in any currency per million."""

    read: float = 0.0
    """Price of a million tokens of prompts."""
    written: float = 0.0
    """Price of a million tokens of answers."""

    def __post_init__(self) -> None:
        """Refuse what no server charges."""
        if not (0 <= self.read < float("inf") and 0 <= self.written < float("inf")):
            raise BadConfig(f"prices must be finite and not negative, got {self}")


@dataclass(frozen=True, slots=True)
class Metrics:
    """What was measured on a number of tasks.

    Attributes:
        tasks: Tasks with at least one valid sample.
        samples: Valid samples.
        invalid: Samples that were left out since the sandbox failed.
        values: Estimates by name. What cannot be computed, such as tokens of agents that
            count none, is not there.
        groups: The same for parts of the tasks, such as levels.
    """

    tasks: int
    samples: int
    invalid: int
    values: Mapping[str, Estimate]
    groups: Mapping[str, Metrics] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Estimate:
        """Return one estimate.

        Raises:
            KeyError: If it could not be computed.
        """
        return self.values[name]

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as one JSON object."""
        return {
            "schema": METRICS_SCHEMA,
            "tasks": self.tasks,
            "samples": self.samples,
            "invalid": self.invalid,
            "values": {name: estimate._asdict() for name, estimate in self.values.items()},
            "groups": {name: group.to_json() for name, group in self.groups.items()},
        }


def summarise(
    samples: Sequence[Sample],
    *,
    ks: Sequence[int] = (1,),
    groups: Mapping[str, str] | None = None,
    prices: Prices | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Metrics:
    """Return all metrics of a number of samples.

    Args:
        samples: What was played.
        ks: For which k pass@k is wanted. A task with fewer than k valid samples does not
            count in pass@k; its estimate's `n` says how many did.
        groups: Name of the group of each task, by task id; a task without one is in none.
        prices: What tokens cost; None: no cost is computed.
        confidence: Probability that each interval is to cover.
        resamples: How often tasks are drawn anew.
        seed: Seed of the draws.

    Raises:
        BadConfig: If a k is below 1.
    """
    if not ks or min(ks) < 1:
        raise BadConfig(f"ks must be whole numbers of at least 1, got {tuple(ks)}")
    valid = by_task(samples)
    parts = {task_id: _parts(found, ks, prices) for task_id, found in valid.items()}

    def metrics(ids: Sequence[str], invalid: int, inner: Mapping[str, Metrics]) -> Metrics:
        values = _estimates([parts[i] for i in ids], confidence, resamples, seed)
        return Metrics(len(ids), sum(len(valid[i]) for i in ids), invalid, values, inner)

    members: dict[str, list[str]] = {}
    for task_id in valid:
        if groups is not None and task_id in groups:
            members.setdefault(groups[task_id], []).append(task_id)
    failed = Counter(sample.task_id for sample in samples if not sample.valid)
    inner = {}
    for name in sorted(members):
        lost = sum(n for i, n in failed.items() if groups and groups.get(i) == name)
        inner[name] = metrics(members[name], lost, {})
    return metrics(list(valid), failed.total(), inner)


def failure_kind(judgement: Judgement | None) -> str | None:
    """Return why a program failed otherwise than by a wrong answer; None if it did not.

    Exceptions are told apart where a public test raised one of Python's own: what programs
    raise on hidden tests is not recorded, and names of their own making are countless.
    """
    if judgement is None:
        return "unjudged"
    if judgement.error_free:
        return None
    if judgement.verdict in FAILURES:
        return FAILURES[judgement.verdict]
    for result in judgement.results:
        match = _EXCEPTION.match(result.note)
        if result.verdict is Verdict.RE and result.public and match:
            kind = getattr(builtins, match[1], None)
            known = isinstance(kind, type) and issubclass(kind, BaseException)
            return match[1] if known else "other_exception"
    return "unnamed_exception"


# ------------------------------------------------------------------- what one task adds
def _parts(samples: Sequence[Sample], ks: Sequence[int], prices: Prices | None) -> Parts:
    parts: Parts = {}
    n, right = len(samples), sum(sample.passed for sample in samples)
    for k in ks:
        parts[f"pass@{k}"] = (pass_at_k(n, right, k), 1.0) if n >= k else (0.0, 0.0)
    judged = [sample.judgement for sample in samples if sample.judgement is not None]
    _add_tests(parts, judged)
    for verdict, count in Counter(judgement.verdict for judgement in judged).items():
        parts[f"verdict/{verdict.value}"] = (count, n)
    kinds = [kind for sample in samples if (kind := failure_kind(sample.judgement))]
    parts["failure"] = (len(kinds), n)
    for kind, count in Counter(kinds).items():
        parts[f"failure/{kind}"] = (count, n)
    _add_use(parts, "", judged)
    _add_use(parts, "/accepted", [judgement for judgement in judged if judgement.passed])
    _add_text(parts, [sample.program for sample in samples if sample.program])
    _add_tokens(parts, samples, prices, solved=right > 0)
    return parts


def _add_tests(parts: Parts, judged: Sequence[Judgement]) -> None:
    """Add tests passed over tests, and whole programs passed, public and hidden apart."""
    for name, wanted in (("", (True, False)), ("/public", (True,)), ("/hidden", (False,))):
        passed = total = whole = programs = 0
        for judgement in judged:
            results = [
                r.verdict is Verdict.AC for r in judgement.results if r.public in wanted
            ]
            passed, total = passed + sum(results), total + len(results)
            whole, programs = (
                whole + (bool(results) and all(results)),
                programs + bool(results),
            )
        parts[f"apr{name}"] = (passed, total)
        if name:
            parts[f"pass@1{name}"] = (whole / programs, 1.0) if programs else (0.0, 0.0)


def _add_use(parts: Parts, name: str, judged: Sequence[Judgement]) -> None:
    seconds = sum(r.cpu_seconds for judgement in judged for r in judgement.results)
    tests = sum(len(judgement.results) for judgement in judged)
    peaks = [max((r.peak_bytes for r in judgement.results), default=0) for judgement in judged]
    parts[f"cpu_seconds{name}"] = (seconds, tests)
    parts[f"peak_bytes{name}"] = (sum(peaks), len(peaks))


def _add_text(parts: Parts, programs: Sequence[str]) -> None:
    parts["characters"] = (sum(map(len, programs)), len(programs))
    measured = {"code_tokens": [code_tokens(program) for program in programs]}
    if find_spec("radon") is not None:
        measured["complexity"] = [cyclomatic_complexity(program) for program in programs]
    for name, numbers in measured.items():
        known = [number for number in numbers if number is not None]
        parts[name] = (sum(known), len(known))


def _add_tokens(
    parts: Parts, samples: Sequence[Sample], prices: Prices | None, *, solved: bool
) -> None:
    """Add what all samples of the task took; the denominator counts it if it was solved."""
    if all(s.tokens_in is None and s.tokens_out is None for s in samples):
        return
    read = sum(sample.tokens_in or 0 for sample in samples)
    written = sum(sample.tokens_out or 0 for sample in samples)
    parts["tokens_per_solved_task"] = (read + written, float(solved))
    if prices is not None:
        cost = (read * prices.read + written * prices.written) / 1e6
        parts["cost_per_solved_task"] = (cost, float(solved))


# ------------------------------------------------------------------------------ together
def _estimates(
    tasks: Sequence[Parts], confidence: float, resamples: int, seed: int
) -> dict[str, Estimate]:
    samples_of = [task["failure"][1] for task in tasks]
    names = list(dict.fromkeys(name for task in tasks for name in task))
    tops, bottoms = np.zeros((2, len(names), len(tasks)))
    for row, name in enumerate(names):
        for column, task in enumerate(tasks):
            # A kind of failure that a task does not show is 0 of all its programs.
            share = name.startswith(("verdict/", "failure/"))
            absent = (0.0, samples_of[column] if share else 0.0)
            tops[row, column], bottoms[row, column] = task.get(name, absent)
    found = ratio_estimates(
        tops, bottoms, confidence=confidence, resamples=resamples, seed=seed
    )
    values: dict[str, Estimate] = {}
    for row, (name, estimate) in enumerate(zip(names, found, strict=True)):
        if estimate is None:
            continue
        if name.startswith("pass@"):
            shares = tops[row][bottoms[row] > 0]
            estimate = task_mean(shares, confidence=confidence, resamples=resamples, seed=seed)
        elif name.startswith(SHARES):
            estimate = sure_share(estimate, confidence)
        values[name] = estimate
    return dict(sorted(values.items(), key=lambda item: _order(item[0])))


_ORDER: Final = ("pass@", "apr", "verdict", "failure", "cpu_seconds", "peak_bytes")


def _order(name: str) -> tuple[int, int, str]:
    """Sort what people look for first to the top, and pass@10 behind pass@5."""
    rank = next((i for i, head in enumerate(_ORDER) if name.startswith(head)), len(_ORDER))
    digits = re.match(r"pass@(\d+)", name)
    return rank, int(digits[1]) if digits else 0, name
