"""Play both seats yourself: first the plan, then the program.

An answer ends with a line that holds only a dot. At a terminal, or from a file:

    python examples/01_play_by_hand.py
    python examples/01_play_by_hand.py < answers.txt
"""

import sys

from corecode_env.agents import HumanAgent
from corecode_env.environments import planner_coder_v0
from corecode_env.rollout import play


def main() -> None:
    """Play one episode of a small generated task."""
    env = planner_coder_v0.env(tasks="pipelines/1")
    you = HumanAgent(sys.stdin, sys.stdout)
    episode = play(env, {"planner": you, "coder": you}, options={"task": "pipelines/1/7"})
    env.close()

    judgement = episode.judgement
    assert judgement is not None  # the Coder has spoken, so its program was judged
    print(f"\n{judgement.verdict.value}: {judgement.verdict.meaning}")
    for index, result in enumerate(judgement.results):
        kind = "public" if result.public else "hidden"
        print(f"  test {index} ({kind}): {result.verdict.value} {result.note}")
    for agent, total in episode.returns.items():
        print(f"{agent} earned {total:.2f}")


if __name__ == "__main__":
    main()
