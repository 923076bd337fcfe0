"""What the comparison of results promises."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.task import Checker
from corecode_env.core.values import to_jsonable
from corecode_env.core.verdict import Verdict
from corecode_env.executor.compare import compare_value
from corecode_env.executor.inside.tester import check_literal


def same(result: object, expected: object, **options: object) -> bool:
    """Whether a plain result is accepted, as it comes through the pipe."""
    encoded = json.loads(json.dumps(to_jsonable(result)))
    found = compare_value(encoded, expected, Checker(options=options))
    assert found.verdict in (Verdict.AC, Verdict.WA)
    assert bool(found.note) is not found.accepted
    return found.accepted


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ((1, 2), [1, 2]),
        ([[1], (2,)], ([1], [2])),
        (2.0, 2),
        (2, 2.0),
        (True, True),
        (2**70, 2**70),
        (0.1 + 0.2, 0.3),
        ([0.1 + 0.2], [0.3]),
        ({"a": (1,)}, {"a": [1]}),
        ({1: 2.0, (1, 2): 3}, {(1, 2): 3, 1: 2}),
        ({1, 2, 3}, {3, 2, 1}),
        (frozenset({1}), {1}),
        ({(1, 2)}, {(1, 2)}),
        ({frozenset({1, 2})}, {frozenset({2, 1})}),
        ({0.1 + 0.2}, {0.3}),
        (range(3), [0, 1, 2]),
        (1 + 0j, 1),
        (1 + 2j, 1 + 2.0000001j),
        (b"a", b"a"),
        (math.inf, math.inf),
        (None, None),
        ("\ud800", "\ud800"),
        ([], []),
        ({}, {}),
    ],
)
def test_equal_values_are_accepted(result: object, expected: object) -> None:
    assert same(result, expected)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (1, True),
        (True, 1),
        (0, False),
        (None, False),
        (None, []),
        ([], (1,)),
        ("1", 1),
        (b"a", "a"),
        ([1, 2], {1, 2}),
        ([1], [1, 1]),
        ([], [0.0]),
        ([[]], [[0.0]]),
        ({}, []),
        (2.0000001, 2),
        (0.30001, 0.3),
        (math.nan, math.nan),
        (math.nan, 1.0),
        (math.inf, 1e308),
        (-math.inf, math.inf),
        (2**2000, 1.0),
        (2**53 + 1, 2**53),
        ({"1": 2}, {1: 2}),
        ({1: 2}, {1: 2, 2: 3}),
        ({1, 2}, {1}),
        ({"a"}, {"b"}),
        ([1], 1),
        ([True], [1]),
        ({1: True}, {1: 1}),
        ({True}, {1}),
        ("a ", "a"),
        (1 + 2j, 1),
    ],
)
def test_other_values_are_wrong(result: object, expected: object) -> None:
    assert not same(result, expected)


def test_options_change_what_is_equal() -> None:
    assert same(math.nan, math.nan, nan_equal=True)
    assert not same(math.nan, 1.0, nan_equal=True)
    assert same([3, 1, 1], [1, 3], as_set=True)
    assert same([3, 1], {1, 3}, as_set=True)
    assert not same([3, 1], [1, 2], as_set=True)
    assert same([3, 1, 1], [1, 3, 1], unordered=True)
    assert not same([3, 1], [1, 3, 1], unordered=True)
    assert not same({1: 2, None: 3}, {"1": 2}, json_keys=True)
    assert same({1: 2, None: 3}, {"1": 2, "null": 3}, json_keys=True)
    assert same(0.34, 0.33, abs=0.02)
    assert same(10.4, 10.0, rel=0.05)
    assert not same(1.0 + 5e-7, 1.0, abs=0, rel=1e-7)


def test_not_none_asks_whether_the_result_is_something() -> None:
    opaque = {"$opaque": "Match"}
    checker = Checker(options={"not_none": True})
    assert compare_value(opaque, True, checker).accepted
    assert not compare_value(opaque, False, checker).accepted
    assert same(None, False, not_none=True)
    assert not same(None, True, not_none=True)
    assert same(False, False, not_none=True)
    assert not same(False, True, not_none=True)


def test_a_note_shows_what_differs_and_stays_short() -> None:
    found = compare_value([1, [2, "x" * 10_000]], [1, [2, "y"]], Checker())
    assert "item 1" in found.note
    assert len(found.note) <= 200


# ----------------------------------------------------------------- forged encodings
FORGED: dict[str, Any] = {
    "unknown tag": {"$no": 1},
    "int of a list": {"$int": [1]},
    "int of words": {"$int": "one"},
    "float of words": {"$float": "1e5"},
    "set of a number": {"$set": 5},
    "dict of odd pairs": {"$dict": [[1, 2, 3]]},
    "dict of text": {"$dict": ["ab"]},
    "dict of equal keys": {"$dict": [[1, 2], [1.0, 2]]},
    "complex of text": {"$complex": ["a", "b"]},
    "complex of one": {"$complex": [1]},
    "range of floats": {"$range": [0, 1.5, 1]},
    "range of step 0": {"$range": [0, 1, 0]},
    "endless range": {"$range": [0, 2**53, 1]},
    "longer than any range": {"$range": [0, 10**30, 1]},
    "range as a key": {"$dict": [[{"$range": [0, 2**53, 1]}, 1]]},
    "ranges in a set": {"$set": [{"$range": [0, 2**53, 1]}]},
    "bytes of words": {"$bytes": "xyz"},
    "str of bad utf-8": {"$str": "ff"},
    "deep list": json.loads("[" * 600 + "]" * 600),
    "deep key": {"$dict": [[json.loads("[" * 600 + "]" * 600), 1]]},
    "opaque": {"$opaque": {"x": 1}},
    "object": {"$object": [0, "int", False, False]},
}
EXPECTED = [None, True, 4, 0.5, "x", b"x", [1], (1, 2), {1}, {1: 2}, {"a": 1}, 2**80, 1j]


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("expected", EXPECTED, ids=repr)
def test_a_forged_reply_is_wrong_and_breaks_nothing(forged: str, expected: object) -> None:
    for options in ({}, {"as_set": True}, {"unordered": True}, {"json_keys": True}):
        found = compare_value(FORGED[forged], expected, Checker(options=options))
        assert not found.accepted
        assert len(found.note) <= 200


def test_a_set_that_lists_an_item_twice_is_not_one() -> None:
    assert not compare_value({"$set": [1, 1.0]}, {1}, Checker()).accepted
    assert not compare_value({"$set": [1, 1.0]}, {1, 2}, Checker()).accepted


def test_colliding_hashes_cost_the_parent_nothing() -> None:
    step = 2**61 - 1
    numbers = [to_jsonable(k * step) for k in range(1, 30_000)]
    expected = {"$set": numbers}, set(range(1, 30_000))
    began = time.process_time()
    assert not compare_value(*expected, Checker()).accepted
    pairs = {"$dict": [[number, 1] for number in numbers]}
    assert not compare_value(pairs, dict.fromkeys(range(1, 30_000), 1), Checker()).accepted
    assert time.process_time() - began < 5.0


# ---------------------------------------------------------------------- properties
atoms = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False)
)
hashable = st.recursive(
    atoms,
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
plain = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.sets(hashable, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4)
    ),
    max_leaves=12,
)
jsonish = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "$int $float $str $bytes $tuple $set $frozenset $dict $complex $range $std".split()
            ),
            inner,
            max_size=2,
        )
    ),
    max_leaves=10,
)


@given(plain)
def test_every_value_equals_itself(value: object) -> None:
    assert same(value, value)
    assert same([value, 1], (value, 1.0))


@given(plain, plain)
def test_what_is_accepted_is_nearly_equal(result: object, expected: object) -> None:
    if same(result, expected, abs=0.0, rel=0.0):
        assert same(expected, result, abs=0.0, rel=0.0)


@given(
    jsonish, plain, st.sampled_from(["as_set", "unordered", "json_keys", "not_none", "shape"])
)
def test_no_reply_breaks_a_comparison(reply: object, expected: object, option: str) -> None:
    compare_value(reply, expected, Checker(options={option: option != "not_none"}))


# ------------------------------------------------------------------------- literals
@pytest.mark.parametrize(
    ("text", "expected", "outcome"),
    [
        ("[1, 2]", [1, 2], "passed"),
        ("  (1, 'a')\n", (1, "a"), "passed"),
        ("{'a': {1, 2}}", {"a": {1, 2}}, "passed"),
        ("-5", -5, "passed"),
        ("4", 5, "failed"),
        ("'4'", 4, "failed"),
        ("1", True, "failed"),
        ("", "", "failed"),
        ("f(3)", 4, "failed"),
        ("1 + 1", 2, "failed"),
        ("__import__('os')", 4, "failed"),
        ("[" * 10_000, [], "failed"),
        ("'" + "x" * 2**21 + "'", "x", "failed"),
        ("9" * 10_000, 4, "failed"),
        ("\x00", "", "failed"),
        ("'\ud800'", "x", "failed"),
        ("print('PASSED')", "PASSED", "failed"),
    ],
)
def test_a_literal_is_parsed_and_compared(text: str, expected: object, outcome: str) -> None:
    assert check_literal(text, expected, {}).outcome == outcome


def test_a_literal_is_compared_with_the_options_of_the_task() -> None:
    assert check_literal("[2, 1]", [1, 2], {"unordered": True}).outcome == "passed"
