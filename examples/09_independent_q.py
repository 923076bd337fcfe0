"""Independent Q-learning: two tables that learn to understand each other.

The Planner sees the task, the Coder only which plan was chosen. Each learns a table of its own
from its own rewards, and starts by expecting the best of everything, so that it tries all.
`python 09_independent_q.py 3000 7` plays 3000 episodes with seed 7.
"""

import sys

import numpy as np

from corecode_env.environments import planner_coder_discrete_v0

BEST = 1.3  # the most that an episode pays
UP, DOWN = 0.2, 0.1  # step sizes; slower to blame, for it may be the other's fault


def greedy(values: np.ndarray, random: np.random.Generator) -> int:
    """Return the best action, by lot among equals."""
    return int(random.choice(np.flatnonzero(values == values.max())))


def main(episodes: int, seed: int) -> None:
    """Learn, then play every task once by the tables alone."""
    env = planner_coder_discrete_v0.raw_env()
    sees = {"planner_0": env.layout["task"], "coder_0": env.layout["plan"]}
    tables = {
        agent: np.full((part.stop - part.start, env.action_space(agent).n), BEST)
        for agent, part in sees.items()
    }
    random = np.random.default_rng(seed)
    for episode in range(episodes):
        env.reset(seed=seed if episode == 0 else None)
        chosen = {}
        for agent in env.possible_agents:
            seen = int(env.observe(agent)["observation"][sees[agent]].argmax())
            chosen[agent] = seen, greedy(tables[agent][seen], random)
            env.step(chosen[agent][1])
        for agent, place in chosen.items():
            error = env.rewards[agent] - tables[agent][place]
            tables[agent][place] += (UP if error > 0 else DOWN) * error
    passed = 0
    for task in env.menus.tasks:
        env.reset(options={"task": task})
        for agent in env.possible_agents:
            seen = int(env.observe(agent)["observation"][sees[agent]].argmax())
            env.step(int(tables[agent][seen].argmax()))
        plan, program = env.episode.turns
        assert program.judgement
        passed += program.judgement.passed
        said, did = plan.action.replace("\n", " "), program.action.splitlines()[2].strip()
        print(f"{task.id}: {said} -> {did}: {program.judgement.verdict}")
    print(f"{passed} of {len(env.menus.tasks)} tasks passed after {episodes} episodes")
    env.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ("2000", "0")))
