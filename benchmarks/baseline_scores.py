"""Scores of simple agents, as the environments' pages show them.

    python benchmarks/baseline_scores.py [--episodes 100] [--tasks pipelines/1 pipelines/4]

Plays every environment on its default rewards with scripted agents in all seats and prints
a Markdown table: the mean return of each agent and the fraction of episodes whose last
program passed every test. Sampling is seeded; the sandbox is the real one.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

from corecode_env import LocalExecutor, make, play
from corecode_env.agents import make_agent
from corecode_env.environments import ENVIRONMENTS

AGENTS = ("reference", "faulty:off_by_one", "faulty:wrong_name", "random")


def score(env_id: str, tasks: str, agent: str, episodes: int, executor: LocalExecutor) -> str:
    """Return one row of the table."""
    env = make(env_id, tasks=tasks, executor=executor)
    returns: dict[str, float] = defaultdict(float)
    solved = 0
    for seed in range(episodes):
        players = {role: make_agent(agent) for role in ("planner", "coder")}
        episode = play(env, players, seed=seed)
        for name, value in episode.returns.items():
            returns[name] += value / episodes
        solved += bool(episode.judgement and episode.judgement.passed)
    shown = ", ".join(f"`{name}` {value:.2f}" for name, value in sorted(returns.items()))
    return f"| `{tasks}` | `{agent}` | {shown} | {solved / episodes:.0%} |"


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description="Baseline scores of the environments.")
    parser.add_argument("--episodes", type=int, default=100, help="default: 100")
    parser.add_argument("--tasks", nargs="+", default=["pipelines/1", "pipelines/4"])
    arguments = parser.parse_args()
    with LocalExecutor() as executor:
        for env_id in ENVIRONMENTS:
            print(f"\n{env_id}, {arguments.episodes} episodes\n")
            print("| tasks | all agents | mean return | solved |\n|---|---|---|---|")
            for tasks in arguments.tasks:
                for agent in AGENTS:
                    print(score(env_id, tasks, agent, arguments.episodes, executor))


if __name__ == "__main__":
    main()
