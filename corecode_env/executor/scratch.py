"""Scratch: the private folder of the few programs that must write files.

    Scratch()  ->  a job writes, is watched, ends  ->  empty()  ->  the next job

A worker has one at most, for one job at a time: the program and its test share it, nobody
else can enter it, and it is empty again before anyone else gets it. What lies in it was
made by a program: names, modes and depth are taken as they come.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from typing import Final

MOST_ENTRIES: Final = 1000
"""Files and folders that a program may have at once."""
DEEPEST: Final = 20
"""Folders within folders that a program may have."""
WATCH_SECONDS: Final = 0.01
"""How often a running program's folder is looked at."""
REMOVE_SECONDS: Final = 5.0
"""How long a folder may take to go, while killed programs may still be writing in it."""
PREFIX: Final = "corecode-scratch-"
PRIVATE_FROM: Final = 1_900_000_000
"""First of the user numbers that programs get under root: no system gives them to anybody
(systemd's table of user numbers), so what such a user owns was made by a program."""
LEFT_SECONDS: Final = 60.0
"""Age from which a folder that nobody holds was left by a trainer that was killed."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Scratch:
    """A folder that programs write in."""

    def __init__(self) -> None:
        """Make the folder, where this user's temporary files are.

        Folders there that a killed trainer has left behind are removed.
        """
        remove_left_behind()
        self.path = tempfile.mkdtemp(prefix=PREFIX)
        # Held as long as the folder is somebody's; the kernel lets go for who is killed.
        self._held = os.open(self.path, _FOLDER)
        fcntl.flock(self._held, fcntl.LOCK_EX)

    def over(self, limit: int) -> bool:
        """Return whether more lies in it than a program may have.

        Args:
            limit: Bytes of all files together; of a file with holes, those to its end.
        """
        left, entries = float(limit), 0
        with _opened(self.path) as folder:
            for size in _sizes(folder, DEEPEST):
                entries += 1
                left -= size
                if left < 0 or entries > MOST_ENTRIES:
                    return True
        return False

    def empty(self) -> None:
        """Remove everything in it.

        Raises:
            OSError: If something cannot be removed.
        """
        with _opened(self.path) as folder:
            _empty(folder)

    def remove(self) -> None:
        """Remove it; idempotent.

        Raises:
            OSError: If it cannot be removed in time.
        """
        deadline = time.monotonic() + REMOVE_SECONDS
        while True:
            try:
                self.empty()
                os.rmdir(self.path)
            except FileNotFoundError:
                self.let_go()
                return
            except OSError as error:
                late = time.monotonic() > deadline
                if late or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise

    def let_go(self) -> None:
        """Hold the folder no longer; idempotent."""
        held, self._held = self._held, -1
        if held >= 0:
            os.close(held)


def remove_left_behind() -> None:
    """Remove the folders whose trainer was killed before it could do so."""
    place = tempfile.gettempdir()
    try:
        names = os.listdir(place)
    except PermissionError:
        return  # a place that one may pass through but not look at
    for name in names:
        path = os.path.join(place, name)
        with contextlib.suppress(OSError):  # another trainer removes it too, or it is held
            if name.startswith(PREFIX) and _may_be_left(os.lstat(path)):
                with _opened(path) as folder:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _empty(folder)
                    os.rmdir(path)


def _may_be_left(found: os.stat_result) -> bool:
    ours = found.st_uid == os.geteuid()
    if os.geteuid() == 0:
        ours = ours or found.st_uid >= PRIVATE_FROM
    return ours and stat.S_ISDIR(found.st_mode) and time.time() - found.st_mtime > LEFT_SECONDS


@contextlib.contextmanager
def _opened(path: str, at: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, _FOLDER, dir_fd=at)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sizes(folder: int, levels: int) -> Iterator[float]:
    """Yield the size of each entry of a folder that is in use, and of those below it.

    What cannot be looked into counts as endless: a folder without the right to read it, or
    one below more than `levels` others.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
                if not stat.S_ISDIR(found.st_mode):
                    yield max(found.st_size, 512 * found.st_blocks)
                    continue
                yield 0
                if not levels:
                    yield math.inf
                    continue
                with _opened(entry.name, folder) as below:
                    yield from _sizes(below, levels - 1)
            except (FileNotFoundError, NotADirectoryError):
                continue  # gone meanwhile, or something else by now
            except PermissionError:
                yield math.inf


def _empty(folder: int) -> None:
    while names := os.listdir(folder):
        for name in names:
            _take_apart(folder, name)


def _take_apart(folder: int, name: str) -> None:
    """Remove a file; move what a folder holds one level up, and remove the folder.

    Nothing is followed and no path grows, however deep the tree.
    """
    if not stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
        os.unlink(name, dir_fd=folder)
        return
    os.chmod(name, stat.S_IRWXU, dir_fd=folder)
    with _opened(name, folder) as inner:
        for child in os.listdir(inner):
            if stat.S_ISDIR(os.lstat(child, dir_fd=inner).st_mode):
                os.chmod(child, stat.S_IRWXU, dir_fd=inner)
                moved = secrets.token_hex(16)
                os.rename(child, moved, src_dir_fd=inner, dst_dir_fd=folder)
            else:
                os.unlink(child, dir_fd=inner)
    os.rmdir(name, dir_fd=folder)
