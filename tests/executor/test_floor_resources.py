"""What a program cannot use up: faults R01 to R28, in a real slot.

Whatever a program does with time, memory, processes and output, it ends within its limits,
the numbers are the kernel's, and the next program finds everything as it should be.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.task import Limits
from corecode_env.executor import isolation
from corecode_env.executor.slot import Loop, Outcome, Process, Run, Slot, SlotDied, sealed
from corecode_env.executor.start import ZygoteSettings
from corecode_env.executor.verdicts import fault
from tests.executor.floor_script import children_of

SHORT = Limits(cpu_seconds=0.4, wall_seconds=8.0)
IDLE = Limits(cpu_seconds=0.4, wall_seconds=0.4)
SMALL = Limits(cpu_seconds=5.0, memory_bytes=100 * 2**20)


def new_slot(**floor: Any) -> Slot:
    fields, paths = isolation.floor_fields(())
    return Slot(ZygoteSettings(floor={**fields, **floor}, paths=paths))


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    slot = new_slot()
    yield slot
    slot.close()


def open_run(slot: Slot, program: str, limits: Limits, stdin: bytes = b"") -> Process:
    payload = sealed(bytes(8) + program.encode())
    try:
        return slot.open(Run(payload, stdin=stdin, limits=limits), Loop())
    finally:
        os.close(payload)


def run(slot: Slot, program: str, limits: Limits = SHORT, stdin: bytes = b"") -> Outcome:
    process = open_run(slot, program, limits, stdin)
    try:
        return process.outcome("")
    finally:
        process.close()


def verdict(slot: Slot, program: str, limits: Limits = SHORT) -> str | None:
    found = fault(run(slot, program, limits), limits)
    return found and found.value


def status_of(pid: int, field: str) -> str:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return value.strip()
    raise AssertionError(f"{field} is not there")


@pytest.fixture(autouse=True)
def next_program_is_served(slot: Slot) -> Iterator[None]:
    yield
    assert run(slot, "print(6 * 7)").stdout == b"42\n"
    assert children_of(slot.start().pid) == []


# ------------------------------------------------------------------- processes
def test_R01_a_fork_bomb_makes_no_process(slot: Slot) -> None:
    program = """
import os
made = 0
for make in (os.fork, os.forkpty, lambda: os.posix_spawn('/bin/true', ['true'], {})):
    for _ in range(100):
        try: make(); made += 1
        except OSError: pass
print(made)
"""
    assert run(slot, program).stdout == b"0\n"


def test_R02_no_daemon_outlives_its_program(slot: Slot) -> None:
    program = """
import os, subprocess, multiprocessing
for start in (
    lambda: os.fork() or os.setsid() or os.fork(),
    lambda: subprocess.Popen(['/bin/sleep', '60'], start_new_session=True),
    lambda: multiprocessing.Process(target=print).start(),
    lambda: os.system('sleep 60 &') and 1 / 0,
):
    try: start(); print('started')
    except (OSError, ZeroDivisionError): pass
"""
    assert run(slot, program).stdout == b""


def test_R03_output_that_a_grandchild_holds_is_not_waited_for() -> None:
    program = "import os, time\nif os.fork() == 0:\n    time.sleep(8)\nprint('parent')"
    open_slot = new_slot(disabled=["seccomp"], namespaces=False)
    try:
        began = time.monotonic()
        outcome = run(open_slot, program, Limits(wall_seconds=15.0))
        assert outcome.stdout == b"parent\n"
        assert time.monotonic() - began < 5.0
    finally:
        open_slot.close()


def test_R14_a_thread_bomb_stops_with_an_error_in_the_program(slot: Slot) -> None:
    program = """
import threading, time
count = 0
try:
    while count < 5000:
        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
        count += 1
except RuntimeError:
    print('refused', count < 1000)
"""
    assert run(slot, program, Limits(wall_seconds=20.0)).stdout == b"refused True\n"


def test_R23_the_filter_and_not_a_process_count_forbids_forks() -> None:
    uncounted = new_slot(disabled=["process_limit"])
    try:
        program = "import os\ntry: os.fork()\nexcept PermissionError as e: print(e.errno)"
        assert run(uncounted, program).stdout == b"1\n"
    finally:
        uncounted.close()


# ---------------------------------------------------------------------- memory
@pytest.mark.parametrize("step", [1 << 24, 1 << 16, 1000, 64, 33, 10, 1])
def test_R04_a_memory_bomb_ends_in_MLE(slot: Slot, step: int) -> None:
    program = f"kept = []\nwhile True: kept.append(bytearray({step}))"
    outcome = run(slot, program, SMALL)
    assert fault(outcome, SMALL) == "MLE"
    assert outcome.peak_bytes < 2 * SMALL.memory_bytes


@pytest.mark.parametrize(
    "program",
    [
        "import mmap\nkept = []\n"
        "while True:\n    m = mmap.mmap(-1, 1 << 24); m.write(bytes(1 << 24)); kept.append(m)",
        "import mmap\nkept = []\nwhile True:\n"
        "    m = mmap.mmap(-1, 1 << 24, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "    m.write(bytes(1 << 24)); kept.append(m)",
        "import os\nos.memfd_create('x')",
    ],
    ids=["shared", "private", "memfd"],
)
def test_R05_memory_by_other_ways_is_limited_too(slot: Slot, program: str) -> None:
    outcome = run(slot, program, SMALL)
    assert fault(outcome, SMALL) in ("MLE", "RE")
    assert outcome.peak_bytes < 2 * SMALL.memory_bytes


def test_R24_peak_memory_does_not_hold_the_trainers(slot: Slot) -> None:
    ballast = bytearray(os.urandom(1 << 20)) * 200
    fresh = new_slot()
    try:
        assert run(fresh, "pass").peak_bytes < 8 * 2**20
        hundred = run(fresh, "x = bytearray(100 << 20)\nx[::4096] = bytes(len(x[::4096]))")
        assert 99 * 2**20 < hundred.peak_bytes < 106 * 2**20
    finally:
        fresh.close()
        del ballast


# ---------------------------------------------------------------------- output
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("piece", [1, 1000, 1 << 20])
def test_R06_endless_output_is_cut_at_once(slot: Slot, stream: str, piece: int) -> None:
    limits = Limits(cpu_seconds=5.0, output_bytes=1 << 20)
    outcome = run(slot, f"import sys\nwhile True: sys.{stream}.write('x' * {piece})", limits)
    assert fault(outcome, limits) == "OLE"
    assert len(outcome.stdout) + len(outcome.stderr) <= 1 << 20
    assert outcome.wall_seconds < 4.0


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 1_000_000])
def test_R07_output_beyond_a_pipe_arrives_whole(slot: Slot, size: int) -> None:
    limits = Limits(cpu_seconds=5.0)
    assert run(slot, f"import os\nprint('x' * {size}, end='')", limits).stdout == b"x" * size


# ------------------------------------------------------------------------ time
ENDLESS = {
    "R08_loop": "while True: pass",
    "R08_except_everything": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "R08_finally": "while True:\n    try: 1 / 0\n    finally: continue",
    "R09_signals_ignored": "import signal\n"
    "for n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
    "while True: pass",
    "R09_signals_blocked": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass",
    "R09_timers_set": "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0)\n"
    "signal.signal(signal.SIGXCPU, lambda *a: None)\nsignal.alarm(0)\nwhile True: pass",
    "R10_regular_expression": "import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
    "R10_power": "10 ** (10 ** 9)",
    "R10_range_search": "(-1) in iter(range(10 ** 18))",
    "R13_thread": "import threading\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()",
    "R17_str_never_ends": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_program_without_end_is_stopped_by_its_cpu_limit(slot: Slot, name: str) -> None:
    outcome = run(slot, ENDLESS[name])
    assert fault(outcome, SHORT) == "TLE"
    assert SHORT.cpu_seconds - 0.02 < outcome.cpu_seconds < SHORT.cpu_seconds + 0.1


WAITING = {
    "R12_sleep": "import time\ntime.sleep(99)",
    "R12_deadlock": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "R12_pipe": "import os\nos.read(os.pipe()[0], 1)",
    "R12_signal": "import signal\nsignal.pause()",
    "R12_event_loop": "import asyncio\nasyncio.new_event_loop().run_forever()",
}


@pytest.mark.parametrize("name", WAITING)
def test_a_program_that_waits_for_ever_is_idle(slot: Slot, name: str) -> None:
    assert verdict(slot, WAITING[name], IDLE) == "ILE"


def test_R12_input_that_is_used_up_is_at_its_end(slot: Slot) -> None:
    program = "try:\n    while True: input()\nexcept EOFError: print('end')"
    assert run(slot, program, stdin=b"1\n2\n").stdout == b"end\n"


def test_R13_a_daemon_thread_ends_with_its_program(slot: Slot) -> None:
    program = (
        "import threading\n"
        "threading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()\n"
        "print(1)"
    )
    outcome = run(slot, program, Limits())
    assert (outcome.stdout, outcome.exit) == (b"1\n", 0)


def test_R20_sleeping_does_not_count_as_cpu_time(slot: Slot) -> None:
    limits = Limits(cpu_seconds=0.2, wall_seconds=8.0)
    outcome = run(slot, "import time\ntime.sleep(0.4)\nprint(1)", limits)
    assert fault(outcome, limits) is None
    assert outcome.cpu_seconds < 0.1


# --------------------------------------------------------------------- crashes
CRASHES = {
    "R15_null": ("import ctypes\nctypes.string_at(0)", signal.SIGSEGV),
    "R15_abort": ("import os\nos.abort()", signal.SIGABRT),
    "R15_illegal": ("import os, signal\nos.kill(os.getpid(), signal.SIGILL)", signal.SIGILL),
    "R15_terminated": ("import signal\nsignal.raise_signal(signal.SIGTERM)", signal.SIGTERM),
}


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_is_a_runtime_error_with_its_signal(slot: Slot, name: str) -> None:
    program, number = CRASHES[name]
    outcome = run(slot, program, Limits())
    assert (fault(outcome, Limits()), outcome.signal) == ("RE", number)


def test_R15_an_overflow_of_the_c_stack_ends_the_program_alone(slot: Slot) -> None:
    # The C library's own recursion: Python's is bounded by itself from 3.12 on.
    program = """
import ctypes
ctypes.CDLL(None).regcomp(ctypes.create_string_buffer(256), b"(" * 10**6, 1)
"""
    outcome = run(slot, program, SMALL)
    # The stack may grow to the memory limit, so it may be that which is found exceeded.
    assert fault(outcome, SMALL) in ("RE", "MLE")
    assert outcome.signal == signal.SIGSEGV


def test_R16_deep_recursion_works(slot: Slot) -> None:
    body = "def f(n): return n and 1 + f(n - 1)\n"
    alone = f"import sys\nsys.setrecursionlimit(10 ** 6)\n{body}print(f(10 ** 5))"
    thread = (
        "import sys, threading\nsys.setrecursionlimit(10 ** 6)\nthreading.stack_size(128 << 20)\n"
        f"{body}t = threading.Thread(target=lambda: print(f(10 ** 5)))\nt.start()\nt.join()"
    )
    assert run(slot, alone, Limits()).stdout == b"100000\n"
    assert run(slot, thread, Limits()).stdout == b"100000\n"


def test_R17_an_exception_that_cannot_be_printed_is_a_runtime_error(slot: Slot) -> None:
    program = "class E(Exception):\n    def __str__(self): raise ValueError\nraise E"
    outcome = run(slot, program)
    assert (fault(outcome, SHORT), outcome.exit) == ("RE", 1)


# --------------------------------------------------------------------- trainer
def test_R11_a_slot_works_in_a_thread_and_touches_no_signal_handler() -> None:
    handlers = {n: signal.getsignal(n) for n in signal.valid_signals()}
    outputs: list[bytes] = []

    def work() -> None:
        own = new_slot()
        outputs.append(run(own, "print(1)").stdout)
        outputs.append(run(own, "while True: pass").stdout)
        own.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert outputs == [b"1\n", b""]
    assert {n: signal.getsignal(n) for n in signal.valid_signals()} == handlers


def test_R18_killed_programs_are_reaped(slot: Slot) -> None:
    for _ in range(20):
        process = open_run(slot, "import time\ntime.sleep(9)", Limits())
        assert process.outcome("done").killed_by == "done"
        process.close()
    assert children_of(slot.start().pid) == []


def test_R19_programs_leave_no_descriptor_file_or_process(slot: Slot) -> None:
    run(slot, "print(1)")
    before = (len(os.listdir("/proc/self/fd")), len(children_of(os.getpid())))
    if os.geteuid() != 0:
        pytest.skip("only root may count the descriptors of a zygote")
    zygote = slot.start().pid
    own = len(os.listdir(f"/proc/{zygote}/fd"))
    for program in (
        "print(1)",
        "1 / 0",
        "(",
        "while True: print(1)",
        "import time; time.sleep(9)",
    ):
        for _ in range(3):
            run(slot, program, Limits(cpu_seconds=0.2, wall_seconds=0.3))
    assert (len(os.listdir("/proc/self/fd")), len(children_of(os.getpid()))) == before
    assert len(os.listdir(f"/proc/{zygote}/fd")) == own


def test_R21_a_big_trainer_with_threads_makes_no_big_zygote() -> None:
    ballast = bytearray(os.urandom(1 << 20)) * 200
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    fresh = new_slot()
    try:
        assert run(fresh, "print(1)").stdout == b"1\n"
        pid = fresh.start().pid
        assert int(status_of(pid, "VmRSS").split()[0]) * 1024 < 64 * 2**20
        assert status_of(pid, "Threads") == "1"
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        fresh.close()
        del ballast


def test_R22_limits_above_the_machines_are_clamped(
    run_with_settings: Callable[..., dict[str, Any]],
) -> None:
    hard = {
        "RLIMIT_CPU": 60,
        "RLIMIT_NOFILE": 200,
        "RLIMIT_FSIZE": 2**20,
        "RLIMIT_STACK": 2**24,
        "RLIMIT_DATA": 2**30,
        "RLIMIT_AS": 2**33,
        "RLIMIT_SIGPENDING": 100,
    }
    program = "import resource\nprint(resource.getrlimit(resource.RLIMIT_STACK)[1], 6 * 7)"
    generous = {"cpu_seconds": 500.0, "wall_seconds": 900.0, "memory_bytes": 2**36}
    runs = [{"id": "a", "program": program, **generous}]
    answer = run_with_settings({"hard_limits": hard}, runs)
    assert answer["outcomes"]["a"]["verdict"] is None, answer
    assert answer["outcomes"]["a"]["exit"] == 0


def test_R25_zygotes_start_while_other_threads_hold_every_lock() -> None:
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            bytearray(1 << 16)
            os.getenv("HOME")

    threads = [threading.Thread(target=churn) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            fresh = new_slot()
            assert run(fresh, "print(1)", Limits(wall_seconds=60.0)).stdout == b"1\n"
            fresh.close()
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_R26_a_kill_that_comes_late_does_not_hit_the_next_program(slot: Slot) -> None:
    for _ in range(10):
        assert run(slot, "print(1)").stdout == b"1\n"
        slot.interrupt()
        assert run(slot, "print(2)").stdout == b"2\n"


def test_R27_a_zygote_killed_in_the_middle_is_told_and_replaced() -> None:
    fresh = new_slot()
    try:
        process = open_run(fresh, "import time\ntime.sleep(9)", Limits())
        first = fresh.start().pid
        os.kill(first, signal.SIGKILL)
        with pytest.raises(SlotDied):
            process.outcome("")
        process.close()
        assert run(fresh, "print(1)").stdout == b"1\n"
        assert fresh.start().pid != first
    finally:
        fresh.close()


def test_R28_closing_takes_a_bounded_time_whatever_runs() -> None:
    fresh = new_slot()
    process = open_run(fresh, "import signal\nwhile True: signal.pause()", Limits())
    pid = fresh.start().pid
    began = time.monotonic()
    fresh.close()
    assert time.monotonic() - began < 5.0
    process.close()
    deadline = time.monotonic() + 5.0
    while children_of(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists() or status_of(pid, "State").startswith("Z")


def test_R28_an_interpreter_that_forgets_to_close_still_ends() -> None:
    program = (
        "from corecode_env.executor import isolation\n"
        "from corecode_env.executor.slot import Slot\n"
        "from corecode_env.executor.start import ZygoteSettings\n"
        "fields, paths = isolation.floor_fields(())\n"
        "slot = Slot(ZygoteSettings(floor=fields, paths=paths))\n"
        "print(slot.start().pid)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    pid = int(done.stdout)
    deadline = time.monotonic() + 5.0
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()
