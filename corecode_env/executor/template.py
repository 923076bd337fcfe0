"""Template: a process that has compiled a program and forks a fresh one for each test.

    program  ->  a zygote's child compiles it, inside the floor  ->  fork per test

It stands between a zygote and the processes of a task with many tests, so that what is the
same for all of them is done once. It has run no byte of the program: each test still gets
a process that knows of no other test, with limits, clock and numbers of its own.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from corecode_env.core.task import Limits
from corecode_env.executor.process import Record
from corecode_env.executor.slot import TEMPLATE, Loop, Outcome, Run, Slot, SlotDied

FEWEST_TESTS: Final = 3
"""A template costs about as much as it saves on two tests."""
_EXTRA_CPU_SECONDS: Final = 5.0
_FORK_SECONDS: Final = 0.02
_WALL_SECONDS: Final = 1e6


class TemplateEnded(SlotDied):
    """The template is no more: the program did not compile, or the sandbox failed."""


class Template:
    """A running template; its tests run one at a time."""

    def __init__(self, slot: Slot, payload: int, limits: Limits, tests: int) -> None:
        """Start it; whether the program compiles shows with the first test.

        Args:
            slot: A slot for the program, which runs nothing else meanwhile.
            payload: Sealed file that holds the program.
            limits: What each test may use.
            tests: How many tests there will be at most.

        Raises:
            SlotDied: If the zygote is gone.
        """
        self._slot, self._loop = slot, Loop()
        self.zygote = slot.start()
        self.closed = False
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        run = Run(
            payload,
            # Whoever made it ends it; the kernel's clock is for a source that never compiles.
            limits=replace(limits, wall_seconds=_WALL_SECONDS),
            kind=TEMPLATE,
            extra=(theirs.fileno(),),
            cpu_seconds=limits.cpu_seconds + _EXTRA_CPU_SECONDS + tests * _FORK_SECONDS,
        )
        try:
            self.process = slot.open(run, self._loop)
        except BaseException:
            self.socket.close()
            raise
        finally:
            theirs.close()

    def run(self, run: Run) -> Outcome:
        """Run one test to its end.

        Raises:
            TemplateEnded: If there is no template any more.
            SlotDied: If the zygote ended.
        """
        process = self._slot.open_in(self, run, self._loop, self._ended)
        try:
            return process.outcome("")
        finally:
            process.close()

    def _ended(self) -> TemplateEnded:
        self.closed = True
        return TemplateEnded("the process that forks a program for each test has ended")

    def send(self, message: bytes) -> None:
        """Send a message to the template; a dead one shows itself where it must answer."""
        try:
            self.socket.send(message)
        except OSError:
            self.closed = True

    def records(self) -> Iterator[Record]:
        """Return the start records that have come, and let the template see its own."""
        for record in self.zygote.records():
            self.process.note(record)
            yield record

    def close(self) -> None:
        """End it, with whatever runs in it; idempotent."""
        self.closed = True
        self.socket.close()
        self.process.close()
