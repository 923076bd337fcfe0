"""Known exceptions: what a check of a bundled set is known to find, and why.

Two committed files: `known_failures.json` names references that are not accepted,
`known_passes.json` wrong answers that are. Each entry gives a true reason; a check fails on
everything that is not listed, and tells what is listed but no longer found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final, Literal

from corecode_env.core.errors import BadRecord

KNOWN_SCHEMA: Final = "corecode/known/1"


@dataclass(frozen=True, slots=True)
class Known:
    """Reasons by (task id, answer) of one task set."""

    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def reason(self, task_id: str, answer: str) -> str:
        """Return why this finding is expected, empty if it is not."""
        return self.reasons.get((task_id, answer), "")


def known(which: Literal["failures", "passes"], set_name: str) -> Known:
    """Return what is known of a bundled set; nothing for any other."""
    name = f"known_{which}.json"
    text = files("corecode_env.evaluation").joinpath(name).read_text(encoding="utf-8")
    return read_known(json.loads(text), set_name, source=name)


def read_known(record: Mapping[str, Any], set_name: str, *, source: str) -> Known:
    """Read `{"schema", "sets": {name: [{"answers", "tasks", "reason"}]}}`.

    Raises:
        BadRecord: If the schema is another, an entry lacks its reason, or two entries name
            the same task and answer.
    """
    if record.get("schema") != KNOWN_SCHEMA:
        raise BadRecord(
            source=source,
            line=None,
            field="schema",
            found=record.get("schema"),
            expected=repr(KNOWN_SCHEMA),
        )
    reasons: dict[tuple[str, str], str] = {}
    for entry in record["sets"].get(set_name, []):
        reason = entry.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            raise BadRecord(
                source=source,
                line=None,
                field=f"sets.{set_name}.reason",
                found=reason,
                expected="a sentence that says why",
            )
        for answer in entry["answers"]:
            for task_id in entry["tasks"]:
                if (task_id, answer) in reasons:
                    raise BadRecord(
                        source=source,
                        line=None,
                        field=f"sets.{set_name}",
                        found=(task_id, answer),
                        expected="named once",
                    )
                reasons[task_id, answer] = reason
    return Known(reasons)
