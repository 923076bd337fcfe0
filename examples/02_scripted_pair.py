"""A Planner and a Coder that follow a script, on one problem of HumanEval.

The loop is PettingZoo's own: whoever is next sees an observation and answers with text.
"""

from corecode_env.environments import TeamEnv, planner_coder_v0

PLAN = "Compare each number with every later one; answer True at the first close pair."
WRONG = """
def has_close_elements(numbers, threshold):
    return any(abs(numbers[0] - other) < threshold for other in numbers[1:])
"""
RIGHT = """
def has_close_elements(numbers, threshold):
    ordered = sorted(numbers)
    return any(b - a < threshold for a, b in zip(ordered, ordered[1:]))
"""


def main() -> None:
    """Play two rounds: the first program looks at one number only, the second at all."""
    env = planner_coder_v0.env(tasks="humaneval", split="test", max_cycles=2)
    env.reset(seed=0, options={"task": "HumanEval/0"})
    programs = iter([WRONG, RIGHT])

    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        if terminated or truncated:
            print(f"{agent}: {reward:.2f} {info['reward_terms']}")
            env.step(None)
            continue
        assert observation is not None
        if agent == "coder_0":
            print(
                f"round {observation['round']}, the Coder knows: {observation['feedback']!r}"
            )
            env.step(next(programs))
        else:
            env.step(PLAN)

    engine = env.unwrapped
    assert isinstance(engine, TeamEnv)
    for turn in engine.episode.turns:
        if turn.judgement is not None:
            print(f"round {turn.round}: {turn.judgement.verdict.value}")
    env.close()


if __name__ == "__main__":
    main()
