"""What the end of a program promises: as a plain interpreter would end it.

Whatever the program did to names on which the end seems to rest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corecode_env.executor import isolation
from corecode_env.executor.slot import Outcome, Run, Slot, sealed
from corecode_env.executor.start import ZygoteSettings

PROGRAMS = {
    "F028_a_finaliser_in_a_cycle_finds_its_modules": """
import os
class A:
    def __del__(s): os.write(1, b'del')
a = A(); a.a = a
""",
    "a_finaliser_calls_a_function": """
import sys
def say(text): sys.stdout.write(text)
class A:
    def __del__(s): say('bye')
_a = A()
""",
    "a_file_left_open_is_flushed": """
import os
class Tell:
    def __init__(s): s.kept = []
    def __del__(s): os.write(1, repr(s.kept).encode())
tell = Tell()
tell.kept.append(1)
""",
    "builtins_are_gone": """
import builtins
print('x')
for name in ('len', 'list', 'type', 'isinstance', 'print', 'bool', 'issubclass', 'vars'):
    setattr(builtins, name, None)
""",
    "modules_are_patched": """
import gc, os, sys, threading, atexit
print('x')
os._exit = os.write = gc.collect = None
""",
    "stdout_is_a_plain_object": """
import sys
class Plain:
    def __init__(s, under): s.under = under
    def write(s, text): s.under.write(text.upper())
    def flush(s): s.under.flush()
sys.stdout = Plain(sys.stdout)
print('abc')
""",
    "stdout_has_no_flush": """
import sys
class Bare:
    write = sys.stdout.write
sys.stdout = Bare()
print('abc')
sys.stdout = sys.__stdout__
""",
    "stdout_says_it_is_closed_and_lies": """
import sys
real = sys.stdout
class Odd:
    closed = property(lambda s: 1 / 0)
    write = real.write
    flush = real.flush
sys.stdout = Odd()
print('abc')
""",
    "stdout_is_deleted": """
import sys
print('abc')
del sys.stdout
""",
    "stdout_is_none": """
import sys
print('abc')
sys.stdout = None
""",
    "names_of_globals_are_not_text": """
globals()[1] = 2
globals()[('a',)] = open
print('x')
""",
    "exit_with_text": "import sys\nprint('x')\nsys.exit('why')\n",
    "exit_status_3": "raise SystemExit(3)\n",
    "at_exit_prints": "import atexit\natexit.register(print, 'bye')\nprint('x')\n",
}


@pytest.fixture(scope="module", params=["whole", "without_landlock", "without_both"])
def slot(request: pytest.FixtureRequest) -> Iterator[Slot]:
    fields, paths = isolation.floor_fields()
    if request.param != "whole":
        fields["disabled"] = ["landlock"]
    fields["namespaces"] = request.param != "without_both"
    slot = Slot(ZygoteSettings(floor=fields, paths=paths))
    yield slot
    slot.close()


def run(slot: Slot, program: str) -> Outcome:
    payload = sealed(bytes(8) + program.encode())
    try:
        return slot.run(Run(payload))
    finally:
        os.close(payload)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_as_under_a_plain_interpreter(
    slot: Slot, name: str, tmp_path: Path
) -> None:
    main = tmp_path / "main.py"
    main.write_text(PROGRAMS[name])
    plain = subprocess.run(
        [sys.executable, "-I", str(main)], capture_output=True, check=False, timeout=60
    )
    outcome = run(slot, PROGRAMS[name])
    assert (outcome.stdout, outcome.exit) == (plain.stdout, plain.returncode), outcome.stderr
    assert outcome.signal is None
