"""Verdicts of processes: what the kernel's numbers say, before any answer is looked at.

    Outcome + Limits  ->  Verdict, or None if the process did nothing wrong

Pure functions. A process's own words decide nothing here, save that an exception message
may turn one failure (RE) into another (MLE).
"""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import Final

from corecode_env.core.task import Limits
from corecode_env.core.verdict import Verdict
from corecode_env.executor.slot import Outcome

TIMER_SLACK: Final = 0.01
"""Seconds of CPU by which a kill at the limit may fall short of it: the timer starts
shortly before the moment from which we count."""
NEAR: Final = 0.25
"""Part of the CPU limit within which a result counts as near to it."""
_NOTE_CHARS: Final = 200
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{4,}")
_LIBRARY: Final = os.path.dirname(os.__file__)
_INSTALLED: Final = {_LIBRARY, sys.prefix, sys.base_prefix, sys.exec_prefix}
# A system's own Python has the prefix /usr, which is no secret and much of any text.
_HOST_PATHS: Final = tuple(sorted(_INSTALLED - {"/", "/usr", ""}, key=len, reverse=True))


def fault(outcome: Outcome, limits: Limits, *, ignore_exit: bool = False) -> Verdict | None:
    """Return the verdict that a process's end alone decides, by precedence.

    Args:
        outcome: How the process ended.
        limits: The limits that the task states (not those that the kernel enforced, which
            may be wider on an overloaded machine).
        ignore_exit: A non-zero exit status is no fault.

    Returns:
        None if nothing is wrong so far; never AC, which needs a right answer.
    """
    if not outcome.ready or outcome.broken:
        return Verdict.SE
    if not outcome.started:
        return Verdict.CE
    if outcome.signal == signal.SIGSYS:
        return Verdict.SV
    if outcome.overflow or outcome.filled:
        return Verdict.OLE
    if outcome.peak_bytes >= limits.memory_bytes or _out_of_memory(outcome):
        return Verdict.MLE
    return _timed_out(outcome, limits) or _crashed(outcome, ignore_exit)


def _timed_out(outcome: Outcome, limits: Limits) -> Verdict | None:
    stopped = outcome.signal in (signal.SIGKILL, signal.SIGXCPU) and not outcome.killed_by
    slack = TIMER_SLACK if stopped else 0.0
    if outcome.cpu_seconds >= limits.cpu_seconds - slack or outcome.killed_by == "cpu":
        return Verdict.TLE
    if outcome.killed_by == "wall":
        idle = outcome.cpu_seconds < limits.cpu_seconds / 2
        return Verdict.ILE if idle else Verdict.TLE
    return None


def _crashed(outcome: Outcome, ignore_exit: bool) -> Verdict | None:
    if outcome.killed_by:
        return None
    if outcome.signal is not None or (outcome.exit and not ignore_exit):
        return Verdict.RE
    return None


def _out_of_memory(outcome: Outcome) -> bool:
    return bool(outcome.exit) and last_line(outcome.stderr).startswith("MemoryError")


def near_limit(cpu_seconds: float, limits: Limits) -> bool:
    """Return whether a CPU reading lies within a quarter of the limit."""
    return abs(cpu_seconds - limits.cpu_seconds) <= NEAR * limits.cpu_seconds


def last_line(text: bytes) -> str:
    """Return the last line that is not blank, as text."""
    lines = text[-4096:].decode("utf-8", "replace").rstrip().splitlines()
    return lines[-1].strip() if lines else ""


def how_it_ended(outcome: Outcome) -> str:
    """Return exit status or signal in words; holds nothing that the program wrote."""
    if outcome.signal is not None:
        try:
            name = signal.Signals(outcome.signal).name
        except ValueError:
            name = "a signal"
        return f"ended by signal {outcome.signal} ({name})"
    return f"exit status {outcome.exit}"


def one_line(text: str) -> str:
    """Return a note's text: one line, short, without addresses and paths of this host."""
    text = " ".join(text.split())
    text = _ADDRESS.sub("0x...", text)
    for path in _HOST_PATHS:
        text = text.replace(path, "<python>")
    return text if len(text) <= _NOTE_CHARS else text[: _NOTE_CHARS - 3] + "..."
