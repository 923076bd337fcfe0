"""Scores of simple agents, as the environments' pages show them.

    python benchmarks/baseline_scores.py [--episodes 100] [--tasks pipelines/1 pipelines/4]
                                         [--envs debug_team_v0 ...]

Plays environments (all, if none is named) on their default rewards with scripted agents in
all seats and prints a Markdown table: the mean return of each agent and the fraction of
episodes whose last program passed every test. `coder=AGENT` puts that agent in the seats of
that role, `coder_0=AGENT` in that seat alone, and the reference in all others. Sampling is
seeded; the sandbox is the real one.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

from corecode_env import LocalExecutor, make, play
from corecode_env.agents import make_agent
from corecode_env.core.names import role_of
from corecode_env.core.seams import Agent
from corecode_env.environments import ENVIRONMENTS

AGENTS = ("reference", "faulty:off_by_one", "faulty:wrong_name", "random")
MORE_AGENTS = {
    "debug_team_v0": ("coder=faulty:off_by_one",),
    "tree_search_v0": ("coder_0=faulty:off_by_one",),
    "solvita_v0": ("solver=faulty:corner_case",),
}
"""What else is worth a row: a Debugger has nothing to do beside a right Coder, and a Hacker
nothing to find."""
TASKS = ("pipelines/1", "pipelines/4")
OTHER_AGENTS = {"planner_coder_discrete_v0": ("reference",)}
"""Agents of environments in which others have nothing to say: there one chooses by index."""
OTHER_TASKS = {"solvita_v0": ("pipelines/1/stdio", "pipelines/4/stdio")}
"""Tasks of environments that do not play those above."""


def cast(names: list[str], agents: str) -> dict[str, Agent]:
    """Return who plays: one agent everywhere, or SEAT=AGENT and the reference elsewhere."""
    seat, equals, agent = agents.rpartition("=")
    if not equals:
        return {name: make_agent(agents) for name in names}
    return {
        name: make_agent(agent if seat in (name, role_of(name)) else "reference")
        for name in names
    }


def score(env_id: str, tasks: str, agent: str, episodes: int, executor: LocalExecutor) -> str:
    """Return one row of the table."""
    env = make(env_id, tasks=tasks, executor=executor)
    players = cast(env.possible_agents, agent)
    returns: dict[str, float] = defaultdict(float)
    solved = 0
    for seed in range(episodes):
        episode = play(env, players, seed=seed)
        for name, value in episode.returns.items():
            returns[name] += value / episodes
        solved += bool(episode.judgement and episode.judgement.passed)
    shown = ", ".join(f"`{name}` {returns[name]:.2f}" for name in env.possible_agents)
    return f"| `{tasks}` | `{agent}` | {shown} | {solved / episodes:.0%} |"


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description="Baseline scores of the environments.")
    parser.add_argument("--episodes", type=int, default=100, help="default: 100")
    parser.add_argument("--tasks", nargs="+", help=f"default: {' '.join(TASKS)}")
    parser.add_argument("--envs", nargs="+", default=list(ENVIRONMENTS))
    arguments = parser.parse_args()
    with LocalExecutor() as executor:
        for env_id in arguments.envs:
            print(f"\n{env_id}, {arguments.episodes} episodes\n")
            print("| tasks | agents | mean return | solved |\n|---|---|---|---|")
            for tasks in arguments.tasks or OTHER_TASKS.get(env_id, TASKS):
                agents = OTHER_AGENTS.get(env_id, AGENTS)
                for agent in (*agents, *MORE_AGENTS.get(env_id, ())):
                    print(score(env_id, tasks, agent, arguments.episodes, executor))


if __name__ == "__main__":
    main()
