"""Hacking: inputs that are meant to break a program, and whether they do.

    text of the Hacker  ->  inputs  ->  Hack (valid? answered? broken?)

An input counts as a hack if the Oracle's validator takes it, the Oracle's brute force
answers it, and the program, run on it for real, crashes, overruns or answers otherwise. What
the sandbox itself fails at (`SE`) never counts: it ends the episode as invalid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from corecode_env.core.messages import fenced_blocks
from corecode_env.core.task import StdioTest
from corecode_env.core.verdict import TestResult, Verdict
from corecode_env.environments.acts import Scene
from corecode_env.environments.oracle import Oracle, answers, judge_by, validity
from corecode_env.environments.side_runs import run_on

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

    @property
    def breaks(self) -> bool:
        """Whether it breaks the program."""
        return self.result is not None and self.result.verdict in SEVERITY

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


def try_hacks(text: str, program: str, oracle: Oracle, scene: Scene) -> HackReport:
    """Run a program on the inputs that a Hacker hands in.

    Args:
        text: What the Hacker wrote.
        program: The program to break.
        oracle: Whose word counts.
        scene: The turn.
    """
    inputs, failures = make_inputs(text, scene)
    takes = validity(oracle.artefacts, inputs, scene)
    valid = [given for given, good in zip(inputs, takes, strict=True) if good]
    answered = zip(valid, answers(oracle.artefacts, valid, scene), strict=True)
    tests = {given: StdioTest(given, a) for given, a in answered if a is not None}
    results: dict[str, TestResult] = {}
    if tests:
        judged = judge_by(oracle, program, list(tests.values()), scene)
        results = dict(zip(tests, judged.results, strict=True))
    hacks = (
        Hack(given, valid=given in valid, test=tests.get(given), result=results.get(given))
        for given in inputs
    )
    return HackReport(tuple(hacks), failures)
