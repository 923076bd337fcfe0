"""HumanEval: complete a function from its signature and docstring.

Schema (Chen et al., 2021, arXiv:2107.03374): `task_id`, `prompt`, `entry_point`,
`canonical_solution` (the body), `test` (source that defines `check(candidate)`).

Public tests are the docstring's examples, hidden ones the asserts of `check`. HumanEval is
for evaluation: every task belongs to the test split.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from corecode_env.core.task import AssertTest, Function, Task
from corecode_env.tasks.docstring_examples import Example, examples
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.python_source import (
    definitions,
    names_in,
    normalise,
    parse,
    signature_of,
    split_check,
)

WRONG_EXAMPLES: Final = frozenset(
    {
        "median([-10, 4, 6, 1000, 10, 20])",  # says 15.0; the median of these is 8.0
        "sort_array([1, 5, 2, 3, 4])",  # sorted by value instead of by number of ones
        "sort_array([-2, -3, -4, -5, -6])",  # the same
        "tri(1)",  # a term of the sequence; the function returns a list
        "tri(4)",  # the same
        "bf('Earth', 'Mercury')",  # ("Venus") is a string; the function returns a tuple
    }
)
"""Docstring examples that contradict their own task's solution."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt taken apart: what is given, and the function to write."""

    source: str
    interface: Function
    docstring: str

    @classmethod
    def parse(cls, source: str, entry: str, where: Where) -> Prompt:
        """Take a prompt apart: imports and helpers, then the `def` with its docstring.

        Raises:
            BadRecord: If it is no Python or does not begin the function.
        """
        source = normalise(source)
        try:
            tree = parse(source.rstrip() + "\n    pass\n")
        except ValueError as error:
            raise where.bad("prompt", source, f"the start of a function ({error})") from error
        node = definitions(tree).get(entry)
        if not isinstance(node, ast.FunctionDef):
            raise where.bad("entry_point", entry, "the name of a function that prompt begins")
        preamble = "\n".join(source.split("\n")[: node.lineno - 1]).strip("\n")
        interface = Function(entry, signature_of(node), preamble + "\n" if preamble else "")
        return cls(source, interface, ast.get_docstring(node) or "")

    @property
    def statement(self) -> str:
        """The task in words."""
        return (
            f"Complete the Python function `{self.interface.name}`.\n\n"
            f"```python\n{self.source.rstrip()}\n```\n"
        )

    def self_contained(self, test: str) -> str:
        """Return test code with the prompt's helpers, if it uses one.

        A helper that sees a result must be the test's own, never the program's.
        """
        helpers = definitions(parse(self.interface.preamble))
        if names_in(parse(test)) & helpers.keys():
            return f"{self.interface.preamble}\n{test}"
        return test


def checked_tests(
    record: Record, field: str, prompt: Prompt, where: Where
) -> tuple[AssertTest, ...]:
    """Return the asserts of a record's `check` function as tests.

    Raises:
        BadRecord: If the field holds no such function.
    """
    source = normalise(where.string(record, field))
    try:
        codes = split_check(source, prompt.interface.name)
    except ValueError as error:
        expected = f"Python source with a function check(candidate) ({error})"
        raise where.bad(field, source, expected) from error
    return tuple(AssertTest(prompt.self_contained(code)) for code in codes)


def shown_examples(prompt: Prompt, hidden: tuple[AssertTest, ...] = ()) -> list[Example]:
    """Return the docstring's examples, except wrong ones: listed, or against the tests."""
    results = _results(hidden)
    return [
        example
        for example in examples(prompt.docstring, prompt.interface.name)
        if example.expression not in WRONG_EXAMPLES
        and results.get(example.key, claimed := ast.dump(parse(example.result))) == claimed
    ]


def _results(tests: tuple[AssertTest, ...]) -> dict[str, str]:
    """Return what tests of the form `assert call == value` say, by call."""
    results: dict[str, str] = {}
    for test in tests:
        match parse(test.code).body:
            case [ast.Assert(test=ast.Compare(left, [ast.Eq()], [right]))]:
                key = ast.dump(parse(ast.unparse(left)))
                results[key] = ast.dump(parse(ast.unparse(right)))
    return results


def without(tests: tuple[AssertTest, ...], shown: list[Example]) -> tuple[AssertTest, ...]:
    """Return the tests that no example repeats; all of them if none would be left."""
    keys = {example.key for example in shown}
    left = tuple(test for test in tests if not _results((test,)).keys() & keys)
    return left or tests


def _read(record: Record, where: Where) -> Task:
    entry = where.string(record, "entry_point")
    prompt = Prompt.parse(where.string(record, "prompt"), entry, where)
    tests = checked_tests(record, "test", prompt, where)
    shown = shown_examples(prompt, tests)
    reference = prompt.source + normalise(where.string(record, "canonical_solution"))
    return Task(
        id=where.string(record, "task_id"),
        statement=prompt.statement,
        interface=prompt.interface,
        public_tests=tuple(AssertTest(example.test) for example in shown),
        hidden_tests=without(tests, shown),
        reference_program=reference,
        metadata={"source": "HumanEval", "licence": "MIT", "split": "test"},
    )


HUMANEVAL = Format(
    name="humaneval",
    description="HumanEval: prompt, entry_point, canonical_solution, test with check()",
    matches=lambda record: (
        {"task_id", "prompt", "entry_point", "canonical_solution", "test"} <= record.keys()
        and not {"base_input", "buggy_solution"} & record.keys()
        and "zip(inputs, results)" not in str(record["test"])
        and "ref_func(*inp)" not in str(record["test"])
    ),
    read=_read,
)
