"""What `corecode view` promises: a page beside what it shows, from a run or a file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def records(run: Run, tmp_path: Path) -> Path:
    out = tmp_path / "run" / "episodes" / "step-1.jsonl"
    args = ("--tasks", "pipelines/1", "--episodes", 2, "--show", 0, "--out", out)
    assert run("play", *args).exit_code == 0
    return out


def test_a_file_gets_a_page_beside_it(run: Run, records: Path) -> None:
    result = run("view", records)
    assert result.exit_code == 0
    assert result.stdout == f"wrote {records.with_suffix('.html')}\n"
    assert "def solve" in records.with_suffix(".html").read_text()


def test_a_run_folder_gets_one_with_its_learning_curve(run: Run, records: Path) -> None:
    folder = records.parents[1]
    (folder / "metrics.jsonl").write_text('{"step": 1, "solved": 0.5}\n{"step": 2, "sol')
    assert run("view", folder).exit_code == 0
    text = (folder / "view.html").read_text()
    assert '"metrics": [{"step": 1, "solved": 0.5}]' in text
    assert "pipelines/1/" in text


def test_a_broken_line_of_metrics_is_named(run: Run, records: Path) -> None:
    folder = records.parents[1]
    (folder / "metrics.jsonl").write_text('{"step": 1}\n[]\n')
    result = run("view", folder)
    assert result.exit_code == 2
    assert "metrics.jsonl:2" in result.stderr


def test_a_folder_without_episodes_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    result = run("view", tmp_path)
    assert result.exit_code == 2
    assert "no episodes/*.jsonl lies there" in result.stderr


def test_a_folder_that_is_not_there_is_one_line_with_the_way_out(run: Run) -> None:
    result = run("view", "no-such-run")
    assert result.exit_code == 2
    assert "got no-such-run" in result.stderr and "corecode play --out" in result.stderr
