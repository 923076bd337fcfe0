"""Pick the easy contest problems that travel with the package.

    python tools/bundle_google_contests.py

Reads `tests/data/google_contests/google_contests.jsonl.gz`, writes
`corecode_env/tasks/builtin/google_contests.jsonl.gz`. A problem is taken when

- it is easy: its first subtask gives at most 8 points, or it comes from a qualification
  or practice round;
- its secret tests are small;
- `tools/google_contests_solutions/` has a program of ours for it, which becomes its
  reference program after it has passed all samples and secret tests here.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ARCHIVE = ROOT / "tests/data/google_contests/google_contests.jsonl.gz"
SOLUTIONS = ROOT / "tools/google_contests_solutions"
BUNDLE = ROOT / "corecode_env/tasks/builtin/google_contests.jsonl.gz"

MOST_POINTS = 8
MOST_BYTES = 80_000
"""Input and output of all secret tests of a problem together."""
TOLERANCE = 1e-6
SECONDS = 30


def solution_of(task_id: str) -> Path:
    """Return where our program for a problem lies, if there is one."""
    return SOLUTIONS / f"{task_id.replace('/', '__')}.py"


def is_easy(record: dict[str, Any]) -> bool:
    """Return whether a problem is easy by its points or its round."""
    first_rounds = ("qualification_round", "practice")
    early = any(part in record["id"] for part in first_rounds)
    return early or record["tests"][0]["points"] <= MOST_POINTS


def is_small(record: dict[str, Any]) -> bool:
    """Return whether the secret tests of a problem are small."""
    size = sum(len(test["input"]) + len(test["output"]) for test in record["tests"])
    return size <= MOST_BYTES


def agree(printed: str, expected: str) -> bool:
    """Return whether two outputs are equal token by token, numbers with a tolerance."""
    got, wanted = printed.split(), expected.split()
    if len(got) != len(wanted):
        return False
    return all(a == b or _close(a, b) for a, b in zip(got, wanted, strict=True))


def _close(a: str, b: str) -> bool:
    try:
        return "." in b and abs(float(a) - float(b)) <= TOLERANCE * max(1, abs(float(b)))
    except ValueError:
        return False


def check(record: dict[str, Any]) -> None:
    """Run our program on all tests of a problem.

    Raises:
        SystemExit: If it fails one.
    """
    program = solution_of(record["id"])
    for number, test in enumerate(record["samples"] + record["tests"]):
        run = subprocess.run(
            [sys.executable, str(program)],
            input=test["input"],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        if not agree(run.stdout, test["output"]):
            raise SystemExit(f"{program.name} must pass test {number}, and does not")


def picked() -> Iterator[dict[str, Any]]:
    """Yield the records of the bundle, each with its reference program."""
    with gzip.open(ARCHIVE, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            program = solution_of(record["id"])
            if program.exists() and is_easy(record) and is_small(record):
                check(record)
                yield {**record, "reference_program": program.read_text(encoding="utf-8")}


def main() -> None:
    """Write the bundle; equal sources give an equal file, byte for byte."""
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in picked()]
    BUNDLE.write_bytes(gzip.compress("".join(lines).encode(), compresslevel=9, mtime=0))
    print(f"{len(lines)} problems, {BUNDLE.stat().st_size:,} bytes: {BUNDLE.name}")


if __name__ == "__main__":
    main()
