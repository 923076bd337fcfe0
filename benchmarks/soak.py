"""A long run of mixed programs, with warm processes killed at random: is all as before?

    python benchmarks/soak.py [--programs 50000] [--workers 2] [--kill-every 250] [--seed 0]

The programs come from a stream, over every verdict that a program can get; each job's
right answer is its own number, so that a result given to the wrong job shows. After every
`--kill-every` results on average a warm process, whichever it is and whatever it does, is
killed. Afterwards descriptors, processes and files must be what they were, memory must
not have grown, and every job must have been answered once, with its own verdict.

Prints what was found; the exit status is 1 if anything is not as it should be. A job
whose process is killed twice is answered SE, which is right: `--kill-every` says how rare
that is.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import platform
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from corecode_env.core.seams import Job
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
from corecode_env.executor import LocalExecutor
from corecode_env.executor.inside.namespaces import GUARD

LIMITS = Limits(cpu_seconds=0.2, wall_seconds=0.6, memory_bytes=64 * 2**20, output_bytes=2**14)
PATIENT = Limits(
    cpu_seconds=2.0, wall_seconds=60.0, memory_bytes=64 * 2**20, output_bytes=2**14
)
# A system call of the 32-bit table, which the filter answers by ending the process.
OTHER_TABLE = """\
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(b"\\xb8\\x02\\x00\\x00\\x00\\xcd\\x80\\xc3")
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
"""
LITTER = """\
import os
for folder in ("/tmp", "/dev/shm", "/var/tmp", "/", "."):
    try:
        open(os.path.join(folder, "corecode-soak-litter"), "w").close()
    except OSError:
        pass
print(input())
"""
PRINTING: list[tuple[str, str, float]] = [
    ("print(input())", "AC", 40),
    ("import numpy; print(input())", "AC", 4),
    (LITTER, "AC", 3),
    ("print(1 + int(input()))", "WA", 10),
    ("print(); print(input())", "PE", 3),
    ("1 / 0", "RE", 8),
    ("import os, signal; os.kill(os.getpid(), 9)", "RE", 2),
    ("import ctypes; ctypes.string_at(0)", "RE", 3),
    ("print(", "CE", 8),
    ("while True: pass", "TLE", 1),
    ("import time; time.sleep(60)", "ILE", 0.5),
    ("x = [bytes(2**20 + i) for i in range(10**4)]", "MLE", 2),
    ("while True: print('x' * 999)", "OLE", 3),
    (OTHER_TABLE, "SV", 2 if platform.machine() == "x86_64" else 0),
]
"""Program, its verdict, how often it comes: each is given a number of its job and should print
it."""
CALLED: list[tuple[str, str, float]] = [
    ("def f(n): return n + 1", "AC", 10),
    ("def f(n): return n", "WA", 4),
    ("def f(n): raise ValueError", "RE", 4),
    ("def f(n): import os; os._exit(0)", "RE", 3),
    ("def f(n", "CE", 2),
    ("def f(n): return [n] * 10**9", "MLE", 2),
    ("def f(n):\n    while True: pass", "TLE", 0.5),
]
UNCALLED: tuple[str, str, float] = ("def f(n): return n + 1", "NOCALL", 2)
SHORT = ("TLE", "ILE")
"""Verdicts of programs that use up their time: they get little of it, and all others
plenty, so that no busy machine changes a verdict."""


@dataclass
class Figures:
    """What a run showed."""

    programs: int
    seconds: float = 0.0
    kills: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    """Jobs that were not answered."""
    twice: int = 0
    """Answers to a job that had one already, or under the name of another."""
    sandbox_failed: int = 0
    """Jobs answered SE; each takes two kills."""
    wrong: list[str] = field(default_factory=list)
    """Other answers than the program's own verdict; the first ten."""
    descriptors: tuple[int, int] = (0, 0)
    """Before the executor was made and after it was closed."""
    processes_left: int = 0
    files_left: list[str] = field(default_factory=list)
    own_megabytes: tuple[float, float] = (0.0, 0.0)
    """Memory of this process after a tenth of the run, and at its end."""
    warm_megabytes: tuple[float, float] = (0.0, 0.0)
    """Memory of the largest warm process at the same times."""

    def complaints(self) -> list[str]:
        """Return what is not as it should be."""
        found = [f"wrong: {answer}" for answer in self.wrong]
        if self.lost or self.twice:
            found.append(f"{self.lost} jobs unanswered, {self.twice} answered twice")
        if self.sandbox_failed > self.kills // 2:
            found.append(f"{self.sandbox_failed} failures of the sandbox, {self.kills} kills")
        if self.descriptors[0] != self.descriptors[1]:
            found.append(f"descriptors: {self.descriptors}")
        if self.processes_left:
            found.append(f"{self.processes_left} processes are left")
        found += [f"file {name} is left" for name in self.files_left]
        for name in ("own_megabytes", "warm_megabytes"):
            early, late = getattr(self, name)
            if late > early + GROWTH_MEGABYTES:
                found.append(f"{name} grew from {early:.1f} to {late:.1f}")
        return found


GROWTH_MEGABYTES = 16.0
"""What an allocator's whims may add; a leak of 1 KB a program shows in a run of 20,000."""


# ----------------------------------------------------------------------------- programs
def job(number: int, dice: random.Random) -> tuple[Job, str]:
    """Return a job and its verdict."""
    test: Test
    if dice.random() < 0.7:
        program, verdict, _ = _pick(PRINTING, dice)
        # Right is the number; a program that puts it on a second line is nearly so. Tasks of
        # several tests take another way through the sandbox.
        count = 1 if verdict in SHORT else dice.choice((1, 1, 1, 4))
        tests = tuple(
            StdioTest(f"{10 * number + n}\n", f"{10 * number + n}") for n in range(count)
        )
        checker = Checker("lines", {"presentation_error": True})
        task = Task(str(number), "", Stdio(), hidden_tests=tests, checker=checker)
    else:
        program, verdict, _ = _pick([*CALLED, UNCALLED], dice)
        test = CallTest((number,), {}, number + 1)
        if verdict == "NOCALL":
            test = AssertTest("assert True")
        elif dice.random() < 0.5:
            test = AssertTest(f"assert f({number}) == {number + 1}")
        task = Task(str(number), "", Function("f"), hidden_tests=(test,))
    return (task.with_limits(LIMITS if verdict in SHORT else PATIENT), program), verdict


def _pick(
    programs: list[tuple[str, str, float]], dice: random.Random
) -> tuple[str, str, float]:
    return dice.choices(programs, [weight for *_, weight in programs])[0]


# ------------------------------------------------------------------------------ looking
def descriptors() -> int:
    """Return how many descriptors are open here."""
    return len(os.listdir("/proc/self/fd"))


def children(of: int | None = None) -> set[int]:
    """Return the living children of a process, this one if none is named."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == (of or os.getpid()) and fields[0] != "Z":
                    found.add(int(entry.name))
    return found


def warm_processes() -> set[int]:
    """Return the processes that programs are forked from, and their guards."""
    found = children()
    for pid in tuple(found):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip().encode() == GUARD:
                found |= children(of=pid)
    return found


def megabytes(pid: int) -> float:
    """Return a process's resident memory; 0 if it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


def litter(folder: str) -> list[str]:
    """Return what lies where nothing should."""
    places = [Path(place) for place in ("/tmp", "/dev/shm", "/var/tmp", "/", ".")]
    named = [str(p / "corecode-soak-litter") for p in places]
    return [*(name for name in named if os.path.lexists(name)), *os.listdir(folder)]


def inherit_orphans() -> None:
    """Become the parent of whatever a killed process leaves behind, so that it is seen."""
    set_child_subreaper = 36
    ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1, 0, 0, 0)


def reap(seconds: float) -> int:
    """Reap what has ended; return how many children are left after some seconds."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                if time.monotonic() > deadline:
                    return len(children())
                time.sleep(0.02)
        except ChildProcessError:
            return 0


# --------------------------------------------------------------------------------- soak
class Killer:
    """Kills a warm process of this process now and then."""

    def __init__(self, every: int, dice: random.Random) -> None:
        """Kill after `every` results on average; 0: never."""
        self.every, self.dice, self.kills = every, dice, 0

    def one_more(self) -> None:
        """Tell of one result."""
        if self.every and self.dice.random() < 1 / self.every:
            # A moment later, so that it hits any phase of a job.
            threading.Timer(self.dice.random() * 0.02, self.kill).start()

    def kill(self) -> None:
        """Kill one of the warm processes."""
        warm = sorted(warm_processes())
        if warm:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.dice.choice(warm), signal.SIGKILL)
                self.kills += 1


def soak(programs: int, workers: int, kill_every: int, seed: int) -> Figures:
    """Run and look."""
    figures, began = Figures(programs), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="corecode-soak-") as folder:
        os.chmod(folder, 0o755)
        tempfile.tempdir = folder
        inherit_orphans()
        opened = descriptors()
        _run(figures, workers, kill_every, seed)
        figures.processes_left = reap(10.0)
        figures.descriptors = (opened, descriptors())
        figures.files_left = litter(folder)
        tempfile.tempdir = None
    figures.seconds = time.monotonic() - began
    return figures


def _run(figures: Figures, workers: int, kill_every: int, seed: int) -> None:
    expected: dict[int, str] = {}
    answered: Counter[int] = Counter()
    verdicts: Counter[str] = Counter()
    killer = Killer(kill_every, random.Random(seed + 1))

    def jobs() -> Iterator[Job]:
        dice = random.Random(seed)
        for number in range(figures.programs):
            made, expected[number] = job(number, dice)
            yield made

    with LocalExecutor(workers) as executor:
        done, early = 0, _memory()
        for index, judgement in executor.as_completed(jobs()):
            answered[index] += 1
            figures.twice += judgement.task_id != str(index)
            found, right = judgement.verdict.value, expected.pop(index, "none")
            verdicts[found] += 1
            if found == "SE":
                figures.sandbox_failed += 1
            elif found != right and len(figures.wrong) < 10:
                figures.wrong.append(f"job {index} is {right}, was judged {found}")
            done += 1
            if done == max(1, figures.programs // 10):
                early = _memory()
            killer.one_more()
        late = _memory()
    figures.kills, figures.verdicts = killer.kills, dict(sorted(verdicts.items()))
    figures.lost = figures.programs - len(answered)
    figures.twice += sum(count - 1 for count in answered.values())
    figures.own_megabytes = (early[0], late[0])
    figures.warm_megabytes = (early[1], late[1])


def _memory() -> tuple[float, float]:
    warm = [megabytes(pid) for pid in warm_processes()]
    return megabytes(os.getpid()), max(warm, default=0.0)


def report(figures: Figures) -> str:
    """Return the figures for people."""
    rate = figures.programs / figures.seconds
    lines = {
        "programs": f"{figures.programs} in {figures.seconds:.0f} s, {rate:.0f} a second",
        "verdicts": ", ".join(f"{count} {name}" for name, count in figures.verdicts.items()),
        "kills": f"{figures.kills}; jobs that were killed twice: {figures.sandbox_failed}",
        "unanswered, twice": f"{figures.lost}, {figures.twice}",
        "wrong": len(figures.wrong),
        "descriptors": "{} before, {} after".format(*figures.descriptors),
        "processes left": figures.processes_left,
        "files left": len(figures.files_left),
        "own memory": _growth(figures.own_megabytes),
        "warm processes": _growth(figures.warm_megabytes),
    }
    return "\n".join(f"{name:20}{found}" for name, found in lines.items())


def _growth(memory: tuple[float, float]) -> str:
    return "{:.1f} MB after a tenth, {:.1f} MB at the end".format(*memory)


def main() -> None:
    """Run, print, and say by the exit status whether all is well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--programs", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill-every", type=int, default=250, help="0: kill nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    if chosen.programs < 1:
        parser.error(f"--programs must be at least 1, got {chosen.programs}")
    figures = soak(chosen.programs, chosen.workers, chosen.kill_every, chosen.seed)
    complaints = figures.complaints()
    if chosen.json:
        print(json.dumps(asdict(figures)))
    else:
        print(report(figures))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
