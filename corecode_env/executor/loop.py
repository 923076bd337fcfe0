"""Loop: one poll over all descriptors of a job's processes, with their clocks."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Protocol


class Clocked(Protocol):
    """Something with a clock that must be looked at."""

    @property
    def next_check(self) -> float:
        """When to look next, on the clock of `time.monotonic`."""
        ...

    def check(self, now: float) -> None:
        """Look at the clock."""
        ...


class Loop:
    """Waits for whatever happens first: a descriptor that is ready, or a clock."""

    def __init__(self) -> None:
        """Begin with nothing to watch."""
        self._poller = select.poll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self.processes: list[Clocked] = []

    def watch(
        self, descriptor: int, handler: Callable[[int], None], events: int = select.POLLIN
    ) -> None:
        """Call `handler(events)` whenever the descriptor is ready."""
        self._handlers[descriptor] = handler
        self._poller.register(descriptor, events)

    def forget(self, descriptor: int) -> None:
        """Stop watching a descriptor; it may be one that is not watched."""
        if self._handlers.pop(descriptor, None) is not None:
            self._poller.unregister(descriptor)

    def step(self, until: float) -> None:
        """Wait for something to happen, no longer than to `until` (monotonic seconds)."""
        now = time.monotonic()
        for process in self.processes:
            until = min(until, process.next_check)
        # Round up: waking before a deadline only to wait again costs more than a late one.
        timeout = max(0, int((until - now) * 1000) + 1) if until > now else 0
        for descriptor, events in self._poller.poll(timeout):
            handler = self._handlers.get(descriptor)
            if handler is not None:
                handler(events)
        now = time.monotonic()
        for process in self.processes:
            if process.next_check <= now:
                process.check(now)
