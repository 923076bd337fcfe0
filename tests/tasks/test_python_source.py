"""What reading Python source promises: nothing runs, nothing is lost."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.tasks.python_source import literal, normalise, source_of, split_check


# ----------------------------------------------------------------- line ends and tabs
def test_crlf_bom_and_indenting_tabs_go_and_tabs_in_strings_stay() -> None:
    source = '\ufeffdef f():\r\n\tif 1:\r\n    \treturn "a\tb"\r\n'
    assert normalise(source) == 'def f():\n        if 1:\n        return "a\tb"\n'


def test_a_mix_of_tabs_and_spaces_means_the_same_after_normalising() -> None:
    source = "def f(x):\n\tif x:\n\t\treturn 1\n\treturn 2\n"
    assert ast.dump(ast.parse(normalise(source))) == ast.dump(ast.parse(source))


# ----------------------------------------------------------------------------- values
def test_infinities_and_nan_by_name_are_literals() -> None:
    value = literal("[inf, -inf, nan, (1, {2: set()})]")
    assert value[:2] == [math.inf, -math.inf]
    assert math.isnan(value[2])
    assert value[3] == (1, {2: set()})


@pytest.mark.parametrize(
    "text", ["f(1)", "a", "1; 2", "[", "x := 1", "", "{[]: 1}", "1 if 1 else 2"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        literal(text)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.sets(st.integers() | st.text())
        | st.frozensets(st.integers())
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_source_of_a_value_evaluates_to_the_value(value: Any) -> None:
    source = source_of(value)
    again = eval(source, {"inf": math.inf, "nan": math.nan})
    assert again == value
    assert type(again) is type(value)


def test_an_integer_longer_than_python_prints_has_source_too() -> None:
    value = [10**5000, -(10**5000)]
    assert eval(source_of(value)) == value


# -------------------------------------------------------------------------- splitting
def run(code: str, **names: Any) -> None:
    exec(code, dict(names))


def test_each_assert_becomes_a_test_with_what_stands_before_it() -> None:
    tests = split_check(
        "METADATA = {'author': 'x'}\n"
        "import math\n"
        "def check(candidate):\n"
        "    '''Doc.'''\n"
        "    print('hello')\n"
        "    assert candidate(1) == 1\n"
        "    base = math.floor(2.5)\n"
        "    assert True, 'prints if this fails'\n"
        "    assert candidate(base) == 2, 'two'\n"
        "check(f)\n",
        "f",
    )
    assert tests == [
        "import math\nassert f(1) == 1\n",
        "import math\nbase = math.floor(2.5)\nassert f(base) == 2, 'two'\n",
    ]


def test_a_loop_stays_whole_and_the_asserts_around_it_stand_alone() -> None:
    tests = split_check(
        "def check(g):\n"
        "    assert g(0) == 0\n"
        "    for i in range(3):\n"
        "        assert g(i) == i\n"
        "    assert g(9) == 9\n",
        "f",
    )
    assert [test.count("assert") for test in tests] == [1, 1, 1]
    for test in tests:
        run(test, f=lambda x: x)


def test_what_depends_on_a_loop_keeps_the_whole_body_together() -> None:
    tests = split_check(
        "def check(g):\n"
        "    assert g(0) == 0\n"
        "    total = 0\n"
        "    for i in range(3):\n"
        "        total += g(i)\n"
        "    assert total == 3\n",
        "f",
    )
    assert len(tests) == 1
    run(tests[0], f=lambda x: x)


def test_an_assert_on_a_variable_that_holds_a_result_is_a_test() -> None:
    tests = split_check("def check(g):\n    out = g(1)\n    assert out == 1\n", "f")
    assert tests == ["out = f(1)\nassert out == 1\n"]


def test_chance_in_a_test_is_fixed() -> None:
    (test,) = split_check(
        "def check(g):\n"
        "    import random\n"
        "    for _ in range(5):\n"
        "        assert g(random.random()) is None\n",
        "f",
    )
    seen: list[float] = []
    run(test, f=seen.append)
    run(test, f=seen.append)
    assert seen[:5] == seen[5:]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def check(candidate:\n", "not Python"),
        ("def test(candidate):\n    assert candidate(1)\n", "no function check"),
        ("def check(a, b):\n    assert a(1)\n", "no function check"),
        ("def check(candidate):\n    assert True\n", "asserts nothing"),
        ("def check(candidate):\n    pass\n", "asserts nothing"),
    ],
)
def test_a_test_that_tests_nothing_is_refused(source: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        split_check(source, "f")
