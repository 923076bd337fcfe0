"""What a zygote promises when the kernel gives it no process: it says so, and lives on."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.executor.conftest import NOBODY, interpreter_for

SCRIPT = """
import json, os, resource, sys
sys.path.insert(0, sys.argv[1])
import floor_script
floor_script.stand_in_for_packages(sys.argv[1] + "/corecode_env")
if os.geteuid() == 0:
    floor_script.become_user(int(sys.argv[2]))  # no limit of processes binds root

from corecode_env.executor import isolation
from corecode_env.executor.slot import Run, Slot, sealed
from corecode_env.executor.start import ZygoteSettings

fields, paths = isolation.floor_fields(())
slot = Slot(ZygoteSettings(floor=fields, paths=paths))
zygote = slot.start().pid
payload = sealed(bytes(8) + b"print(1)")
kept = resource.prlimit(zygote, resource.RLIMIT_NPROC)
found = []
for most in (kept[0], 0, kept[0]):
    resource.prlimit(zygote, resource.RLIMIT_NPROC, (most, kept[1]))
    outcome = slot.run(Run(payload))
    found.append([outcome.ready, outcome.started, outcome.stdout.decode()])
print(json.dumps({"found": found, "same": slot.start().pid == zygote}))
slot.close()
"""


def test_a_failed_fork_is_no_start_and_leaves_the_zygote_alive(readable_package: str) -> None:
    interpreter = interpreter_for(NOBODY) if os.geteuid() == 0 else sys.executable
    done = subprocess.run(
        [interpreter, "-I", "-c", SCRIPT, readable_package, str(NOBODY)],
        capture_output=True,
        text=True,
        cwd="/",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["found"] == [[True, True, "1\n"], [False, False, ""], [True, True, "1\n"]]
    assert answer["same"]
