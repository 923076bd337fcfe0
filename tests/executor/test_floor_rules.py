"""What the floor promises as a whole, looked at from outside while a program runs.

Rules 9 to 12: what a zygote is, which files can be opened, which limits hold from when on,
and which harmless things must still work.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corecode_env.core.task import Limits
from corecode_env.executor import isolation
from corecode_env.executor.inside import readable
from corecode_env.executor.slot import Loop, Outcome, Process, Run, Slot, sealed
from corecode_env.executor.start import PRELOAD, ZygoteSettings
from tests.executor.conftest import NOBODY, interpreter_for
from tests.executor.floor_script import children_of

ROOT = os.geteuid() == 0
NO_CAPABILITY = "0000000000000000"
STACKS: dict[str, dict[str, Any]] = {
    "whole": {},
    "without_namespaces": {"namespaces": False},
    "without_landlock": {"disabled": ["landlock"]},
    "without_both": {"namespaces": False, "disabled": ["landlock"]},
}


def new_slot(packages: tuple[str, ...] = (), **floor: Any) -> Slot:
    fields, paths = isolation.floor_fields(packages)
    settings = ZygoteSettings(
        floor={**fields, **floor}, paths=paths, preload=PRELOAD + packages
    )
    return Slot(settings)


@pytest.fixture(scope="module", params=STACKS)
def slot(request: pytest.FixtureRequest) -> Iterator[Slot]:
    slot = new_slot(**STACKS[request.param])
    yield slot
    slot.close()


def start(slot: Slot, program: str, limits: Limits) -> Process:
    payload = sealed(bytes(8) + textwrap.dedent(program).encode())
    try:
        return slot.open(Run(payload, limits=limits), Loop())
    finally:
        os.close(payload)


def run(slot: Slot, program: str, limits: Limits | None = None) -> Outcome:
    process = start(slot, program, limits or Limits())
    try:
        return process.outcome("")
    finally:
        process.close()


def said(slot: Slot, program: str) -> Any:
    """Run a program and return the JSON that it prints."""
    outcome = run(slot, program)
    assert outcome.exit == 0, outcome.stderr
    return json.loads(outcome.stdout)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@contextmanager
def sleeper(slot: Slot) -> Iterator[int]:
    """A program that sleeps, sealed in its floor; gives its process number."""
    process = start(slot, "import time\ntime.sleep(30)", Limits(wall_seconds=30.0))
    pid = until(lambda: next(iter(children_of(slot.start().pid)), 0))
    until(lambda: status(pid)["Seccomp_filters"] == str(filters(slot)))
    yield pid
    process.outcome("done")
    process.close()


def filters(slot: Slot) -> int:
    return int(status(slot.start().pid)["Seccomp_filters"]) + 1


def until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 10.0
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return found


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def state(pid: int) -> str:
    return status(pid)["State"][0]


# ------------------------------------------------------------------ rule 9: zygote
def test_rule_9_a_zygote_has_its_own_session_folder_and_fresh_signals() -> None:
    program = f"""
        import json, os, signal, sys
        for name in ("SIGCHLD", "SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1"):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
        os.chdir({str(Path(__file__).parent)!r})
        from corecode_env.executor import isolation
        from corecode_env.executor.slot import Slot
        from corecode_env.executor.start import ZygoteSettings
        fields, paths = isolation.floor_fields(())
        slot = Slot(ZygoteSettings(floor=fields, paths=paths))
        pid = slot.start().pid
        text = open(f"/proc/{{pid}}/status").read()
        try:
            folder = os.readlink(f"/proc/{{pid}}/cwd")
        except PermissionError:
            folder = None
        print(json.dumps([
            pid, os.getsid(pid), folder,
            *[line.split()[1] for line in text.splitlines() if line[:6] in ("SigIgn", "SigBlk")],
        ]))
        slot.close()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    pid, session, folder, blocked, ignored = json.loads(done.stdout)
    assert session == pid
    assert int(blocked, 16) == 0
    # The two that Python ignores; above 31 lie signals that libc uses inside.
    python_ignores = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    assert int(ignored, 16) & 0x7FFF_FFFF & ~python_ignores == 0
    if folder is None:
        pytest.skip("its folder may be looked at by a root only that may trace processes")
    assert folder == "/"


def test_rule_9_a_trainer_that_ignores_its_children_is_served(
    run_with_settings: Callable[..., dict[str, Any]],
) -> None:
    settings = {"ignored_signals": ["SIGCHLD", "SIGINT", "SIGPIPE"]}
    answer = run_with_settings(settings, [{"id": "a", "program": "print(1)"}])
    assert answer["outcomes"]["a"]["exit"] == 0
    assert answer["harm"] == []


def test_rule_9_a_program_has_the_signal_handlers_of_a_fresh_interpreter(slot: Slot) -> None:
    program = """
        import json, signal
        print(json.dumps([
            n.name for n in signal.Signals
            if signal.getsignal(n) not in (signal.SIG_DFL, None)
        ]), flush=True)
    """
    # A shell's background jobs, these tests perhaps among them, have some signals ignored.
    fresh = f"""
        import os, signal, sys
        for name in ("SIGHUP", "SIGINT", "SIGQUIT"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-c", {textwrap.dedent(program)!r}])
    """
    plain = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(fresh)],
        capture_output=True,
        check=True,
    )
    assert said(slot, program) == json.loads(plain.stdout)


def test_rule_9_a_zygote_ends_when_its_socket_does() -> None:
    slot = new_slot()
    zygote = slot.start()
    zygote.socket.shutdown(socket.SHUT_RDWR)
    until(lambda: not Path(f"/proc/{zygote.pid}").exists() or state(zygote.pid) == "Z")
    slot.close()


def test_rule_9_a_zygote_survives_an_interrupt_and_the_thread_that_started_it() -> None:
    program = """
        import os, signal, threading
        from corecode_env.executor import isolation
        from corecode_env.executor.slot import Run, Slot, sealed
        from corecode_env.executor.start import ZygoteSettings
        fields, paths = isolation.floor_fields(())
        slot = Slot(ZygoteSettings(floor=fields, paths=paths))
        starter = threading.Thread(target=slot.start)
        starter.start()
        starter.join()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        pid = slot.start().pid
        os.killpg(0, signal.SIGINT)
        outcome = slot.run(Run(sealed(bytes(8) + b"print(1)")))
        print(outcome.stdout, slot.start().pid == pid)
        slot.close()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "b'1\\n' True\n"


def test_rule_9_a_program_dies_with_its_zygote() -> None:
    with_zygote = new_slot()
    try:
        process = start(with_zygote, "import time\ntime.sleep(30)", Limits(wall_seconds=30.0))
        zygote = with_zygote.start().pid
        pid = until(lambda: next(iter(children_of(zygote)), 0))
        until(lambda: int(status(pid)["Seccomp_filters"]) >= 2)
        os.kill(zygote, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{pid}").exists())
        process.close()
    finally:
        with_zygote.close()


# ------------------------------------------------------------------- rule 10: files
@functools.cache
def installed_files() -> list[str]:
    """Files of installed packages, which hold other people's code and tests."""
    folders = {Path(p) for p in sys.path if Path(p).name in readable.PACKAGE_FOLDERS}
    folders |= set(Path(sys.base_prefix).glob("lib/python*/*-packages"))
    folders |= set(Path("/usr/lib").glob("python*/*-packages"))
    files = [f for folder in sorted(folders) for f in islice(folder.glob("**/*.*"), 500)]
    return [str(file) for file in files if file.is_file()]


OPEN_ALL = """
    import json
    opened = []
    for name in {names!r}:
        try:
            open(name, 'rb').close()
        except OSError:
            continue
        opened.append(name)
    print(json.dumps(opened))
"""


def test_rule_10_no_file_of_an_installed_package_can_be_opened(slot: Slot) -> None:
    names = installed_files()
    assert len(names) > 100
    assert said(slot, OPEN_ALL.format(names=names)) == []


@pytest.mark.parametrize("stack", ["whole", "without_namespaces", "without_landlock"])
def test_rule_10_a_named_package_can_be_read_and_its_neighbours_not(stack: str) -> None:
    slot = new_slot(("numpy",), **STACKS[stack])
    folder = Path(np.__file__).parent
    own = [str(file) for file in sorted(folder.glob("*/*.py"))[:20]]
    others = [n for n in installed_files() if "/numpy" not in n]
    try:
        if slot.start().ready["layers"]["no_paths"] == "on":
            own = []  # where nothing else confines it, a program can open no path at all
        assert said(slot, OPEN_ALL.format(names=own)) == own
        assert said(slot, OPEN_ALL.format(names=others)) == []
        program = "import numpy, json, numpy.fft\nprint(json.dumps(numpy.arange(3).tolist()))"
        assert said(slot, program) == [0, 1, 2]
    finally:
        slot.close()


def test_rule_10_every_module_of_the_standard_library_can_be_found(slot: Slot) -> None:
    if slot.start().ready["layers"]["no_paths"] == "on":
        pytest.skip("there modules are loaded beforehand, not found")
    names = sorted(sys.stdlib_module_names - set(sys.builtin_module_names))
    program = f"""
        import importlib.util, json
        print(json.dumps([n for n in {names!r} if importlib.util.find_spec(n) is None]))
    """
    missing_here = [name for name in names if importlib.util.find_spec(name) is None]
    assert said(slot, program) == missing_here


@pytest.mark.parametrize("name", ["asyncio", "sqlite3", "ssl", "ctypes", "zoneinfo", "email"])
def test_rule_10_modules_with_shared_libraries_can_be_imported(slot: Slot, name: str) -> None:
    assert run(slot, f"import {name}\nprint({name}.__name__)").stdout == f"{name}\n".encode()


def test_rule_10_file_metadata_is_hidden_by_a_private_root_only() -> None:
    program = """
        import json, os
        def size(path):
            try: return os.stat(path).st_size
            except OSError: return None
        print(json.dumps([size('/etc/passwd'), size('/etc'), size('/home')]))
    """
    hidden, plain = new_slot(), new_slot(namespaces=False)
    try:
        if hidden.start().ready["layers"]["private_root"] != "on":
            pytest.skip("this machine gives no private root")
        seen = said(hidden, program)
        assert (seen[0], seen[2]) == (None, None)
        # Landlock decides about contents; what may be looked up is a namespace's business.
        assert said(plain, program)[0] == os.stat("/etc/passwd").st_size
    finally:
        hidden.close()
        plain.close()


def test_what_may_be_read_leads_to_no_package_folder() -> None:
    paths = readable.files()
    library = Path(json.__file__).resolve()
    assert any(library.is_relative_to(path) for path in paths)
    for path in map(Path, paths):
        assert not set(path.parts) & readable.PACKAGE_FOLDERS
        if path.is_dir():
            assert not [f for f in path.iterdir() if f.name in readable.PACKAGE_FOLDERS]
    assert "/" not in paths and "/usr/lib" not in paths and "/etc" not in paths


MOVED = """
import sys, sysconfig
sys.path.insert(0, sys.argv[1])
import floor_script
floor_script.stand_in_for_packages(sys.argv[1] + "/corecode_env")
from corecode_env.executor.inside import readable
sysconfig.get_config_vars().update(LIBDIR=sys.argv[2], MULTIARCH="")
print(readable.library_roots(), bool(readable.files([sys.argv[2]])))
"""


def test_an_interpreter_that_was_moved_from_a_closed_place_still_finds_its_library(
    readable_package: str, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    (closed / "lib").mkdir(parents=True)
    closed.chmod(0)
    user = NOBODY if ROOT else None
    arguments = [interpreter_for(user), "-I", "-c", MOVED, readable_package]
    done = subprocess.run(
        [*arguments, str(closed / "lib")],
        capture_output=True,
        text=True,
        cwd="/",
        user=user,
        group=user,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("True\n") and "closed" not in done.stdout


# ------------------------------------------------------------------ rule 11: limits
def test_rule_11_limits_hold_before_the_source_is_compiled(slot: Slot) -> None:
    limits = Limits(cpu_seconds=0.3, memory_bytes=2**28)
    slow = run(slot, "x = [\n" + "(lambda a, b: a + b)(1, 2),\n" * 200_000 + "]", limits)
    assert not slow.started
    assert slow.cpu_seconds < 0.6
    wide = run(slot, "x = [" + "1.5, " * 400_000 + "]", Limits(memory_bytes=2**24))
    assert not wide.started
    assert wide.peak_bytes < 2**26


def test_rule_11_every_limit_is_set(slot: Slot) -> None:
    program = """
        import json, resource
        print(json.dumps({
            name: resource.getrlimit(getattr(resource, name))
            for name in dir(resource) if name.startswith('RLIMIT_')
        }))
    """
    limits = said(slot, program)
    hard = {name: value[1] for name, value in limits.items()}
    assert hard["RLIMIT_CORE"] == hard["RLIMIT_MEMLOCK"] == hard["RLIMIT_MSGQUEUE"] == 0
    assert hard["RLIMIT_NICE"] == hard["RLIMIT_RTPRIO"] == 0
    assert hard["RLIMIT_NOFILE"] == 32
    assert hard["RLIMIT_FSIZE"] == 2**24
    # Both count from what the bare interpreter has.
    assert Limits().memory_bytes < hard["RLIMIT_DATA"] < 1.2 * Limits().memory_bytes
    assert Limits().memory_bytes < hard["RLIMIT_AS"] < 2 * Limits().memory_bytes
    assert limits["RLIMIT_CPU"] == [6, 7]
    assert hard["RLIMIT_SIGPENDING"] == 64
    assert 0 < hard["RLIMIT_STACK"] <= Limits().memory_bytes
    counted = slot.start().ready["layers"]["process_limit"] == "on"
    assert (hard["RLIMIT_NPROC"] == 64) is counted


def test_rule_11_a_program_has_no_capability_and_no_way_to_get_one(slot: Slot) -> None:
    with sleeper(slot) as pid:
        seen = status(pid)
    names = ("CapInh", "CapPrm", "CapEff", "CapAmb")
    assert [seen[name] for name in names] == [NO_CAPABILITY] * 4
    assert seen["NoNewPrivs"] == "1"


@pytest.mark.skipif(not ROOT, reason="only root can give a user of its own")
def test_rule_11_every_slot_of_root_has_a_user_of_its_own(slot: Slot) -> None:
    other = new_slot()
    try:
        with sleeper(slot) as first, sleeper(other) as second:
            users = [status(pid)["Uid"].split()[:3] for pid in (first, second)]
            groups = [status(pid)["Gid"].split() for pid in (first, second)]
            extra = [status(pid)["Groups"] for pid in (first, second)]
    finally:
        other.close()
    assert len({user for each in users for user in each}) == 2
    assert not {"0"} & {number for each in (*users, *groups) for number in each}
    assert extra == ["", ""]


@pytest.mark.skipif(not ROOT, reason="only root has more to give away")
def test_rule_11_root_without_a_user_to_give_reaches_L1_only() -> None:
    fields, paths = isolation.floor_fields(())
    floor = {**fields, "private_uid": None}
    report = isolation.measure_isolation(lambda: ZygoteSettings(floor=floor, paths=paths))
    assert report.level == "L1"
    assert "not_root" in report.missing()
    assert "docker run --user" in isolation.ways_out(report)["not_root"]


def test_rule_11_a_program_is_the_first_to_go_when_memory_ends(slot: Slot) -> None:
    with sleeper(slot) as pid:
        assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"


# ------------------------------------------------- rule 12: what must still work
STILL_WORKS = {
    "asyncio": """
        import asyncio
        async def main():
            await asyncio.sleep(0.01)
            return await asyncio.gather(*[asyncio.sleep(0, n) for n in range(3)])
        print(asyncio.run(main()))
    """,
    "asyncio_threads": """
        import asyncio
        print(asyncio.run(asyncio.to_thread(lambda: 5)))
    """,
    "null": """
        print(open('/dev/null', 'w').write('x'), open('/dev/null').read())
    """,
    "urandom": """
        print(len(open('/dev/urandom', 'rb').read(8)), len(__import__('os').urandom(8)))
    """,
    "thread_pool": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(4) as pool: print(sum(pool.map(abs, [-1, -2])))
    """,
    "socketpair": """
        import socket
        a, b = socket.socketpair()
        a.sendall(b'x'); a.setblocking(False); print(b.recv(9), a.getsockname())
    """,
    "selectors": """
        import os, selectors
        r, w = os.pipe(); s = selectors.DefaultSelector(); s.register(r, 1); os.write(w, b'x')
        print(len(s.select(1)))
    """,
    "dup": """
        import os
        d = os.dup(1); os.set_inheritable(d, True); os.dup2(d, 9); os.write(9, b'dup'); os.close(9)
    """,
    "clocks": """
        import time
        for name in ('REALTIME', 'MONOTONIC', 'PROCESS_CPUTIME_ID', 'THREAD_CPUTIME_ID', 'BOOTTIME'):
            number = getattr(time, 'CLOCK_' + name)
            print(time.clock_gettime(number) > 0, time.clock_getres(number) > 0)
        time.sleep(0.001)
    """,
    "signals": """
        import os, signal
        signal.signal(signal.SIGUSR1, lambda *a: print('got it'))
        signal.raise_signal(signal.SIGUSR1); os.kill(os.getpid(), signal.SIGUSR1)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        signal.signal(signal.SIGALRM, lambda *a: print('alarm'))
        signal.pause()
    """,
    "memory_map": """
        import mmap
        m = mmap.mmap(-1, 8192); m.write(b'abc'); print(m[:3]); m.close()
    """,
    "fstat": "import os, stat; print(stat.S_ISFIFO(os.fstat(1).st_mode), os.fstat(2).st_size)",
    "random": "import random; print(len(str(random.SystemRandom().random())) > 2)",
    "isatty": "import sys; print(sys.stdout.isatty(), sys.stdin.isatty())",
    "local_time": "import time; print(time.localtime(0).tm_year, len(time.tzname))",
    "ctypes_callback": """
        import ctypes
        f = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n + 1); print(f(1))
    """,
}


@pytest.mark.parametrize("name", STILL_WORKS)
def test_rule_12_what_programs_need_works(slot: Slot, name: str) -> None:
    layers = slot.start().ready["layers"]
    if layers["no_paths"] == "on" and name in ("null", "urandom"):
        pytest.skip("there no path can be opened")
    program = textwrap.dedent(STILL_WORKS[name])
    plain = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    outcome = run(slot, program)
    assert (outcome.stdout, outcome.stderr, outcome.exit) == (plain.stdout, b"", 0)


def test_rule_12_the_filter_does_not_slow_speculation_down(slot: Slot) -> None:
    with sleeper(slot) as pid:
        assert "force mitigated" not in status(pid).get("Speculation_Store_Bypass", "")


# -------------------------------------------------------------------- namespaces
def test_programs_share_no_namespace_with_the_trainer() -> None:
    slot = new_slot()
    try:
        layers = slot.start().ready["layers"]
        with sleeper(slot) as pid:
            for layer, kind in (
                ("network_namespace", "net"),
                ("ipc_namespace", "ipc"),
                ("private_root", "mnt"),
            ):
                if layers[layer] == "on":
                    own = os.readlink(f"/proc/self/ns/{kind}")
                    assert os.readlink(f"/proc/{pid}/ns/{kind}") != own
    finally:
        slot.close()


def test_a_private_root_holds_the_readable_files_only_and_cannot_be_written() -> None:
    slot = new_slot()
    try:
        if slot.start().ready["layers"]["private_root"] != "on":
            pytest.skip("this machine gives no private root")
        with sleeper(slot) as pid:
            top = sorted(os.listdir(f"/proc/{pid}/root"))
            assert not {"home", "tmp", "var", "boot", "run"} & set(top)
            mounts = Path(f"/proc/{pid}/mounts").read_text().splitlines()
            writable = [m.split()[1] for m in mounts if "rw" in m.split()[3].split(",")]
            assert {w for w in writable if not w.startswith(("/dev/", "/proc"))} == set()
        assert Path("/sys/kernel").exists(), "the trainer's own root is as it was"
    finally:
        slot.close()


def test_a_switched_off_layer_says_so() -> None:
    slot = new_slot(disabled=["landlock", "cpu_timer"])
    try:
        layers = slot.start().ready["layers"]
        assert layers["landlock"] == layers["cpu_timer"] == "switched off"
    finally:
        slot.close()


def test_without_a_cpu_timer_the_whole_seconds_limit_still_ends_a_loop() -> None:
    slot = new_slot(disabled=["cpu_timer"])
    try:
        outcome = run(slot, "while True: pass", Limits(cpu_seconds=0.1, wall_seconds=20.0))
        assert outcome.signal in (signal.SIGXCPU, signal.SIGKILL)
        assert outcome.cpu_seconds < 4.0
    finally:
        slot.close()


def test_the_trainers_own_limits_are_untouched() -> None:
    before = [
        resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n[:7] == "RLIMIT_"
    ]
    slot = new_slot()
    run(slot, "print(1)")
    slot.close()
    after = [
        resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n[:7] == "RLIMIT_"
    ]
    assert after == before
