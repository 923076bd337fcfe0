"""What tasks that ask for commit messages promise: a diff, a reference, a split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corecode_env.core.errors import BadRecord, UnknownName
from corecode_env.core.task import StdioTest
from corecode_env.tasks import load_tasks
from corecode_env.tasks.commit_messages import CHANGES, SOURCES, diff_of

ROW = {"diff": "@@ -1 +1 @@\n-a = 1\n+a = 2", "message": "Set a to 2\n"}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


# ------------------------------------------------------------------------------ bundled
@pytest.mark.parametrize("source", SOURCES)
def test_every_message_is_one_line_that_names_what_is_changed(source: str) -> None:
    tasks = load_tasks(f"commit_message/{source}")
    for task in tasks:
        (test,) = task.hidden_tests
        assert isinstance(test, StdioTest)
        assert test.output == task.reference_program
        assert "\n" not in test.output and 10 <= len(test.output) <= 320, task.id
        assert "```diff\n@@ " in task.statement
        assert test.output not in task.statement


def test_messages_of_bugs_are_for_evaluation_those_of_faults_have_all_splits() -> None:
    bugs, faults = (load_tasks(f"commit_message/{source}") for source in SOURCES)
    assert len(bugs.split("test")) == len(bugs) == 164
    origin = load_tasks("mbpp-sanitized")
    for split in ("train", "validation", "test"):
        for task in faults.split(split):
            assert origin.get(task.metadata["source_task"]).metadata["split"] == split
    counts = [t.metadata["source_task"] for t in faults]
    assert max(counts.count(each) for each in set(counts)) == CHANGES


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "commit_message/humanevalpack/Python/3",
            "Fix operator misuse in below_zero: use if balance < 0: instead of if balance == 0:",
        ),
        (
            "commit_message/humanevalpack/Python/5",
            "Fix missing logic in intersperse: add result.append(numbers[-1])",
        ),
    ],
)
def test_a_message_says_what_is_mended_and_where(name: str, message: str) -> None:
    assert load_tasks(name)[0].reference_program == message


def test_a_diff_shows_the_changed_line_with_what_stands_around_it() -> None:
    old = "def f(a):\n    return a + 1\n"
    assert diff_of(old, old.replace("+", "-")) == (
        "@@ -1,2 +1,2 @@\n def f(a):\n-    return a + 1\n+    return a - 1"
    )


@pytest.mark.parametrize(
    "name",
    ["commit_message", "commit_message/humaneval", "commit_message/humanevalpack/Python/x"],
)
def test_an_unknown_set_or_task_is_refused_with_the_nearest(name: str) -> None:
    with pytest.raises(UnknownName, match=r"did you mean|known: "):
        load_tasks(name)


# --------------------------------------------------------------------------- users' files
def test_a_file_of_ones_own_commits_is_read(tmp_path: Path) -> None:
    rows = [ROW, {**ROW, "id": "abc123", "split": "test", "licence": "MIT", "author": "x"}]
    first, second = load_tasks(write(tmp_path / "commits.jsonl", *rows))
    assert first.kind == second.kind == "commit_message"
    assert (first.id, second.id) == ("commit/1", "abc123")
    assert first.reference_program == "Set a to 2"
    assert ROW["diff"] in first.statement
    assert second.metadata["split"] == "test"
    assert second.metadata["licence"] == "MIT"


def test_equal_diffs_go_to_one_split(tmp_path: Path) -> None:
    rows = [ROW, {**ROW, "message": "Other words"}]
    first, second = load_tasks(write(tmp_path / "commits.jsonl", *rows))
    assert first.metadata["split"] == second.metadata["split"]


@pytest.mark.parametrize(
    ("change", "field", "expected"),
    [
        ({"message": " "}, "message", "text that is not empty"),
        ({"diff": ""}, "diff", "text that is not empty"),
        ({"diff": 3}, "diff", "a string"),
        ({"split": "dev"}, "split", "one of train, validation, test"),
    ],
)
def test_a_broken_row_is_named(
    tmp_path: Path, change: dict[str, object], field: str, expected: str
) -> None:
    path = write(tmp_path / "commits.jsonl", ROW, {**ROW, "id": "b", **change})
    with pytest.raises(BadRecord, match=expected) as caught:
        load_tasks(path)
    assert (caught.value.line, caught.value.field) == (2, field)
