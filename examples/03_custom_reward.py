"""A reward of your own: passing tests pays both, brevity pays the Coder."""

from corecode_env.agents import FaultyAgent, ReferenceAgent
from corecode_env.core.episode import Episode, Turn
from corecode_env.core.seams import Agent
from corecode_env.environments import planner_coder_v0
from corecode_env.rewards import Rewards, Term
from corecode_env.rollout import play


def passed(turn: Turn, episode: Episode) -> float | None:
    """1 if every test was passed. A plan is not judged: None, the term does not apply."""
    return None if turn.judgement is None else float(turn.judgement.passed)


def brevity(turn: Turn, episode: Episode) -> float | None:
    """From 1 for an empty program down to 0 for one of 100 lines or more."""
    if turn.submission is None:
        return None
    return max(0.0, 1.0 - len(turn.submission.program.splitlines()) / 100)


def main() -> None:
    """Compare a right Coder and a faulty one under the same reward."""
    rewards = Rewards(
        [
            Term("passed", passed),
            Term("brevity", brevity, weight=0.2, pays=("coder",)),
        ]
    )
    env = planner_coder_v0.env(tasks="pipelines/3", rewards=rewards)
    coders: dict[str, Agent] = {
        "right": ReferenceAgent(),
        "faulty": FaultyAgent("off_by_one"),
    }
    for name, coder in coders.items():
        episode = play(env, {"planner": ReferenceAgent(), "coder": coder}, seed=3)
        for agent, total in episode.returns.items():
            parts = {
                term: round(value, 2)
                for turn in episode.turns
                for term, value in turn.reward_terms.get(agent, {}).items()
                if value is not None
            }
            print(f"{name} coder: {agent} earned {total:.2f} {parts}")
    env.close()


if __name__ == "__main__":
    main()
