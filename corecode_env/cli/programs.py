"""Program files: `{"task_id", "program"}` and anything else, one object a line."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from corecode_env.core.errors import BadRecord, UnknownName
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement
from corecode_env.tasks import TaskSet

OWN_FIELDS = frozenset(Judgement("", ()).to_json())
"""Fields of a judgement: what a line brings beside its program may not be called so."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a program file."""

    task: Task
    program: str
    extra: Mapping[str, Any]
    """What else stood in the line; it comes back with the judgement."""


@contextmanager
def open_programs(path: str) -> Iterator[IO[bytes]]:
    """Open a program file that can be read twice; `-` is standard input."""
    if path != "-":
        with open(path, "rb") as file:
            if file.seekable():
                yield file
                return
            with _spooled(file) as copy:
                yield copy
        return
    with _spooled(sys.stdin.buffer) as copy:
        yield copy


@contextmanager
def _spooled(file: IO[bytes]) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.seek(0)
        yield copy


def read_programs(
    file: IO[bytes], source: str, tasks: TaskSet, bad: list[BadRecord] | None = None
) -> Iterator[Entry]:
    """Read a program file line by line, in memory for one line.

    Args:
        file: The open file; it is read from where it stands.
        source: Its name, for messages.
        tasks: The set that the ids belong to.
        bad: Where broken lines go. None: the first one is raised.

    Raises:
        BadRecord: If a line is broken and `bad` is None.
    """
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            yield _entry(line, source, number, tasks)
        except BadRecord as error:
            if bad is None:
                raise
            bad.append(error)


def _entry(line: bytes, source: str, number: int, tasks: TaskSet) -> Entry:
    def broken(field: str, found: object, expected: str) -> BadRecord:
        return BadRecord(
            source=source, line=number, field=field, found=found, expected=expected
        )

    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        shown = line.decode("utf-8", "replace").strip()
        raise broken("record", shown, f"one JSON object a line ({error})") from error
    if type(record) is not dict:
        raise broken("record", record, 'an object with "task_id" and "program"')
    for name in ("task_id", "program"):
        if type(record.get(name)) is not str:
            found = record[name] if name in record else "nothing"
            raise broken(name, found, "a string")
    for name in record:
        if name in OWN_FIELDS and name != "task_id":
            raise broken(name, record[name], "called otherwise: a judgement has that field")
    try:
        task = tasks.get(record["task_id"])
    except UnknownName as error:
        raise broken(
            "task_id", record["task_id"], f"a task of {tasks.name} ({error})"
        ) from error
    extra = {key: value for key, value in record.items() if key not in ("task_id", "program")}
    return Entry(task, record["program"], extra)
