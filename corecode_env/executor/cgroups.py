"""Cgroups: limits on a warm process and its programs together, where the machine gives them.

    Group()  ->  add(zygote)  ->  room_for(limits) ...  ->  remove()

Each zygote has a group of its own below the trainer's, made and removed by the trainer, so
that a program pays nothing for it. It binds what limits on a single process miss: threads
where the user's other processes would count too, and memory that the kernel holds for a
process. Version 1 (a folder per controller) and version 2 (one folder) are known.

A group carries its trainer's process number and start time in its name: what a killed
trainer left is removed by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from corecode_env.core.task import Limits

ON: Final = "on"
LAYERS: Final[Mapping[str, str]] = {"pids_cgroup": "pids", "memory_cgroup": "memory"}
"""Layers and the controllers that they need."""
MOST_PROCESSES: Final = 80
"""Processes and threads of a zygote, its guard and its program."""
ROOM_BYTES: Final = 2**28
"""Memory of a group besides its program's: the zygote, what the kernel holds for them, the
files that they read."""
PREFIX: Final = "corecode-"
_REMOVE_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.005

_UNIFIED: Final = ""
_LIMIT: Final[Mapping[tuple[str, int], str]] = {
    ("pids", 1): "pids.max",
    ("pids", 2): "pids.max",
    ("memory", 1): "memory.limit_in_bytes",
    ("memory", 2): "memory.max",
}
# What is swapped out would not count.
_NO_SWAP: Final[Mapping[int, str]] = {1: "memory.swappiness", 2: "memory.swap.max"}


class Place(NamedTuple):
    """The folder of this process's own group."""

    folder: Path
    version: int
    above: Path | None = None
    """The folder one level up, if it is below the mount point."""


def places(own: str, mounts: str) -> dict[str, Place]:
    """Return the folders of this process's own groups.

    Args:
        own: Text of `/proc/self/cgroup`.
        mounts: Text of `/proc/self/mountinfo`.

    Returns:
        By controller of version 1; that of version 2 under the empty name.
    """
    mounted = dict(_mounted(mounts))
    found = {}
    for line in own.splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            if name not in mounted:
                continue
            root, point = mounted[name]
            # A container's mount may begin at its own group.
            inner = os.path.relpath(path, root)
            folder = Path(point) if inner.startswith("..") else Path(point, inner)
            above = folder.parent if folder != Path(point) else None
            found[name] = Place(folder, 2 if name == _UNIFIED else 1, above)
    return found


def _mounted(mounts: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2":
            yield _UNIFIED, (root, point)
        elif kind == "cgroup":
            for option in options.split(","):
                yield option, (root, point)


class Group:
    """The group of one zygote.

    Attributes:
        layers: "on" or the reason why not, by layer.
    """

    def __init__(self, disabled: frozenset[str] = frozenset()) -> None:
        """Make it, as far as the machine allows; what it refuses is in `layers`.

        Args:
            disabled: Layers to leave out.
        """
        self.layers: dict[str, str] = {}
        self._folders: dict[str, Path] = {}
        self._memory_file: Path | None = None
        self._memory_bytes = 0
        name = f"{PREFIX}{os.getpid()}-{_start_of(os.getpid())}-{next(_COUNT)}"
        for layer, controller in LAYERS.items():
            if layer in disabled:
                self.layers[layer] = "switched off"
                continue
            try:
                self._make(layer, controller, name)
                self.layers[layer] = ON
            except OSError as error:
                self.layers[layer] = str(error)

    def _make(self, layer: str, controller: str, name: str) -> None:
        base, version = _base(controller)
        _remove_left_behind(base)
        folder = base / name
        # One folder holds both limits in version 2.
        folder.mkdir(exist_ok=version == 2)
        self._folders[layer] = folder
        limit = folder / _LIMIT[controller, version]
        if controller == "pids":
            _write(limit, MOST_PROCESSES)
            return
        no_swap = folder / _NO_SWAP[version]
        if no_swap.exists():  # not on a kernel without swap
            _write(no_swap, 0)
        self._memory_file = limit

    def add(self, pid: int) -> None:
        """Put a zygote in it, before the zygote has a child."""
        for layer, folder in self._folders.items():
            try:
                _write(folder / "cgroup.procs", pid)
            except OSError as error:
                self.layers[layer] = str(error)

    def room_for(self, limits: Limits) -> None:
        """Let it take what one more program may use; what it had is never taken back.

        Raises:
            OSError: If the kernel refuses.
        """
        wanted = ROOM_BYTES + int(limits.memory_bytes) + int(limits.scratch_bytes)
        if wanted > self._memory_bytes and self._memory_file is not None:
            if self.layers["memory_cgroup"] == ON:
                _write(self._memory_file, wanted)
            self._memory_bytes = wanted

    def remove(self) -> None:
        """Remove it, when its zygote has ended; what may still be ending is waited for."""
        deadline = time.monotonic() + _REMOVE_SECONDS
        for folder in set(self._folders.values()):
            while not _removed(folder) and time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
        self._folders.clear()


_COUNT: Final = itertools.count()


def _base(controller: str) -> tuple[Path, int]:
    """Return the folder in which to make a group with a controller, and its version.

    Raises:
        OSError: If there is none.
    """
    own = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    found = places(own, Path("/proc/self/mountinfo").read_text(encoding="utf-8"))
    if controller in found:
        return found[controller].folder, 1
    if _UNIFIED not in found:
        raise OSError(f"no control group with the controller {controller!r} is mounted")
    return unified_base(found[_UNIFIED], controller), 2


def unified_base(place: Place, controller: str) -> Path:
    """Return where in version 2 a group with a controller can be made.

    Below the own group, unless that holds processes itself, which version 2 does not allow:
    then beside it, if whoever started the trainer has prepared that.

    Raises:
        OSError: If neither is possible.
    """
    if controller not in _words(place.folder / "cgroup.controllers"):
        raise OSError(f"the own control group has no controller {controller!r}")
    if controller in _words(place.folder / "cgroup.subtree_control"):
        return place.folder
    try:
        _write(place.folder / "cgroup.subtree_control", f"+{controller}")
        return place.folder
    except OSError as error:
        above = place.above
        # Slices are systemd's own: nobody else makes groups there.
        if error.errno != errno.EBUSY or above is None or above.suffix == ".slice":
            raise
        if controller not in _words(above / "cgroup.subtree_control"):
            raise
        return above


def _words(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").split()


def _write(path: Path, value: object) -> None:
    # Not `write_text`: these files are there or the group is of no use.
    with open(path, "r+", encoding="ascii", buffering=1) as file:
        file.write(f"{value}\n")


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def _start_of(pid: int) -> str:
    """Return when a process started, as the kernel counts; empty if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return text.rpartition(")")[2].split()[19]


_swept: set[tuple[int, Path]] = set()


def _remove_left_behind(base: Path) -> None:
    """Remove the groups of trainers that were killed; once per process and folder."""
    if (os.getpid(), base) in _swept:
        return
    _swept.add((os.getpid(), base))
    for folder in base.glob(f"{PREFIX}*-*-*"):
        pid, start = folder.name.removeprefix(PREFIX).split("-")[:2]
        if pid.isdigit() and _start_of(int(pid)) != start:
            with contextlib.suppress(OSError):  # not empty yet, or somebody else removes it
                folder.rmdir()
