"""Isolation: how much stands between a program and this machine, measured by attacks.

    a zygote's layers + attacks run in its slot  ->  IsolationReport (level, and why)

A level is proved, not assumed: a layer that says it is on while an attack on it succeeds
counts for nothing.

    L3   L2, and the program has a root folder, a network and a user of its own
    L2   resource limits, no new privileges, system calls by allow-list, files by Landlock
    L2-  the same, with something else where the kernel has no Landlock
    L1   resource limits only
    L0   nothing
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corecode_env.executor.scratch import PRIVATE_FROM
from corecode_env.executor.selftest import SelfTestReport, run_self_test
from corecode_env.executor.slot import PROGRAM, Outcome, Run, Slot, sealed
from corecode_env.executor.start import ZygoteSettings

LEVELS: Final = ("L0", "L1", "L2-", "L2", "L3")
"""From weakest to strongest."""

ON: Final = "on"
_FLOOR: Final = ("rlimits", "no_new_privs", "seccomp", "not_root", "no_capabilities")
_EXTRA: Final = ("private_root", "network_namespace", "ipc_namespace", "process_limit")

_WAYS_OUT: Final[Mapping[str, str]] = {
    "rlimits": "run on Linux or another Unix",
    "cpu_timer": "run on a kernel with POSIX timers (until then RLIMIT_CPU counts seconds)",
    "no_new_privs": "run on Linux 3.5 or later",
    "seccomp": "run on Linux 4.17 or later, on x86-64 or aarch64, where neither a container "
    "profile nor gVisor refuses the seccomp call",
    "landlock": "run on Linux 5.13 or later with 'landlock' in the kernel's lsm= list; in a "
    "container, with a profile that allows the landlock_* calls (Docker 23 or later)",
    "private_root": "allow user and mount namespaces: kernel.unprivileged_userns_clone=1, and "
    "on Ubuntu 24.04 kernel.apparmor_restrict_unprivileged_userns=0",
    "user_namespace": "allow user namespaces, as for private_root; containers refuse them by "
    "default",
    "pid_namespace": "allow user namespaces, as for private_root",
    "pids_cgroup": "run as root, or in a control group that this user may divide "
    "(the page 'What the sandbox stops' says how)",
    "memory_cgroup": "as for pids_cgroup",
    "network_namespace": "allow user namespaces, as for private_root",
    "ipc_namespace": "allow user namespaces, as for private_root",
    "host_name_namespace": "allow user namespaces, as for private_root",
    "not_root": "run as an ordinary user (docker run --user 1000), or keep the SETUID "
    "capability and map more than one user",
    "process_limit": "allow user namespaces, run as root with the SETUID capability, or limit "
    "processes from outside (docker run --pids-limit)",
    "no_capabilities": "run on Linux 2.6.26 or later",
    "first_out_of_memory": "mount /proc, so that oom_score_adj can be set",
}


@dataclass(frozen=True, slots=True)
class IsolationReport:
    """What isolation programs get on this machine.

    Attributes:
        level: `L0`, `L1`, `L2-`, `L2` or `L3`.
        layers: "on" or the reason why not, by layer.
        kernel: The machine's system and kernel version.
        landlock_abi: Version of Landlock in force, 0 if it is off.
        selftest: What came of the attacks.
    """

    level: str
    layers: Mapping[str, str]
    kernel: str
    landlock_abi: int
    selftest: SelfTestReport

    @property
    def hash(self) -> str:
        """Short name of this exact isolation: equal where all of the above is equal."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def summary(self) -> str:
        """Return one line that says what keeps the level from being higher."""
        if self.selftest.breaches:
            return f"attacks that got through: {', '.join(self.selftest.breaches)}"
        off = [f"{name}: {self.layers.get(name, 'unknown')}" for name in self.missing()]
        return "; ".join(off) or "every layer is on"

    def missing(self) -> tuple[str, ...]:
        """Return the layers that a higher level needs."""
        needed = (*_FLOOR, "landlock", *_EXTRA)
        on = _on(self.layers)
        return tuple(name for name in needed if name not in on)

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "level": self.level,
            "layers": dict(self.layers),
            "kernel": self.kernel,
            "landlock_abi": self.landlock_abi,
            "selftest": {
                "held": list(self.selftest.held),
                "breaches": list(self.selftest.breaches),
            },
        }


def level_of(layers: Mapping[str, str], selftest: SelfTestReport) -> str:
    """Return the level that layers and attacks together show.

    Args:
        layers: "on" or the reason why not, by layer.
        selftest: What came of the attacks; with a breach nothing above `L1` is given.
    """
    on = _on(layers)
    if "rlimits" not in on:
        return "L0"
    if selftest.breaches or not selftest.held or not on.issuperset(_FLOOR):
        return "L1"
    if "landlock" not in on:
        return "L2-" if on & {"private_root", "no_paths"} else "L1"
    return "L3" if on.issuperset(_EXTRA) else "L2"


def _on(layers: Mapping[str, str]) -> set[str]:
    on = {name for name, state in layers.items() if state == ON}
    # Both bound the processes of one slot.
    return on | {"process_limit"} if "pids_cgroup" in on else on


def acceptable(level: str, minimum: str) -> bool:
    """Return whether a level is at least another.

    >>> acceptable("L2-", "L2")
    False
    """
    return LEVELS.index(level) >= LEVELS.index(minimum)


def ways_out(report: IsolationReport) -> dict[str, str]:
    """Return what to do about each layer that is off, by layer.

    A layer that is off because a better one is on is left out.
    """
    return {
        name: _WAYS_OUT[name]
        for name, state in report.layers.items()
        if state != ON
        and name in _WAYS_OUT
        and not state.startswith(("not needed", "not used"))
    }


def measure_isolation(settings: Callable[[], ZygoteSettings]) -> IsolationReport:
    """Start a warm process, attack it from inside, and report what held.

    Args:
        settings: Makes the settings of a slot such as programs will run in.

    Raises:
        ExecutorError: If no warm process starts at all.
    """
    slot = Slot(settings())
    try:
        layers: Mapping[str, str] = dict(slot.start().ready["layers"])
        selftest = run_self_test(lambda program: _run(slot, program), layers)
    finally:
        slot.close()
    from corecode_env.executor.inside import landlock

    return IsolationReport(
        level=level_of(layers, selftest),
        layers=layers,
        kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
        landlock_abi=landlock.abi() if layers.get("landlock") == ON else 0,
        selftest=selftest,
    )


def _run(slot: Slot, program: str) -> Outcome:
    # The first 8 bytes are the size of source that the task gives: none.
    payload = sealed(bytes(8) + program.encode())
    try:
        return slot.run(Run(payload, kind=PROGRAM))
    finally:
        os.close(payload)


# ------------------------------------------------------------------- floor settings
def floor_fields(packages: Iterable[str] = ()) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the settings of one new zygote's floor.

    Args:
        packages: Import names of packages that programs may read.

    Returns:
        Fields of `FloorSettings` as JSON has them, and the folders in which the zygote
        finds the packages while it preloads.
    """
    found = [_locate(name) for name in packages]
    readable = [path for paths, _ in found for path in paths]
    folders = dict.fromkeys(folder for _, folder in found if folder)
    fields = {
        "readable": readable,
        "namespaces": True,
        "private_uid": _private_uid(),
        "disabled": [],
    }
    return fields, tuple(folders)


def _locate(name: str) -> tuple[tuple[str, ...], str]:
    from corecode_env.executor.inside.readable import package_paths

    specification = importlib.util.find_spec(name)
    if specification is None or specification.origin is None:
        return (), ""
    origin = Path(specification.origin)
    folder = (
        origin.parent.parent if specification.submodule_search_locations else origin.parent
    )
    return package_paths(name, [str(folder)]), str(folder)


_COUNT: Final = itertools.count()
_PRIVATE_SPAN: Final = 100_000_000
# In a container with few user numbers: below its last ones, which name `nobody`.
_SMALL_SPAN: Final = 4096


def _private_uid() -> int | None:
    """Return a user number that no other slot on this machine is likely to have."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    start, span = PRIVATE_FROM, _PRIVATE_SPAN
    mapped = _mapped_users()
    if not any(first <= start and start + span <= first + size for first, size in mapped):
        first, size = max(mapped, key=lambda entry: entry[1], default=(0, 0))
        if size < 4 * _SMALL_SPAN:
            return None
        start, span = first + size - 2 * _SMALL_SPAN, _SMALL_SPAN
    # Slots of one process lie side by side, those of another process elsewhere.
    return start + (os.getpid() * 64 + next(_COUNT)) % span


def _mapped_users() -> list[tuple[int, int]]:
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return []
    return [(int(line.split()[0]), int(line.split()[2])) for line in lines]
