"""What `corecode tasks` promises: to list, to show, to check, and to convert without loss."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from corecode_env.core.task import Task
from corecode_env.tasks import known_sets

CLASSEVAL = Path(__file__).resolve().parents[1] / "data/classeval/ClassEval_data.json.gz"
Run = Callable[..., Result]


def write_lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def double(source: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(source.read_text().splitlines()[0])
    return record


@pytest.fixture
def echo(source: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(source.read_text().splitlines()[1])
    return record


def test_without_a_source_it_lists_every_known_set(run: Run) -> None:
    result = run("tasks", "list")
    assert result.exit_code == 0
    for name in known_sets():
        assert name in result.stdout


def test_the_list_of_sets_as_json_has_one_set_a_line(run: Run) -> None:
    lines = run("tasks", "list", "--json").stdout.splitlines()
    assert [json.loads(line)["name"] for line in lines] == list(known_sets())


def test_with_a_source_it_lists_its_tasks(run: Run, source: Path) -> None:
    result = run("tasks", "list", source)
    assert result.exit_code == 0
    assert "double" in result.stdout
    assert "echo" in result.stdout


def test_a_split_and_a_limit_cut_the_list(run: Run, source: Path) -> None:
    tests = run("tasks", "list", source, "--split", "test", "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in tests] == ["echo"]
    one = run("tasks", "list", source, "--limit", 1, "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in one] == ["double"]


def test_a_listed_task_says_how_many_tests_it_has_and_not_what_they_are(
    run: Run, source: Path
) -> None:
    first = json.loads(run("tasks", "list", source, "--json").stdout.splitlines()[0])
    assert first["public_tests"] == 1
    assert first["hidden_tests"] == 1
    assert first["reference"] is True


def test_show_keeps_hidden_tests_and_reference_back_until_asked(
    run: Run, source: Path
) -> None:
    plain = run("tasks", "show", source, "double").stdout
    assert "twice x" in plain
    assert "(2) -> 4" in plain
    assert "(5) -> 10" not in plain
    assert "return 2 * x" not in plain
    full = run("tasks", "show", source, "double", "--hidden", "--reference").stdout
    assert "(5) -> 10" in full
    assert "return 2 * x" in full


def test_show_as_json_converts_a_set_without_loss(
    run: Run, source: Path, double: dict[str, Any], echo: dict[str, Any]
) -> None:
    lines = run("tasks", "show", source, "--json").stdout.splitlines()
    shown = [Task.from_json(json.loads(line)) for line in lines]
    assert shown == [Task.from_json(double), Task.from_json(echo)]


def test_converting_leaves_broken_records_out_and_says_so_at_the_end(
    run: Run, tmp_path: Path, double: dict[str, Any], echo: dict[str, Any]
) -> None:
    file = write_lines(tmp_path / "t.jsonl", [double, {"id": "bad"}, echo])
    result = run("tasks", "show", file, "--json", "--skip-bad")
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == [
        "double",
        "echo",
    ]
    assert "1 records skipped" in result.stderr
    assert run("tasks", "show", file, "--json").exit_code == 2
    none = write_lines(tmp_path / "none.jsonl", [{"id": "bad"}])
    refused = run("tasks", "show", none, "--json", "--skip-bad")
    assert refused.exit_code == 2 and "at least one task" in refused.stderr


def test_show_of_several_tasks_without_an_id_names_one_to_ask_for(
    run: Run, source: Path
) -> None:
    result = run("tasks", "show", source)
    assert result.exit_code == 2
    assert "'double'" in result.stderr


def test_markup_in_a_statement_is_printed_as_it_is(
    run: Run, tmp_path: Path, double: dict[str, Any]
) -> None:
    task = {**double, "statement": "Return [bold]x[/bold] :smile: [/]"}
    file = write_lines(tmp_path / "t.jsonl", [task])
    assert "[bold]x[/bold] :smile: [/]" in run("tasks", "show", file).stdout


def test_a_generated_task_can_be_shown_by_its_id(run: Run) -> None:
    result = run("tasks", "show", "pipelines/4/41", "--reference")
    assert result.exit_code == 0
    assert "pipelines/4/41" in result.stdout
    assert "def solve(xs):" in result.stdout


# ------------------------------------------------------------------------- bad input
def test_an_unknown_set_is_one_line_with_the_nearest_name(run: Run) -> None:
    result = run("tasks", "list", "humanevel")
    assert result.exit_code == 2
    assert "did you mean 'humaneval'" in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_an_unknown_task_is_one_line_with_the_nearest_name(run: Run, source: Path) -> None:
    result = run("tasks", "show", source, "duoble")
    assert result.exit_code == 2
    assert "did you mean 'double'" in result.stderr


def test_an_unknown_split_is_refused(run: Run, source: Path) -> None:
    result = run("tasks", "list", source, "--split", "tests")
    assert result.exit_code == 2
    assert "did you mean 'test'" in result.stderr


def test_a_broken_record_names_file_line_field_and_the_way_out(
    run: Run, tmp_path: Path, double: dict[str, Any], echo: dict[str, Any]
) -> None:
    file = write_lines(tmp_path / "t.jsonl", [double, {**echo, "statement": 7}])
    result = run("tasks", "list", file)
    assert result.exit_code == 2
    assert f"{file}:2" in result.stderr
    assert "'statement'" in result.stderr
    assert "--skip-bad" in result.stderr


def test_broken_records_are_skipped_counted_and_listed_on_request(
    run: Run, tmp_path: Path, double: dict[str, Any], echo: dict[str, Any]
) -> None:
    file = write_lines(tmp_path / "t.jsonl", [double, {**echo, "statement": 7}])
    result = run("tasks", "list", file, "--skip-bad", "--json")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    assert "1 records skipped" in result.stderr
    assert f"{file}:2" in result.stderr


# ----------------------------------------------------------------------------- check
def test_check_passes_a_set_whose_references_are_right(run: Run, source: Path) -> None:
    result = run("tasks", "check", source)
    assert result.exit_code == 0, result.output
    assert "2 AC" in result.stdout
    assert "0 unexplained" in result.stdout


def test_check_fails_a_set_with_a_wrong_reference_and_names_it(
    run: Run, tmp_path: Path, double: dict[str, Any], echo: dict[str, Any]
) -> None:
    wrong = {**double, "reference_program": "def double(x):\n    return x\n"}
    file = write_lines(tmp_path / "t.jsonl", [wrong, echo])
    result = run("tasks", "check", file)
    assert result.exit_code == 1
    assert "double" in result.stdout
    assert "WA" in result.stdout


def test_check_tells_a_failing_sandbox_from_tests_that_are_known_to_be_broken(
    run: Run, tmp_path: Path, double: dict[str, Any]
) -> None:
    broken = {**double, "hidden_tests": [{"kind": "assert", "code": "import nosuchmodule"}]}
    assert run("tasks", "check", write_lines(tmp_path / "t.jsonl", [broken])).exit_code == 3
    with gzip.open(CLASSEVAL, "rt", encoding="utf-8") as file:
        known = [record for record in json.load(file) if record["task_id"] == "ClassEval_28"]
    (tmp_path / "ClassEval_data.json").write_text(json.dumps(known))
    result = run("tasks", "check", tmp_path / "ClassEval_data.json")
    assert result.exit_code == 0, result.output
    assert "1 SE; 1 known exceptions; 0 unexplained" in result.stdout


def test_check_as_json_writes_one_object_a_task(run: Run, source: Path) -> None:
    lines = run("tasks", "check", source, "--json").stdout.splitlines()
    assert [json.loads(line)["task_id"] for line in lines] == ["double", "echo"]
