"""Feedback: what a team learns about its program, from public tests only.

    Task, Judgement  ->  text

The text is the same on every machine: no clock readings, no addresses, no paths.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal

from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement, TestResult, Verdict

Feedback = Literal["none", "verdict", "public"]
FEEDBACK: Final = ("none", "verdict", "public")

MAX_SHOWN: Final = 3
"""Tests that are shown in full."""
MAX_NOTE_CHARS: Final = 600

_ADDRESS: Final = re.compile(r"\bat 0x[0-9a-fA-F]+")
_FILE: Final = re.compile(r'File "(?:[^"\n]*/)?([^"/\n]*)"')
_LIBRARY: Final = re.compile(r"(?:/[^\s/'\":]+)+/(?:python3\.\d+|site-packages)/")


def feedback_text(
    mode: Feedback,
    task: Task,
    tests: Sequence[str],
    judgement: Judgement,
    name: str = "Public tests",
) -> str:
    """Return what the team is told about a judged program.

    Args:
        mode: `none`: nothing; `verdict`: how each public test ended; `public`: with the
            failed tests themselves and what the program did.
        task: The task.
        tests: Its public tests as agents read them.
        judgement: What the executor said about the program.
        name: What the tests are called.
    """
    if mode == "none":
        return ""
    # Public tests come first, in the task's order.
    results = judgement.results[: len(tests)]
    if not results:
        return f"There are no {name.lower()} to report on."
    scored = task.kind in ("optimize", "unit_tests")
    passed = sum(result.verdict is Verdict.AC for result in results)
    lines = [f"{name}: {passed} of {len(results)} passed."]
    shown, last_note = 0, ""
    for number, (test, result) in enumerate(zip(tests, results, strict=True), 1):
        if result.verdict is Verdict.AC and not scored:
            continue
        lines.append(f"Test {number}: {_outcome(result, scored)}.")
        if mode == "public" and shown < MAX_SHOWN:
            shown += 1
            lines.append(test)
            note = scrub(result.note)[:MAX_NOTE_CHARS].strip()
            if note and note != last_note:  # what does not compile says so on every test
                lines.append(f"What happened: {note}")
            last_note = note
    return "\n".join(lines)


def _outcome(result: TestResult, scored: bool) -> str:
    if scored and result.score is not None:
        return f"{result.verdict.meaning}, score {result.score:g}"
    return result.verdict.meaning


def scrub(note: str) -> str:
    """Remove what differs from machine to machine or from run to run.

    >>> scrub('File "/tmp/x/main.py", line 1: <object at 0x7f00deadbeef>')
    'File "main.py", line 1: <object at 0x...>'
    """
    if "/" not in note and "0x" not in note:
        return note
    note = _ADDRESS.sub("at 0x...", note)
    note = _FILE.sub(r'File "\1"', note)
    note = _LIBRARY.sub("", note)
    return _host_paths().sub("", note)


@cache
def _host_paths() -> re.Pattern[str]:
    """Match the folders of this machine that a program's message may name."""
    folders = {sys.prefix, sys.base_prefix, tempfile.gettempdir(), os.getcwd()}
    folders |= {str(Path.home()), "/tmp", "/dev/shm"}
    named = sorted((f.rstrip("/") for f in folders if len(f) > 1), key=len, reverse=True)
    return re.compile("(?:" + "|".join(re.escape(folder) for folder in named) + r")(?:/|\b)")
