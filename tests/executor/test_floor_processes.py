"""What process numbers of its own promise a program's host: it can name nobody outside."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.task import Limits
from corecode_env.executor.slot import Slot, SlotDied
from tests.executor.floor_script import children_of
from tests.executor.test_floor_rules import new_slot, parent_of, run, said, start, until


@pytest.fixture
def slot() -> Iterator[Slot]:
    slot = new_slot()
    if slot.start().ready["layers"]["pid_namespace"] != "on":
        pytest.skip("this machine gives no process numbers of their own")
    yield slot
    slot.close()


def waits_for(zygote: int) -> int:
    """Return the process that the trainer started, which waits for the zygote."""
    guard = parent_of(zygote)
    assert (Path("/proc") / str(guard) / "comm").read_text() == "corecode-guard\n"
    assert parent_of(guard) == os.getpid()
    return guard


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


LOOK = """
import json, os
def there(number):
    try:
        return os.getsid(number) >= 0
    except ProcessLookupError:
        return False
found = [number for number in range(1, {most}) if number != os.getpid() and there(number)]
print(json.dumps([os.getppid(), found, there({trainer})]))
"""


def look(slot: Slot) -> Any:
    most = max(os.getpid(), slot.start().pid) + 1
    return said(slot, LOOK.format(most=most, trainer=os.getpid()))


def test_a_program_finds_no_process_but_itself_and_its_zygote(slot: Slot) -> None:
    assert look(slot) == [1, [1], False]


def test_without_the_layer_it_would_find_its_trainer() -> None:
    # The same look finds something where there is something to be found.
    other = new_slot(disabled=["pid_namespace"])
    try:
        assert other.start().ready["layers"]["pid_namespace"] == "switched off"
        parent, found, trainer = look(other)
        assert parent == other.start().pid and parent in found and trainer
    finally:
        other.close()


def test_the_system_shows_a_program_its_own_numbers_only(slot: Slot) -> None:
    program = """
        import json, os
        print(json.dumps([os.path.exists(f"/proc/{number}") for number in (%d, %d)]))
    """
    pids = os.getpid(), slot.start().pid
    assert said(slot, program % pids) == [False, False]


def test_no_program_can_signal_its_zygote_whatever_it_is_allowed(slot: Slot) -> None:
    # Number 1 of a namespace is deaf to those inside: no filter is needed for that.
    bare = new_slot(disabled=["seccomp", "landlock"], private_uid=None)
    try:
        program = "import os\nos.kill(os.getppid(), 9)\nprint(os.getppid())"
        zygote = bare.start().pid
        assert run(bare, program).stdout == b"1\n"
        assert bare.start().pid == zygote
    finally:
        bare.close()


@pytest.mark.parametrize("end", ["zygote", "guard"])
def test_zygote_guard_and_program_end_together(slot: Slot, end: str) -> None:
    zygote = slot.start().pid
    guard = waits_for(zygote)
    process = start(slot, "import time\ntime.sleep(30)", Limits(wall_seconds=30.0))
    process.await_start()
    (program,) = children_of(zygote)
    os.kill({"zygote": zygote, "guard": guard}[end], signal.SIGKILL)
    with pytest.raises(SlotDied):
        process.outcome("")
    process.close()
    until(lambda: gone(program) and gone(zygote) and gone(guard))
    assert run(slot, "print(1)").stdout == b"1\n", "another zygote has come up"


@pytest.mark.parametrize("busy", [False, True])
def test_closing_a_slot_leaves_no_process_to_others(slot: Slot, busy: bool) -> None:
    zygote = slot.start().pid
    processes = [waits_for(zygote), zygote]
    if busy:
        start(slot, "import time\ntime.sleep(30)", Limits(wall_seconds=30.0)).await_start()
        processes += children_of(zygote)
    slot.close()
    # Not even as zombies: each was reaped by who started it.
    assert all(gone(pid) for pid in processes)
    assert len(processes) == 2 + busy


def test_cpu_time_is_read_of_the_right_process(slot: Slot) -> None:
    # Inside, a program has another number than the clock is asked for.
    process = start(slot, "while True: pass", Limits(cpu_seconds=20.0, wall_seconds=30.0))
    until(lambda: process.cpu_now() > 0.2)
    outcome = process.outcome("done")
    process.close()
    assert outcome.cpu_seconds >= 0.2
