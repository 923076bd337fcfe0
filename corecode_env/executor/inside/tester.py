"""Tester: runs a task's own code in the judge's process: tests, checkers, scorers.

    test code + a conversation with the program  ->  Report
    checker or scorer + what the program printed  ->  Report
    program of ours + a conversation with an agent's tests  ->  Report

No byte of a program runs here. `test_broken` is said only of a fault that no program can
cause: a fault that shows before the program has said anything, or without its output.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from corecode_env.core.values import NotPlain, to_jsonable
from corecode_env.executor.inside.dialogue import TEST_MODULE, CandidateFault, Dialogue
from corecode_env.executor.inside.equality import values_differ
from corecode_env.executor.inside.handles import Handle
from corecode_env.executor.inside.suite_run import Recorder, Targets
from corecode_env.executor.inside.wire import MAX_FRAME

Outcome = Literal[
    "passed",
    "failed",
    "raised",
    "nocall",
    "candidate_gone",
    "candidate_garbled",
    "candidate_raised",
    "test_broken",
]

MAX_LITERAL = 2**20
"""Longest literal that is parsed, in characters."""

_MAX_NOTE = 300


@dataclass(frozen=True, slots=True)
class Report:
    """What the judge's process found. Plain values only: it goes through a pipe."""

    outcome: Outcome
    note: str = ""
    """One line for people; may hold text of the program or of the test."""
    score: float | None = None
    calls: int = 0
    """How often the program was used."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What `run_suite` counted."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Report:
        """Build a report from what `to_json` returned."""
        return cls(
            record["outcome"],
            record["note"],
            record["score"],
            record["calls"],
            record["details"],
        )


# ------------------------------------------------------------------------- tests
HELPER_MODULES = frozenset(
    {
        *("bisect", "cmath", "collections", "copy", "datetime", "decimal", "fractions"),
        *("functools", "heapq", "itertools", "json", "math", "operator", "random", "re"),
        *("statistics", "string", "sys", "typing", "unittest"),
    }
)
"""Modules that test code may name without importing them: never the program's."""


class _OpenNames(dict[str, Any]):
    """Builtins of test code, with the program behind them.

    Python looks a name up among the test's own first, then here. The entry point alone
    comes from the program even where it has a builtin's name; every other builtin stays
    itself, or a program could define `all` or `len` for the test.
    """

    def __init__(self, dialogue: Dialogue, entry: str) -> None:
        super().__init__(vars(builtins))
        self.dialogue = dialogue
        self.entry = entry
        self.pop(entry, None)
        self.found: dict[str, Any] = {}

    def __missing__(self, name: str) -> Any:
        if name in self.found:
            return self.found[name]
        if name != self.entry and name in HELPER_MODULES:
            return importlib.import_module(name)
        if name.startswith("__"):
            raise KeyError(name)
        value = self.dialogue.look_up(name)
        if isinstance(value, Handle | type):
            self.found[name] = value
        return value


def run_test(
    requests_fd: int,
    replies_fd: int,
    source: str,
    entry: str,
    *,
    mutates_arguments: bool = False,
    reply_bytes: int = MAX_FRAME,
    on_first_reply: Callable[[], None] | None = None,
) -> Report:
    """Run test code against the program behind two pipes.

    Args:
        requests_fd: Where requests to the program are written.
        replies_fd: Where its replies are read.
        source: The test's code.
        entry: Name of the program's entry point.
        mutates_arguments: Whether arguments that the program changes in place are
            changed for the test too.
        reply_bytes: Longest reply of the program that is read.
        on_first_reply: Called once, before the first reply is looked into: whatever
            ends this process afterwards may be the program's doing.
    """
    dialogue = Dialogue(
        requests_fd,
        replies_fd,
        mutates_arguments=mutates_arguments,
        reply_bytes=reply_bytes,
        numpy_arrays="numpy" in source,
        on_first_reply=on_first_reply,
    )
    namespace: dict[str, Any] = {
        "__name__": TEST_MODULE,
        "__builtins__": _OpenNames(dialogue, entry),
    }
    error: BaseException | None = None
    try:
        exec(compile(source, "<test>", "exec", dont_inherit=True), namespace)
    except BaseException as raised:
        error = raised
    outcome, note = _judge(dialogue, error)
    return Report(outcome, note, None, dialogue.calls)


def _judge(dialogue: Dialogue, error: BaseException | None) -> tuple[Outcome, str]:
    """Return the outcome; what is latched in the dialogue comes before how the code ended."""
    if dialogue.fault is not None:
        fault = dialogue.fault
        return ("candidate_gone" if fault.kind == "gone" else "candidate_garbled"), fault.note
    if dialogue.failed_inside is not None:
        return "failed", note_of(dialogue.failed_inside)
    if error is None:
        if dialogue.calls == 0:
            return "nocall", "the test never called the program"
        return "passed", ""
    if dialogue.raiser.is_marked(error):
        return "candidate_raised", note_of(error)
    if not dialogue.replied:
        return "test_broken", note_of(error)
    return ("failed" if isinstance(error, AssertionError) else "raised"), note_of(error)


def note_of(error: BaseException) -> str:
    """Return one line about an exception: its class and message."""
    try:
        message = " ".join(str(error).split())
    except BaseException:
        message = ""
    name = type(error).__name__
    return (f"{name}: {message}" if message else name)[:_MAX_NOTE]


# ------------------------------------------------------------------ agents' tests
SUITE_ENTRY = "run_suite"
"""Function by which an agent's tests are started: takes the function that they test, and
returns None, or stage, class and message of what was raised."""


def run_suite(
    requests_fd: int,
    replies_fd: int,
    program: str,
    entry: str,
    tests: Sequence[str],
    *,
    most_steps: int,
    on_first_reply: Callable[[], None] | None = None,
) -> Report:
    """Have an agent's tests, behind two pipes, test a program that runs here.

    Args:
        requests_fd: Where requests to the tests are written.
        replies_fd: Where their replies are read.
        program: The program.
        entry: Name of its function.
        tests: The program's own tests, for which coverage is counted; none: it is not.
        most_steps: Statements that the program may execute.
        on_first_reply: Called once, before the first reply is looked into.

    Returns:
        `passed` or `failed` as the tests say, with `details`: `calls` (one text each),
        `steps`, `stage` and `raised` (where and what the tests raised), and for `line` and
        `branch` what was reached and what there is.
    """
    try:
        targets = Targets(program, entry, tests, most_steps) if tests else None
        recorder = Recorder(program, entry, most_steps)
    except BaseException as error:
        return Report("test_broken", note_of(error))
    dialogue = Dialogue(requests_fd, replies_fd, on_first_reply=on_first_reply)
    outcome: Outcome = "passed"
    note, stage, raised = "", "", ""
    try:
        match dialogue.call(SUITE_ENTRY, (recorder.function(),), {}):
            case None:
                pass
            case [str(stage), str(raised), str(message)]:
                outcome = "failed"
                note = " ".join(f"{raised}: {message}".split())[:_MAX_NOTE]
            case _:
                outcome, note = "candidate_garbled", "the tests ended in an unknown way"
    except CandidateFault as fault:
        outcome, note = (
            ("candidate_gone" if fault.kind == "gone" else "candidate_garbled"),
            str(fault),
        )
    except BaseException as error:
        outcome, note = "candidate_raised", note_of(error)
    if recorder.broken:
        outcome, note = "failed", recorder.broken
    elif outcome == "passed" and not recorder.calls:
        outcome, note = "nocall", "the tests never called the program"
    details: dict[str, Any] = {
        "calls": recorder.calls,
        "steps": recorder.reached.steps,
        "stage": stage,
        "raised": raised,
    }
    if targets is not None:
        details |= targets.counts(recorder.reached)
    return Report(outcome, note, None, len(recorder.calls), details)


# ---------------------------------------------------------- checkers and scorers
def run_checker(source: str, input: str, output: bytes, expected: str) -> Report:
    """Run a task's `check(input, output, expected)` on what a program printed.

    The checker gets text; bytes that are not UTF-8 arrive as lone surrogates. It returns
    a bool, or the fraction in [0, 1] that is right. A checker that fails on the
    program's output but not on the expected one was fed nonsense: the output is wrong.
    """
    check, problem = _define(source, "check")
    if check is None:
        return Report("test_broken", problem)
    text = output.decode("utf-8", "surrogateescape")
    try:
        score = _fraction(check(input, text, expected))
    except BaseException as error:
        note = note_of(error)
        try:
            _fraction(check(input, expected, expected))
        except BaseException:
            return Report("test_broken", note)
        return Report("failed", f"the checker failed on this output: {note}", 0.0)
    return Report("passed" if score == 1.0 else "failed", "", score)


def run_scorer(source: str, instance: str, output: bytes) -> Report:
    """Run a task's `score(instance, output)` on what a program printed.

    The scorer returns a finite number, larger is better, or raises ValueError for an
    invalid output. Any other failure is the scorer's own if it also shows for the empty
    output and is of a kind that data do not cause; else the output is invalid.
    """
    score, problem = _define(source, "score")
    if score is None:
        return Report("test_broken", problem)
    try:
        value = score(instance, output.decode("utf-8", "surrogateescape"))
    except BaseException as error:
        if _is_own_fault(error, lambda: score(instance, "")):
            return Report("test_broken", note_of(error))
        return Report("failed", f"invalid output: {note_of(error)}", 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Report("failed", f"a score must be a number, got {type(value).__name__}", 0.0)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        return Report("failed", f"a score must be finite, got {number}", 0.0)
    return Report("passed", "", number)


def _define(source: str, name: str) -> tuple[Callable[..., Any] | None, str]:
    """Return the function that source defines, or None and what is wrong."""
    namespace: dict[str, Any] = {"__name__": TEST_MODULE}
    try:
        exec(compile(source, f"<{name}>", "exec", dont_inherit=True), namespace)
    except BaseException as error:
        return None, note_of(error)
    function = namespace.get(name)
    if not callable(function):
        return None, f"the source must define {name}()"
    return function, ""


def _fraction(value: object) -> float:
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise TypeError(f"a checker must return a bool or a number in [0, 1], got {value!r}")
    return float(value)


def _is_own_fault(error: BaseException, again: Callable[[], object]) -> bool:
    if isinstance(error, _FROM_DATA) or not isinstance(error, _FROM_CODE):
        return False
    try:
        again()
    except BaseException as second:
        return type(second) is type(error)
    return False


_FROM_DATA = (RecursionError, UnboundLocalError)
_FROM_CODE = (NameError, ImportError, RuntimeError, SyntaxError)


# ---------------------------------------------------------------------- literals
def check_literal(text: str, expected: Any, options: Mapping[str, Any]) -> Report:
    """Compare a submission that is the text of a Python literal with a value.

    Args:
        text: The submission.
        expected: The plain value that is right.
        options: Options of the task's checker, as for call tests.
    """
    if len(text) > MAX_LITERAL:
        return Report("failed", "the submission is too long for a literal")
    try:
        value = ast.literal_eval(text.strip())
        encoded = to_jsonable(value)
    except NotPlain as error:
        return Report("failed", note_of(error))
    except BaseException as error:
        return Report("failed", f"the submission is not a Python literal: {note_of(error)}")
    difference = values_differ(encoded, expected, options)
    return Report("failed", difference) if difference else Report("passed")
