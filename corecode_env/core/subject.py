"""Subjects: a program that is to be tested, and faults that tests should find in it.

    Subject  <->  the text that a `ScoreTest` of kind `unit_tests` carries as its instance

A fault is one small change of the program's text, given by where it stands, so that it is
the same on every Python.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from corecode_env.core.errors import BadConfig


class Mutation(NamedTuple):
    """One change of a program's text."""

    start: int
    """First character that is replaced, from 0."""
    end: int
    """Character behind the last one that is replaced."""
    text: str
    """What takes their place."""

    def apply(self, program: str) -> str:
        """Return the changed program.

        >>> Mutation(2, 3, "-").apply("a + b")
        'a - b'
        """
        return program[: self.start] + self.text + program[self.end :]


@dataclass(frozen=True, slots=True)
class Subject:
    """A program under test.

    Attributes:
        program: Its text, which stands by itself.
        entry: Name of the function that tests call.
        tests: Test code that passes: its calls say which lines and branches can be reached.
        mutations: Changes that `tests` notice.
    """

    program: str
    entry: str
    tests: tuple[str, ...]
    mutations: tuple[Mutation, ...]

    def to_text(self) -> str:
        """Return the subject as text."""
        return json.dumps(
            {
                "program": self.program,
                "entry": self.entry,
                "tests": list(self.tests),
                "mutations": [list(mutation) for mutation in self.mutations],
            }
        )

    @classmethod
    def from_text(cls, text: str) -> Subject:
        """Read what `to_text` returned.

        Raises:
            BadConfig: If the text is anything else, or a change lies outside the program.
        """
        try:
            record = json.loads(text)
        except ValueError as error:
            raise _bad(f"text that is no JSON ({error})") from error
        if type(record) is not dict or record.keys() != _FIELDS:
            raise _bad(f"{str(record)[:80]!r}")
        program, entry = record["program"], record["entry"]
        tests, mutations = record["tests"], record["mutations"]
        if type(program) is not str or type(entry) is not str or not entry.isidentifier():
            raise _bad("a program or an entry point of another form")
        if type(tests) is not list or not all(type(test) is str for test in tests):
            raise _bad("tests of another form")
        if type(mutations) is not list or not all(_is_change(m, program) for m in mutations):
            raise _bad("a mutation that is no [start, end, text] within the program")
        return cls(program, entry, tuple(tests), tuple(Mutation(*m) for m in mutations))


_FIELDS = {"program", "entry", "tests", "mutations"}


def _is_change(found: Any, program: str) -> bool:
    match found:
        case [int(start), int(end), str()]:
            return 0 <= start <= end <= len(program)
    return False


def _bad(got: str) -> BadConfig:
    return BadConfig(
        "the instance of a unit_tests task must be a JSON object with program, entry, tests "
        f"and mutations, got {got}; make such tasks with corecode_env.tasks.unit_tests"
    )
