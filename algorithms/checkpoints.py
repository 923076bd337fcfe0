"""Checkpoints: folders that are whole or not there at all.

    write(step, fill)  ->  checkpoints/step-000010/  ->  latest()

A checkpoint is written into a hidden folder, forced to the disk, and renamed: whoever is
killed at any moment leaves the earlier checkpoints as they were. `complete.json` lists the
files and their sizes, for file systems that keep a rename and lose what was written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MARKER: Final = "complete.json"
STATE: Final = "state.json"
_NAME: Final = re.compile(r"step-(\d{6,})")
_UNFINISHED: Final = ".unfinished-"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One whole checkpoint."""

    step: int
    path: Path

    @property
    def state(self) -> dict[str, Any]:
        """What was kept as JSON."""
        record: dict[str, Any] = json.loads((self.path / STATE).read_text())
        return record


class Checkpoints:
    """The checkpoints of one run.

    Args:
        folder: Where they lie; made when the first is written.
        keep_last: How many are kept, besides the best.
    """

    def __init__(self, folder: Path, keep_last: int) -> None:
        """Remember the folder."""
        self.folder = folder
        self.keep_last = keep_last

    def write(
        self,
        step: int,
        state: Mapping[str, Any],
        fill: Callable[[Path], None],
        *,
        best: int | None = None,
    ) -> Checkpoint:
        """Write the checkpoint of a step, then remove those that are no longer wanted.

        Args:
            step: Steps done.
            state: What to keep as JSON.
            fill: Writes everything else into the folder that it is given.
            best: Step of the best checkpoint so far, which is kept.

        Raises:
            OSError: If the disk does not take it; earlier checkpoints stay.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = self.folder / f"{_UNFINISHED}{step:06d}"
        _remove(unfinished)
        unfinished.mkdir()
        try:
            fill(unfinished)
            (unfinished / STATE).write_text(json.dumps(state, indent=1))
            sizes = {
                str(f.relative_to(unfinished)): f.stat().st_size for f in _files(unfinished)
            }
            (unfinished / MARKER).write_text(json.dumps(sizes, indent=1))
            for file in _files(unfinished):
                _force_to_disk(file)
            for folder in {file.parent for file in _files(unfinished)} | {unfinished}:
                _force_to_disk(folder)
        except BaseException:
            _remove(unfinished)
            raise
        path = self.folder / f"step-{step:06d}"
        _remove(path)
        unfinished.rename(path)
        _force_to_disk(self.folder)
        self._prune({step, best})
        return Checkpoint(step, path)

    def all(self) -> list[Checkpoint]:
        """Return all whole checkpoints, earliest first."""
        if not self.folder.is_dir():
            return []
        named = ((_NAME.fullmatch(path.name), path) for path in self.folder.iterdir())
        found = [Checkpoint(int(m[1]), path) for m, path in named if m and _is_whole(path)]
        return sorted(found, key=lambda checkpoint: checkpoint.step)

    def latest(self) -> Checkpoint | None:
        """Return the last whole checkpoint, None if there is none."""
        return max(self.all(), key=lambda checkpoint: checkpoint.step, default=None)

    def clear_unfinished(self) -> None:
        """Remove what a killed run left half-written."""
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                ours = _NAME.fullmatch(path.name) is not None
                if path.name.startswith(_UNFINISHED) or (ours and not _is_whole(path)):
                    _remove(path)

    def _prune(self, wanted: set[int | None]) -> None:
        there = self.all()
        wanted = wanted | {checkpoint.step for checkpoint in there[-self.keep_last :]}
        for checkpoint in there:
            if checkpoint.step not in wanted:
                _remove(checkpoint.path)


def _is_whole(path: Path) -> bool:
    """Return whether every file is there with the size it was written with."""
    try:
        sizes = json.loads((path / MARKER).read_text())
        return all((path / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def _remove(path: Path) -> None:
    """Remove a checkpoint; one that is removed only in part must not look whole."""
    if path.is_dir():
        (path / MARKER).unlink(missing_ok=True)
        shutil.rmtree(path)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _force_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
