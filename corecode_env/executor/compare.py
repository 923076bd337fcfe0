"""Compare: whether what a program printed or returned is right.

    output or reply  +  what the task expects  +  its checker  ->  Comparison

Only the parent process compares, and only data: bytes of standard output, or a result as
it came through the pipe. Checkers given as source run elsewhere (`inside/tester.py`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import unknown_name
from corecode_env.core.subject import Subject
from corecode_env.core.task import CallTest, Checker, Limits, ScoreTest, StdioTest, Task
from corecode_env.core.values import NotPlain, to_jsonable
from corecode_env.core.verdict import Verdict
from corecode_env.executor.inside.equality import DEFAULT_ABS, DEFAULT_REL, values_differ
from corecode_env.executor.inside.wire import MAX_FRAME
from corecode_env.executor.mixing import WEIGHTS, weights_of

_MIN_CAP: Final = 64 * 2**10
_CAP_FACTOR: Final = 16


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one output or result compares with the expected one."""

    verdict: Verdict
    """AC, WA or PE."""
    score: float | None = None
    """Fraction of cases that are right, for checkers that count cases."""
    note: str = ""
    """Where it differs, for people. Shows expected values: for public tests only."""

    @property
    def accepted(self) -> bool:
        """Whether it is right."""
        return self.verdict is Verdict.AC


def output_cap(expected: str) -> int:
    """Return how many bytes of output can be right: more is wrong without a look."""
    return _CAP_FACTOR * len(expected.encode("utf-8", "surrogatepass")) + _MIN_CAP


def reply_cap(expected: object) -> int:
    """Return how many bytes of a reply can be right.

    Args:
        expected: The expected plain value of a call.
    """
    return _CAP_FACTOR * len(repr(to_jsonable(expected))) + _MIN_CAP


def longest_reply(limits: Limits) -> int:
    """Return how many bytes of a reply are read at all, whatever is expected.

    8 MiB, or what the task lets a program print where that is more: a task whose answers
    are huge says so in `Limits.output_bytes`.
    """
    return max(MAX_FRAME, min(int(limits.output_bytes), int(limits.memory_bytes)))


# ------------------------------------------------------------------------ results
def compare_value(reply: Any, expected: object, checker: Checker) -> Comparison:
    """Compare the result of a call.

    Tuples equal lists, ints equal floats of the same value, bools only bools; floats are
    compared with a tolerance where a float is expected; sets and dicts by content.

    Args:
        reply: The result as the program's process encoded it. Not trusted.
        expected: The plain value that is right.
        checker: The task's checker.
    """
    difference = values_differ(reply, expected, checker.options)
    if difference:
        return Comparison(Verdict.WA, note=difference)
    return Comparison(Verdict.AC)


# ------------------------------------------------------------------------- output
def compare_output(output: bytes, expected: str, checker: Checker) -> Comparison:
    """Compare what a program printed.

    Args:
        output: Standard output. Bytes that are not UTF-8 equal only themselves.
        expected: The output that is right.
        checker: The task's checker, one of `OUTPUT_CHECKERS`.

    Raises:
        UnknownName: If the checker is not one for outputs.
    """
    if checker.name not in OUTPUT_CHECKERS:
        raise unknown_name("an output checker", checker.name, sorted(OUTPUT_CHECKERS))
    if len(output) > output_cap(expected):
        return Comparison(Verdict.WA, note="the output is much longer than expected")
    got = output.decode("utf-8", "surrogateescape")
    wanted = expected.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
    if checker.options.get("ignore_case"):
        got, wanted = got.casefold(), wanted.casefold()
    comparison = OUTPUT_CHECKERS[checker.name](got, wanted, checker.options)
    if (
        comparison.verdict is Verdict.WA
        and checker.options.get("presentation_error")
        and tokens(got) == tokens(wanted)
    ):
        return Comparison(Verdict.PE, comparison.score, "right but for white space")
    return comparison


# str.split and str.strip know white space of every script; here it is ASCII's only.
_SPACE = " \t\n\r\f\v"
_TOKEN = re.compile(r"[^ \t\n\r\f\v]+")
_DECIMAL = re.compile(r"[+-]?\d+\.\d*(?:[eE][+-]?\d+)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_LONGEST_NUMBER: Final = 500
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)


def lines(text: str) -> list[str]:
    """Return the lines without white space at their ends, nor empty ones at the end."""
    found = [line.rstrip(_SPACE) for line in text.replace("\r\n", "\n").split("\n")]
    while found and not found[-1]:
        found.pop()
    return found


def tokens(text: str) -> list[str]:
    """Return the parts between ASCII white space."""
    return _TOKEN.findall(text)


def _exact(got: str, wanted: str, options: Mapping[str, Any]) -> Comparison:
    same = got == wanted
    return Comparison(Verdict.AC) if same else Comparison(Verdict.WA, note="output differs")


def _lines(got: str, wanted: str, options: Mapping[str, Any]) -> Comparison:
    return _same_lines(got, wanted, lambda mine, other: mine == other)


def _default(got: str, wanted: str, options: Mapping[str, Any]) -> Comparison:
    near = _Tolerance(options)
    return _same_lines(got, wanted, near.lines_match)


def _same_lines(got: str, wanted: str, match: Callable[[str, str], bool]) -> Comparison:
    mine, other = lines(got), lines(wanted)
    for number, (line, right) in enumerate(zip(mine, other, strict=False), 1):
        if line != right and not match(line, right):
            note = f"line {number}: expected {_short(right)}, got {_short(line)}"
            return Comparison(Verdict.WA, note=note)
    if len(mine) != len(other):
        note = f"expected {len(other)} lines, got {len(mine)}"
        return Comparison(Verdict.WA, note=note)
    return Comparison(Verdict.AC)


def _tokens(got: str, wanted: str, options: Mapping[str, Any]) -> Comparison:
    return _same_tokens(got, wanted, lambda mine, other: mine == other)


def _float(got: str, wanted: str, options: Mapping[str, Any]) -> Comparison:
    near = _Tolerance(options)
    return _same_tokens(got, wanted, near.numbers_match)


def _same_tokens(got: str, wanted: str, match: Callable[[str, str], bool]) -> Comparison:
    mine, other = tokens(got), tokens(wanted)
    for number, (token, right) in enumerate(zip(mine, other, strict=False), 1):
        if token != right and not match(token, right):
            note = f"token {number}: expected {_short(right)}, got {_short(token)}"
            return Comparison(Verdict.WA, note=note)
    if len(mine) != len(other):
        note = f"expected {len(other)} tokens, got {len(mine)}"
        return Comparison(Verdict.WA, note=note)
    return Comparison(Verdict.AC)


def _unordered_lines(got: str, wanted: str, options: Mapping[str, Any]) -> Comparison:
    return _same_bag(lines(got), lines(wanted), "lines")


def _unordered_tokens(got: str, wanted: str, options: Mapping[str, Any]) -> Comparison:
    return _same_bag(tokens(got), tokens(wanted), "tokens")


def _same_bag(mine: list[str], other: list[str], what: str) -> Comparison:
    if Counter(mine) == Counter(other):
        return Comparison(Verdict.AC)
    return Comparison(Verdict.WA, note=f"the {what} differ, in whatever order")


def _cases(got: str, wanted: str, options: Mapping[str, Any]) -> Comparison:
    """Compare case by case; the score is the fraction of cases that are right."""
    prefix = str(options.get("prefix", "Case #"))
    if options.get("ignore_case"):
        prefix = prefix.casefold()
    near = _Tolerance(options)
    stray, mine = _split_cases(got, prefix)
    _, other = _split_cases(wanted, prefix)
    if not other:
        return _default(got, wanted, options)
    right, note = 0, ""
    for label, texts in other.items():
        found = mine.get(label, [])
        if len(found) == 1 == len(texts) and near.blocks_match(found[0], texts[0]):
            right += 1
        elif not note:
            note = f"{_short(prefix + label)} is " + ("wrong" if found else "missing")
    if right == len(other) == len(mine) and not stray:
        return Comparison(Verdict.AC, 1.0)
    note = note or "there is output that belongs to no case"
    return Comparison(Verdict.WA, right / len(other), note)


def _split_cases(text: str, prefix: str) -> tuple[list[str], dict[str, list[list[str]]]]:
    """Return the lines before the first case, and the lines of each case by label."""
    stray: list[str] = []
    cases: dict[str, list[list[str]]] = {}
    block = stray
    for line in lines(text):
        if line.startswith(prefix):
            label, _, rest = line[len(prefix) :].partition(":")
            block = [rest]
            cases.setdefault(label, []).append(block)
        else:
            block.append(line)
    return [line for line in stray if line], cases


class _Tolerance:
    """Compares tokens as numbers, within a tolerance."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.abs = float(options.get("abs", DEFAULT_ABS))
        self.rel = float(options.get("rel", DEFAULT_REL))
        # A tolerance that the task names is meant for all its numbers.
        self.asked = "abs" in options or "rel" in options

    def lines_match(self, mine: str, other: str) -> bool:
        """Whether two lines differ only in decimals, by less than the tolerance."""
        if _TOKEN.split(mine) != _TOKEN.split(other):
            return False  # another number of tokens, or other white space between them
        match = self.numbers_match if self.asked else self.decimals_match
        pairs = zip(tokens(mine), tokens(other), strict=True)
        return all(token == right or match(token, right) for token, right in pairs)

    def blocks_match(self, mine: list[str], other: list[str]) -> bool:
        """Whether the lines of two cases match; white space around the first is free."""
        mine, other = _trim(mine), _trim(other)
        return len(mine) == len(other) and all(
            line == right or self.lines_match(line, right)
            for line, right in zip(mine, other, strict=True)
        )

    def decimals_match(self, mine: str, other: str) -> bool:
        """Whether a token written as a decimal is met; integers compare as text."""
        return _DECIMAL.fullmatch(other) is not None and self.near(mine, other)

    def numbers_match(self, mine: str, other: str) -> bool:
        """Whether two numbers are near; two integers must be equal as text."""
        if _INTEGER.fullmatch(mine) and _INTEGER.fullmatch(other):
            return False
        return self.near(mine, other)

    def near(self, mine: str, other: str) -> bool:
        # float() also reads 1_0, nan, inf and digits of other scripts: ask the pattern.
        if max(len(mine), len(other)) > _LONGEST_NUMBER:
            return False
        if not (_NUMBER.fullmatch(mine) and _NUMBER.fullmatch(other)):
            return False
        number, wanted = float(mine), float(other)
        if not (math.isfinite(number) and math.isfinite(wanted)):
            return False
        return abs(number - wanted) <= max(self.abs, self.rel * abs(wanted))


def _trim(block: list[str]) -> list[str]:
    end = len(block)
    while end > 1 and not block[end - 1]:
        end -= 1
    return [block[0].strip(_SPACE), *block[1:end]]


def _short(text: str) -> str:
    shown = text.encode("utf-8", "replace").decode()
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")


OUTPUT_CHECKERS: Final[Mapping[str, Callable[[str, str, Mapping[str, Any]], Comparison]]] = {
    "default": _default,
    "exact": _exact,
    "lines": _lines,
    "tokens": _tokens,
    "float": _float,
    "unordered_lines": _unordered_lines,
    "unordered_tokens": _unordered_tokens,
    "cases": _cases,
}
"""Named checkers of standard output."""


# --------------------------------------------------------------------- validation
_OUTPUT_OPTIONS: Final = frozenset(
    {"ignore_case", "ignore_exit", "keep_output", "presentation_error"}
)
_TOLERANCES: Final = frozenset({"abs", "rel"})
_OPTIONS_OF: Final[Mapping[str, frozenset[str]]] = {
    "default": _TOLERANCES,
    "float": _TOLERANCES,
    "cases": _TOLERANCES | {"prefix"},
}
_VALUE_OPTIONS: Final = _TOLERANCES | frozenset(
    {
        "nan_equal",
        "as_set",
        "unordered",
        "not_none",
        "mutates_arguments",
        "json_keys",
        "shape",
    }
)


def validate_checker(task: Task) -> None:
    """Refuse a checker that could not judge the task's tests.

    Raises:
        UnknownName: If its name is not one for these tests.
        BadConfig: If an option is unknown or has a value that cannot work, source is
            missing or given in vain, or an expected value is not plain.
    """
    validate_options(task)
    for test in task.tests:
        if isinstance(test, CallTest):
            validate_values(task, test)


def validate_options(task: Task) -> None:
    """Refuse a checker by its name and options alone: cheap, done at every judgement.

    Raises:
        UnknownName: If its name is not one for these tests.
        BadConfig: If an option is unknown or has a value that cannot work, or source is
            missing.
    """
    if task.kind in WEIGHTS:
        _validate_mixed(task)
        return
    checker = task.checker
    outputs = any(isinstance(test, StdioTest) for test in task.tests)
    scored = any(isinstance(test, ScoreTest) for test in task.tests)
    if scored and not checker.source:
        raise _bad(task, "must give the source of score()", "nothing", "set checker.source")
    if checker.source:
        _validate_options(task, checker.options, _OUTPUT_OPTIONS if outputs else _NO_OPTIONS)
        return
    if outputs:
        if checker.name not in OUTPUT_CHECKERS:
            raise unknown_name("an output checker", checker.name, sorted(OUTPUT_CHECKERS))
        known = _OUTPUT_OPTIONS | _OPTIONS_OF.get(checker.name, _NO_OPTIONS)
    else:
        if checker.name != "default":
            raise unknown_name("a checker of values", checker.name, ["default"])
        known = _VALUE_OPTIONS
    _validate_options(task, checker.options, known)


def validate_values(task: Task, test: CallTest) -> None:
    """Refuse a call test that cannot be asked or compared.

    Raises:
        BadConfig: If an argument or the expected value is not plain.
    """
    try:
        to_jsonable([test.args, dict(test.kwargs), test.expected])
    except NotPlain as error:
        problem = _bad(task, "must compare plain values", str(error), "use asserts")
        raise problem from error


_NO_OPTIONS: Final[frozenset[str]] = frozenset()


def _validate_mixed(task: Task) -> None:
    """Refuse a task of tests or of messages that could not be judged."""
    weights_of(task)
    needed = ScoreTest if task.kind == "unit_tests" else StdioTest
    if len(task.tests) != 1 or not isinstance(task.tests[0], needed):
        raise BadConfig(
            f"task {task.id!r} of kind {task.kind} must have exactly one test, a "
            f"{needed.__name__}, got {[type(test).__name__ for test in task.tests]}"
        )
    if isinstance(task.tests[0], ScoreTest):
        Subject.from_text(task.tests[0].instance)


def _validate_options(task: Task, options: Mapping[str, Any], known: frozenset[str]) -> None:
    for name, value in options.items():
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise _bad(task, "must have known options", repr(name), f"known here: {listed}")
        if name in _TOLERANCES:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (number and math.isfinite(value) and value >= 0):
                raise _bad(task, f"must have a tolerance {name} >= 0", repr(value), "mend it")
        elif name == "prefix":
            if not isinstance(value, str) or not value:
                raise _bad(task, "must have a prefix of text", repr(value), "mend it")
        elif not isinstance(value, bool):
            raise _bad(task, f"must have {name} true or false", repr(value), "mend it")


def _bad(task: Task, rule: str, got: str, way_out: str) -> BadConfig:
    return BadConfig(f"the checker of task {task.id!r} {rule}, got {got}; {way_out}")
