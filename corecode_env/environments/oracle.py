"""Oracle: programs that make tests for a task, and how far they are to be trusted.

    text of the Oracle  ->  Artefacts  ->  Certificate: tests, and what is wrong

The rules of Solvita's certified supervision (arXiv:2605.15301, authors' code), carried over
to Python and to what a task shows anyway: its public tests. Every program runs in the
sandbox.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final

from corecode_env.core.episode import Turn
from corecode_env.core.messages import fenced_blocks
from corecode_env.core.task import Limits, StdioTest, Task
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.environments.acts import Scene
from corecode_env.environments.feedback import scrub
from corecode_env.environments.side_runs import judge_on, run_on, says

VALID: Final = "valid"
RIGHT: Final = "right"
WRONG: Final = "wrong"
"""What a validator and a checker print."""

DRAWS: Final = 16
"""Seeds that the generator is run with at most."""
TARGET: Final = 8
"""Certified tests that are wanted."""
ENOUGH: Final = 0.8
"""Part of the generated inputs that must be certified; Solvita's setting `balanced`."""
GARBAGE: Final = "\ntrailing garbage\n"

TRUSTED: Final = "trusted"
CHECKER: Final = "checker_trusted"
"""Facts of an Oracle's turn: 1 where its programs, and its checker, may be relied on."""


@dataclass(frozen=True, slots=True)
class Artefacts:
    """What an Oracle writes: programs that read standard input and print; empty: missing."""

    generator: str = ""
    """Reads a line with a seed, prints an input of the task."""
    validator: str = ""
    """Reads an input, prints `valid` or anything else."""
    brute: str = ""
    """Reads an input, prints the right answer; may be slow."""
    checker: str = ""
    """Reads a JSON object with `input`, `answer` (by brute force) and `output`; prints
    `right` or `wrong`. May be missing where every input has one right answer."""


NAMES: Final = tuple(part.name for part in fields(Artefacts))
NEEDED: Final = ("generator", "validator", "brute")


def read_artefacts(text: str) -> Artefacts:
    r"""Return the programs in a text, by the name behind the fence; the last of each counts.

    >>> read_artefacts("```python brute\nprint(1)\n```").brute
    'print(1)\n'
    """
    found: dict[str, str] = {}
    for block in fenced_blocks(text.replace("\r\n", "\n")):
        for name in NAMES:
            if name in (block.tag, *block.label.split()):
                found[name] = block.body
    return Artefacts(**found)


@dataclass(frozen=True, slots=True)
class Oracle:
    """Programs to judge by."""

    artefacts: Artefacts
    checker: bool = False
    """Whether their checker may be relied on: then no output is wrong without its word."""


@dataclass(slots=True)
class Certificate:
    """What came of the Oracle's programs."""

    artefacts: Artefacts
    tests: list[StdioTest] = field(default_factory=list)
    """Generated inputs that the validator takes, with the answers of the brute force."""
    notes: list[str] = field(default_factory=list)
    """What was found, for people; holds texts of agents and public tests only."""
    trusted: bool = False
    """Whether tests and hacks may rely on generator, validator and brute force."""
    checker: bool = False
    """Whether hacks may rely on the checker."""
    score: float = -1.0
    """Solvita's reward of an Oracle by its certificate alone, in [-1, 1]."""

    @property
    def oracle(self) -> Oracle:
        """The programs, with what may be relied on."""
        return Oracle(self.artefacts, self.checker)

    @property
    def facts(self) -> dict[str, float]:
        """The same in numbers, for rewards and for later turns."""
        return {
            TRUSTED: float(self.trusted),
            CHECKER: float(self.checker),
            "certified": float(len(self.tests)),
            "certificate": self.score,
        }


def trusted_oracle(turns: Sequence[Turn]) -> Oracle | None:
    """Return the latest programs that may be relied on, None if there are none.

    Args:
        turns: The episode so far.
    """
    for turn in reversed(turns):
        if turn.facts.get(TRUSTED):
            return Oracle(read_artefacts(turn.action), bool(turn.facts[CHECKER]))
    return None


def certify(text: str, scene: Scene, *, messages: bool = True) -> Certificate:
    """Try the Oracle's programs out.

    A checker must take the answers of the public tests, and refuse each with garbage behind
    it. The brute force must pass the public tests, and the validator take their inputs. Of
    the inputs that the generator makes, enough must be valid and have an answer.

    Args:
        text: What the Oracle wrote.
        scene: The turn.
        messages: Whether the notes hold what a failing brute force said.
    """
    certificate = Certificate(read_artefacts(text))
    missing = [name for name in NEEDED if not getattr(certificate.artefacts, name)]
    if missing:
        blocks = ", ".join(f"```python {name}" for name in missing)
        certificate.notes.append(f"Missing: a block that starts with {blocks}.")
        return certificate
    _try_checker(certificate, scene)
    right = _brute_is_right(certificate, scene, messages=messages)
    if right and _public_inputs_are_valid(certificate, scene):
        _make_tests(certificate, scene)
    return certificate


def slow(limits: Limits) -> Limits:
    """Return the limits of a brute force: twice the task's time."""
    return replace(
        limits,
        cpu_seconds=2 * limits.cpu_seconds,
        wall_seconds=2 * limits.wall_seconds,
    )


def public_tests(task: Task) -> list[StdioTest]:
    """Return the public tests; all are of standard input and output where Oracles play."""
    return [test for test in task.public_tests if isinstance(test, StdioTest)]


def _brute_is_right(certificate: Certificate, scene: Scene, *, messages: bool) -> bool:
    tests, limits = public_tests(scene.task), slow(scene.task.limits)
    judged = judge_by(certificate.oracle, certificate.artefacts.brute, tests, scene, limits)
    if judged.passed:
        certificate.notes.append("Brute force: passes the public tests.")
        return True
    certificate.score = -0.7 if judged.error_free else -1.0
    number, failed = _first_failure(judged.results)
    note = f"Brute force: {failed.verdict.meaning} on public test {number}."
    certificate.notes.append(f"{note} {scrub(failed.note) if messages else ''}".rstrip())
    return False


def _first_failure(results: Sequence[TestResult]) -> tuple[int, TestResult]:
    return next((n, r) for n, r in enumerate(results, 1) if r.verdict is not Verdict.AC)


def _public_inputs_are_valid(certificate: Certificate, scene: Scene) -> bool:
    inputs = [test.input for test in public_tests(scene.task)]
    verdicts = validity(certificate.artefacts, inputs, scene)
    certificate.score = 0.0
    if all(verdicts):
        certificate.notes.append("Validator: takes the inputs of the public tests.")
        return True
    number = verdicts.index(False) + 1
    certificate.notes.append(f"Validator: refuses the input of public test {number}.")
    return False


def validity(artefacts: Artefacts, inputs: Sequence[str], scene: Scene) -> list[bool]:
    """Return which inputs the validator takes."""
    return says(run_on(scene.judge, scene.task, artefacts.validator, inputs), VALID)


def answers(artefacts: Artefacts, inputs: Sequence[str], scene: Scene) -> list[str | None]:
    """Return what the brute force answers to inputs, None where it does not."""
    limits = slow(scene.task.limits)
    runs = run_on(scene.judge, scene.task, artefacts.brute, inputs, limits)
    return [run.output for run in runs]


def _make_tests(certificate: Certificate, scene: Scene) -> None:
    artefacts = certificate.artefacts
    inputs = _generated(artefacts, scene)
    valid = [
        given
        for given, good in zip(inputs, validity(artefacts, inputs, scene), strict=True)
        if good
    ]
    answered = zip(valid, answers(artefacts, valid, scene), strict=True)
    certificate.tests = [StdioTest(given, a) for given, a in answered if a is not None]
    number = len(certificate.tests)
    certificate.notes.append(
        f"Generator: {len(inputs)} different inputs, {len(valid)} of them valid, {number} "
        "answered by brute force."
    )
    certificate.trusted = number > 0 and number >= ENOUGH * len(inputs)
    if not certificate.trusted:
        certificate.notes.append(
            "Too few tests to rely on: at least one input, and "
            f"{ENOUGH:.0%} of all, must be valid and have an answer."
        )
    certificate.score = _certificate_score(certificate, scene)


def _generated(artefacts: Artefacts, scene: Scene) -> list[str]:
    """Return different inputs that the generator makes, as many as are wanted at most."""
    seeds = [f"{seed}\n" for seed in scene.rng().integers(1, 10**6, size=DRAWS)]
    inputs: dict[str, None] = {}
    # One that crashes at once, or never ends, is not run on all seeds; nor is one that has
    # made enough already.
    for batch in (seeds[:1], seeds[1:TARGET], seeds[TARGET:]):
        for run in run_on(scene.judge, scene.task, artefacts.generator, batch):
            if run.output is not None:
                inputs[run.output] = None
        if not inputs or len(inputs) >= TARGET:
            break
    return list(inputs)[:TARGET]


def _certificate_score(certificate: Certificate, scene: Scene) -> float:
    """Return Solvita's offline reward: by the share of tests, then by a known program."""
    ratio = min(1.0, len(certificate.tests) / TARGET)
    known = scene.task.reference_program
    if ratio < 1.0 or known is None:
        return 0.9 * ratio
    judged = judge_by(certificate.oracle, known, certificate.tests, scene)
    agree = sum(result.verdict is Verdict.AC for result in judged.results)
    return 1.0 if agree == len(judged.results) else -0.2 if agree else -0.5


def _try_checker(certificate: Certificate, scene: Scene) -> None:
    if not certificate.artefacts.checker:
        return
    tests = public_tests(scene.task)
    good = [(test.input, test.output, test.output) for test in tests]
    bad = [(given, answer, answer + GARBAGE) for given, answer, _ in good]
    found = check_outputs(certificate.artefacts, [*good, *bad], scene)
    accepts = all(word == RIGHT for word in found[: len(good)])
    refuses = not any(word == RIGHT for word in found[len(good) :])
    certificate.checker = accepts and refuses
    if not accepts:
        note = "does not take the answer of a public test; outputs are compared as text"
    elif not refuses:
        note = "takes an answer with garbage behind it; outputs are compared as text"
    else:
        note = "takes the answers of the public tests, and refuses them with garbage"
    certificate.notes.append(f"Checker: {note}.")


def check_outputs(
    artefacts: Artefacts, cases: Sequence[tuple[str, str, str]], scene: Scene
) -> list[str]:
    """Return what the checker says of (input, answer, output), empty if it fails."""
    lines = [
        json.dumps({"input": given, "answer": answer, "output": output}) + "\n"
        for given, answer, output in cases
    ]
    runs = run_on(scene.judge, scene.task, artefacts.checker, lines)
    return [(run.output or "").strip().lower() for run in runs]


def judge_by(
    oracle: Oracle,
    program: str,
    tests: Sequence[StdioTest],
    scene: Scene,
    limits: Limits | None = None,
) -> Judgement:
    """Judge a program on tests of the team; a checker may forgive what differs.

    Args:
        oracle: The Oracle's programs.
        program: The program.
        tests: At least one test.
        scene: The turn.
        limits: What the program may use on each; None: the task's.
    """
    judged = judge_on(scene.judge, scene.task, program, tests, limits)
    differ = {
        place: (test.input, test.output, result.output)
        for place, (test, result) in enumerate(zip(tests, judged.results, strict=True))
        if result.verdict in (Verdict.WA, Verdict.PE) and result.output is not None
    }
    if not oracle.checker or not differ:
        return judged
    words = check_outputs(oracle.artefacts, list(differ.values()), scene)
    results = list(judged.results)
    for place, word in zip(differ, words, strict=True):
        if word != WRONG:
            results[place] = replace(results[place], verdict=Verdict.AC, note="")
    return replace(judged, results=tuple(results))


# ------------------------------------------------------------------- tests as a field of text
def pack_tests(tests: Sequence[StdioTest], max_chars: int) -> str:
    """Return tests as JSON, as many of the last ones as fit a field."""
    records = [{"input": test.input, "output": test.output} for test in tests]
    while len(text := json.dumps(records)) > max_chars:
        records = records[1:]
    return text


def unpack_tests(fields: Mapping[str, str], name: str) -> list[StdioTest]:
    """Return the tests of a field that `pack_tests` wrote, none if it is empty."""
    return [StdioTest(t["input"], t["output"]) for t in json.loads(fields[name] or "[]")]
