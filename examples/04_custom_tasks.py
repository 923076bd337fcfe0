"""Tasks of your own: write them, check them, play them."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from corecode_env.agents import ReferenceAgent
from corecode_env.environments import planner_coder_v0
from corecode_env.executor import LocalExecutor
from corecode_env.rollout import play
from corecode_env.tasks import load_tasks

TASK = {
    "id": "vowels",
    "statement": "Read one line and print how many vowels (a, e, i, o, u) it holds.",
    "interface": {"kind": "stdio"},
    "public_tests": [{"kind": "stdio", "input": "banana\n", "output": "3\n"}],
    "hidden_tests": [
        {"kind": "stdio", "input": "rhythm\n", "output": "0\n"},
        {"kind": "stdio", "input": "AEIOU\n", "output": "5\n"},
    ],
    "reference_plan": "Lower-case the line, then count the letters that are vowels.",
    "reference_program": "print(sum(c in 'aeiou' for c in input().lower()))\n",
    "metadata": {"split": "train", "licence": "MIT"},
}


def main() -> None:
    """Write a task file, judge two programs by hand, then let two agents play."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "my_tasks.jsonl"
        file.write_text(json.dumps(TASK) + "\n")
        tasks = load_tasks(file)

    forgetful = "print(sum(c in 'aeiou' for c in input()))\n"
    with LocalExecutor() as executor:
        for program in (TASK["reference_program"], forgetful):
            judgement = executor.judge(tasks[0], str(program))
            print(judgement.verdict.value, f"{judgement.pass_rate:.0%} of the tests passed")

    env = planner_coder_v0.env(tasks=tasks)
    team = {"planner": ReferenceAgent(), "coder": ReferenceAgent()}
    print(play(env, team, seed=0).returns)
    env.close()


if __name__ == "__main__":
    main()
