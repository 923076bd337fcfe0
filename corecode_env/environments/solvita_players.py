"""Solvita's players: what a perfect Oracle and a good Hacker say, for scripted agents.

They know the reference program, so they are no policy: they show the game, fill seats, and
make the ceiling of the tables. On generated tasks (`pipelines`) they know how inputs look
like and where programs like to fail; on others they use the public tests' inputs.
"""

from __future__ import annotations

import json
from typing import Final

from corecode_env.core.messages import fenced
from corecode_env.core.task import Task
from corecode_env.environments.oracle import public_tests

# Ordinary inputs: the special ones are left to the Hacker. Of Python's random numbers only
# those of random() are promised to stay the same from version to version.
_NUMBERS_GENERATOR: Final = """\
import random

random.seed(int(input()))
count = 2 + int(8 * random.random())
print(*(int(24 * random.random()) - 9 for _ in range(count)))
"""
_NUMBERS_VALIDATOR: Final = """\
import sys

lines = sys.stdin.read().split("\\n")
try:
    numbers = [int(word) for word in lines[0].split()]
    good = lines[1:] in ([], [""]) and all(abs(number) < 1000 for number in numbers)
except ValueError:
    good = False
print("valid" if good else "invalid")
"""
_SAMPLES_GENERATOR: Final = """\
samples = {samples}
print(samples[int(input()) % len(samples)], end="")
"""
_SAMPLES_VALIDATOR: Final = """\
import sys

print("valid" if sys.stdin.read().strip() else "invalid")
"""
_CHECKER: Final = """\
import json

case = json.loads(input())
print("right" if case["output"].split() == case["answer"].split() else "wrong")
"""
_CORNERS: Final = ("\n", "5\n", "-7\n", "3 3 3 3\n", "14 -9 0 1 14 2 -9 7 5 6\n")
"""Nothing, one number, a negative one, repeated ones, more than most programs expect."""


def reference_oracle(task: Task) -> str | None:
    """Return programs that are certified: the brute force is the reference program itself."""
    if task.reference_program is None:
        return None
    if _reads_numbers(task):
        generator, validator, checker = _NUMBERS_GENERATOR, _NUMBERS_VALIDATOR, _CHECKER
    else:
        samples = json.dumps([test.input for test in public_tests(task)])
        generator = _SAMPLES_GENERATOR.format(samples=samples)
        # Without a checker the task's own way of comparing holds.
        validator, checker = _SAMPLES_VALIDATOR, ""
    parts = {"generator": generator, "validator": validator, "checker": checker}
    blocks = [fenced(text, f"python {name}") for name, text in parts.items() if text]
    return "\n".join([*blocks, fenced(task.reference_program, "python brute")])


def reference_hacker(task: Task) -> str:
    """Return inputs that break careless programs."""
    inputs = _CORNERS if _reads_numbers(task) else [test.input for test in public_tests(task)]
    return "\n".join(fenced(given, "input") for given in inputs)


def _reads_numbers(task: Task) -> bool:
    return task.metadata.get("source") == "pipelines"
