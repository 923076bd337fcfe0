"""How repeatable are CPU time, wall time and memory? The same work again and again.

    python benchmarks/measures.py [--repeats 30] [--busy 0]

Programs of fixed work are judged one after the other, with `--busy` processes that do
nothing but use the machine beside them. Prints a table in Markdown: the median and the
spread, (largest - smallest) / median, of each measure.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from corecode_env.core.task import Limits, Stdio, StdioTest, Task
from corecode_env.core.verdict import TestResult
from corecode_env.executor import LocalExecutor

LIMITS = Limits(cpu_seconds=60.0, wall_seconds=600.0, memory_bytes=2**30)
LOOP = "x = 0\nfor i in range({count}):\n    x += i\n"
FILL = "x = bytearray({megabytes} * 2**20)\nx[::4096] = b'x' * len(x[::4096])\n"
WORK = {
    "nothing": "pass",
    "a short loop": LOOP.format(count=30_000),
    "a loop": LOOP.format(count=300_000),
    "a long loop": LOOP.format(count=3_000_000),
    "10 MB": FILL.format(megabytes=10),
    "100 MB": FILL.format(megabytes=100),
    "300 MB": FILL.format(megabytes=300),
    "100 MB, given back": FILL.format(megabytes=100) + "del x\n",
    "sleeps 0.1 s": "import time\ntime.sleep(0.1)\n",
}
MEASURES: dict[str, Callable[[TestResult], float]] = {
    "CPU ms": lambda result: 1000 * result.cpu_seconds,
    "wall ms": lambda result: 1000 * result.wall_seconds,
    "peak MB": lambda result: result.peak_bytes / 2**20,
}


def spin() -> None:
    """Use a core for ever."""
    while True:
        pass


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep some processes busy meanwhile."""
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(count)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.join()


def measure(executor: LocalExecutor, program: str, repeats: int) -> list[TestResult]:
    """Judge a program again and again."""
    test = StdioTest("", "")
    task = Task("measure", "", Stdio(), hidden_tests=(test,), limits=LIMITS)
    judgements = [executor.judge(task, program) for _ in range(repeats + 1)]
    if not all(judgement.passed for judgement in judgements):
        raise RuntimeError(f"the program is right, got {judgements}")
    return [judgement.results[0] for judgement in judgements[1:]]  # the first one warms up


def spread(values: list[float]) -> str:
    """Return the median, and in percent how far apart smallest and largest are."""
    median = statistics.median(values)
    if median < 0.05:
        return f"{median:.2f}"
    return f"{median:.2f} ± {100 * (max(values) - min(values)) / median / 2:.1f} %"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--busy", type=int, default=0, help="processes that use the machine")
    chosen = parser.parse_args()
    if chosen.repeats < 2:
        parser.error(f"--repeats must be at least 2, got {chosen.repeats}: there are spreads")
    with busy(chosen.busy), LocalExecutor(1) as executor:
        print(
            f"Python {sys.version.split()[0]}, {len(os.sched_getaffinity(0))} cores, "
            f"{chosen.busy} busy processes, load {os.getloadavg()[0]:.1f}, "
            f"{chosen.repeats} repeats; median ± half of the whole spread\n"
        )
        print(f"| work | {' | '.join(MEASURES)} |")
        print("|---" * (len(MEASURES) + 1) + "|")
        for name, program in WORK.items():
            results = measure(executor, program, chosen.repeats)
            cells = [spread([of(result) for result in results]) for of in MEASURES.values()]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
