"""What docstring examples promise: what is read is what the author meant."""

from __future__ import annotations

import pytest

from corecode_env.tasks.docstring_examples import examples


@pytest.mark.parametrize(
    ("text", "test"),
    [
        (">>> f(1)\n2", "assert f(1) == 2\n"),
        (">>> f([1.0, 'a b'])\n[True, None]\n", "assert f([1.0, 'a b']) == [True, None]\n"),
        (">>> f(1) # one\n2", "assert f(1) == 2\n"),
        (">>> round(f(1), 2)\n0.5", "assert round(f(1), 2) == 0.5\n"),
        (">>> f([1]) == [2]", "assert f([1]) == [2]\n"),
        ("f(1) == 2", "assert f(1) == 2\n"),
        ("f(1) => 2", "assert f(1) == 2\n"),
        ("f(1) ==> 2", "assert f(1) == 2\n"),
        ("f(1) -> 2", "assert f(1) == 2\n"),
        ("f(1) = 2", "assert f(1) == 2\n"),
        ("f(1) ➞ 2 # because", "assert f(1) == 2\n"),
        ("f(1)   # returns 'db'", "assert f(1) == 'db'\n"),
        ("f('(a') returns ')'", "assert f('(a') == ')'\n"),
        ("f(1) should return true.", "assert f(1) == True\n"),
        ("f('a   b') == 'a-b'", "assert f('a   b') == 'a-b'\n"),
        (
            "f([\n  [1],\n  [2]], 1) == [(0, 0),\n (1, 1)]",
            "assert f([[1], [2]], 1) == [(0, 0), (1, 1)]\n",
        ),
    ],
)
def test_an_example_becomes_an_assert(text: str, test: str) -> None:
    assert [example.test for example in examples(text, "f")] == [test]


@pytest.mark.parametrize(
    "text",
    [
        "f(n) = f(n-1) + 1",
        "f(1) == 1 + 9",
        "f(1) => aardvark",
        "f(a) => False",
        "f(1)",
        ">>> f(1)\n\n>>> g(2)\n3",
        "of(1) == 2",
        "x.f(1) == 2",
        "f(1) == '",
        "f(1 == 2",
        "call f(1)\n2",
        "f(1) -> 19 - 5 = 14",
        "f('''a\nb''') == ...",
    ],
)
def test_what_is_no_certain_example_is_left_out(text: str) -> None:
    assert examples(text, "f") == []


def test_the_same_call_counts_once_and_the_first_result_stands() -> None:
    found = examples("f(1) == 2\nf( 1 ) == 3\nf(2) == 4", "f")
    assert [example.test for example in found] == ["assert f(1) == 2\n", "assert f(2) == 4\n"]
