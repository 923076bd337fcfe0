"""Our own JSON Lines: a task as `Task.to_json` writes it, one object a line."""

from __future__ import annotations

from corecode_env.core.task import Task
from corecode_env.tasks.formats import Format, Record, Where


def _read(record: Record, where: Where) -> Task:
    return Task.from_json(dict(record), source=where.source, line=where.line)


OWN = Format(
    name="corecode",
    description="this package's own format: id, statement, interface, lists of tests",
    matches=lambda record: {"id", "statement", "interface"} <= record.keys(),
    read=_read,
)
