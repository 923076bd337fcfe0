"""Reports: having a task's own code run in a judge's process.

    function of `inside.tester` + plain arguments  ->  a judge's process  ->  Report

The code is trusted for its intent, not for its bugs, and works on what programs wrote:
it runs in the floor, under limits of its own, in a process that no program ever was in.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from corecode_env.core.task import Limits
from corecode_env.core.values import to_jsonable
from corecode_env.executor.bench import Bench
from corecode_env.executor.inside.tester import Report
from corecode_env.executor.scratch import Scratch
from corecode_env.executor.slot import JUDGE, Loop, Process, Run, Slot, SlotDied, sealed

JUDGE_LIMITS: Final = Limits(
    cpu_seconds=20.0, wall_seconds=60.0, memory_bytes=2**30, output_bytes=2**16
)
"""What test code, a checker or a scorer may use: plenty, since it is the task's."""
_LOOK_SECONDS: Final = 1.0


class JudgeProcess:
    """A judge's process and the pipe on which it reports."""

    def __init__(
        self,
        slot: Slot,
        loop: Loop,
        request: Mapping[str, Any],
        *,
        ends: Sequence[int] = (),
        limits: Limits = JUDGE_LIMITS,
        scratch: Scratch | None = None,
    ) -> None:
        """Start it.

        Args:
            slot: A judge's slot.
            loop: Watches the process and its report.
            request: `function`, `arguments` and `options` of the call to make.
            ends: Descriptors that the function gets as its first arguments.
            limits: What it may use.
            scratch: Folder that it shares with the program.

        Raises:
            SlotDied: If the zygote is gone.
        """
        self._loop = loop
        self._text = bytearray()
        self._complete = False
        payload = sealed(json.dumps(request).encode())
        self._reading, writing = os.pipe()
        try:
            run = Run(
                payload, limits=limits, kind=JUDGE, extra=(*ends, writing), scratch=scratch
            )
            self.process: Process = slot.open(run, loop)
        except BaseException:
            os.close(self._reading)
            raise
        finally:
            os.close(payload)
            os.close(writing)
        loop.watch(self._reading, self._on_report)

    def _on_report(self, _events: int) -> None:
        data = os.read(self._reading, 1 << 16)
        if not data:
            self._loop.forget(self._reading)
            self._complete = True
        self._text += data

    @property
    def has_heard(self) -> bool:
        """Whether the program had said anything to the test before the report."""
        return bool(self._text)

    def report(self) -> Report | None:
        """Wait for the report; None if the process ended without one."""
        while not self._complete:
            ended = self.process.finished
            self._loop.step(time.monotonic() + _LOOK_SECONDS * (not ended))
            if ended:
                # All that it wrote has been seen; whoever still holds the pipe is not it.
                break
        try:
            record = json.loads(self._text)
        except ValueError:
            return None
        return Report.from_json(record)

    def close(self) -> None:
        """End the process and let go of its descriptors."""
        self._loop.forget(self._reading)
        os.close(self._reading)
        self.process.close()


def request_of(
    function: str, arguments: Sequence[Any], options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the request that makes a judge's process call a function of `tester`."""
    return {
        "function": function,
        "arguments": to_jsonable(list(arguments)),
        "options": dict(options or {}),
    }


def judge_slot(bench: Bench, sources: Sequence[str], limits: Limits = JUDGE_LIMITS) -> Slot:
    """Return a judge's slot that suits these sources, and writes where the limits let it."""
    kind = "numpy" if any("numpy" in source for source in sources) else "plain"
    return bench.slot_for("judge", kind, limits)


def ask_judge(
    bench: Bench, function: str, arguments: Sequence[Any], sources: Sequence[str] = ()
) -> Report:
    """Have a function of `tester` called in a judge's process, and return its report.

    A process that ends without a report was given what it could not bear by the program's
    output, which is the program's fault; one that never came up is the sandbox's.
    """
    request = request_of(function, arguments)
    for _ in range(2):
        loop = Loop()
        try:
            judge = JudgeProcess(judge_slot(bench, sources), loop, request)
        except SlotDied:
            continue
        try:
            report = judge.report()
            outcome = judge.process.outcome()
        except SlotDied:
            continue
        finally:
            judge.close()
        bench.check()
        if report is not None:
            return report
        if outcome.started:
            return Report("raised", "the judge ended while it looked at the output")
    return Report("test_broken", "the judge's process failed twice")
