"""Metrics on disk: JSON Lines, one step a line; a line that was cut counts as not written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from corecode_env.core.errors import BadRecord


def read_metrics(path: str | Path) -> list[dict[str, Any]]:
    """Return all whole lines of a run's `metrics.jsonl`; none if there is no such file.

    Raises:
        BadRecord: With the line, if a whole one is no JSON object.
    """
    path = Path(path)
    if not path.exists():
        return []
    # What follows the last line feed was cut by whoever ended the run.
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [_object(line, str(path), number) for number, line in enumerate(lines, start=1)]


def _object(line: str, source: str, number: int) -> dict[str, Any]:
    problem = BadRecord(
        source=source, line=number, field="record", found=line, expected="a JSON object"
    )
    try:
        record = json.loads(line)
    except ValueError as error:
        raise problem from error
    if not isinstance(record, dict):
        raise problem
    return record
