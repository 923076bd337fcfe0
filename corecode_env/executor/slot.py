"""Slot: a place where one process at a time runs, with a zygote that is started on demand."""

from __future__ import annotations

import threading
from typing import Final

from corecode_env.executor.inside.child import JUDGE, PROGRAM, SERVE
from corecode_env.executor.inside.zygote import KILL
from corecode_env.executor.loop import Loop
from corecode_env.executor.process import LONGEST_WALL, Outcome, Process, Run, SlotDied, sealed
from corecode_env.executor.start import StartKilled, Zygote, ZygoteSettings

__all__ = [
    "JUDGE",
    "LONGEST_WALL",
    "PROGRAM",
    "SERVE",
    "Loop",
    "Outcome",
    "Process",
    "Run",
    "Slot",
    "SlotDied",
    "sealed",
]


MOST_STARTS: Final = 5
"""Starts of a zygote that is killed, each time, before it is ready; then the machine is at
fault and says so."""


class Slot:
    """A place where one process at a time runs, with a zygote that is started on demand.

    Not safe for several threads at once: one worker owns it.
    """

    def __init__(
        self, settings: ZygoteSettings, interrupted: threading.Event | None = None
    ) -> None:
        """Take the settings of its zygotes; starts nothing.

        Args:
            settings: What its zygotes are made with.
            interrupted: While it is set, every process is killed at once.
        """
        self.settings = settings
        self._interrupted = interrupted
        self.zygote: Zygote | None = None
        self._jobs = 0
        self.lost = False
        """A zygote was given up under a job, and what ran in it may end a moment later."""

    def start(self) -> Zygote:
        """Return the zygote, starting it if there is none.

        Raises:
            ExecutorError: If it cannot be started.
        """
        starts = 0
        while self.zygote is None:
            starts += 1
            try:
                self.zygote = Zygote(self.settings)
            except StartKilled:  # from outside: another may well come up
                if starts == MOST_STARTS:
                    raise
        return self.zygote

    def open(self, run: Run, loop: Loop) -> Process:
        """Start a process; close it when done with it.

        Raises:
            SlotDied: If the zygote is gone.
        """
        zygote = self.start()
        self._jobs = (self._jobs + 1) & 0xFFFFFFFF
        process = Process(zygote, self._jobs, run, loop, self.died)
        # After the job was sent: whoever interrupts sets the event first, then kills.
        if self._interrupted is not None and self._interrupted.is_set():
            process.kill("cancel")
        return process

    def run(self, run: Run) -> Outcome:
        """Run one process to its end.

        Raises:
            SlotDied: If the zygote ended under it.
        """
        process = self.open(run, Loop())
        try:
            return process.outcome("")
        finally:
            process.close()

    def died(self) -> SlotDied:
        """Give the zygote up; return the error to raise."""
        self.close()
        self.lost = True
        return SlotDied("a zygote of the executor ended under a job; the job is run again")

    def close(self) -> None:
        """End the zygote and whatever runs in it; bounded in time, idempotent."""
        zygote, self.zygote = self.zygote, None
        if zygote is not None:
            zygote.close()

    def interrupt(self) -> None:
        """Kill the process that runs here, if one does; the one call for any thread."""
        zygote = self.zygote
        if zygote is not None:
            zygote.send(KILL.pack(b"kill", self._jobs))

    def abandon(self) -> None:
        """Forget the zygote without touching it: it belongs to another process."""
        zygote, self.zygote = self.zygote, None
        if zygote is not None:
            zygote.abandon()
