"""What the place of a record promises: typed fields, and errors that say where."""

from __future__ import annotations

from typing import Any

import pytest

from corecode_env.core.errors import BadRecord
from corecode_env.tasks.formats import Where

WHERE = Where("tasks.jsonl", 3)


@pytest.mark.parametrize(
    ("getter", "value"),
    [
        ("string", "a"),
        ("integer", 7),
        ("number", 0.5),
        ("boolean", True),
        ("list", [1]),
        ("strings", ["a"]),
        ("object", {"a": 1}),
    ],
)
def test_a_field_of_the_right_type_is_returned(getter: str, value: Any) -> None:
    assert getattr(WHERE, getter)({"x": value}, "x") == value


@pytest.mark.parametrize(
    ("getter", "value", "expected"),
    [
        ("string", 7, "a string"),
        ("string", None, "a string"),
        ("integer", True, "an integer"),
        ("integer", 1.0, "an integer"),
        ("number", "1", "a finite number"),
        ("number", float("nan"), "a finite number"),
        ("number", False, "a finite number"),
        ("boolean", 1, "true or false"),
        ("list", "abc", "a list"),
        ("strings", ["a", 1], "a list of strings"),
        ("object", [], "a JSON object"),
    ],
)
def test_another_type_is_an_error_with_file_line_field_found_and_expected(
    getter: str, value: Any, expected: str
) -> None:
    with pytest.raises(BadRecord) as caught:
        getattr(WHERE, getter)({"x": value}, "x")
    error = caught.value
    assert (error.source, error.line, error.field) == ("tasks.jsonl", 3, "x")
    assert (error.found, error.expected) == (repr(value), expected)
    assert str(error).startswith(f"tasks.jsonl:3: field 'x' must be {expected}, got ")


def test_a_missing_field_is_an_error_that_says_nothing_was_there() -> None:
    with pytest.raises(BadRecord, match="'x' must be a string, got nothing;"):
        WHERE.string({}, "x")


def test_a_default_stands_in_for_a_missing_field_but_not_for_a_wrong_one() -> None:
    assert WHERE.integer({}, "x", 5) == 5
    assert WHERE.list({}, "x", []) == []
    with pytest.raises(BadRecord):
        WHERE.integer({"x": "5"}, "x", 5)


def test_a_nested_place_names_the_whole_path() -> None:
    inner = WHERE.below("tests[2]").below("args")
    assert inner.bad("first", 1, "a string").field == "tests[2].args.first"
