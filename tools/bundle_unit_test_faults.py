"""Find the faults that come with the sets `unit_tests/...`, and store them.

    python tools/bundle_unit_test_faults.py

Every fault that one change can make in a reference program of HumanEval and MBPP sanitized
is judged by the task's own tests; of those noticed up to eight a task are stored, by where
they stand in the program's text. Prints how many there are. The result is the same in every
run.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from corecode_env.executor import LocalExecutor
from corecode_env.tasks import load_tasks
from corecode_env.tasks.unit_tests import STORED, find_faults

TARGET = (
    Path(__file__).resolve().parents[1] / "corecode_env/tasks/builtin/unit_test_faults.json.gz"
)


def main() -> None:
    """Judge, print the numbers, write the file."""
    stored = {}
    with LocalExecutor() as executor:
        for name in STORED:
            tasks = load_tasks(name)
            found = find_faults(tasks, executor)
            faults = sum(map(len, found.values()))
            print(f"{name}: {faults} faults in {len(found)} of {len(tasks)} tasks")
            stored[name] = found
    text = json.dumps(stored, separators=(",", ":"))
    # No time in the header: equal content is an equal file.
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
