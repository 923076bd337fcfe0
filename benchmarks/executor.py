"""What judging a program costs, beside the ways in which others run programs.

    python benchmarks/executor.py [--rounds 5] [--seconds 1.0] [--drivers 2] [--big-gb 2]

Methods take turns of equal length in every round, so that a busy machine slows all of
them; each turn is run by several driver processes at once. Prints programs per second and
CPU milliseconds per program (driver, helpers and kernel together), and how many times
faster `ours` is within a round: medians and quartiles over the rounds.

The others are re-created here from their published descriptions, without their code:
HumanEval (arXiv:2107.03374, section 2.3 and the `check_correctness` it published): a
process and a manager per sample, builtins disabled, an alarm; LiveCodeBench
(arXiv:2403.07974): the same, with the program wrapped into a function behind a mocked
standard input. `bare fork` is the physical limit: the same warm interpreter does nothing
but fork, end and wait.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from corecode_env.core.task import AssertTest, Function, Stdio, StdioTest, Task
from corecode_env.executor import LocalExecutor
from corecode_env.executor.start import PRELOAD

PLAIN = "a, b, c = map(int, input().split())\nprint(a + b * c)\n"
NUMPY = "import numpy as np\nprint(int(np.array(input().split(), dtype=int).sum()))\n"
SOLUTION = "def add(a, b):\n    return a + b\n"
CHECK = (
    "def check(candidate):\n    assert candidate(2, 3) == 5\n    assert candidate(0, 0) == 0\n"
    "    assert candidate(-1, 1) == 0\n    assert candidate(10, 5) == 15\n"
)
GIVEN = "1 2 3\n"
TESTS = 10
TICKS = os.sysconf("SC_CLK_TCK")

AIMS = {
    ("plain", "HumanEval's method"): 8.0,
    ("plain", "LiveCodeBench's method"): 8.0,
    ("plain", "python -c"): 15.0,
    ("numpy", "python -c"): 50.0,
    ("asserts", "HumanEval's method"): 4.0,
    ("plain", "bare fork"): 0.6,
    ("ten tests", "bare fork"): 0.75,
    ("plain", "ours in a big trainer"): 1 / 1.1,
}
"""How many times faster than each we aim to be, at the lower quartile."""


# -------------------------------------------------------------------------- tasks
def stdio_task(output: str, count: int = 1) -> Task:
    """Return a task of some equal tests."""
    tests = tuple(StdioTest(GIVEN, output) for _ in range(count))
    return Task("benchmark", "", Stdio(), hidden_tests=tests)


ASSERTS = Task(
    "benchmark",
    "",
    Function("add"),
    hidden_tests=(AssertTest(CHECK + "check(add)"),),
)


class Ours:
    """This package's executor, with its whole floor on, one worker per driver."""

    def __init__(self) -> None:
        """Make the executor and its tasks."""
        self.executor = LocalExecutor(1)
        self.plain, self.numpy = stdio_task("7"), stdio_task("6")
        self.ten = stdio_task("7", TESTS)

    def judge(self, task: Task, program: str) -> int:
        """Judge a right program and return how often it ran."""
        judgement = self.executor.judge(task, program)
        if not judgement.passed:
            raise RuntimeError(f"the benchmark's program is right, got {judgement}")
        return len(judgement.results)


# ------------------------------------------------------------------ others' methods
DISABLED = (
    "kill system putenv remove removedirs rmdir fchdir setuid fork forkpty killpg rename "
    "renames truncate replace unlink fchmod fchown chmod chown chroot lchown getcwd chdir"
).split()


def disable_destructive_functions() -> None:
    """Set what could do harm to None, as those who run code in their own process do."""
    for name in DISABLED:
        setattr(os, name, None)
    subprocess.Popen = None  # type: ignore[assignment, misc]


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise an exception after some seconds, by an alarm."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.signal(signal.SIGALRM, stop)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def humaneval_child(program: str, given: str, result: Any) -> None:
    """Run a program in this process and say how it went."""
    kept = os.chdir, os.getcwd, os.rmdir, os.unlink
    with tempfile.TemporaryDirectory() as folder:
        home = os.getcwd()
        os.chdir(folder)
        disable_destructive_functions()
        printed = io.StringIO()
        try:
            with (
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
                time_limit(5.0),
            ):
                sys.stdin = io.StringIO(given)
                exec(program, {})
            result.append("passed")
        except BaseException as error:
            result.append(f"failed: {error}")
        os.chdir, os.getcwd, os.rmdir, os.unlink = kept
        os.chdir(home)


def humaneval(program: str, given: str) -> int:
    """One manager and one process per program, the verdict in a shared list."""
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        result = manager.list()
        process = context.Process(target=humaneval_child, args=(program, given, result))
        process.start()
        process.join(6.0)
        if process.is_alive():
            process.kill()
        if list(result) != ["passed"]:
            raise RuntimeError(f"got {list(result)}")
    return 1


LIBRARIES = (
    "string re datetime collections heapq bisect copy math random statistics itertools "
    "functools operator io sys json typing"
).split()
PRELUDE = "".join(f"from {name} import *\nimport {name}\n" for name in LIBRARIES)


def livecodebench_child(program: str, given: str, expected: str, result: Any) -> None:
    """Run a program as a function of a module and compare what it printed."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    disable_destructive_functions()
    body = "".join(f"    {line}\n" for line in program.splitlines())
    module = types.ModuleType("solution")
    exec(f"{PRELUDE}def wrapped():\n{body}", module.__dict__)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), time_limit(6.0):
        sys.stdin = io.StringIO(given)
        module.wrapped()
    result.append(printed.getvalue().strip() == expected)


def livecodebench(program: str, given: str, expected: str) -> int:
    """The same with the program wrapped into a function and its standard input mocked."""
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        result = manager.list()
        process = context.Process(
            target=livecodebench_child, args=(program, given, expected, result)
        )
        process.start()
        process.join(7.0)
        if process.is_alive():
            process.kill()
        if list(result) != [True]:
            raise RuntimeError(f"got {list(result)}")
    return 1


def cold_python(program: str, given: str) -> int:
    """A fresh interpreter per program."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return 1 if done.stdout else 0


# What a zygote has loaded for itself.
SUPPORT = ("site", "socket", "json", "ctypes", "select", "traceback", "tokenize")
FORKER = """
import os
os.register_at_fork = lambda **hooks: None  # as in a zygote
import gc, importlib, sys, time
for name in sys.argv[1].split(','):
    importlib.import_module(name)
gc.collect()
gc.freeze()
for line in sys.stdin:
    end = time.perf_counter() + float(line)
    count = 0
    while time.perf_counter() < end:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.wait4(child, 0)
        count += 1
    print(count, flush=True)
"""


class BareFork:
    """The warm interpreter of a zygote that only forks, ends and waits."""

    def __init__(self) -> None:
        """Start the interpreter."""
        self.process = subprocess.Popen(
            [sys.executable, "-s", "-S", "-P", "-c", FORKER, ",".join(PRELOAD + SUPPORT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"},
        )

    def turn(self, seconds: float) -> int:
        """Fork for some seconds and return how often."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


# ------------------------------------------------------------------------ drivers
def cpu_seconds() -> float:
    """Return CPU time of this process, of all below it, and of all that they waited for."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    below: dict[int, list[tuple[int, float]]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            seconds = sum(int(ticks) for ticks in fields[11:15]) / TICKS
            below.setdefault(int(fields[1]), []).append((int(entry.name), seconds))
    waiting = [os.getpid()]
    while waiting:
        for pid, seconds in below.get(waiting.pop(), ()):
            waiting.append(pid)
            total += seconds
    return total


def methods() -> dict[tuple[str, str], Callable[[], int]]:
    """Return every method that is called once per program, by task and name."""
    ours = Ours()
    return {
        ("plain", "ours"): lambda: ours.judge(ours.plain, PLAIN),
        ("plain", "HumanEval's method"): lambda: humaneval(PLAIN, GIVEN),
        ("plain", "LiveCodeBench's method"): lambda: livecodebench(PLAIN, GIVEN, "7"),
        ("plain", "python -c"): lambda: cold_python(PLAIN, GIVEN),
        ("numpy", "ours"): lambda: ours.judge(ours.numpy, NUMPY),
        ("numpy", "python -c"): lambda: cold_python(NUMPY, GIVEN),
        ("asserts", "ours"): lambda: ours.judge(ASSERTS, SOLUTION),
        ("asserts", "HumanEval's method"): lambda: humaneval(
            f"{SOLUTION}{CHECK}check(add)\n", ""
        ),
        ("ten tests", "ours"): lambda: ours.judge(ours.ten, PLAIN),
        ("plain", "ours in a big trainer"): lambda: ours.judge(ours.plain, PLAIN),
    }


def drive(orders: Connection, big_bytes: int) -> None:
    """Obey orders: a method's key and seconds; answer programs, seconds, CPU seconds."""
    known = methods()
    forker = BareFork()
    while (order := orders.recv()) is not None:
        key, seconds = order
        ballast = bytearray(0)
        if key[1] == "ours in a big trainer":
            ballast = bytearray(big_bytes)
            ballast[::4096] = b"x" * len(ballast[::4096])
        method = known.get(key)
        if method is not None:
            method()  # warm up
        orders.send("ready")
        orders.recv()
        count, cpu, began = 0, cpu_seconds(), time.perf_counter()
        if method is None:
            count = forker.turn(seconds)
        else:
            while time.perf_counter() - began < seconds:
                count += method()
        took = time.perf_counter() - began
        orders.send((count, took, cpu_seconds() - cpu))
        del ballast
    forker.process.kill()


@dataclass
class Reading:
    """What the rounds showed of one method."""

    rates: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)


def measure(
    drivers: list[Connection], rounds: int, seconds: float
) -> dict[tuple[str, str], Reading]:
    """Let all methods take turns and return their readings."""
    keys = [
        ("plain", "ours"),
        ("plain", "bare fork"),
        ("plain", "HumanEval's method"),
        ("plain", "LiveCodeBench's method"),
        ("plain", "python -c"),
        ("plain", "ours in a big trainer"),
        ("numpy", "ours"),
        ("numpy", "python -c"),
        ("asserts", "ours"),
        ("asserts", "HumanEval's method"),
        ("ten tests", "ours"),
        ("ten tests", "bare fork"),
    ]
    readings = {key: Reading() for key in keys}
    for number in range(rounds):
        for key in keys:
            _say(f"round {number + 1} of {rounds}: {': '.join(key)}")
            for driver in drivers:
                driver.send((key, seconds))
            for driver in drivers:
                driver.recv()
            for driver in drivers:
                driver.send("go")
            answers = [driver.recv() for driver in drivers]
            readings[key].rates.append(sum(count / took for count, took, _ in answers))
            programs = sum(count for count, _, _ in answers)
            cpu = sum(used for _, _, used in answers)
            readings[key].milliseconds.append(1000 * cpu / max(programs, 1))
    _say("")
    return readings


def _say(progress: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{progress:70}", end="\r", file=sys.stderr, flush=True)


# ------------------------------------------------------------------------- report
def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def report(readings: dict[tuple[str, str], Reading], isolation: str) -> str:
    """Return the table."""
    lines = [
        f"isolation {isolation}; load {os.getloadavg()[0]:.1f}; "
        f"Python {sys.version.split()[0]}",
        f"{'task':10}{'method':25}{'programs/s':>22}{'CPU ms':>8}"
        "   ours is so many times faster",
    ]
    for (task, method), reading in readings.items():
        low, middle, high = quartiles(reading.rates)
        rate = f"{middle:.0f} [{low:.0f}..{high:.0f}]"
        line = f"{task:10}{method:25}{rate:>22}{statistics.median(reading.milliseconds):8.2f}"
        if method != "ours":
            ours = readings[task, "ours"].rates
            ratios = [a / b for a, b in zip(ours, reading.rates, strict=True)]
            low, middle, high = quartiles(ratios)
            line += f"   {middle:.2f} [{low:.2f}..{high:.2f}]"
            aim = AIMS.get((task, method))
            if aim is not None and method == "ours in a big trainer":
                line += (
                    f"   aim: at most {1 / aim:.2f}: {'met' if high <= 1 / aim else 'missed'}"
                )
            elif aim is not None:
                line += f"   aim {aim:g}: {'met' if low >= aim else 'missed'}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a turn")
    parser.add_argument("--drivers", type=int, default=2)
    parser.add_argument("--big-gb", type=float, default=2.0, help="memory of a big trainer")
    chosen = parser.parse_args()
    if chosen.rounds < 2:
        parser.error(f"--rounds must be at least 2, got {chosen.rounds}: there are quartiles")
    context = multiprocessing.get_context("spawn")
    drivers: list[Connection] = []
    processes = []
    for _ in range(chosen.drivers):
        ours, theirs = context.Pipe()
        big_bytes = int(chosen.big_gb * 2**30)
        process = context.Process(target=drive, args=(theirs, big_bytes))
        process.start()
        drivers.append(ours)
        processes.append(process)
    readings = measure(drivers, chosen.rounds, chosen.seconds)
    for driver in drivers:
        driver.send(None)
    for process in processes:
        process.join()
    with LocalExecutor(1) as executor:
        print(report(readings, executor.isolation().level))


if __name__ == "__main__":
    main()
