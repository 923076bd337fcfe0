"""What a Task promises: nothing lost on the way to JSON and back, and errors that help."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Checker,
    Function,
    Limits,
    ScoreTest,
    Script,
    Stdio,
    StdioTest,
    Task,
)

RECORD: dict[str, Any] = {
    "id": "t/1",
    "statement": "Add one.",
    "interface": {"kind": "function", "name": "f"},
    "hidden_tests": [{"kind": "call", "args": [1], "expected": 2}],
}


def record(**changes: Any) -> dict[str, Any]:
    return {**RECORD, **changes}


tests = st.one_of(
    st.builds(StdioTest, st.text(), st.text()),
    st.builds(AssertTest, st.text()),
    st.builds(
        CallTest,
        st.lists(st.integers() | st.tuples(st.text())).map(tuple),
        st.dictionaries(st.text(), st.integers()),
        st.none() | st.sets(st.integers()) | st.floats(allow_nan=False),
    ),
    st.builds(
        ScoreTest,
        st.text(),
        st.text(),
        st.none() | st.floats(allow_nan=False, width=32).filter(lambda x: abs(x) < 1e30),
    ),
)


@given(
    interface=st.one_of(
        st.just(Stdio()),
        st.just(Script()),
        st.builds(Function, st.text(), st.text(), st.text()),
    ),
    public=st.lists(tests, max_size=3).map(tuple),
    hidden=st.lists(tests, min_size=1, max_size=3).map(tuple),
    plan=st.none() | st.text(),
    options=st.dictionaries(st.text(), st.integers()),
)
def test_a_task_survives_json(
    interface: Stdio | Script | Function,
    public: tuple[Any, ...],
    hidden: tuple[Any, ...],
    plan: str | None,
    options: dict[str, int],
) -> None:
    task = Task(
        "id",
        "statement",
        interface,
        public,
        hidden,
        Checker("float", options),
        Limits(cpu_seconds=1),
        reference_plan=plan,
        metadata={"tags": ("a", "b")},
    )
    assert Task.from_json(task.to_json()) == task


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"id": 3}, "id", "a string"),
        ({"statement": None}, "statement", "a string"),
        ({"interface": "stdio"}, "interface", "a JSON object"),
        ({"interface": {"kind": "web"}}, "interface.kind", "stdio, function or script"),
        ({"interface": {"kind": "function"}}, "interface.name", "a string"),
        ({"hidden_tests": []}, "hidden_tests", "at least one test"),
        (
            {"hidden_tests": [{"kind": "call", "args": [1]}]},
            "hidden_tests[0].expected",
            "the expected",
        ),
        (
            {"hidden_tests": [{"kind": ["x"]}]},
            "hidden_tests[0].kind",
            "stdio, call, assert or score",
        ),
        (
            {"hidden_tests": [{"kind": "stdio", "input": "1"}]},
            "hidden_tests[0].output",
            "a string",
        ),
        (
            {"hidden_tests": [{"kind": "score", "instance": "", "reference": True}]},
            "hidden_tests[0].reference",
            "a finite number",
        ),
        ({"limits": {"cpu_seconds": -1}}, "limits", "positive"),
        ({"limits": {"cpu": 1}}, "limits.cpu", "left out"),
        ({"kind": "poem"}, "kind", "one of code"),
        ({"colour": "red"}, "colour", "left out"),
        ({"checker": {"options": {"x": {"$set": [[]]}}}}, "checker.options", "a plain value"),
    ],
)
def test_a_bad_record_says_file_line_field_found_and_expected(
    changes: dict[str, Any], field: str, expected: str
) -> None:
    with pytest.raises(BadRecord) as caught:
        Task.from_json(record(**changes), source="tasks.jsonl", line=7)
    assert caught.value.field == field
    assert expected in caught.value.expected
    assert str(caught.value).startswith(f"tasks.jsonl:7: field {field!r} must be")
    assert "skip_bad" in str(caught.value)


def test_a_record_that_is_no_object_is_refused() -> None:
    with pytest.raises(BadRecord, match="a JSON object"):
        Task.from_json([1])


def test_a_task_without_tests_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one test"):
        Task("x", "", Stdio())


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), True, "5"])
def test_limits_must_be_positive_numbers(value: Any) -> None:
    with pytest.raises(ValueError, match="cpu_seconds must be"):
        Limits(cpu_seconds=value)
