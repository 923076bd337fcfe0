"""What mutations promise: small faults, each one change of the text, the same everywhere."""

from __future__ import annotations

import ast

import pytest

from corecode_env.core.subject import Mutation, Subject
from corecode_env.tasks import load_tasks
from corecode_env.tasks.mutations import slips


def changed(program: str) -> set[tuple[str, str, str]]:
    return {(slip.kind, slip.before, slip.after) for slip in slips(program)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return a + b", ("arithmetic", "a + b", "a - b")),
        ("return a / b", ("arithmetic", "a / b", "a * b")),
        ("return a ** b", ("arithmetic", "a ** b", "a * b")),
        ("a += b", ("arithmetic", "a += b", "a -= b")),
        ("return a <= b", ("comparison", "a <= b", "a < b")),
        ("return a not in b", ("comparison", "a not in b", "a in b")),
        ("return a is None", ("comparison", "a is None", "a is not None")),
        ("return a and b", ("boolean", "a and b", "a or b")),
        ("return True", ("boolean", "True", "False")),
        ("return a[0]", ("constant", "0", "1")),
        ("return 'x'", ("constant", "'x'", "''")),
        ("return ''", ("constant", "''", "'?'")),
        ("return a", ("return", "a", "None")),
    ],
)
def test_each_operator_makes_its_fault(line: str, expected: tuple[str, str, str]) -> None:
    assert expected in changed(f"def f(a, b):\n    {line}\n")


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (
            "def f(a):\n    return (a) * (2)  # a * 2\n",
            "def f(a):\n    return (a) // (2)  # a * 2\n",
        ),
        ("def f(a):\n    return (a  # +\n        + 1)\n", None),
        ("def f(é):\n    return 'ä' + é\n", "def f(é):\n    return 'ä' - é\n"),
        ("def f(a):\n    return -a ** 2\n", "def f(a):\n    return -a * 2\n"),
    ],
)
def test_brackets_comments_and_letters_of_any_script_are_no_danger(
    program: str, fault: str | None
) -> None:
    texts = [
        slip.mutation.apply(program) for slip in slips(program) if slip.kind == "arithmetic"
    ]
    if fault is None or "** 2" in program:
        # Text cannot say it without brackets of its own: better no fault than another one.
        assert texts == []
    else:
        assert texts == [fault]


def test_docstrings_annotations_defaults_and_module_code_are_left_alone() -> None:
    program = (
        "LIMIT = 3 + 4\n\ndef f(a: int = 5 + 6) -> 'int | 7':\n    'Say 8.'\n    return a\n"
    )
    assert changed(program) == {("return", "a", "None")}


def test_a_return_without_a_value_has_no_fault() -> None:
    assert changed("def f(a):\n    return\n") == set()
    assert changed("def f(a):\n    return None\n") == set()


def test_the_function_around_a_fault_is_named() -> None:
    program = "def f(a):\n    def g(b):\n        return b\n    return g(a)\n"
    assert {(s.function, s.before) for s in slips(program)} == {("g", "b"), ("f", "g(a)")}


@pytest.mark.parametrize("name", ["humaneval", "mbpp-sanitized"])
def test_every_fault_of_real_programs_parses_and_differs_in_one_place(name: str) -> None:
    for task in load_tasks(name).head(30):
        program = task.reference_program or ""
        found = slips(program)
        texts = [slip.mutation.apply(program) for slip in found]
        assert len(set(texts)) == len(texts)
        for slip, text in zip(found, texts, strict=True):
            start, end, new = slip.mutation
            assert text[:start] == program[:start]
            assert text[start + len(new) :] == program[end:]
            assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(program))


def test_what_is_no_program_has_no_faults() -> None:
    with pytest.raises(ValueError, match="not Python source"):
        slips("def f(:")


def test_a_subject_survives_the_way_through_text() -> None:
    subject = Subject(
        "def f():\n    return 'ä'\n", "f", ("assert f()",), (Mutation(0, 3, "x"),)
    )
    assert Subject.from_text(subject.to_text()) == subject
