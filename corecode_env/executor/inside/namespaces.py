"""Namespaces: a private view of users, processes, mounts, network and System V objects.

Made once in the zygote; every program forked from it is inside. Each is an extra layer:
where the machine refuses one, the reason is returned and the rest goes on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from corecode_env.executor.inside import linux, readable

_SEPARATE: Final = (
    ("network_namespace", linux.CLONE_NEWNET),
    ("ipc_namespace", linux.CLONE_NEWIPC),
    ("host_name_namespace", linux.CLONE_NEWUTS),
)
# The new root is built upon a folder that exists everywhere and that nothing readable lies
# in; in the zygote's own mount namespace nobody else sees it.
_SITE: Final = "/sys"
SCRATCH: Final = "/scratch"
GUARD: Final = b"corecode-guard"
"""What lists of processes call the one that waits outside a namespace of numbers."""
LAYERS: Final = (
    "user_namespace",
    "pid_namespace",
    "private_root",
    *(name for name, _ in _SEPARATE),
)
_READ_ONLY: Final = linux.MS_RDONLY | linux.MS_NOSUID
_STAT_TO_MOUNT: Final = (
    (os.ST_NODEV, linux.MS_NODEV),
    (os.ST_NOEXEC, linux.MS_NOEXEC),
    (os.ST_NOATIME, 1024),
    (os.ST_NODIRATIME, 2048),
    (os.ST_RELATIME, 1 << 21),
)


def enter_user_namespace() -> None:
    """Enter a user namespace that maps this process's user and group only.

    Raises:
        OSError: If the machine refuses (containers, hardened desktops).
    """
    uid, gid = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def enter_pid_namespace() -> None:
    """Enter a namespace of process numbers, in which those of others do not exist.

    Raises:
        OSError: If the machine refuses.
    """
    linux.unshare(linux.CLONE_NEWPID)


def become_first_process() -> None:
    """Go on in a child that has number 1 there; this process waits for its end.

    When the first process ends, the kernel ends all others in the namespace. From inside,
    no signal reaches it.

    Raises:
        OSError: If there is no process to be had; none can be forked any more.
    """
    first = os.fork()
    if first == 0:
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setsid()
        return
    try:
        linux.name_process(GUARD)
        os.closerange(0, 2**31 - 1)
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        linux.set_capabilities(0)
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
        os.waitpid(first, 0)
    finally:
        os._exit(0)


def separate(disabled: frozenset[str]) -> dict[str, str]:
    """Leave the machine's network, System V objects and host name.

    Args:
        disabled: Layers not to make.

    Returns:
        "on" or the reason why not, by layer.
    """
    layers = {}
    for name, flag in _SEPARATE:
        if name in disabled:
            layers[name] = "switched off"
            continue
        try:
            linux.unshare(flag)
            layers[name] = "on"
        except OSError as error:
            layers[name] = str(error)
    return layers


def enter_private_root(
    packages: Sequence[str], *, process_files: bool, scratch: str | None = None
) -> None:
    """Exchange the root folder for an empty one that holds the readable files only.

    Args:
        packages: Paths of packages that programs may read.
        process_files: Show /proc too, for `/dev/stdin` to work; safe only where Landlock
            refuses to open what lies in it.
        scratch: Folder to show as `SCRATCH`, in which programs may write.

    Raises:
        OSError: If the machine refuses; the process may then be in a mount namespace of
            its own, with the old root.
    """
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("corecode", _SITE, "tmpfs", linux.MS_NOSUID, "mode=111,size=1m")
    try:
        _furnish(packages)
        if scratch is not None:
            _show_scratch(scratch)
        if process_files:
            _show_processes()
        os.chdir(_SITE)
        linux.mount(None, _SITE, None, linux.MS_REMOUNT | linux.MS_BIND | _READ_ONLY)
        linux.pivot_root_here()
    except OSError:
        os.chdir("/")
        linux.libc.umount2(_SITE.encode(), linux.MNT_DETACH)
        raise


def _furnish(packages: Sequence[str]) -> None:
    for folder in readable.LIBRARY_FOLDERS:
        if os.path.islink(folder):  # /lib -> usr/lib: the loader searches the old names
            _folder(os.path.dirname(_SITE + folder))
            os.symlink(os.readlink(folder), _SITE + folder)
    library = os.path.dirname(os.__file__)
    covers = []
    # A folder before those inside it, which then need no mount of their own.
    for root in sorted({*readable.library_roots(), library}, key=len):
        if os.path.exists(_SITE + root) and os.path.samefile(_SITE + root, root):
            continue  # inside one that is there already
        _bind(root)
        for hidden in readable.package_folders(root):
            linux.mount("corecode", _SITE + hidden, "tmpfs", linux.MS_NOSUID, "mode=111")
            covers.append(_SITE + hidden)
    for path in (*packages, *readable.DATA):
        if os.path.exists(path):
            _bind(path)
    for cover in covers:
        linux.mount(None, cover, None, linux.MS_REMOUNT | linux.MS_BIND | _READ_ONLY)
    for device in (readable.DEVICE_WRITTEN, *readable.DEVICES_READ):
        _bind(device, read_only=False)
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        os.symlink(f"/proc/self/fd/{number}", f"{_SITE}/dev/{name}")
    os.symlink("/proc/self/fd", f"{_SITE}/dev/fd")


def _bind(path: str, *, read_only: bool = True) -> None:
    target = Path(_SITE + path)
    if os.path.isdir(path):
        _folder(str(target))
    else:
        _folder(str(target.parent))
        target.touch()
    linux.mount(path, str(target), None, linux.MS_BIND | linux.MS_REC)
    if read_only:
        flags = linux.MS_REMOUNT | linux.MS_BIND | _READ_ONLY | _kept_flags(str(target))
        linux.mount(None, str(target), None, flags)


def _kept_flags(target: str) -> int:
    # In a user namespace, flags that the machine's owner has set may not be dropped.
    present = os.statvfs(target).f_flag
    return sum(flag for shown, flag in _STAT_TO_MOUNT if present & shown)


def _show_scratch(folder: str) -> None:
    target = _SITE + SCRATCH
    os.mkdir(target)
    linux.mount(folder, target, None, linux.MS_BIND)
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC | _kept_flags(target)
    linux.mount(None, target, None, linux.MS_REMOUNT | linux.MS_BIND | flags)


def _folder(path: str) -> None:
    """Make a folder and those above it, through which one may pass but not look."""
    missing = [path, *map(str, Path(path).parents)]
    for folder in reversed(missing):
        if not os.path.exists(folder):
            os.mkdir(folder, 0o111)


def _show_processes() -> None:
    target = f"{_SITE}/proc"
    os.mkdir(target)
    try:
        linux.mount("proc", target, "proc", _READ_ONLY, "hidepid=invisible,subset=pid")
    except OSError:
        # A fresh one needs a right over the process numbers; the machine's own will do.
        linux.mount("/proc", target, None, linux.MS_BIND | linux.MS_REC)
