"""Runs programs that write in a private folder, as another kind of user.

Not a test: `conftest.py` starts it as it starts `floor_script.py`, with which it shares the
ways to become someone else. Standard input holds `{"settings", "runs"}`, standard output
gets `{"refused"}` or `{"outcomes", "while_open", "at_the_end"}`.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
floor_script = importlib.import_module("floor_script")


def run_all(settings: dict[str, Any], runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Run the programs one after the other, in the slot of one bench."""
    from corecode_env.core.errors import ExecutorError
    from corecode_env.core.task import Limits
    from corecode_env.executor import isolation
    from corecode_env.executor.bench import Bench, Gate
    from corecode_env.executor.slot import Run, sealed
    from corecode_env.executor.start import ZygoteSettings
    from corecode_env.executor.verdicts import fault

    def zygote_settings(role: str, _kind: str) -> ZygoteSettings:
        fields, paths = isolation.floor_fields(())
        floor = {**fields, **settings.get("floor", {})}
        return ZygoteSettings(role=role, floor=floor, paths=paths)

    outcomes: dict[str, Any] = {}
    while_open: list[str] = []
    with tempfile.TemporaryDirectory(prefix="corecode-place-") as place:
        os.chmod(place, 0o711)
        tempfile.tempdir = place
        secret = Path(place, "secret")
        secret.write_text("a secret")
        secret.chmod(0o666)
        bench = Bench(zygote_settings, Gate(), lambda: False)
        try:
            for run in runs:
                limits = Limits(wall_seconds=20.0, scratch_bytes=run["scratch_bytes"])
                program = run["program"].replace("@SECRET@", str(secret))
                payload = sealed(bytes(8) + program.encode())
                slot = bench.slot_for("candidate", "plain", limits)
                outcome = bench.run(slot, Run(payload, limits=limits))
                os.close(payload)
                while_open += look(place)
                if outcome is None:
                    outcomes[run["id"]] = None
                    continue
                verdict = fault(outcome, limits)
                outcomes[run["id"]] = {
                    "verdict": verdict and verdict.value,
                    "stdout": outcome.stdout.decode("utf-8", "replace"),
                    "stderr": outcome.stderr.decode("utf-8", "replace"),
                    "killed_by": outcome.killed_by,
                }
        except ExecutorError as error:
            return {"refused": str(error)}
        finally:
            bench.close()
        at_the_end = [*look(place), *os.listdir(place)]
        kept = secret.read_text()
    processes = floor_script.children_of(os.getpid())
    at_the_end += [f"process {pid}" for pid in processes]
    return {
        "outcomes": outcomes,
        "while_open": while_open,
        "at_the_end": at_the_end,
        "secret": kept,
    }


def look(place: str) -> list[str]:
    """Return what lies in the folders that programs write in."""
    return [
        str(path)
        for folder in Path(place).iterdir()
        if folder.is_dir()
        for path in folder.iterdir()
    ]


if __name__ == "__main__":
    floor_script.serve(run_all)
