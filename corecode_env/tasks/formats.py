"""Formats: one record of a file becomes one task.

    a record, and where it stands  ->  Format.read  ->  Task, or BadRecord

A loader module holds one `Format` (or a few close ones); `tasks/sources.py` registers
them all in `FORMATS`. A loader looks at one record and at nothing else: it opens no file
and runs no program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from corecode_env.core.errors import BadRecord
from corecode_env.core.registry import Registry
from corecode_env.core.task import Task

Record = Mapping[str, Any]
"""One object of a file, by field name."""


_List = list  # the method `Where.list` hides the builtin inside its class


class _Nothing:
    """What a field that is not there holds."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING: Final = _Nothing()
"""Given to `Where.bad` as `found` where a field is missing."""


@dataclass(frozen=True, slots=True)
class Where:
    """The place of a record, so that an error can name it, and typed access to fields.

    Attributes:
        source: File or set.
        line: Line or index of the record, from 1; None if unknown.
        path: Field that holds the object being read, such as `tests[2]`; empty at the top.
    """

    source: str
    line: int | None = None
    path: str = ""

    def below(self, path: str) -> Where:
        """Return the place of an object inside this one.

        >>> Where("tasks.jsonl", 3).below("tests[0]").bad("input", 7, "a string").field
        'tests[0].input'
        """
        return replace(self, path=self._full(path))

    def bad(self, field: str, found: object, expected: str) -> BadRecord:
        """Build the error for a field that has another form than expected.

        Args:
            field: The field, relative to `path`.
            found: What stands there.
            expected: The form that was expected, as in "a list of strings".
        """
        return BadRecord(
            source=self.source,
            line=self.line,
            field=self._full(field),
            found=found,
            expected=expected,
        )

    def _full(self, field: str) -> str:
        return f"{self.path}.{field}" if self.path else field

    def _value(self, record: Record, field: str, expected: str, default: object) -> Any:
        if field in record:
            return record[field]
        if default is None:
            raise self.bad(field, NOTHING, expected)
        return default

    def string(self, record: Record, field: str, default: str | None = None) -> str:
        """Return a string field; without a default the field must be there."""
        value = self._value(record, field, "a string", default)
        if type(value) is not str:
            raise self.bad(field, value, "a string")
        return value

    def integer(self, record: Record, field: str, default: int | None = None) -> int:
        """Return an integer field; True and False are no integers here."""
        value = self._value(record, field, "an integer", default)
        if type(value) is not int:
            raise self.bad(field, value, "an integer")
        return value

    def number(self, record: Record, field: str, default: float | None = None) -> float:
        """Return a field that holds a finite number."""
        value = self._value(record, field, "a finite number", default)
        if type(value) not in (int, float) or not math.isfinite(value):
            raise self.bad(field, value, "a finite number")
        return float(value)

    def boolean(self, record: Record, field: str, default: bool | None = None) -> bool:
        """Return a field that is true or false."""
        value = self._value(record, field, "true or false", default)
        if type(value) is not bool:
            raise self.bad(field, value, "true or false")
        return value

    def list(
        self, record: Record, field: str, default: _List[Any] | None = None
    ) -> _List[Any]:
        """Return a list field."""
        value = self._value(record, field, "a list", default)
        if type(value) is not _List:
            raise self.bad(field, value, "a list")
        return value

    def strings(
        self, record: Record, field: str, default: _List[str] | None = None
    ) -> _List[str]:
        """Return a field that is a list of strings."""
        value = self._value(record, field, "a list of strings", default)
        if type(value) is not _List or not all(type(item) is str for item in value):
            raise self.bad(field, value, "a list of strings")
        return value

    def object(
        self, record: Record, field: str, default: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a field that holds a JSON object."""
        value = self._value(record, field, "a JSON object", default)
        if type(value) is not dict:
            raise self.bad(field, value, "a JSON object")
        return value


@dataclass(frozen=True, slots=True)
class Format:
    """How records of one public schema become tasks."""

    name: str
    description: str
    """One line: whose schema, and which fields make it out."""
    matches: Callable[[Record], bool]
    """Whether a record has this schema, by the names of its fields."""
    read: Callable[[Record, Where], Task]
    """Build the task; raises BadRecord where a field has another form."""
    lines: Callable[[Path], Iterator[tuple[int, dict[str, Any] | BadRecord]]] | None = None
    """Reads the records where files of this format are not one record a line."""

    def task(self, record: Record, where: Where) -> Task:
        """Build the task of a record.

        Raises:
            BadRecord: If the record breaks the format, in whatever way.
        """
        try:
            return self.read(record, where)
        except BadRecord:
            raise
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            # A loader that meets something unforeseen still has to say where.
            problem = f"{type(error).__name__}: {error}"
            expected = f"a record of the format {self.name!r} ({problem})"
            raise where.bad("record", record, expected) from error


FORMATS: Final[Registry[Format]] = Registry("a task format")
