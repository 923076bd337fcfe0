"""EvalPlus' rules: how HumanEval+ and MBPP+ compare results and write arguments down.

The release judges by equality, by a float tolerance (relative 1e-7 and the record's
`atol`, 1e-6 where that is 0), and by a few special comparisons that stand here by function
name. Unlike the release's own scripts, a tolerance never makes lists of different lengths
equal: there an empty list passes whole tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from corecode_env.core.task import Checker

RELATIVE: Final = 1e-7
ABSOLUTE: Final = 1e-6

AS_SET: Final = frozenset(
    {
        "similar_elements",
        "find_char_long",
        "common_in_nested_lists",
        "extract_singly",
        "larg_nnum",
        "intersection_array",
        "find_dissimilar",
        "Diff",
    }
)
"""MBPP+ functions whose results are compared as sets: their order is not said."""

NOT_NONE: Final = frozenset({"check_str", "text_match_three", "text_starta_endb"})
"""MBPP+ functions that may return a match object or a bool; the release's own scripts
compute this comparison and then assert nothing."""

ROOTS: Final = frozenset({"find_zero"})
"""HumanEval+ functions (HumanEval/32) of which any root is a right answer."""

# The release accepts any result of are_equivalent (Mbpp/164) and 0 for sum_div (Mbpp/295).
# Both statements show an assert that settles what is meant, so both are compared as usual.


def checker_for(entry: str, atol: float, *, has_nan: bool) -> Checker:
    """Return the checker of call tests.

    Args:
        entry: Name of the function.
        atol: The record's absolute tolerance; 0 stands for 1e-6.
        has_nan: Whether an expected value is not a number.
    """
    options: dict[str, Any] = {"abs": atol or ABSOLUTE, "rel": RELATIVE, "shape": True}
    if has_nan:
        options["nan_equal"] = True
    if entry in AS_SET:
        options["as_set"] = True
    if entry in NOT_NONE:
        options["not_none"] = True
    return Checker(options=options)


_NEAR: Final = f"""\
def _near(result, expected, atol):
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(result, (list, tuple))
            and len(result) == len(expected)
            and all(_near(a, b, atol) for a, b in zip(result, expected))
        )
    if isinstance(result, bool) or isinstance(expected, bool):
        return type(result) is type(expected) and result == expected
    if isinstance(expected, (float, complex)) and isinstance(result, (int, float, complex)):
        if result == expected or (result != result and expected != expected):
            return True
        return abs(result - expected) <= atol + {RELATIVE} * abs(expected)
    return result == expected
"""

_SETS: Final = """\
def _near(result, expected, atol):
    return isinstance(result, (list, tuple, set, frozenset)) and set(result) == set(expected)
"""

_SOMETHING: Final = """\
def _near(result, expected, atol):
    given = result if isinstance(result, bool) else result is not None
    return given is (expected if isinstance(expected, bool) else expected is not None)
"""

_REFERENCE_TEST: Final = """\
import copy

inf, nan = float("inf"), float("nan")

{comparison}

_reference = {{}}
exec({reference!r}, _reference)
_inputs = {inputs}
for _arguments in _inputs:
    _expected = _reference[{name!r}](*copy.deepcopy(_arguments))
    assert _near({entry}(*_arguments), _expected, {atol!r})
"""

_ROOT_TEST: Final = """\
inf, nan = float("inf"), float("nan")


def _value(coefficients, x):
    return sum(coefficient * x**power for power, coefficient in enumerate(coefficients))


_inputs = {inputs}
for _arguments in _inputs:
    _root = {entry}(*_arguments)
    assert type(_root) in (int, float)
    assert abs(_value(_arguments[0], _root)) <= 1e-4
"""


def reference_test(entry: str, inputs: str, *, reference: str, name: str, atol: float) -> str:
    """Return test code that compares the program with a reference on several inputs.

    Args:
        entry: Name of the program's function.
        inputs: Source of a list of argument lists.
        reference: Source of the reference; it runs where the test runs, never with the
            program.
        name: Name of the reference's function.
        atol: The record's absolute tolerance; 0 stands for 1e-6.
    """
    comparison = _NEAR
    if entry in AS_SET:
        comparison = _SETS
    elif entry in NOT_NONE:
        comparison = _SOMETHING
    return _REFERENCE_TEST.format(
        comparison=comparison.rstrip(),
        reference=reference,
        inputs=inputs,
        name=name,
        entry=entry,
        atol=float(atol or ABSOLUTE),
    )


def root_test(entry: str, inputs: str) -> str:
    """Return test code that accepts any root of the polynomials that are given."""
    return _ROOT_TEST.format(entry=entry, inputs=inputs)


# ------------------------------------------------------- arguments that JSON flattened
Arguments = list[Any]
Conversion = Callable[[Arguments], Arguments]


def _tuples(item: Any) -> Any:
    """Turn every list, at any depth, into a tuple."""
    return tuple(map(_tuples, item)) if isinstance(item, list) else item


def _all_tuples(args: Arguments) -> Arguments:
    return [tuple(arg) for arg in args]


def _all_lists_of_tuples(args: Arguments) -> Arguments:
    return [[tuple(item) for item in arg] for arg in args]


def _first_list_of_tuples(args: Arguments) -> Arguments:
    return [[tuple(item) for item in args[0]], *args[1:]]


def _second_tuple(args: Arguments) -> Arguments:
    return [args[0], tuple(args[1]), *args[2:]]


def _first_items_sets(args: Arguments) -> Arguments:
    # In Python an empty pair of braces is a dict, and so it stands in the original tests.
    return [[set(item) if item else {} for item in args[0]], *args[1:]]


def _float_and_complex(args: Arguments) -> Arguments:
    return [float(args[0]), complex(args[1])]


def _first_tuple(args: Arguments) -> Arguments:
    return [tuple(args[0]), *args[1:]]


def _tuple_of_tuples(args: Arguments) -> Arguments:
    return [
        tuple(tuple(item) if isinstance(item, list) else item for item in arg) for arg in args
    ]


def _dict_of_tuples(args: Arguments) -> Arguments:
    return [{key: tuple(value) for key, value in args[0].items()}, *args[1:]]


def _first_complex(args: Arguments) -> Arguments:
    return [complex(args[0])]


def _deep_tuples(args: Arguments) -> Arguments:
    return [_tuples(arg) for arg in args]


_BY_CONVERSION: Final[dict[Conversion, str]] = {
    _all_tuples: "2 116 132 143 222 261 273 394 399 421 424 429 470 560 579 596 616 630 726 "
    "740 744 809",
    _all_lists_of_tuples: "63 64 70 94 120 237 272 299 400 409 417 438 473 614 780",
    _first_list_of_tuples: "75 413 444 753",
    _second_tuple: "106 750",
    _first_items_sets: "115",
    _float_and_complex: "124",
    _first_tuple: "250 405 446 617 720 763 808 307",
    _tuple_of_tuples: "259 401 445 278",
    _dict_of_tuples: "722",
    _first_complex: "252",
    _deep_tuples: "580 615 791",
}
CONVERSIONS: Final[Mapping[str, Conversion]] = MappingProxyType(
    {
        f"Mbpp/{number}": conversion
        for conversion, numbers in _BY_CONVERSION.items()
        for number in numbers.split()
    }
)
"""How the arguments of an MBPP+ task become what JSON could not hold: tuples, sets,
complex numbers. Needed for files of inputs only."""
