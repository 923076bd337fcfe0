"""The statements of the family `pipelines`: the same program told in many ways.

    Pipeline + level + random stream  ->  statement in English

Steps are verb phrases, so that they fit any frame ("First, ...", "right after you ...");
results are noun phrases. Frames of levels 4 and 5 tell the steps in another order than
they run, yet name the order fully.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from corecode_env.tasks.pipelines_steps import STEPS, Pipeline

Below = Callable[[int], int]
"""Draws a whole number below its argument."""

_FAMILIES: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "keep multiples of": (
            "keep only the multiples of {c}",
            "remove every number that {c} does not divide",
            "let only numbers divisible by {c} remain",
        ),
        "keep above": (
            "keep only the numbers above {c}",
            "remove every number that is {c} or less",
            "let only values greater than {c} remain",
        ),
        "keep below": (
            "keep only the numbers below {c}",
            "remove every number that is {c} or more",
            "let only values smaller than {c} remain",
        ),
        "add": (
            "add {c} to each number",
            "increase each number by {c}",
            "shift every value up by {c}",
        ),
        "multiply by": (
            "multiply each number by {c}",
            "make each number {c} times as large",
            "scale every value by a factor of {c}",
        ),
        "mod": (
            "take each number modulo {c} (0 to {d})",
            "replace each number by its remainder from 0 to {d} when divided by {c}",
            "reduce every value modulo {c}, to a number from 0 to {d}",
        ),
        "take first": (
            "take the first {c} numbers only",
            "cut the list off after {c} items",
            "throw away all but the first {c} items",
        ),
        "drop first": (
            "drop {n} from the front of the list",
            "skip {n} at the start of the list",
            "leave out {n} at the beginning",
        ),
    }
)
_PLAIN: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "keep odd": (
            "keep only the odd numbers",
            "remove every even number",
            "let only numbers that 2 does not divide remain",
        ),
        "square": (
            "square each number",
            "multiply each number by itself",
            "replace every value by its square",
        ),
        "negate": (
            "negate each number",
            "flip the sign of each number",
            "replace every value by its opposite",
        ),
        "absolute": (
            "take the absolute value of each number",
            "drop the minus sign of each negative number",
            "replace every value by its distance from 0",
        ),
        "sort up": (
            "sort the numbers in ascending order",
            "arrange the numbers from smallest to largest",
            "put the list into increasing order",
        ),
        "sort down": (
            "sort the numbers in descending order",
            "arrange the numbers from largest to smallest",
            "put the list into decreasing order",
        ),
        "reverse": (
            "reverse the list",
            "turn the list back to front",
            "read the numbers in the opposite direction",
        ),
        "unique": (
            "remove repeated numbers, keeping the first of each",
            "keep only the first occurrence of each number",
            "let no value stay twice, the earliest one counts",
        ),
        "running sum": (
            "replace the list by its running sums",
            "replace each number by the sum of all numbers up to and including it",
            "turn the list into its prefix sums",
        ),
        "differences": (
            "replace the list by the differences of neighbours (later minus earlier)",
            "subtract each number from the one after it and keep these differences",
            "turn the list into the changes from each number to the next",
        ),
        "every second": (
            "keep every second number, beginning with the first",
            "keep the numbers at places 1, 3, 5 and so on",
            "let the first stay, the next go, and so on in turn",
        ),
    }
)


def _wordings(name: str) -> tuple[str, str, str]:
    if name in _PLAIN:
        return _PLAIN[name]
    family, _, number = name.rpartition(" ")
    c = int(number)
    items = "1 item" if c == 1 else f"{c} items"
    first, second, third = (text.format(c=c, d=c - 1, n=items) for text in _FAMILIES[family])
    return first, second, third


STEP_WORDINGS: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {name: _wordings(name) for name in STEPS}
)
"""Three paraphrases of each step; levels 1 and 2 use the first."""

RESULT_WORDINGS: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "sum": ("the sum", "the total of the numbers", "what the numbers add up to"),
        "count": (
            "how many numbers there are",
            "the length of the list",
            "the number of items",
        ),
        "max or 0": (
            "the largest number, or 0 if there is none",
            "the maximum (0 for an empty list)",
            "the biggest value, 0 if nothing is left",
        ),
        "min or 0": (
            "the smallest number, or 0 if there is none",
            "the minimum (0 for an empty list)",
            "the least value, 0 if nothing is left",
        ),
        "list": ("the list", "the resulting list", "all the numbers as a list"),
        "last or 0": (
            "the last number, or 0 if there is none",
            "the final item (0 for an empty list)",
            "the number at the end, 0 if nothing is left",
        ),
    }
)
"""Three paraphrases of each result; levels 1 and 2 use the first."""

_IN_ORDER: Final = (
    "Take the given integers. First, {a}. Next, {b}. After that, {c}. Return {r}.",
    "Begin with a list of integers: {a}. Then {b}. Then {c}. Report {r}.",
    "You get a list of integers. To start with, {a}. Now {b}. Finally, {c}. Answer with {r}.",
)
# Level 4, three steps in the order a, b, c; level 5, four steps in the order a, b, c, d.
_OUT_OF_ORDER: Final[Mapping[int, tuple[str, ...]]] = MappingProxyType(
    {
        3: (
            "From the given integers, report {r}. The last thing to do is to {c}. "
            "Right before that, {b}. And before all this, {a}.",
            "Return {r}, but only after you {c}. Just before that, {b}. "
            "Before anything else happens to the given integers, {a}.",
            "From the given integers, report {r}. Somewhere you must {b}, "
            "but before it {a}. Only afterwards, {c}.",
            "Return {r}, having changed the given integers so. The final step is to {c}. "
            "The opening step is to {a}. Between the two, {b}.",
            "Given integers, answer with {r}. In the middle of the work, {b}. "
            "What follows is this: {c}. What precedes it is this: {a}.",
        ),
        4: (
            "From the given integers, report {r}. The last thing to do is to {d}. "
            "Right before that, {c}. Ahead of that, {b}. And before all this, {a}.",
            "Return {r}, but only after you {d}. Just before that, {c}. Earlier still, {b}. "
            "Before anything else happens to the given integers, {a}.",
            "From the given integers, report {r}. Somewhere you must {c}, "
            "but right before it {b}. Before both of these, {a}. Only at the very end, {d}.",
            "Return {r}, having changed the given integers so. The final step is to {d}. "
            "The opening step is to {a}. Between the two, {c}, but not until you {b}.",
            "Given integers, answer with {r}. In the middle of the work, {b}. What follows is "
            "this: {c}. What precedes it is this: {a}. After everything else, {d}.",
        ),
    }
)


def statement(pipeline: Pipeline, level: int, below: Below) -> str:
    """Tell a pipeline in the manner of a level.

    Args:
        pipeline: What is told, with as many steps as the level has.
        level: 1 to 5.
        below: Draws whole numbers; it alone decides among the wordings.
    """
    if level <= 2:
        told = ", then ".join(STEP_WORDINGS[step.name][0] for step in pipeline.steps)
        result = RESULT_WORDINGS[pipeline.result.name][0]
        return f"Given a list of integers, {told}. Return {result}."
    phrases = [_pick(STEP_WORDINGS[step.name], below) for step in pipeline.steps]
    result = _pick(RESULT_WORDINGS[pipeline.result.name], below)
    frames = _IN_ORDER if level == 3 else _OUT_OF_ORDER[len(phrases)]
    return _pick(frames, below).format(r=result, **dict(zip("abcd", phrases, strict=False)))


def _pick(options: Sequence[str], below: Below) -> str:
    return options[below(len(options))]
