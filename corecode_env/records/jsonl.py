"""Episodes on disk: JSON Lines, one whole episode a line.

    Episode  ->  a line of the *episodes* format  ->  Episode

A line is written by one call of the operating system to a file opened for appending, so
that several processes may share a file and a crash can cost no more than the line being
written. A line that was cut is found by the reader and repaired around by the next writer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from corecode_env.core.episode import EPISODE_SCHEMA, Episode
from corecode_env.core.errors import BadRecord


class EpisodeWriter:
    """Appends episodes to a file.

    Args:
        path: The file; made, with its folders, if it is not there.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "episodes.jsonl"
        >>> with EpisodeWriter(path) as writer:
        ...     writer.write(Episode("task", seed=0, agents=("coder_0",)))
        >>> read_episodes(path).episodes[0].task_id
        'task'
    """

    def __init__(self, path: str | Path) -> None:
        """Open the file, and end the line that a crash may have left open."""
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        self._closed = False
        size = os.fstat(self._file).st_size
        if size:
            os.lseek(self._file, size - 1, os.SEEK_SET)
            if os.read(self._file, 1) != b"\n":
                os.write(self._file, b"\n")

    def write(self, episode: Episode) -> None:
        """Append one episode.

        Raises:
            ValueError: If the writer is closed, or the episode holds something that JSON
                has no form for, such as NaN.
            OSError: If the disk took less than the whole line.
        """
        if self._closed:
            raise ValueError(f"{self.path}: an episode writer must be open to be written to")
        line = _encode(episode)
        written = os.write(self._file, line)
        if written != len(line):
            raise OSError(
                f"{self.path}: only {written} of {len(line)} bytes of an episode were "
                "written; is the disk full?"
            )

    def close(self) -> None:
        """Close the file; idempotent."""
        if not self._closed:
            self._closed = True
            os.close(self._file)

    def __enter__(self) -> EpisodeWriter:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()


class EpisodesRead(NamedTuple):
    """What a file of episodes holds."""

    episodes: tuple[Episode, ...]
    """All whole episodes, in order."""
    problems: tuple[BadRecord, ...]
    """One for each line that holds no whole episode."""


def write_episodes(path: str | Path, episodes: Iterable[Episode]) -> int:
    """Append episodes to a file, and return how many."""
    count = 0
    with EpisodeWriter(path) as writer:
        for episode in episodes:
            writer.write(episode)
            count += 1
    return count


def read_episodes(path: str | Path) -> EpisodesRead:
    """Read all whole episodes of a file, and say what else it holds."""
    problems: list[BadRecord] = []
    episodes = tuple(iter_episodes(path, on_problem=problems.append))
    return EpisodesRead(episodes, tuple(problems))


def iter_episodes(
    path: str | Path, *, on_problem: Callable[[BadRecord], None] | None = None
) -> Iterator[Episode]:
    """Read a file of episodes one by one.

    Args:
        path: The file.
        on_problem: Called for each line that holds no whole episode; without it the first
            such line is an error.

    Raises:
        BadRecord: With file, line and field, if there is no `on_problem`.
    """
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield _decode(line, str(path), number)
            except BadRecord as problem:
                if on_problem is None:
                    raise
                on_problem(problem)


def _encode(episode: Episode) -> bytes:
    record = episode.to_json()
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, default=_plain)
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, but JSON's own escape for it.
        return json.dumps(record, allow_nan=False, default=_plain).encode() + b"\n"


def _plain(value: object) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise ValueError(
        f"a recorded episode must hold text and numbers, got {type(value).__name__}"
    )


def _decode(line: bytes, source: str, number: int) -> Episode:
    def bad(field: str, found: object, expected: str) -> BadRecord:
        return BadRecord(
            source=source, line=number, field=field, found=found, expected=expected
        )

    try:
        record = json.loads(line)
    except ValueError as error:
        whole = "a whole line of JSON"
        if not line.endswith(b"\n"):
            whole += ", ending in a line feed: this one was cut"
        raise bad("record", line[:80].decode(errors="replace"), whole) from error
    if type(record) is not dict:
        raise bad("record", record, "a JSON object")
    if record.get("schema") != EPISODE_SCHEMA:
        raise bad(
            "schema",
            record.get("schema"),
            f"{EPISODE_SCHEMA!r}, the only form that this version reads",
        )
    try:
        return Episode.from_json(record)
    except KeyError as error:
        raise bad(str(error.args[0]), "nothing", "there") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise bad("record", record, f"an episode ({error})") from error
