"""What an environment costs without its sandbox, beside one of PettingZoo's own.

    python benchmarks/env_overhead.py [--repeats 40]

Plays `rps_v2` and `planner_coder_v0` by turns in one process, and counts CPU time, so that a
busy machine does not change the ratio. Programs are judged by a constant, so that only the
environment itself is timed. A step is `last()` and `step()`, as in every AEC loop. Prints
microseconds and the ratio, each as median and quartiles over the repeats.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from corecode_env import make
from corecode_env.core.task import CallTest, Function, Task
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.executor.testing import InstantExecutor

AIM = 3.0
"""Times the cost of `rps_v2` that is aimed at."""
CYCLES = 15
EPISODES = 20

TASK = Task(
    id="overhead/1",
    statement="Given a list of integers, keep multiples of 3. Return the sum.",
    interface=Function("solve", "def solve(xs):"),
    public_tests=tuple(CallTest(([n, 3 * n],), {}, 3 * n) for n in (1, 2)),
    hidden_tests=tuple(CallTest(([n],), {}, n) for n in range(12)),
)
ANSWERS = {
    "planner_0": "1. keep multiples of 3\n2. return sum",
    "coder_0": "```python\ndef solve(xs):\n    return sum(xs)\n```\n",
}


WRONG = Judgement(
    TASK.id, tuple(TestResult(Verdict.WA, public=n < 2, note="got 7") for n in range(14))
)
"""Said of every program, so that all rounds are played."""


def ours() -> Any:
    """Make the environment that is measured."""
    executor = InstantExecutor(lambda task, program: WRONG)
    return make("planner_coder_v0", tasks=[TASK], executor=executor, max_cycles=CYCLES)


def rps() -> Any:
    """Make PettingZoo's rock, paper, scissors."""
    with warnings.catch_warnings():
        # PettingZoo 1.27 and pygame warn of their own dependencies when imported.
        warnings.simplefilter("ignore")
        from pettingzoo.classic.rps.rps import env
    return env(max_cycles=CYCLES)  # type: ignore[no-untyped-call]


def time_resets(env: Any) -> float:
    """Return the CPU seconds of one reset."""
    start = time.process_time()
    for seed in range(EPISODES * 10):
        env.reset(seed=seed)
    return (time.process_time() - start) / (EPISODES * 10)


def time_steps(env: Any, answer: Callable[[str], Any]) -> float:
    """Return the CPU seconds of one step of a live agent, with its `last()`."""
    seconds, steps = 0.0, 0
    for seed in range(EPISODES):
        env.reset(seed=seed)
        start = time.process_time()
        for agent in env.agent_iter():
            _, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                break
            env.step(answer(agent))
            steps += 1
        seconds += time.process_time() - start
    return seconds / steps


def quartiles(values: list[float], unit: float) -> str:
    """Return median and quartiles as text."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]) / unit
    return f"{middle:7.2f}  [{low:.2f}, {high:.2f}]"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Environment overhead beside rps_v2.")
    parser.add_argument("--repeats", type=int, default=40, help="default: 40")
    repeats = parser.parse_args().repeats
    mine, theirs = ours(), rps()
    measures: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
        "reset": (lambda: time_resets(mine), lambda: time_resets(theirs)),
        "step": (
            lambda: time_steps(mine, ANSWERS.__getitem__),
            lambda: time_steps(theirs, lambda agent: 1),
        ),
    }
    print(f"{repeats} repeats, median [quartiles]; microseconds, then the ratio")
    for name, (measure_mine, measure_theirs) in measures.items():
        pairs = [(measure_mine(), measure_theirs()) for _ in range(repeats)]
        own, other = ([pair[k] for pair in pairs] for k in (0, 1))
        ratios = [a / b for a, b in pairs]
        print(f"{name:6}  planner_coder_v0  {quartiles(own, 1e-6)}")
        print(f"{name:6}  rps_v2            {quartiles(other, 1e-6)}")
        met = "within" if float(np.median(ratios)) <= AIM else "above"
        print(
            f"{name:6}  ratio             {quartiles(ratios, 1.0)}  {met} the aim of {AIM:g}"
        )


if __name__ == "__main__":
    main()
