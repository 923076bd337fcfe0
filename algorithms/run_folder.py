"""Run folder: everything that a run leaves behind, in one place.

    config.toml  versions.json  metrics.jsonl  episodes/  checkpoints/  tensorboard/
    summary.json

Whatever could spoil a run hours later is tried when the folder is opened: a folder that
cannot be written to, a disk that has no room for the checkpoints, another config.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import json
import os
import platform
import shutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from corecode_env.algorithms.config import to_toml
from corecode_env.core.errors import BadConfig
from corecode_env.core.tree import Tree
from corecode_env.records.jsonl import EpisodeWriter
from corecode_env.records.metrics import read_metrics

TRAINING: Final = "training"
"""The table of config.toml that holds the trainer's own settings."""
MAY_CHANGE: Final = frozenset({"steps", "checkpoint_every", "keep_last", "record_episodes"})
"""Settings that may differ when a run is resumed: they change no step that was done."""
LIBRARIES: Final = ("corecode-env", "torch", "numpy", "transformers", "peft", "pettingzoo")


class RunFolder:
    """The folder of one run; a context manager.

    Args:
        path: The folder; made if it is not there.
    """

    def __init__(self, path: str | Path) -> None:
        """Remember the path."""
        self.path = Path(path)
        self._board: Any = None

    # -------------------------------------------------------------------------- opening
    def open(
        self,
        config: Mapping[str, Any],
        *,
        resume: bool,
        bytes_needed: int = 0,
        free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
    ) -> None:
        """Make the folder ready, or say why the run would not come to its end.

        Args:
            config: Tables of config.toml.
            resume: Go on with what lies there.
            bytes_needed: What the run will write, at most.
            free_bytes: How much room a folder's disk has, in bytes.

        Raises:
            BadConfig: If the folder cannot be written to, has too little room, or belongs
                to another run.
        """
        self.require_writable()
        free = free_bytes(self.path)
        if free < bytes_needed:
            raise BadConfig(
                f"the disk of {self.path} must have room for the checkpoints, about "
                f"{_size(bytes_needed)}, got {_size(free)}; choose another run folder, or a "
                "smaller keep_last"
            )
        there = self.path / "config.toml"
        if there.exists():
            if not resume:
                raise BadConfig(
                    f"the run folder must be a new one, got {self.path}, which holds a run; "
                    "resume it, or choose another folder"
                )
            _require_same(tomllib.loads(there.read_text()), config, there)
        _replace(there, to_toml(config))
        _replace(self.path / "versions.json", json.dumps(versions(), indent=1) + "\n")

    def require_writable(self) -> None:
        """Make the folder, and try to write to it.

        Raises:
            BadConfig: If that fails.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            probe = self.path / ".probe"
            _replace(probe, "x" * 4096)
            probe.unlink()
        except OSError as error:
            raise BadConfig(
                f"the run folder must be one that can be written to, got {self.path}: "
                f"{error.strerror}; choose another folder"
            ) from error

    def go_on_after(self, step: int) -> None:
        """Forget what was recorded of steps after this one: they are done again."""
        kept = [line for line in self.metrics() if line["step"] <= step]
        _replace(self._metrics, "".join(_line(record) for record in kept))
        for file in self._episodes.glob("*-*.jsonl"):
            if int(file.stem.rpartition("-")[2]) > step:
                file.unlink()
        if find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(self.path / "tensorboard"), purge_step=step + 1)

    # -------------------------------------------------------------------------- writing
    def add_metrics(self, metrics: Mapping[str, float]) -> None:
        """Append one line of metrics, `step` among them."""
        with self._metrics.open("a") as file:
            file.write(_line(metrics))
        if self._board is not None:
            for name, value in metrics.items():
                if name != "step":
                    self._board.add_scalar(name, value, int(metrics["step"]))

    def add_trees(self, name: str, trees: Sequence[Tree]) -> None:
        """Write every episode of some trees, if there are any, to `episodes/NAME.jsonl`."""
        if not trees:
            return
        path = self._episodes / f"{name}.jsonl"
        path.unlink(missing_ok=True)
        with EpisodeWriter(path) as writer:
            for tree in trees:
                for episode in tree.episodes():
                    writer.write(episode)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json."""
        _replace(self.path / "summary.json", json.dumps(summary, indent=1) + "\n")

    def close(self) -> None:
        """Close what is open; idempotent."""
        if self._board is not None:
            self._board.close()
            self._board = None

    def __enter__(self) -> RunFolder:
        """Return the folder."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    # -------------------------------------------------------------------------- reading
    def metrics(self) -> list[dict[str, Any]]:
        """Return all whole lines of metrics."""
        return read_metrics(self._metrics)

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints lie."""
        return self.path / "checkpoints"

    @property
    def _metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def _episodes(self) -> Path:
        return self.path / "episodes"


def versions() -> dict[str, str]:
    """Return the versions of what a run's figures depend on."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _require_same(old: Mapping[str, Any], new: Mapping[str, Any], file: Path) -> None:
    """Refuse to resume a run under settings that it was not started with."""
    # Written and read once, so that both sides have TOML's types.
    new = tomllib.loads(to_toml(new))
    changed = [
        f"{table}.{key}"
        for table in sorted(old.keys() | new.keys())
        for key in sorted(_table(old, table).keys() | _table(new, table).keys())
        if _table(old, table).get(key) != _table(new, table).get(key)
        and not (table == TRAINING and key in MAY_CHANGE)
    ]
    if changed:
        raise BadConfig(
            f"a resumed run must have the settings that it was started with, got others for "
            f"{', '.join(changed)}; {file} has the old ones, or start a run in a new folder"
        )


def _table(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name, {})
    return value if isinstance(value, Mapping) else {"": value}


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, and force it to the disk."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with unfinished.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, allow_nan=False) + "\n"


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"
