"""Examples run as they stand, in a folder of their own, and are short enough to read."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
ANSWERS = {
    # What a person would type: a plan, then a program, each ended by a single full stop.
    "01_play_by_hand.py": (
        "Drop the first number, take the largest of the rest.\n.\n"
        "def solve(xs):\n    return max(xs[1:], default=0)\n.\n"
    ),
}
LONGEST = 60
NEEDS_TRAIN = "Needs the extra `train`"
HAS_TRAIN = all(find_spec(name) is not None for name in ("torch", "transformers"))


def run(example: Path, folder: Path, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        input=typed,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
    )


def test_there_are_examples_and_each_has_a_number_of_its_own() -> None:
    numbers = [example.name.partition("_")[0] for example in EXAMPLES]
    assert numbers[:4] == ["01", "02", "03", "04"]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_prints_a_verdict(example: Path, tmp_path: Path) -> None:
    if NEEDS_TRAIN in example.read_text() and not HAS_TRAIN:
        pytest.skip("needs the extra train")
    done = run(example, tmp_path, ANSWERS.get(example.name, ""))
    assert done.returncode == 0, done.stderr
    assert any(word in done.stdout for word in ("AC", "accepted", "passed"))
    assert done.stderr == ""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_under_sixty_lines_and_says_what_it_shows(example: Path) -> None:
    lines = example.read_text().splitlines()
    assert len(lines) < LONGEST
    assert lines[0].startswith('"""')
