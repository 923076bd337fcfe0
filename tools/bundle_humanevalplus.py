"""Write the bundled HumanEval+ Mini: the release's file, with results where it has any.

    python tools/bundle_humanevalplus.py

Reads `HumanEvalPlus-Mini.jsonl.gz` (inputs only) and `HumanEvalPlus-OriginFmt.jsonl.gz`
(inputs and results as literals) from `tests/data/humanevalplus/` and writes
`corecode_env/tasks/builtin/HumanEvalPlus-Mini.jsonl.gz`. Nothing is run: a result is
taken over where the other file has the same input. Records of which some input has none
stay as they are, and are judged by their reference.
"""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

from corecode_env.core.task import CallTest
from corecode_env.core.values import to_jsonable
from corecode_env.tasks import load_tasks
from corecode_env.tasks.files import read_records

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data" / "humanevalplus"
TARGET = ROOT / "corecode_env" / "tasks" / "builtin" / "HumanEvalPlus-Mini.jsonl.gz"


def known_results() -> dict[str, dict[str, Any]]:
    """Return the results of OriginFmt by task id and by the input's JSON form."""
    return {
        task.id: {
            _key(list(test.args)): test.expected
            for test in task.hidden_tests
            if isinstance(test, CallTest)
        }
        for task in load_tasks(DATA / "HumanEvalPlus-OriginFmt.jsonl.gz")
    }


def _key(args: list[Any]) -> str:
    return json.dumps(to_jsonable(args))


def main() -> None:
    """Write the file, and say how many records have all results."""
    results = known_results()
    lines, complete = [], 0
    for _, record in read_records(DATA / "HumanEvalPlus-Mini.jsonl.gz"):
        if not isinstance(record, dict):
            raise record
        known = results[record["task_id"]]
        parts = {
            part: [known.get(_key(args)) for args in record[f"{part}_input"]]
            for part in ("base", "plus")
        }
        keys = [_key(args) for part in parts for args in record[f"{part}_input"]]
        if all(key in known for key in keys):
            complete += 1
            for part, values in parts.items():
                record[f"{part}_expected"] = [to_jsonable(value) for value in values]
        lines.append(json.dumps(record))
    buffer = io.BytesIO()
    # No name and no time in the header: equal data gives an equal file.
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
    TARGET.write_bytes(buffer.getvalue())
    print(f"{TARGET.name}: {len(lines)} records, {complete} with all results")


if __name__ == "__main__":
    main()
