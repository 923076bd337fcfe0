"""A team of your own: a Coder, a Critic, and a Mender who reads the critique."""

from corecode_env.agents import ReferenceAgent, ScriptedAgent, make_agent
from corecode_env.environments import Role, Team, TeamEnv
from corecode_env.rollout import play

TEAM = Team(
    (
        Role("coder", acts="program"),
        Role(
            "critic",
            acts="text",
            writes="critique",
            prompt="Say what is wrong.\n\n$problem\n\n$program\n\n$feedback",
        ),
        Role(
            "mender",
            acts="program",
            sees=frozenset({"program", "critique"}),
            prompt="Mend the program.\n\n$problem\n\n$program\n\nA critic says: $critique",
        ),
    )
)


def main() -> None:
    """Let a Coder err, and the others put it right."""
    env = TeamEnv(TEAM, tasks="pipelines/2")
    coder, critic = make_agent("faulty:off_by_one"), ScriptedAgent("Every result is one off.")
    players = {"coder": coder, "critic": critic, "mender": ReferenceAgent()}
    for turn in play(env, players, seed=0).turns:
        print(turn.agent, turn.judgement.verdict.meaning if turn.judgement else turn.action)
    env.close()


if __name__ == "__main__":
    main()
