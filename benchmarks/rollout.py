"""How fast many scripted environments are stepped: in threads, in a loop, in processes.

    python benchmarks/rollout.py [--envs 64] [--rounds 9] [--workers N]

Every environment is a `solo_coder_v0` that is given a right program at each step, so that each
step judges one program and ends an episode, and the next begins (`SameStep`). The ways take
turns in every round, so that a busy machine slows all of them:

* `executor.map`: the same programs on the same tasks, without environments: the most that an
  executor of so many workers can judge;
* `threads`: `make_vector`, over that executor;
* `plain loop`: one environment after the other, over that executor;
* `processes`: Gymnasium's AsyncVectorEnv, each worker process with an executor of its own;
  what it needs to start them is printed apart.

Prints programs per second, the part of the rate of `executor.map` in the same round, and the
CPU time of this process (without sandboxes and worker processes), which a busy machine changes
little: medians and quartiles over the rounds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from corecode_env.core.messages import fenced
from corecode_env.core.task import Task
from corecode_env.environments import make_vector
from corecode_env.environments.seat_env import make_seat
from corecode_env.executor import LocalExecutor
from corecode_env.tasks import TaskSet, load_tasks

AIM = 0.9
"""Part of the executor's own rate that is aimed at, in threads."""
ENV = "solo_coder_v0"
TASKS, TASK_COUNT = "pipelines/1", 256
SAME_STEP = "SameStep"


def answers(tasks: Any, ids: Any) -> tuple[str, ...]:
    """Return the right program of each task, as a Coder writes it."""
    return tuple(fenced(tasks.get(task_id).reference_program) for task_id in ids)


class Vector:
    """A vector environment that is told what is right."""

    def __init__(self, envs: Any, tasks: Any) -> None:
        """Start all episodes."""
        self.envs, self.tasks = envs, tasks
        _, infos = envs.reset(seed=0)
        self.ids = list(infos["task_id"])

    def judged(self) -> list[Task]:
        """Return the tasks of the next step."""
        return [self.tasks.get(task_id) for task_id in self.ids]

    def step(self) -> None:
        """Step all, and see that all programs were judged right."""
        _, _, terminated, _, infos = self.envs.step(answers(self.tasks, self.ids))
        if not terminated.all() or not infos["final_info"]["reward_terms"]["all_pass"].all():
            raise RuntimeError(f"the benchmark's programs are right, got {infos}")
        self.ids = list(infos["task_id"])


class Loop:
    """Seats that are stepped one after the other."""

    def __init__(self, count: int, tasks: Any, executor: LocalExecutor) -> None:
        """Start all episodes."""
        self.tasks = tasks
        self.envs = [make_seat(ENV, tasks=tasks, executor=executor) for _ in range(count)]
        self.ids = [env.reset(seed=i)[1]["task_id"] for i, env in enumerate(self.envs)]

    def step(self) -> None:
        """Step all, and start the episodes that follow."""
        for number, answer in enumerate(answers(self.tasks, self.ids)):
            _, _, terminated, _, info = self.envs[number].step(answer)
            if not terminated or not info["reward_terms"]["all_pass"]:
                raise RuntimeError(f"the benchmark's programs are right, got {info}")
            self.ids[number] = self.envs[number].reset()[1]["task_id"]


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Return how long something takes, in seconds of the clock and of this process's CPU."""
    start, own = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - own


def shown(values: list[float], digits: int) -> str:
    """Return median and quartiles as text."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--envs", type=int, default=64, help="default: 64")
    parser.add_argument("--rounds", type=int, default=9, help="default: 9")
    parser.add_argument("--workers", type=int, help="of the executor; default: one a core")
    chosen = parser.parse_args()
    # Made before anything is timed: a generated set makes a task when it is asked for it.
    tasks, count = TaskSet(load_tasks(TASKS).split("train").head(TASK_COUNT)), chosen.envs
    processes: list[Any] = []

    def start() -> None:
        envs = make_vector(ENV, count, mode="processes", tasks=tasks, autoreset_mode=SAME_STEP)
        processes.append(Vector(envs, tasks))
        processes[0].step()  # its sandboxes start with the first program

    started, _ = timed(start)
    with LocalExecutor(chosen.workers) as executor:
        envs = make_vector(
            ENV, count, executor=executor, tasks=tasks, autoreset_mode=SAME_STEP
        )
        threads, loop = Vector(envs, tasks), Loop(count, tasks, executor)

        def judge() -> None:
            jobs = [(task, task.reference_program or "") for task in threads.judged()]
            if not all(judgement.passed for judgement in executor.map(jobs)):
                raise RuntimeError("the benchmark's programs are right, got a wrong one")

        ways = {
            "executor.map": judge,
            "threads": threads.step,
            "plain loop": loop.step,
            "processes": processes[0].step,
        }
        for step in ways.values():
            step()  # warm
        rates: dict[str, list[float]] = {name: [] for name in ways}
        own: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(chosen.rounds):
            # There and back, so that a machine that gets busier favours nobody.
            for name in list(ways)[:: -1 if number % 2 else 1]:
                seconds, cpu_seconds = timed(ways[name])
                rates[name].append(count / seconds)
                own[name].append(1000 * cpu_seconds / count)
        envs.close()
        processes[0].envs.close()
    print(
        f"{count} environments, {chosen.rounds} rounds, {executor.workers} workers, "
        f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; "
        "median [quartiles]\n\n"
        "| way | programs per second | part of executor.map | own CPU ms |\n|---|---|---|---|"
    )
    best = rates["executor.map"]
    for name, values in rates.items():
        parts = [value / most for value, most in zip(values, best, strict=True)]
        cells = shown(values, 1), shown(parts, 2), shown(own[name], 2)
        print(f"| {name} | {' | '.join(cells)} |")
    parts = [value / most for value, most in zip(rates["threads"], best, strict=True)]
    met = "reached" if float(np.median(parts)) >= AIM else "missed"
    print(f"\nthreads: the aim of {AIM:g} is {met} by the median")
    print(f"processes: {started:.1f} s to start {count} of them and their sandboxes")


if __name__ == "__main__":
    main()
