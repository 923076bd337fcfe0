"""Runs programs in a real slot as another kind of user, and says how each ended.

Not a test: `conftest.py` starts it with an interpreter that the user can read. Standard
input holds `{"settings", "runs"}`, standard output gets `{"report", "outcomes", "harm"}`.
It needs nothing but the standard library and our two rooms, whose folders it is told.
"""

from __future__ import annotations

import base64
import ctypes
import errno
import json
import os
import resource
import signal
import struct
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Capabilities that Docker leaves to a container's root: CHOWN, DAC_OVERRIDE, FOWNER, FSETID,
# KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, NET_RAW, SYS_CHROOT, MKNOD, AUDIT_WRITE,
# SETFCAP.
CONTAINER_CAPABILITIES = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}
# What its seccomp profile refuses to a process without CAP_SYS_ADMIN, by machine.
CONTAINER_REFUSES = {
    "x86_64": (
        *(272, 308, 165, 166, 155, 250, 248, 249, 321, 298, 304),  # unshare ... open_by_handle
        *(428, 429, 430, 431, 432, 442),  # the newer mount calls
    ),
    "aarch64": (
        *(97, 268, 40, 39, 41, 219, 217, 218, 280, 241, 265),
        *(428, 429, 430, 431, 432, 442),
    ),
}
CLONE = {"x86_64": 56, "aarch64": 220}
CLONE3 = 435
NEW_NAMESPACES = 0x7E02_0000


def stand_in_for_packages(folder: str) -> None:
    """Let our modules be imported without running the package's front door."""
    for name in ("", ".core", ".executor"):
        package = types.ModuleType("corecode_env" + name)
        package.__path__ = [folder + name.replace(".", "/")]
        sys.modules[package.__name__] = package


def become_container() -> None:
    """Take on the rules under which a default container runs its root."""
    from corecode_env.executor.inside import linux

    machine = linux.MACHINE
    load, equal, test, answer = 0x20, 0x15, 0x45, 0x06
    refuse, allow = 0x0005_0000 | errno.EPERM, 0x7FFF_0000
    code = [(load, 0, 0, 0)]
    code += [(equal, 0, 1, CLONE3), (answer, 0, 0, 0x0005_0000 | errno.ENOSYS)]
    for number in CONTAINER_REFUSES[machine]:
        code += [(equal, 0, 1, number), (answer, 0, 0, refuse)]
    code += [(equal, 0, 3, CLONE[machine]), (load, 0, 0, 16)]
    code += [(test, 0, 1, NEW_NAMESPACES), (answer, 0, 0, refuse), (answer, 0, 0, allow)]
    packed = b"".join(struct.pack("=HBBI", c, yes, no, k) for c, yes, no, k in code)
    program = ctypes.create_string_buffer(packed, len(packed))
    header = struct.pack("=HxxxxxxQ", len(code), ctypes.addressof(program))
    # Installed by one who may (CAP_SYS_ADMIN), as a container's runtime does it: without
    # no_new_privs.
    linux.call("seccomp", ctypes.c_ulong(1), ctypes.c_ulong(0), header)
    dropped = set(range(64)) - CONTAINER_CAPABILITIES
    for capability in dropped:
        try:
            linux.prctl(24, capability)  # PR_CAPBSET_DROP: not to be had again by exec
        except OSError:
            break  # past the last capability of this kernel
    linux.set_capabilities(sum(1 << capability for capability in CONTAINER_CAPABILITIES))


def become_user(uid: int) -> None:
    """Become an ordinary user for good."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def run_all(settings: dict[str, Any], runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Run the programs one after the other in one slot."""
    from corecode_env.core.task import Limits
    from corecode_env.executor import isolation
    from corecode_env.executor.slot import Run, Slot, SlotDied, sealed
    from corecode_env.executor.start import ZygoteSettings
    from corecode_env.executor.verdicts import fault

    def zygote_settings() -> ZygoteSettings:
        fields, paths = isolation.floor_fields(())
        return ZygoteSettings(floor={**fields, **settings.get("floor", {})}, paths=paths)

    report = isolation.measure_isolation(zygote_settings)
    outcomes: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="corecode-floor-") as folder:
        os.chmod(folder, 0o1777)
        secret = Path(folder, "secret")
        secret.write_text("a secret that nobody may read")
        secret.chmod(0o666)
        before = look(folder)
        slot = Slot(zygote_settings())
        slot.start()
        descriptors = len(os.listdir("/proc/self/fd"))
        for run in runs:
            program = run["program"].replace("@SECRET@", str(secret))
            limits = Limits(
                cpu_seconds=run.get("cpu_seconds", 5.0),
                wall_seconds=run.get("wall_seconds", 15.0),
                memory_bytes=run.get("memory_bytes", 512 * 2**20),
                output_bytes=run.get("output_bytes", 8 * 2**20),
            )
            payload = sealed(bytes(8) + program.encode("utf-8", "surrogatepass"))
            try:
                stdin = base64.b64decode(run.get("stdin_b64", ""))
                outcome = slot.run(Run(payload, stdin=stdin, limits=limits))
            except SlotDied as error:
                outcomes[run["id"]] = {"died": str(error)}
                continue
            finally:
                os.close(payload)
            verdict = fault(outcome, limits)
            outcomes[run["id"]] = {
                "verdict": verdict and verdict.value,
                "stdout_b64": base64.b64encode(outcome.stdout).decode(),
                "stderr": outcome.stderr.decode("utf-8", "replace"),
                "exit": outcome.exit,
                "signal": outcome.signal,
                "peak_bytes": outcome.peak_bytes,
                "harm": harm(before, folder),
            }
        zygote = slot.start().pid
        left = children_of(zygote)
        now = len(os.listdir("/proc/self/fd"))
        slot.close()
    harms = [f"process {pid} is left" for pid in left]
    if now != descriptors:
        harms.append(f"descriptors: {descriptors} before, {now} after")
    if children_of(os.getpid()):
        harms.append("a zygote is left")
    return {"report": report.to_json(), "outcomes": outcomes, "harm": harms}


def look(folder: str) -> list[tuple[str, int, int, str]]:
    """Return what lies where programs try to leave something."""
    places = [folder, *(place for place in ("/dev/shm", "/tmp", "/") if os.path.isdir(place))]
    seen = []
    for place in places:
        for entry in sorted(Path(place).iterdir()):
            ours = place == folder
            if ours or entry.name in {"exec_leak", "zz", "x", "new", "link"}:
                state = entry.lstat()
                text = entry.read_text() if ours and entry.is_file() else ""
                seen.append((str(entry), state.st_mode, state.st_mtime_ns, text))
    return seen


def harm(before: list[tuple[str, int, int, str]], folder: str) -> str:
    """Say what is not as it was."""
    now = look(folder)
    return "" if now == before else f"files were {before}, are {now}"


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started and not yet reaped."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return found


def serve(run: Callable[[dict[str, Any], list[dict[str, Any]]], dict[str, Any]]) -> None:
    """Take on the identity that standard input describes, run, and answer."""
    request = json.load(sys.stdin)
    settings = request["settings"]
    stand_in_for_packages(settings["package"])
    if settings.get("container"):
        become_container()
    if settings.get("user") is not None:
        become_user(settings["user"])
    for name, value in settings.get("hard_limits", {}).items():
        resource.setrlimit(getattr(resource, name), (value, value))
    for name in settings.get("ignored_signals", []):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    json.dump(run(settings, request["runs"]), sys.stdout)


if __name__ == "__main__":
    serve(run_all)
