"""What the folder that a program writes in promises: its size is known, and it can be emptied.

And what a worker does with it from one job to the next.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Checker,
    Function,
    Limits,
    Stdio,
    StdioTest,
    Task,
    Test,
)
from corecode_env.core.verdict import Verdict
from corecode_env.executor.bench import Bench, Gate
from corecode_env.executor.isolation import floor_fields
from corecode_env.executor.local import LocalExecutor
from corecode_env.executor.scratch import DEEPEST, MOST_ENTRIES, PREFIX, Scratch
from corecode_env.executor.selftest import run_self_test
from corecode_env.executor.slot import Outcome, Run, sealed
from corecode_env.executor.start import ZygoteSettings

WRITING = Limits(cpu_seconds=5.0, wall_seconds=20.0, scratch_bytes=2**20)


@pytest.fixture(autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A place of our own for temporary files, through which every user may pass."""
    with tempfile.TemporaryDirectory(prefix="corecode-place-") as name:
        os.chmod(name, 0o711)
        before, tempfile.tempdir = tempfile.tempdir, name
        yield Path(name)
        tempfile.tempdir = before


@pytest.fixture
def executor(place: Path) -> Iterator[LocalExecutor]:
    with LocalExecutor(workers=1) as made:
        yield made
    assert list(place.iterdir()) == []


def function_task(*tests: Test, limits: Limits = WRITING) -> Task:
    return Task("t", "s", Function("f"), hidden_tests=tests, limits=limits)


def verdicts(executor: LocalExecutor, task: Task, program: str) -> list[str]:
    return [result.verdict.value for result in executor.judge(task, program).results]


# ----------------------------------------------------------------------- the folder
def test_a_folder_is_over_its_limit_by_bytes_entries_or_depth() -> None:
    scratch = Scratch()
    folder = Path(scratch.path)
    assert not scratch.over(1)
    (folder / "file").write_bytes(bytes(4096))
    assert not scratch.over(4096) and scratch.over(4095)
    os.truncate(folder / "file", 10**6)  # a hole counts to its end
    assert scratch.over(10**6 - 1)
    for number in range(MOST_ENTRIES - 1):
        (folder / str(number)).touch()
    assert not scratch.over(2**30)
    (folder / "one more").touch()
    assert scratch.over(2**30)
    scratch.empty()
    folder.joinpath(*["x"] * DEEPEST).mkdir(parents=True)
    assert not scratch.over(2**30)
    folder.joinpath(*["x"] * (DEEPEST + 1)).mkdir()
    assert scratch.over(2**30)
    scratch.remove()
    assert not folder.exists()


def test_a_tree_deeper_than_any_path_is_emptied() -> None:
    scratch = Scratch()
    here = os.open(scratch.path, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("a" * 200, 0o300 if os.geteuid() == 0 else 0o700, dir_fd=here)
        below = os.open("a" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    scratch.empty()
    assert os.listdir(scratch.path) == []
    scratch.remove()


def test_emptying_follows_no_link(place: Path) -> None:
    outside = place / "outside"
    (outside / "inner").mkdir(parents=True)
    (outside / "file").write_text("kept")
    scratch = Scratch()
    os.symlink(outside, Path(scratch.path, "link"))
    Path(scratch.path, "folder").mkdir()
    os.symlink(outside / "file", Path(scratch.path, "folder", "link"))
    os.mkfifo(Path(scratch.path, "fifo"))
    scratch.remove()
    assert (outside / "file").read_text() == "kept" and (outside / "inner").is_dir()


NAMES = st.binary(min_size=1, max_size=20).filter(
    lambda name: not {0, ord("/")} & set(name) and name not in (b".", b"..")
)
TREES = st.recursive(st.just(None), lambda below: st.dictionaries(NAMES, below, max_size=4))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tree=st.dictionaries(NAMES, TREES, max_size=4), mode=st.integers(0, 0o777))
def test_any_tree_of_any_mode_is_emptied(tree: dict[bytes, object], mode: int) -> None:
    scratch = Scratch()

    def plant(at: bytes, branch: dict[bytes, object]) -> None:
        for name, below in branch.items():
            path = os.path.join(at, name)
            if isinstance(below, dict):
                os.mkdir(path)
                plant(path, below)
                os.chmod(path, mode)
            else:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, mode))

    plant(os.fsencode(scratch.path), tree)
    scratch.empty()
    assert os.listdir(scratch.path) == []
    scratch.remove()
    scratch.remove()  # a second time does nothing


def test_a_folder_to_which_someone_still_writes_goes_when_they_end() -> None:
    scratch = Scratch()
    written, end = threading.Event(), threading.Event()

    def write() -> None:
        number = 0
        while not end.is_set():
            number += 1
            try:
                Path(scratch.path, str(number)).touch()
            except FileNotFoundError:
                break
            written.set()

    writer = threading.Thread(target=write)
    writer.start()
    written.wait()
    threading.Timer(0.3, end.set).start()
    scratch.remove()
    writer.join()
    assert not os.path.exists(scratch.path)


KILLED = """
import os, signal, sys, tempfile
from corecode_env.executor.scratch import Scratch
tempfile.tempdir = sys.argv[1]
scratch = Scratch()
os.makedirs(scratch.path + "/a/b")
print(scratch.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def grow_old(folder: Path) -> None:
    os.utime(folder, times=(0, 0))


def test_what_a_killed_trainer_leaves_goes_with_the_next_folder(place: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    left = Path(done.stdout.strip())
    assert done.returncode == -signal.SIGKILL and (left / "a/b").is_dir()
    young = Scratch()  # too early: who makes a folder needs a moment to hold it
    assert left.is_dir()
    grow_old(left)
    grow_old(Path(young.path))
    other = Scratch()
    assert not left.exists()
    assert Path(young.path).is_dir(), "one that is held stays, however old"
    young.remove()
    other.remove()


def test_only_folders_of_our_own_are_taken_for_left(place: Path) -> None:
    kept = [place / "other", place / f"{PREFIX}link", place / f"{PREFIX}file"]
    kept[0].mkdir()
    kept[1].symlink_to(kept[0])
    kept[2].touch()
    if os.geteuid() == 0:
        kept.append(place / f"{PREFIX}stranger")
        kept[3].mkdir()
        os.chown(kept[3], 1000, 1000)
    for path in kept:
        os.utime(path, times=(0, 0), follow_symlinks=False)
    Scratch().remove()
    assert [path for path in kept if not path.exists()] == []


# -------------------------------------------------------------------------- limits
def test_a_task_says_in_json_that_it_needs_a_folder() -> None:
    task = function_task(CallTest((), expected=1))
    record = task.to_json()
    assert record["limits"]["scratch_bytes"] == 2**20
    assert Task.from_json(record) == task
    plain = task.with_limits(replace(WRITING, scratch_bytes=0))
    assert "scratch_bytes" not in plain.to_json()["limits"]
    assert Task.from_json(plain.to_json()) == plain


@pytest.mark.parametrize("value", [-1, 0.5, True, "1", None])
def test_an_impossible_size_is_refused(value: object) -> None:
    record = function_task(CallTest((), expected=1)).to_json()
    record["limits"]["scratch_bytes"] = value
    with pytest.raises(BadRecord, match="scratch_bytes"):
        Task.from_json(record)


# ------------------------------------------------------------------------- judging
READ = "def f(name):\n    return open(name).read()\n"
WRITE = "def f(name):\n    open(name, 'w').write('hello')\n    return 1\n"


def test_test_and_program_share_the_folder_both_ways(executor: LocalExecutor) -> None:
    reads = AssertTest("open('a', 'w').write('given')\nassert f('a') == 'given'")
    assert verdicts(executor, function_task(reads), READ) == ["AC"]
    looks = AssertTest("f('a')\nassert open('a').read() == 'hello'")
    assert verdicts(executor, function_task(looks), WRITE) == ["AC"]
    assert verdicts(executor, function_task(looks), "def f(name):\n    pass\n") == ["RE"]


def test_a_database_is_written_from_both_sides(executor: LocalExecutor) -> None:
    program = (
        "import sqlite3\n"
        "def f(x):\n"
        "    base = sqlite3.connect('base.db')\n"
        "    base.execute('create table if not exists t (x)')\n"
        "    base.execute('insert into t values (?)', (x,))\n"
        "    base.commit()\n"
    )
    test = AssertTest(
        "import sqlite3\n"
        "f(1)\n"
        "base = sqlite3.connect('base.db')\n"
        "base.execute('insert into t values (2)')\n"
        "base.commit()\n"
        "f(3)\n"
        "assert base.execute('select x from t').fetchall() == [(1,), (2,), (3,)]\n"
    )
    assert verdicts(executor, function_task(test), program) == ["AC"]


def test_each_test_begins_with_an_empty_folder(executor: LocalExecutor) -> None:
    test = AssertTest("import os\nassert os.listdir('.') == []\nf('a')")
    assert verdicts(executor, function_task(test, test), WRITE) == ["AC", "AC"]


def test_printed_and_called_programs_write_too(executor: LocalExecutor) -> None:
    program = "open('a', 'w').write('x')\nprint(open('a').read())"
    printed = Task("t", "s", Stdio(), (StdioTest("", "x"),), limits=WRITING)
    assert executor.judge(printed, program).passed
    counting = (
        "import os\ndef f():\n    open(str(len(os.listdir())), 'w').close()\n"
        "    return len(os.listdir())"
    )
    calls = function_task(*(CallTest((), expected=n) for n in (1, 2, 3)))
    assert verdicts(executor, calls, counting) == ["AC", "AC", "AC"]


def test_without_a_size_nothing_can_be_written(executor: LocalExecutor) -> None:
    writes = AssertTest("f('a')")
    assert verdicts(executor, function_task(writes), WRITE) == ["AC"]
    plain = function_task(writes, limits=replace(WRITING, scratch_bytes=0))
    assert verdicts(executor, plain, WRITE) == ["RE"]


def test_a_program_that_fills_the_folder_is_told_so(executor: LocalExecutor) -> None:
    task = function_task(AssertTest("f('a')"))
    filling = (
        "def f(name):\n    n = 0\n    while True:\n        n += 1\n"
        "        open(str(n), 'w').write('x' * 100_000)\n"
    )
    (result,) = executor.judge(task, filling).results
    assert result.verdict is Verdict.OLE and result.flags == ()
    assert result.note == "its files are more than its folder may hold"


# What a program lays in the way of a test before the test's first word, and while it runs.
TRAPS = {
    "a folder where a file is expected": "import os\nos.mkdir('data')\n",
    "a file that may not be read": "import os\nos.open('data', os.O_CREAT, 0)\n",
    "a large file": "open('data', 'wb').write(b'9' * (2**20 - 1))\n",
    "text that is no text": "open('data', 'wb').write(bytes(range(256)))\n",
    "a broken database": "open('data', 'wb').write(b'SQLite format 3' + bytes(5000))\n",
    "a module": "open('json.py', 'w').write('raise SystemExit(0)')\n",
}
READERS = {
    "read": "data = open('data').read()\nassert f(1) == 1 and data == 'right'",
    "write": "open('data', 'w').write('right')\nassert f(1) == 1\nassert f(2) == 'right'",
    "sqlite": "import sqlite3\nb = sqlite3.connect('data')\n"
    "b.execute('create table t (x)')\nassert f(1) == 1 and f(2) == 2",
    "json": "import json\nassert f(1) == 1 and json.load(open('data')) == {'right': 1}",
    "int": "assert f(1) == 1 and int(open('data').read()) == 1",
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_for_the_test_is_the_programs_own_failure(
    executor: LocalExecutor, trap: str
) -> None:
    program = f"{TRAPS[trap]}import time\ndef f(x):\n    return 1\n"
    # Waiting lets the trap be laid before the test looks.
    tests = [AssertTest(f"import time\ntime.sleep(0.1)\n{code}") for code in READERS.values()]
    found = verdicts(executor, function_task(*tests), program)
    assert not {"AC", "SE"} & set(found), dict(zip(READERS, found, strict=True))


def test_a_lost_warm_process_costs_the_folder_and_not_the_verdict(
    executor: LocalExecutor, place: Path
) -> None:
    task = function_task(AssertTest("f('a')\nassert open('a').read() == 'hello'"))
    assert executor.judge(task, WRITE).passed
    (bench,) = executor._all
    (before,) = place.iterdir()
    for slot in bench._writing_slots.values():
        assert slot.zygote is not None
        os.kill(slot.zygote.pid, signal.SIGKILL)
    assert executor.judge(task, WRITE).passed
    (after,) = place.iterdir()
    assert after != before and list(after.iterdir()) == []


def test_workers_have_folders_of_their_own_and_leave_none(place: Path) -> None:
    task = function_task(
        AssertTest("import os\nassert os.listdir('.') == []\nf('a')\nassert os.listdir('.')")
    )
    with LocalExecutor(workers=2) as executor:
        judged = list(executor.map([(task, WRITE)] * 20))
        assert [j.verdict for j in judged] == [Verdict.AC] * 20
        assert all(path.name.startswith(PREFIX) for path in place.iterdir())
        assert len(list(place.iterdir())) == 2
    assert list(place.iterdir()) == []


def test_a_cancelled_job_leaves_nothing(place: Path) -> None:
    endless = "def f(name):\n    while True:\n        open(name, 'w').write('x')\n"
    task = function_task(AssertTest("f('a')"))
    executor = LocalExecutor(workers=1)
    batch = executor.map([(task, endless)])
    threading.Timer(0.7, executor.close).start()
    with pytest.raises(Exception, match="cancelled"):
        next(batch)
    executor.close()
    for thread in threading.enumerate():
        if thread.name.startswith("corecode-batch"):
            thread.join(10)
    assert list(place.iterdir()) == []


def test_a_checker_of_the_task_has_no_folder(executor: LocalExecutor) -> None:
    source = "def check(input, output, expected):\n    open('a', 'w')\n    return True\n"
    task = Task(
        "t",
        "s",
        Stdio(),
        (StdioTest("", "x"),),
        checker=Checker(source=source),
        limits=WRITING,
    )
    assert executor.judge(task, "print('x')").verdict is not Verdict.AC


def test_every_attack_of_the_self_test_fails_with_a_folder_too(place: Path) -> None:
    def settings(role: str, _kind: str) -> ZygoteSettings:
        fields, paths = floor_fields()
        return ZygoteSettings(role=role, floor=fields, paths=paths)

    bench = Bench(settings, Gate(), lambda: False)

    def run(program: str) -> Outcome:
        payload = sealed(bytes(8) + program.encode())
        slot = bench.slot_for("candidate", "plain", WRITING)
        try:
            outcome = bench.run(slot, Run(payload, limits=WRITING))
        finally:
            os.close(payload)
        assert outcome is not None
        return outcome

    try:
        report = run_self_test(run)
    finally:
        bench.close()
    assert report.breaches == () and len(report.held) > 10
    assert list(place.iterdir()) == []
