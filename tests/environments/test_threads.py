"""Environments may be stepped in threads over one executor."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

from corecode_env.core.episode import Episode
from corecode_env.core.task import Task
from corecode_env.environments import fork, planner_coder_v0
from corecode_env.environments.engine import TeamEnv

WORKERS = 8


class MeetingExecutor:
    """Holds the first programs until all of them wait: proof that steps run side by side."""

    def __init__(self, inner: Any, together: int) -> None:
        self.inner = inner
        self.barrier = threading.Barrier(together, timeout=20)
        self.lock = threading.Lock()
        self.to_hold = together

    def judge(self, task: Task, program: str) -> Any:
        with self.lock:
            self.to_hold -= 1
            hold = self.to_hold >= 0
        if hold:
            self.barrier.wait()
        with self.lock:
            return self.inner.judge(task, program)

    def map(self, jobs: Any) -> Any:
        return self.inner.map(jobs)

    def amap(self, jobs: Any) -> Any:
        return self.inner.amap(jobs)

    def close(self) -> None:
        pass


def test_threads_play_as_one_after_the_other_does(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    programs = [say.right, say.half, say.wrong, "noise"]

    def play(env: TeamEnv, seed: int) -> Episode:
        env.reset(seed=seed)
        while env.agents:
            done = env.terminations[env.agent_selection]
            turn = seed + len(env.episode.turns)
            env.step(None if done else programs[turn % len(programs)])
        return env.episode

    def env_over(judges: Any) -> TeamEnv:
        return planner_coder_v0.raw_env(
            tasks=tasks, executor=judges, max_cycles=2, stop="all", feedback="public"
        )

    alone = [play(env_over(executor), seed) for seed in range(WORKERS)]
    shared = MeetingExecutor(executor, WORKERS)
    envs = [env_over(shared) for _ in range(WORKERS)]
    with ThreadPoolExecutor(WORKERS) as pool:
        together = list(pool.map(play, envs, range(WORKERS)))
    assert together == alone


def test_forks_step_side_by_side(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    parent = planner_coder_v0.raw_env(tasks=tasks, executor=MeetingExecutor(executor, WORKERS))
    parent.reset(seed=0)
    parent.step("a plan")
    children = fork(parent, WORKERS)
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda child: child.step(say.right), children))
    assert all(child.judgement and child.judgement.passed for child in children)
