"""What a slot promises when its zygote is killed while it starts: five tries, then a word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from corecode_env.executor.isolation import floor_fields
from corecode_env.executor.slot import Run, Slot, sealed
from corecode_env.executor.start import StartKilled, ZygoteSettings

# Loaded by a zygote before it is ready: counts the starts, and ends the first ones as the
# kernel does when it is short of memory.
DOOMED = """
import os, signal
with open({count!r}, "ab") as count:
    count.write(b".")
if os.path.getsize({count!r}) <= {killed}:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def doomed_slot(folder: Path, killed: int) -> tuple[Slot, Path]:
    """Return a slot whose first `killed` zygotes die, and the file that counts starts."""
    count = folder / "count"
    (folder / "doomed.py").write_text(DOOMED.format(count=str(count), killed=killed))
    floor, _ = floor_fields()
    return Slot(ZygoteSettings(preload=("doomed",), paths=(str(folder),), floor=floor)), count


def test_the_fifth_start_may_still_succeed(tmp_path: Path) -> None:
    slot, count = doomed_slot(tmp_path, killed=4)
    payload = sealed(bytes(8) + b"print('up')")
    try:
        assert slot.run(Run(payload)).stdout == b"up\n"
    finally:
        slot.close()
        os.close(payload)
    assert count.stat().st_size == 5


def test_after_five_killed_starts_the_machine_is_at_fault(tmp_path: Path) -> None:
    slot, count = doomed_slot(tmp_path, killed=100)
    with pytest.raises(StartKilled, match="killed while it started"):
        slot.start()
    assert count.stat().st_size == 5
    assert slot.zygote is None
