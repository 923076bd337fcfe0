"""Solvita's acts: what the texts of Oracle, Solver and Hacker do.

    text, Scene  ->  Certify, Solve, Attack  ->  Outcome

Each tells the team as much as the environment's argument `feedback` allows. What one act
leaves for the next stands in fields (tests, as JSON), in facts, or in the turns themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from corecode_env.core.episode import Turn
from corecode_env.core.messages import extract_program
from corecode_env.core.task import StdioTest, Task
from corecode_env.core.verdict import Judgement
from corecode_env.environments.acts import Outcome, Scene
from corecode_env.environments.brief import describe_test
from corecode_env.environments.feedback import Feedback, feedback_text
from corecode_env.environments.hacking import Hack, HackReport, try_hacks
from corecode_env.environments.oracle import (
    certify,
    judge_by,
    pack_tests,
    trusted_oracle,
    unpack_tests,
)
from corecode_env.environments.side_runs import derived_task

KEEP: Final = "keep"
READY: Final = "ready"
"""Fact of a Solver's turn: 1 if its program is good enough to be hacked."""
ACCEPTED: Final = "accepted"
"""Fact of the turn that ends the loop: 1 if the program was accepted."""
NOTHING_TRIED: Final = "Nothing was tried: no Oracle is certified."
SHOWN_CHARS: Final = 200
"""Characters of an input that the Hacker is shown again."""


@dataclass(frozen=True, slots=True)
class Certify:
    """The Oracle's programs are tried out."""

    feedback: Feedback

    def apply(self, text: str, scene: Scene) -> Outcome:
        """Certify what is new; keep what is to be kept."""
        if text.strip().lower() == KEEP and trusted_oracle(scene.turns) is not None:
            return Outcome()
        certificate = certify(text, scene, messages=self.feedback == "public")
        notes = "" if self.feedback == "none" else "\n".join(certificate.notes)
        fields = {"certificate": notes}
        if certificate.trusted:
            fields["certified"] = pack_tests(certificate.tests, scene.max_chars)
        return Outcome(fields, facts=certificate.facts)


@dataclass(frozen=True, slots=True)
class Solve:
    """The program in the text is judged on the task, then on the team's own tests."""

    feedback: Feedback

    def apply(self, text: str, scene: Scene) -> Outcome:
        """Judge, and say whether the Hacker is to try it."""
        submission = extract_program(text)
        judgement = scene.judge(scene.task, submission.program)
        ready, news = judgement.public_passed, [scene.report(judgement)]
        tests = [
            *unpack_tests(scene.fields, "certified"),
            *unpack_tests(scene.fields, "breaks"),
        ]
        oracle = trusted_oracle(scene.turns)
        # Without an Oracle there are no tests.
        if ready and tests and oracle is not None:
            own = judge_by(oracle, submission.program, tests, scene)
            ready = own.passed
            news.append(told(self.feedback, scene.task, tests, own, "The team's own tests"))
        facts = {READY: float(ready)}
        if not ready and not scene.rounds_left:
            facts[ACCEPTED] = 0.0
        return Outcome(
            submission=submission,
            judgement=judgement,
            feedback="\n".join(filter(None, news)),
            ends=False,
            facts=facts,
        )


@dataclass(frozen=True, slots=True)
class Attack:
    """The Hacker's inputs are tried on the program."""

    feedback: Feedback

    def apply(self, text: str, scene: Scene) -> Outcome:
        """Try them; without a break the program is accepted."""
        oracle = trusted_oracle(scene.turns)
        if oracle is None:
            fields = {"hacks": "" if self.feedback == "none" else NOTHING_TRIED}
            return Outcome(fields, ends=True, facts={ACCEPTED: 1.0})
        report = try_hacks(text, _last_program(scene.turns), oracle, scene)
        fields, facts, news = {"hacks": self._outcomes(report)}, report.facts, None
        if report.breaks:
            tests = [hack.test for hack in report.breaks if hack.test]
            results = [hack.result for hack in report.breaks if hack.result]
            known = unpack_tests(scene.fields, "breaks")
            fields["breaks"] = pack_tests([*known, *tests], scene.max_chars)
            judged = Judgement(scene.task.id, tuple(results))
            name = "Inputs that broke the program"
            news = told(self.feedback, scene.task, tests, judged, name)
        accepted = not report.breaks
        if accepted or not scene.rounds_left:
            facts[ACCEPTED] = float(accepted)
        return Outcome(fields, feedback=news, ends=accepted, facts=facts)

    def _outcomes(self, report: HackReport) -> str:
        """Return what the Hacker is told of each input."""
        if self.feedback == "none":
            return ""
        lines = [
            f"Input {number}{self._shown(hack)}: {hack.outcome}."
            for number, hack in enumerate(report.hacks, 1)
        ]
        if report.failures:
            lines.append(f"Programs that made no input: {report.failures}.")
        if not report.hacks:
            lines.append("There was no input: fence each as ```input or ```python.")
        return "\n".join(lines)

    def _shown(self, hack: Hack) -> str:
        return f" ({hack.given[:SHOWN_CHARS]!r})" if self.feedback == "public" else ""


def _last_program(turns: Sequence[Turn]) -> str:
    """Return the program that was handed in last, as it was judged."""
    return next(t.submission.program for t in reversed(turns) if t.submission is not None)


def told(
    feedback: Feedback, task: Task, tests: Sequence[StdioTest], judged: Judgement, name: str
) -> str:
    """Return what a team is told of its own tests, as of public ones."""
    shown = [describe_test(task, test) for test in tests]
    return feedback_text(feedback, derived_task(task, tests), shown, judged, name)
