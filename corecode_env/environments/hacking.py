"""Hacking: inputs that are meant to break a program, and whether they do.

    text of the Hacker  ->  inputs  ->  Hack (valid? answered? broken?)

An input counts as a hack if the Oracle's validator takes it, the Oracle's brute force
answers it, and the program, run on it for real, crashes, overruns or answers otherwise. What
the sandbox itself fails at (`SE`) never counts: it ends the episode as invalid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from corecode_env.core.messages import fenced_blocks
from corecode_env.core.task import StdioTest
from corecode_env.core.verdict import TestResult, Verdict
from corecode_env.environments.acts import Scene
from corecode_env.environments.oracle import (
    WRONG,
    Artefacts,
    answers,
    check_outputs,
    validity,
)
from corecode_env.environments.side_runs import judge_on, run_on

MAX_HACKS: Final = 5
"""Inputs that are tried in one turn; what comes after them is not read."""
INPUT: Final = "input"
_PYTHON: Final = frozenset({"python", "py", "python3", "generator"})

SEVERITY: Final[dict[Verdict, float]] = {
    Verdict.MLE: 1.0,
    Verdict.OLE: 1.0,
    Verdict.TLE: 0.8,
    Verdict.ILE: 0.8,
    Verdict.RE: 0.6,
    Verdict.SV: 0.6,
    Verdict.CE: 0.6,
    Verdict.WA: 0.4,
    Verdict.PE: 0.4,
}
"""How bad a break is. Solvita rates MLE, TLE, RE and WA; the others stand by their kin."""


@dataclass(frozen=True, slots=True)
class Hack:
    """One input, and what came of it."""

    given: str
    """The input."""
    valid: bool = False
    """Whether the validator takes it."""
    test: StdioTest | None = None
    """The input with the answer of the brute force; None where it does not answer."""
    result: TestResult | None = None
    """How the program did on it; None if it was not run."""
    breaks: bool = False

    @property
    def outcome(self) -> str:
        """What came of it, in a phrase."""
        if not self.valid:
            return "the validator refuses it"
        if self.test is None:
            return "valid, but the brute force does not answer it"
        if self.breaks and self.result is not None:
            return f"breaks the program: {self.result.verdict.meaning}"
        return "the program answers right"


@dataclass(frozen=True, slots=True)
class HackReport:
    """What came of one turn of a Hacker."""

    hacks: tuple[Hack, ...] = ()
    failures: int = 0
    """Programs of the Hacker that made no input."""

    @property
    def breaks(self) -> tuple[Hack, ...]:
        """The hacks that count."""
        return tuple(hack for hack in self.hacks if hack.breaks)

    @property
    def facts(self) -> dict[str, float]:
        """The same in numbers, for rewards."""
        valid = sum(hack.valid for hack in self.hacks)
        found = self.breaks
        severities = [SEVERITY[hack.result.verdict] for hack in found if hack.result]
        return {
            "hack_inputs": float(len(self.hacks)),
            "hack_failures": float(self.failures),
            "valid_ratio": valid / len(self.hacks) if self.hacks else 0.0,
            "break_ratio": len(found) / valid if valid else 0.0,
            "severity": max(severities, default=0.0),
        }


def make_inputs(text: str, scene: Scene) -> tuple[list[str], int]:
    """Return the inputs that a Hacker hands in, and how many of its programs made none.

    A block fenced as `input` is one as it stands; a block fenced as Python is a program that
    prints one, run in the sandbox with nothing to read.
    """
    inputs: list[str] = []
    failures = tried = 0
    for block in fenced_blocks(text.replace("\r\n", "\n")):
        if tried == MAX_HACKS:
            break
        if block.tag == INPUT:
            inputs.append(block.body)
        elif block.tag in _PYTHON:
            (run,) = run_on(scene.judge, scene.task, block.body, [""])
            if run.output is None:
                failures += 1
            else:
                inputs.append(run.output)
        else:
            continue
        tried += 1
    return list(dict.fromkeys(inputs)), failures


def try_hacks(
    text: str, program: str, artefacts: Artefacts, *, checker: bool, scene: Scene
) -> HackReport:
    """Run a program on the inputs that a Hacker hands in.

    Args:
        text: What the Hacker wrote.
        program: The program to break.
        artefacts: The Oracle's programs.
        checker: Whether the Oracle's checker may be relied on. Where it may, a break by a
            wrong answer needs its word.
        scene: The turn.
    """
    inputs, failures = make_inputs(text, scene)
    takes = validity(artefacts, inputs, scene)
    hacks = [Hack(given, valid=good) for given, good in zip(inputs, takes, strict=True)]
    valid = [hack.given for hack in hacks if hack.valid]
    known = dict(zip(valid, answers(artefacts, valid, scene), strict=True))
    tests = {given: StdioTest(given, a) for given, a in known.items() if a is not None}
    results = _results(program, artefacts, list(tests.values()), checker=checker, scene=scene)
    for place, hack in enumerate(hacks):
        if hack.given in tests:
            result, breaks = results[hack.given]
            hacks[place] = replace(hack, test=tests[hack.given], result=result, breaks=breaks)
    return HackReport(tuple(hacks), failures)


def _results(
    program: str,
    artefacts: Artefacts,
    tests: Sequence[StdioTest],
    *,
    checker: bool,
    scene: Scene,
) -> dict[str, tuple[TestResult, bool]]:
    """Return how the program does on each input, and whether that breaks it."""
    if not tests:
        return {}
    results = judge_on(scene.judge, scene.task, program, tests).results
    found = {t.input: (r, r.verdict in SEVERITY) for t, r in zip(tests, results, strict=True)}
    differ = [
        (test.input, test.output, result.output)
        for test, result in zip(tests, results, strict=True)
        if result.verdict in (Verdict.WA, Verdict.PE) and result.output is not None
    ]
    if checker and differ:
        words = check_outputs(artefacts, differ, scene)
        for (given, _, _), word in zip(differ, words, strict=True):
            found[given] = (found[given][0], word == WRONG)
    return found
