"""Play a fixed set of episodes in the real sandbox and print all that agents saw.

    python tests/environments/trace_episodes.py            the trace, as JSON lines
    python tests/environments/trace_episodes.py --digest   its SHA-256

Run by `test_determinism.py`, and by hand on another Python or machine: the digest must be
the same everywhere.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from typing import Any

from corecode_env.agents import make_agent
from corecode_env.core.names import role_of
from corecode_env.core.seams import Agent, Executor
from corecode_env.core.task import CallTest, Function, Limits, Stdio, StdioTest, Task
from corecode_env.environments import make, planner_coder_v0
from corecode_env.executor import LocalExecutor

ROUNDS = 3
SEED = 7
CODERS = ("reference", "faulty:off_by_one", "faulty:returns_none")

TASKS = (
    Task(
        "trace/total",
        "Return the sum of a list of integers.",
        Function("total", "def total(xs):"),
        public_tests=(CallTest(([1, 2],), {}, 3), CallTest(([],), {}, 0)),
        hidden_tests=(CallTest(([5, -5, 9],), {}, 9), CallTest(([2] * 9,), {}, 18)),
        reference_program=(
            "def total(xs):\n    n = 0\n    for i in range(0, len(xs)):\n"
            "        n = n + xs[i]\n    return n\n"
        ),
        reference_plan="1. start with 0\n2. add every number\n3. return the sum",
    ),
    Task(
        "trace/letters",
        "Return the letters that two words share, in order.",
        Function("shared", "def shared(a, b):"),
        # No public test: all rounds are played, whatever the program.
        hidden_tests=(
            CallTest(("plane", "panel"), {}, list("aelnp")),
            CallTest(("abc", "xyz"), {}, []),
            CallTest(("né", "é"), {}, ["é"]),
        ),
        reference_program="def shared(a, b):\n    return sorted(set(a) & set(b))\n",
        reference_plan="1. take the letters of both words\n2. put them in order",
    ),
    Task(
        "trace/count",
        "Read n, then print the numbers from 1 to n, one a line.",
        Stdio(),
        public_tests=(StdioTest("3\n", "1\n2\n3\n"),),
        hidden_tests=(StdioTest("1\n", "1\n"), StdioTest("5\n", "1\n2\n3\n4\n5\n")),
        limits=Limits(cpu_seconds=10.0),
        reference_program="n = int(input())\nfor i in range(1, n + 1):\n    print(i)\n",
        reference_plan="1. read n\n2. count from 1 to n and print",
    ),
)

TEAMS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("tree_search_v0", "pipelines/2/7", {"coder": "faulty:off_by_one"}),
    ("solvita_v0", "pipelines/2/stdio/7", {"solver": "faulty:corner_case"}),
    ("debug_team_v0", "pipelines/2/7", {"coder": "faulty:returns_none", "debugger": "random"}),
    ("retrieval_team_v0", "pipelines/2/7", {"coder": "faulty:off_by_one"}),
    ("helper_main_v0", "pipelines/3/7", {"main": "faulty:off_by_one"}),
)


def plain(info: dict[str, Any]) -> Any:
    """Return an info as JSON would give it back."""
    return json.loads(json.dumps(info))


def trace_aec(executor: Executor, coder: str, task: str) -> Iterator[Any]:
    """Yield all that an AEC loop sees."""
    env = planner_coder_v0.env(tasks=TASKS, executor=executor, max_cycles=ROUNDS, stop="all")
    return trace_loop(
        env, {"planner": make_agent("reference"), "coder": make_agent(coder)}, task
    )


def trace_loop(env: Any, agents: dict[str, Agent], task: str) -> Iterator[Any]:
    """Yield all that an AEC loop over an environment sees."""
    engine = env.unwrapped
    env.reset(seed=SEED, options={"task": task})
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        yield [agent, observation, reward, terminated, truncated, plain(info), env.state()]
        done = terminated or truncated
        request = engine.request(agent)
        yield request.seed
        answer = agents[request.role].act([request])[0]
        env.step(None if done else answer if isinstance(answer, str) else answer.text)
    yield episode_of(engine)


def trace_teams(executor: Executor) -> Iterator[list[Any]]:
    """Yield what loops over teams with acts of their own see: random streams, side runs."""
    for env_id, task, faults in TEAMS:
        env = make(env_id, tasks=task.rpartition("/")[0], executor=executor, max_cycles=ROUNDS)
        roles = dict.fromkeys(map(role_of, env.possible_agents), "reference") | faults
        agents = {role: make_agent(name) for role, name in roles.items()}
        yield [*trace_loop(env, agents, task)]


def trace_parallel(executor: Executor, coder: str, task: str) -> Iterator[Any]:
    """Yield all that a parallel loop sees."""
    env = planner_coder_v0.parallel_env(
        tasks=TASKS, executor=executor, max_cycles=ROUNDS, coder_sees="plan"
    )
    engine = env.unwrapped
    agents = {"planner": make_agent("reference"), "coder": make_agent(coder)}
    observations, infos = env.reset(seed=SEED, options={"task": task})
    yield [observations, plain(infos)]
    while env.agents:
        request = engine.request(str(env.active_agent))
        answer = agents[request.role].act([request])[0]
        step = env.step({request.agent: answer if isinstance(answer, str) else answer.text})
        yield [step[0], step[1], step[2], step[3], plain(step[4])]
    yield episode_of(engine)


def episode_of(engine: Any) -> Any:
    """Return the record without clock readings, gauges and versions."""
    record = engine.episode.to_json()
    del record["versions"]
    for turn in record["turns"]:
        if turn["judgement"] is not None:
            del turn["judgement"]["isolation"]
            for result in turn["judgement"]["results"]:
                for gauge in ("cpu_seconds", "wall_seconds", "peak_bytes"):
                    del result[gauge]
    return record


def trace(executor: Executor | None = None) -> list[Any]:
    """Return all episodes, one after the other."""
    if executor is None:
        with LocalExecutor(workers=1, min_isolation="L0") as own:
            return trace(own)
    pairs = [
        [*play(executor, coder, task.id)]
        for play in (trace_aec, trace_parallel)
        for coder in CODERS
        for task in TASKS
    ]
    return [*pairs, *trace_teams(executor)]


def digest_of(traced: list[Any]) -> str:
    """Return one short name for a whole trace."""
    return hashlib.sha256(json.dumps(traced, sort_keys=True).encode()).hexdigest()


if __name__ == "__main__":
    traced = trace()
    if "--digest" in sys.argv:
        print(digest_of(traced))
    else:
        for episode in traced:
            print(json.dumps(episode, sort_keys=True))
