"""Bench: the slots of one worker, and what running a process there may involve.

A worker judges one program at a time. It has a slot per kind of warm process, started
when first needed, and runs a job once more when the sandbox (not the program) failed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from corecode_env.core.errors import ExecutorError
from corecode_env.core.task import Limits
from corecode_env.executor.scratch import Scratch
from corecode_env.executor.slot import Outcome, Run, Slot, SlotDied
from corecode_env.executor.start import ZygoteSettings

OVERLOAD_SECONDS: Final = 1.0
"""How long a reading of the machine's load is good for."""


class Cancelled(ExecutorError):
    """The batch that a job belongs to was cancelled or ran out of time."""


class Gate:
    """Lets many processes run at once, or one alone.

    >>> gate = Gate()
    >>> with gate.shared(), gate.shared():
    ...     pass
    >>> with gate.alone():
    ...     pass
    """

    def __init__(self) -> None:
        """Begin with nobody inside."""
        self._condition = threading.Condition()
        self._inside = 0
        self._waiting_alone = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Enter beside others, unless someone is or wants to be alone."""
        with self._condition:
            while self._waiting_alone:
                self._condition.wait()
            self._inside += 1
        try:
            yield
        finally:
            with self._condition:
                self._inside -= 1
                self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody is inside, and keep others out."""
        with self._condition:
            while self._waiting_alone:
                self._condition.wait()
            self._waiting_alone += 1
            while self._inside:
                self._condition.wait()
        try:
            yield
        finally:
            with self._condition:
                self._waiting_alone -= 1
                self._condition.notify_all()


class LoadReading:
    """Says whether the machine has more to do than cores to do it."""

    def __init__(self) -> None:
        """Begin without a reading."""
        self._until = 0.0
        self._overloaded = False

    def __call__(self) -> bool:
        """Return whether the load of the last minute is over the number of cores."""
        now = time.monotonic()
        if now >= self._until:
            self._overloaded = os.getloadavg()[0] > len(os.sched_getaffinity(0))
            self._until = now + OVERLOAD_SECONDS
        return self._overloaded


class Bench:
    """The slots of one worker. One thread uses it at a time; `interrupt` is for any."""

    def __init__(
        self,
        settings: Callable[[str, str], ZygoteSettings],
        gate: Gate,
        overloaded: Callable[[], bool],
        isolation: str = "L0",
    ) -> None:
        """Take what its slots are made with; starts nothing.

        Args:
            settings: From role and kind of warm process to a zygote's settings.
            gate: Shared by all workers of an executor.
            overloaded: Says whether the machine is.
            isolation: Level that the judgements made here carry.
        """
        self.gate = gate
        self.overloaded = overloaded
        self.isolation = isolation
        self._settings = settings
        self._slots: dict[tuple[str, str], Slot] = {}
        self._writing_slots: dict[tuple[str, str], Slot] = {}
        self._scratch: Scratch | None = None
        self._interrupted = threading.Event()

    def slot(self, role: str, kind: str) -> Slot:
        """Return the slot of a role (`candidate`, `judge`) and kind of warm process."""
        key = (role, kind)
        if key not in self._slots:
            self._slots[key] = Slot(self._settings(role, kind), self._interrupted)
        return self._slots[key]

    def slot_for(self, role: str, kind: str, limits: Limits) -> Slot:
        """Return the slot of a role and kind; one that can write where the limits let it."""
        if not limits.scratch_bytes:
            return self.slot(role, kind)
        key = (role, kind)
        if key not in self._writing_slots:
            settings = self._writing_settings(role, kind)
            self._writing_slots[key] = Slot(settings, self._interrupted)
        return self._writing_slots[key]

    def _writing_settings(self, role: str, kind: str) -> ZygoteSettings:
        settings = self._settings(role, kind)
        floor = {**settings.floor, "scratch": self._folder().path}
        for other in self._writing_slots.values():
            # Files belong to whoever made them: program and test must be the same user.
            floor["private_uid"] = other.settings.floor.get("private_uid")
        return replace(settings, floor=floor)

    def _folder(self) -> Scratch:
        if self._scratch is None:
            self._scratch = Scratch()
            for key, slot in self._writing_slots.items():
                slot.settings = self._writing_settings(*key)
        return self._scratch

    @contextmanager
    def scratch(self, limits: Limits) -> Iterator[Scratch | None]:
        """Lend the folder that one job's processes write in; None if they have none.

        It is empty at the beginning, and at the end, when the processes must be gone.
        """
        if not limits.scratch_bytes:
            yield None
            return
        try:
            yield self._folder()
        finally:
            self._clear_scratch()

    def _clear_scratch(self) -> None:
        """Empty the folder, or give it up if something may still be writing in it."""
        scratch = self._scratch
        lost = any(slot.lost for slot in self._writing_slots.values())
        if scratch is not None and not lost:
            try:
                scratch.empty()
                return
            except OSError:
                pass  # removed below, once the processes of its slots are gone
        self._give_up_scratch()

    def _give_up_scratch(self) -> None:
        scratch, self._scratch = self._scratch, None
        for slot in self._writing_slots.values():
            slot.close()
            slot.lost = False
        if scratch is not None:
            scratch.remove()

    def run(self, slot: Slot, run: Run) -> Outcome | None:
        """Run a process; once more if the sandbox failed; None if it failed again.

        Raises:
            Cancelled: If the batch was cancelled meanwhile.
        """
        outcome = None
        for _ in range(2):
            try:
                with self.scratch(run.limits) as scratch:
                    outcome = slot.run(replace(run, scratch=scratch))
            except SlotDied:
                outcome = None
            self.check()
            if outcome is not None and outcome.ready and not outcome.broken:
                return outcome
        return outcome

    # --------------------------------------------------------------- interruption
    def check(self) -> None:
        """Raise `Cancelled` if someone interrupted."""
        if self._interrupted.is_set():
            raise Cancelled("the job was cancelled before it was judged")

    def interrupt(self) -> None:
        """Kill what runs here now and let nothing more begin; from any thread."""
        self._interrupted.set()
        for slot in [*self._slots.values(), *self._writing_slots.values()]:
            slot.interrupt()

    def resume(self) -> None:
        """Take jobs again."""
        self._interrupted.clear()

    # ------------------------------------------------------------------------- end
    def close(self) -> None:
        """End all zygotes; idempotent."""
        for slot in self._slots.values():
            slot.close()
        self._slots.clear()
        self._give_up_scratch()
        self._writing_slots.clear()

    def abandon(self) -> None:
        """Forget all zygotes without touching them: they belong to another process."""
        for slot in (*self._slots.values(), *self._writing_slots.values()):
            slot.abandon()
        self._slots.clear()
        self._writing_slots.clear()
        if self._scratch is not None:
            self._scratch.let_go()
            self._scratch = None
