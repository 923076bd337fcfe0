"""What the scripts behind our tables promise: they run, and say what they are said to say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def output_of(script: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *options],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def cells(output: str) -> dict[str, list[str]]:
    """Return the rows of a Markdown table by their first cell."""
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in output.splitlines()
        if line.startswith("| ")
    ]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.slow
def test_the_table_of_forged_programs_tells_right_from_wrong() -> None:
    names = ("honest, right", "honest, wrong", "always-equal object", "os._exit(0) at import")
    found = cells(output_of("forging.py", *(w for name in names for w in ("--only", name))))
    methods = found["program"]
    assert methods[-2:] == ["ours, calls", "ours, test code"]
    assert set(found["honest, right"]) == {"PASS"}
    assert set(found["honest, wrong"]) == {"no"}
    # Whoever compares beside the program is taken in by this one.
    assert found["always-equal object"] == ["PASS"] * (len(methods) - 2) + ["no"] * 2
    assert found["os._exit(0) at import"][methods.index("exit code")] == "PASS"
    assert found["os._exit(0) at import"][-2:] == ["no", "no"]


def test_the_table_in_the_docs_says_that_we_pass_none() -> None:
    page = BENCHMARKS.parent / "docs" / "explanation" / "how-verdicts-are-made.md"
    found = cells(page.read_text(encoding="utf-8"))
    (total,) = [row for name, row in found.items() if "forged programs passed" in name]
    assert total[-2:] == ["**0**", "**0**"]


@pytest.mark.slow
def test_the_table_of_measures_has_a_row_for_each_work() -> None:
    found = cells(output_of("measures.py", "--repeats", "2"))
    assert found.pop("work") == ["CPU ms", "wall ms", "peak MB"]
    assert len(found) == 9
