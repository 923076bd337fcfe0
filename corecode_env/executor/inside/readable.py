"""Readable: the files that a program may open, by name and by nothing wider.

The standard library without the folders where other packages are installed (bundled task
files hold hidden tests), the shared libraries that extension modules load, the packages
that the settings name, time zones, and three harmless devices.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

PACKAGE_FOLDERS: Final = frozenset({"site-packages", "dist-packages"})
DEVICES_READ: Final = ("/dev/zero", "/dev/urandom", "/dev/random")
DEVICE_WRITTEN: Final = "/dev/null"

LIBRARY_FOLDERS: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
DATA: Final = ("/usr/share/zoneinfo", "/etc/ld.so.cache")


def package_paths(name: str, folders: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that an installed package consists of.

    Args:
        name: Import name, such as `numpy`.
        folders: Where packages are looked for, as `sys.path` has them.

    Returns:
        Its folder or module, and the folder of shared libraries that wheels put beside
        it (`numpy.libs`); empty if it is not installed.
    """
    for folder in folders:
        found = [Path(folder, name), Path(folder, f"{name}.py")]
        present = [path for path in found if path.exists()]
        if present:
            present += [path for path in [Path(folder, f"{name}.libs")] if path.is_dir()]
            return tuple(str(path) for path in present)
    return ()


def library_roots() -> tuple[str, ...]:
    """Return the folders of the standard library and of shared libraries, whole."""
    roots = [Path(os.__file__).resolve().parent]
    shared = sysconfig.get_config_var("DESTSHARED")  # lib-dynload, if it lies elsewhere
    roots += [Path(shared)] if shared else []
    own = sysconfig.get_config_var("LIBDIR")
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    for folder in (*LIBRARY_FOLDERS, *([own] if own else [])):
        # Not `Path.is_dir`, which raises where a folder above may not be entered: an
        # interpreter that was moved names places of its past.
        if not os.path.isdir(folder):
            continue
        if next(_shared_objects(Path(folder)), None):
            roots.append(Path(folder))
        if multiarch:
            roots.append(Path(folder, multiarch))
    existing = (str(root.resolve()) for root in roots if os.path.isdir(root))
    return tuple(dict.fromkeys(existing))


def files(packages: Iterable[str] = ()) -> tuple[str, ...]:
    """Return files and folders that may be read, none of which leads to other packages.

    Args:
        packages: Paths of packages that may be read too.
    """
    library = Path(os.__file__).resolve().parent
    multiarch = sysconfig.get_config_var("MULTIARCH")
    found: list[Path] = []
    for root in map(Path, library_roots()):
        whole = root == library or root.name in (multiarch, "lib-dynload")
        found += _without_packages(root) if whole else _shared_objects(root)
    found += [Path(path) for path in DATA]
    found += [Path(path) for path in packages]
    return tuple(dict.fromkeys(str(path) for path in found if os.path.exists(path)))


def package_folders(root: str) -> tuple[str, ...]:
    """Return the folders below a library folder where other packages are installed."""
    patterns = [f"{place}{name}" for place in ("", "python*/") for name in PACKAGE_FOLDERS]
    return tuple(
        str(path) for pattern in patterns for path in Path(root).glob(pattern) if path.is_dir()
    )


def _without_packages(folder: Path) -> Iterator[Path]:
    """Yield paths that cover a folder except for what `package_folders` finds in it."""
    hidden = [Path(path) for path in package_folders(str(folder))]
    if not hidden:
        yield folder
        return
    for entry in folder.iterdir():
        inside = [path for path in hidden if entry in path.parents]
        if inside:
            yield from _without_packages(entry)
        elif entry not in hidden:
            yield entry


def _shared_objects(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob("*.so*") if path.is_file())
