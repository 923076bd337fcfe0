"""What a user's own folder of statement, generator and scorer promises."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corecode_env.core.errors import BadConfig, UnknownName
from corecode_env.core.verdict import Verdict
from corecode_env.executor.local import LocalExecutor
from corecode_env.tasks import load_tasks

FILES = {
    "statement.md": "Print a number as near to the given one as you like. Score: 1 / (1 + d).\n",
    "generate.py": (
        "import random\n\n\ndef generate(seed):\n"
        "    return f'{random.Random(seed).randrange(100)}\\n'\n"
    ),
    "score.py": (
        "def score(instance, output):\n    return 1 / (1 + abs(int(instance) - int(output)))\n"
    ),
    "decent.py": "print(int(input()))\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "nearest"
    made.mkdir()
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    # Verdicts on our own programs do not depend on how well the machine can isolate.
    with LocalExecutor(min_isolation="L0") as made:
        yield made


def test_a_folder_is_a_set_of_tasks_named_after_it(folder: Path) -> None:
    tasks = load_tasks(folder)
    assert tasks.name == "nearest"
    assert tasks.ids() == [f"nearest/{seed}" for seed in range(20)]
    task = tasks[0]
    assert task.kind == "optimize"
    assert (len(task.public_tests), len(task.hidden_tests)) == (1, 4)
    assert task.reference_program == FILES["decent.py"]


def test_programs_are_scored_by_the_folders_scorer(
    folder: Path, executor: LocalExecutor
) -> None:
    task = load_tasks(str(folder))[0]
    assert executor.judge(task, FILES["decent.py"]).score == 1.0
    one_off = executor.judge(task, "print(int(input()) + 1)")
    assert (one_off.passed, one_off.score) == (True, 0.5)
    invalid = executor.judge(task, "print('near')")
    assert (invalid.verdict, invalid.score) == (Verdict.WA, 0.0)


def test_settings_say_how_many_tasks_and_instances_and_what_they_may_use(folder: Path) -> None:
    (folder / "problem.toml").write_text(
        "tasks = 3\ninstances = 2\ncpu_seconds = 1.5\nmemory_mib = 64\nlicence = 'MIT'\n"
    )
    tasks = load_tasks(folder)
    assert len(tasks) == 3
    assert len(tasks[0].hidden_tests) == 2
    assert tasks[0].limits.cpu_seconds == 1.5
    assert tasks[0].limits.memory_bytes == 64 * 2**20
    assert tasks[0].metadata["licence"] == "MIT"


def test_a_reference_is_optional(folder: Path) -> None:
    (folder / "decent.py").unlink()
    assert load_tasks(folder)[0].reference_program is None


@pytest.mark.parametrize("missing", ["statement.md", "generate.py", "score.py"])
def test_a_missing_file_is_named(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(BadConfig, match=f"without {missing}"):
        load_tasks(folder)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("statement.md", " \n", "must not be empty"),
        ("generate.py", "def generate(:", "must be Python that parses"),
        ("generate.py", "def make(seed): return '1'", r"must define generate\(\)"),
        (
            "generate.py",
            "import nowhere_at_all\ndef generate(seed): ...",
            "must run without an error",
        ),
        ("generate.py", "def generate(seed): return 1 // 0", "ZeroDivisionError"),
        ("generate.py", "def generate(seed): return seed", "must return text"),
        ("generate.py", "def generate(seed): return ''", "text that is not empty"),
        (
            "generate.py",
            "import itertools\ncount = itertools.count()\ndef generate(seed): return str(next(count))",
            "same text for the same seed",
        ),
        ("score.py", "def scores(instance, output): return 1", r"must define score\(\)"),
        ("problem.toml", "tasks = 0", "tasks must be a whole number from 1"),
        ("problem.toml", "instances = true", "instances must be a whole number"),
        ("problem.toml", "cpu_seconds = -1", "cpu_seconds must be a number of seconds"),
        ("problem.toml", "licence = 3", "licence must be text"),
        ("problem.toml", "tasks 3", "must be TOML"),
    ],
)
def test_what_cannot_work_is_refused_with_the_file_and_the_rule(
    folder: Path, file: str, text: str, message: str
) -> None:
    (folder / file).write_text(text)
    with pytest.raises(BadConfig, match=message) as caught:
        load_tasks(folder)
    assert file in str(caught.value)


def test_an_unknown_setting_suggests_the_nearest(folder: Path) -> None:
    (folder / "problem.toml").write_text("task = 3\n")
    with pytest.raises(UnknownName, match="did you mean 'tasks'"):
        load_tasks(folder)
