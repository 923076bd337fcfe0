"""What control groups promise: a zygote and its programs are bound together, and none is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.task import Limits
from corecode_env.executor import cgroups
from corecode_env.executor.cgroups import Group, Place, places, unified_base
from corecode_env.executor.isolation import IsolationReport, level_of
from corecode_env.executor.selftest import SelfTestReport
from corecode_env.executor.slot import Slot
from tests.executor.conftest import RunAll
from tests.executor.test_floor_rules import new_slot, run, said, until

MIB = 2**20


# ----------------------------------------------------------------------- places
V1 = """\
30 23 0:26 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
31 23 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
"""
V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
INNER = "30 23 0:26 /docker/abc /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n"


def test_version_1_has_a_folder_for_each_controller() -> None:
    found = places("8:pids:/\n4:memory:/jobs/7\n2:cpu,cpuacct:/x\n", V1)
    assert found["pids"] == Place(Path("/sys/fs/cgroup/pids"), 1)
    memory = Path("/sys/fs/cgroup/memory/jobs/7")
    assert found["memory"] == Place(memory, 1, memory.parent)
    assert found["cpuacct"].folder == Path("/sys/fs/cgroup/cpu,cpuacct/x")


def test_version_2_has_one_folder_for_all() -> None:
    own = Path("/sys/fs/cgroup/user.slice/session-1.scope")
    found = places("0::/user.slice/session-1.scope\n", V2)
    assert found == {"": Place(own, 2, own.parent)}
    assert places("0::/\n", V2) == {"": Place(Path("/sys/fs/cgroup"), 2)}


def test_both_versions_may_be_there() -> None:
    found = places("8:pids:/a\n0::/b\n", V1 + V2.replace("cgroup rw", "cgroup/unified rw"))
    assert found["pids"].folder == Path("/sys/fs/cgroup/pids/a")
    assert found[""].folder == Path("/sys/fs/cgroup/unified/b")


@pytest.mark.parametrize("path", ["/docker/abc", "/"])
def test_a_container_may_see_its_own_group_as_the_first(path: str) -> None:
    assert places(f"8:pids:{path}\n", INNER)["pids"].folder == Path("/sys/fs/cgroup/pids")


def test_what_is_not_mounted_is_nowhere() -> None:
    assert places("3:freezer:/\n1:name=systemd:/\n0::/\n", V1) == {}


# -------------------------------------------------------------------- version 2
def unified(folder: Path, controllers: str, enabled: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "cgroup.controllers").write_text(controllers)
    (folder / "cgroup.subtree_control").write_text(enabled)
    return folder


def test_a_controller_that_is_handed_down_is_used(tmp_path: Path) -> None:
    own = unified(tmp_path / "own", "cpu memory pids\n", "memory pids\n")
    assert unified_base(Place(own, 2), "pids") == own


def test_a_controller_is_handed_down_where_that_is_possible(tmp_path: Path) -> None:
    own = unified(tmp_path / "own", "cpu memory pids\n", "cpu\n")
    assert unified_base(Place(own, 2), "memory") == own
    assert (own / "cgroup.subtree_control").read_text().strip() == "+memory"


def test_a_controller_that_is_not_there_is_named(tmp_path: Path) -> None:
    own = unified(tmp_path / "own", "cpu\n", "")
    with pytest.raises(OSError, match="no controller 'memory'"):
        unified_base(Place(own, 2), "memory")


@pytest.fixture
def busy_group() -> Iterator[tuple[Place, str]]:
    """A real group of version 2 with a process in it, and a controller that it could have."""
    found = places(
        Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text()
    )
    top = found[""].folder if "" in found else Path("/nowhere")
    if os.geteuid() != 0 or not (top / "cgroup.controllers").exists():
        pytest.skip("only root can make groups of version 2, where they are mounted")
    controllers = (top / "cgroup.controllers").read_text().split()
    before = (top / "cgroup.subtree_control").read_text().split()
    domain = [name for name in controllers if name in ("hugetlb", "memory", "io", "rdma")]
    if not domain:
        pytest.skip("version 2 has no controller here that refuses busy groups")
    own = top / f"test-{os.getpid()}"
    own.mkdir()
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        unified_base(Place(top, 2), domain[0])
        (own / "cgroup.procs").write_text(str(sleeper.pid))
        yield Place(own, 2, top), domain[0]
    finally:
        sleeper.kill()
        sleeper.wait()
        until(lambda: not (own / "cgroup.procs").read_text())
        own.rmdir()
        if domain[0] not in before:
            (top / "cgroup.subtree_control").write_text(f"-{domain[0]}")


def test_beside_a_group_that_holds_processes_there_may_be_room(
    busy_group: tuple[Place, str],
) -> None:
    place, controller = busy_group
    assert unified_base(place, controller) == place.above


def test_where_there_is_no_room_beside_it_the_kernels_word_is_passed_on(
    busy_group: tuple[Place, str],
) -> None:
    place, controller = busy_group
    for above in (None, Path("/sys/fs/cgroup/user.slice")):
        with pytest.raises(OSError, match="busy"):
            unified_base(place._replace(above=above), controller)


# ------------------------------------------------------------------- real groups
@pytest.fixture
def grouped() -> Iterator[Slot]:
    slot = new_slot()
    layers = slot.start().ready["layers"]
    if {layers["pids_cgroup"], layers["memory_cgroup"]} != {"on"}:
        slot.close()
        pytest.skip(f"no control groups here: {layers['pids_cgroup']}")
    yield slot
    slot.close()


def folders_of(slot: Slot) -> list[Path]:
    return sorted(set(slot.start().group._folders.values()))


def test_a_zygote_is_in_groups_of_its_own_and_so_are_its_programs(grouped: Slot) -> None:
    zygote = str(grouped.start().pid)
    for folder in folders_of(grouped):
        assert folder.name.startswith(f"corecode-{os.getpid()}-")
        assert zygote in (folder / "cgroup.procs").read_text().split()
        assert str(os.getpid()) not in (folder / "cgroup.procs").read_text().split()


THREADS = """
import _thread, json, time
started = 0
try:
    while started < 1000:
        _thread.start_new_thread(time.sleep, (9,))
        started += 1
except RuntimeError:
    pass
print(json.dumps(started), flush=True)
import os
os._exit(0)
"""


def test_threads_are_counted_where_the_users_processes_are_not(grouped: Slot) -> None:
    slot = new_slot(disabled=["process_limit"])
    try:
        assert 50 <= said(slot, "import threading\nthreading.stack_size(65536)" + THREADS) < 80
    finally:
        slot.close()


def test_without_the_group_there_are_as_many_as_memory_has_room_for(grouped: Slot) -> None:
    slot = new_slot(disabled=["process_limit", "pids_cgroup"])
    try:
        assert slot.start().ready["layers"]["pids_cgroup"] == "switched off"
        assert said(slot, "import threading\nthreading.stack_size(65536)" + THREADS) > 100
    finally:
        slot.close()


def test_memory_is_bound_for_zygote_and_program_together(
    monkeypatch: pytest.MonkeyPatch, grouped: Slot
) -> None:
    limits = Limits(memory_bytes=512 * MIB)
    program = "x = bytearray(200 << 20)\nprint(len(x) >> 20)"
    assert run(grouped, program, limits).stdout == b"200\n"
    # With as much less room the group refuses what the program's own limits would allow.
    monkeypatch.setattr(cgroups, "ROOM_BYTES", -384 * MIB)
    small = new_slot()
    try:
        outcome = run(small, program, limits)
        assert (outcome.signal, outcome.stdout) == (9, b"")
        assert run(small, "print(1)", limits).stdout == b"1\n", "the zygote lives"
    finally:
        small.close()


def test_a_larger_program_gets_more_and_a_smaller_one_takes_nothing_away(
    grouped: Slot,
) -> None:
    file = grouped.start().group._memory_file
    assert file is not None
    seen = []
    for mebibytes in (64, 1024, 32):
        run(grouped, "pass", Limits(memory_bytes=mebibytes * MIB))
        seen.append((int(file.read_text()) - cgroups.ROOM_BYTES) // MIB)
    assert seen == [64, 1024, 1024]


def test_closing_leaves_no_group(grouped: Slot) -> None:
    folders = folders_of(grouped)
    assert folders and all(folder.exists() for folder in folders)
    grouped.close()
    assert not any(folder.exists() for folder in folders)


KILLED = """
import json, os, signal
from corecode_env.executor.isolation import floor_fields
from corecode_env.executor.slot import Slot
from corecode_env.executor.start import ZygoteSettings
slot = Slot(ZygoteSettings(floor=floor_fields()[0]))
group = slot.start().group
print(json.dumps([str(folder) for folder in group._folders.values()]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
NEXT = """
from corecode_env.executor.cgroups import Group
Group().remove()
"""


def test_the_next_trainer_removes_what_a_killed_one_left_and_nothing_else(
    grouped: Slot,
) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, check=False)
    left = [Path(folder) for folder in json.loads(done.stdout)]
    assert left and all(folder.exists() for folder in left)
    until(lambda: not any((folder / "cgroup.procs").read_text() for folder in left))
    subprocess.run([sys.executable, "-c", NEXT], check=True)
    assert not any(folder.exists() for folder in left)
    assert all(folder.exists() for folder in folders_of(grouped))


def test_a_switched_off_group_is_not_made() -> None:
    group = Group(frozenset(cgroups.LAYERS))
    assert set(group.layers.values()) == {"switched off"}
    assert group._folders == {}


def test_who_may_not_make_groups_is_told_why(run_as: RunAll) -> None:
    report: dict[str, Any] = run_as("as_an_ordinary_user", [])["report"]
    for layer in cgroups.LAYERS:
        assert "ermission denied" in report["layers"][layer]


# ------------------------------------------------------------------------ levels
def test_a_count_by_group_is_as_good_as_a_count_by_user() -> None:
    floor = ["rlimits", "no_new_privs", "seccomp", "not_root", "no_capabilities", "landlock"]
    layers = dict.fromkeys(
        [*floor, "private_root", "network_namespace", "ipc_namespace"], "on"
    )
    held = SelfTestReport(held=("read a file",))
    assert level_of(layers, held) == "L2"
    grouped = layers | {"pids_cgroup": "on"}
    assert level_of(grouped, held) == "L3"
    assert IsolationReport("L3", grouped, "", 7, held).summary() == "every layer is on"
