"""Verdicts: what the executor says about one program.

    Task + program text  ->  executor  ->  Judgement

A program that crashes, hangs or lies is data. The one verdict that says nothing about
the program is `SE`: the sandbox failed, so nothing may be rewarded or learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

JUDGEMENT_SCHEMA: Final = "corecode/judgement/1"


class Verdict(StrEnum):
    """How a program's run on one test ended."""

    AC = "AC"  # accepted
    WA = "WA"  # wrong answer
    PE = "PE"  # presentation error: wrong in white space only
    CE = "CE"  # did not compile
    RE = "RE"  # runtime error: exception, exit status, signal
    TLE = "TLE"  # CPU limit
    ILE = "ILE"  # idleness limit: wall limit while the CPU was under half used
    MLE = "MLE"  # memory limit
    OLE = "OLE"  # output limit
    NOCALL = "NOCALL"  # the test never called the program
    SV = "SV"  # security violation: killed by the sandbox's filter
    SKIP = "SKIP"  # not run
    SE = "SE"  # sandbox error: ours, never the program's

    @property
    def meaning(self) -> str:
        """One phrase that a person understands."""
        return _MEANINGS[self]


_MEANINGS: Final[dict[Verdict, str]] = {
    Verdict.AC: "accepted",
    Verdict.WA: "wrong answer",
    Verdict.PE: "right but for white space",
    Verdict.CE: "does not compile",
    Verdict.RE: "runtime error",
    Verdict.TLE: "CPU time limit exceeded",
    Verdict.ILE: "idle until the wall time limit",
    Verdict.MLE: "memory limit exceeded",
    Verdict.OLE: "output limit exceeded",
    Verdict.NOCALL: "the test never called the program",
    Verdict.SV: "forbidden system call",
    Verdict.SKIP: "not run",
    Verdict.SE: "the sandbox failed",
}

PRECEDENCE: Final[tuple[Verdict, ...]] = (
    Verdict.SE,
    Verdict.CE,
    Verdict.SV,
    Verdict.OLE,
    Verdict.MLE,
    Verdict.TLE,
    Verdict.ILE,
    Verdict.RE,
    Verdict.NOCALL,
    Verdict.WA,
    Verdict.PE,
    Verdict.SKIP,
    Verdict.AC,
)
"""The verdict of a program is the first of these that one of its tests has."""

_RANK: Final = {verdict: rank for rank, verdict in enumerate(PRECEDENCE)}
_ERROR_FREE: Final = frozenset({Verdict.AC, Verdict.WA, Verdict.PE})


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict that stands for all of them; SE if there is none.

    >>> worst([Verdict.AC, Verdict.WA, Verdict.TLE]).value
    'TLE'
    """
    # No test judged is no evidence at all, so it cannot be right.
    return min(set(verdicts), key=_RANK.__getitem__, default=Verdict.SE)


@dataclass(frozen=True, slots=True)
class TestResult:
    """What one test showed. Clock and memory readings do not count in comparisons."""

    __test__ = False  # not a pytest class

    verdict: Verdict
    public: bool = False
    score: float | None = None
    """Fraction of cases passed in [0, 1], or the score of a `ScoreTest`; None where the
    verdict says it all."""
    cpu_seconds: float = field(default=0.0, compare=False)
    wall_seconds: float = field(default=0.0, compare=False)
    peak_bytes: int = field(default=0, compare=False)
    """Peak memory above the bare interpreter's, in bytes."""
    exit: int | None = None
    """Exit status, if the program ended by itself."""
    signal: int | None = None
    """Signal that ended the program."""
    note: str = ""
    """One line for people. Holds text that the program wrote (output, exception message)
    on public tests only."""
    flags: tuple[str, ...] = ()
    """Facts such as `near_limit`, `truncated`, `rerun`."""
    output: str | None = None
    """What a program that ended well printed on a public test, where the task's checker has
    the option `keep_output`; bytes that are no UTF-8 come out as U+FFFD."""

    @property
    def fraction(self) -> float:
        """What this test adds to a pass rate, in [0, 1]."""
        if self.verdict is Verdict.AC:
            return 1.0
        if self.score is None or self.verdict not in (Verdict.WA, Verdict.PE):
            return 0.0
        return min(max(self.score, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What all tests of a task said about one program, in the task's order."""

    task_id: str
    results: tuple[TestResult, ...]
    isolation: str = field(default="L0", compare=False)
    """Isolation level under which the program ran: L0, L1, L2-, L2 or L3."""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict by precedence."""
        return worst([result.verdict for result in self.results])

    @property
    def passed(self) -> bool:
        """Whether every test ran and was accepted."""
        return self.verdict is Verdict.AC

    @property
    def valid(self) -> bool:
        """Whether the sandbox worked, so that rewards may be computed."""
        return self.verdict is not Verdict.SE

    @property
    def pass_rate(self) -> float:
        """Mean over all tests of the fraction passed, in [0, 1]."""
        return _mean_fraction(self.results)

    @property
    def public_pass_rate(self) -> float | None:
        """The same over public tests; None if there are none."""
        public = [result for result in self.results if result.public]
        return _mean_fraction(public) if public else None

    @property
    def hidden_pass_rate(self) -> float | None:
        """The same over hidden tests; None if there are none."""
        hidden = [result for result in self.results if not result.public]
        return _mean_fraction(hidden) if hidden else None

    @property
    def score(self) -> float | None:
        """Mean of the tests' scores, larger is better; None if no test has one.

        A test of a scored task that did not yield a score counts 0.
        """
        if all(result.score is None for result in self.results):
            return None
        scores = [result.score or 0.0 for result in self.results]
        return sum(scores) / len(scores)

    @property
    def error_free(self) -> bool:
        """Whether no test crashed, hung, or could not run at all."""
        return all(result.verdict in _ERROR_FREE for result in self.results)

    @property
    def public_passed(self) -> bool:
        """Whether there are public tests and all of them were accepted."""
        public = [result for result in self.results if result.public]
        return bool(public) and all(r.verdict is Verdict.AC for r in public)

    def to_json(self) -> dict[str, Any]:
        """Return the judgement as one object of the *judgements* file format."""
        return {
            "task_id": self.task_id,
            "verdict": self.verdict.value,
            "passed": self.passed,
            "pass_rate": self.pass_rate,
            "public_pass_rate": self.public_pass_rate,
            "hidden_pass_rate": self.hidden_pass_rate,
            "score": self.score,
            "results": [
                {
                    "test": index,
                    "public": result.public,
                    "verdict": result.verdict.value,
                    "score": result.score,
                    "cpu_seconds": result.cpu_seconds,
                    "wall_seconds": result.wall_seconds,
                    "peak_bytes": result.peak_bytes,
                    "exit": result.exit,
                    "signal": result.signal,
                    "note": result.note,
                    "flags": list(result.flags),
                    # Hardly any task asks for it.
                    **({} if result.output is None else {"output": result.output}),
                }
                for index, result in enumerate(self.results)
            ],
            "isolation": self.isolation,
            "schema": JUDGEMENT_SCHEMA,
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Judgement:
        """Build a judgement from what `to_json` returned.

        Raises:
            ValueError: If the record has another schema.
        """
        if record.get("schema") != JUDGEMENT_SCHEMA:
            raise ValueError(
                f"schema must be {JUDGEMENT_SCHEMA!r}, got {record.get('schema')!r}; "
                "judge the program again with this version"
            )
        results = tuple(
            TestResult(
                verdict=Verdict(item["verdict"]),
                public=item["public"],
                score=item["score"],
                cpu_seconds=item["cpu_seconds"],
                wall_seconds=item["wall_seconds"],
                peak_bytes=item["peak_bytes"],
                exit=item["exit"],
                signal=item["signal"],
                note=item["note"],
                flags=tuple(item["flags"]),
                output=item.get("output"),
            )
            for item in record["results"]
        )
        return cls(record["task_id"], results, record["isolation"])


def _mean_fraction(results: Sequence[TestResult]) -> float:
    if not results:
        return 0.0
    return sum(result.fraction for result in results) / len(results)
