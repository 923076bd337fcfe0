"""Known exceptions: what a check of well-known tasks is known to find, and why.

Two committed files: `known_failures.json` names references that are not accepted,
`known_passes.json` wrong answers that are. Each entry gives a true reason; a check fails on
everything that is not listed, and tells what is listed but no longer found. Tasks are named
by their source (`metadata["source"]`) and id, wherever their file lies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final, Literal

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import Task

KNOWN_SCHEMA: Final = "corecode/known/1"


@dataclass(frozen=True, slots=True)
class Known:
    """Reasons by (source, task id, answer)."""

    reasons: Mapping[tuple[str, str, str], str] = field(default_factory=dict)

    def reason(self, task: Task, answer: str) -> str:
        """Return why this finding is expected, empty if it is not."""
        return self.reasons.get((str(task.metadata.get("source", "")), task.id, answer), "")


def known(which: Literal["failures", "passes"]) -> Known:
    """Return the committed list of references that fail, or of wrong answers that pass."""
    name = f"known_{which}.json"
    text = files("corecode_env.evaluation").joinpath(name).read_text(encoding="utf-8")
    return read_known(json.loads(text), name)


def read_known(record: Mapping[str, Any], file: str) -> Known:
    """Read `{"schema", "sources": {source: [{"answers", "tasks", "reason"}]}}`.

    Args:
        record: The content of the file.
        file: Its name, for messages.

    Raises:
        BadRecord: If the schema is another, an entry lacks its reason, or two entries name
            the same task and answer.
    """

    def bad(field: str, found: object, expected: str) -> BadRecord:
        return BadRecord(source=file, line=None, field=field, found=found, expected=expected)

    if record.get("schema") != KNOWN_SCHEMA:
        raise bad("schema", record.get("schema"), repr(KNOWN_SCHEMA))
    reasons: dict[tuple[str, str, str], str] = {}
    for source, entries in record["sources"].items():
        for entry in entries:
            reason = entry.get("reason")
            if not isinstance(reason, str) or not reason.strip():
                raise bad(f"sources.{source}.reason", reason, "a sentence that says why")
            for answer in entry["answers"]:
                for task_id in entry["tasks"]:
                    key = (source, task_id, answer)
                    if key in reasons:
                        raise bad(f"sources.{source}", key, "named once")
                    reasons[key] = reason
    return Known(reasons)
