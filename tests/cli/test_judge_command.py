"""What `corecode judge` promises: the right verdict, in order, and a telling exit code."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from corecode_env.core.verdict import Judgement

Run = Callable[..., Result]


def write_lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


RIGHT = "def double(x):\n    return x + x\n"
WRONG = "def double(x):\n    return x\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(RIGHT)
    return file


def test_a_right_program_is_accepted_with_exit_code_0(
    run: Run, source: Path, program: Path
) -> None:
    result = run("judge", source, "double", program)
    assert result.exit_code == 0, result.output
    assert "AC" in result.stdout
    assert "2 of 2 tests passed" in result.stdout


def test_a_wrong_program_is_told_with_exit_code_1(
    run: Run, source: Path, program: Path
) -> None:
    program.write_text(WRONG)
    result = run("judge", source, "double", program)
    assert result.exit_code == 1
    assert "WA" in result.stdout


def test_a_program_may_come_from_standard_input(run: Run, source: Path) -> None:
    assert run("judge", source, "double", "-", typed=RIGHT).exit_code == 0
    assert run("judge", source, "double", "-", typed=WRONG).exit_code == 1


def test_json_is_one_judgement_that_reads_back(run: Run, source: Path, program: Path) -> None:
    result = run("judge", source, "double", program, "--json")
    judgement = Judgement.from_json(json.loads(result.stdout))
    assert judgement.task_id == "double"
    assert judgement.passed


def test_many_programs_are_judged_in_their_order(
    run: Run, source: Path, tmp_path: Path
) -> None:
    slow = "import time\ntime.sleep(0.3)\n" + RIGHT
    lines = [
        {"task_id": "double", "program": slow},
        {"task_id": "echo", "program": "print(input())"},
        {"task_id": "double", "program": WRONG},
        {"task_id": "double", "program": "def double(x:"},
    ]
    file = write_lines(tmp_path / "programs.jsonl", lines)
    result = run("judge", source, "--programs", file, "--json")
    assert result.exit_code == 0, result.stderr
    judged = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["task_id"] for line in judged] == ["double", "echo", "double", "double"]
    assert [line["verdict"] for line in judged] == ["AC", "AC", "WA", "CE"]


def test_what_else_stands_in_a_line_comes_back_with_its_judgement(
    run: Run, source: Path
) -> None:
    line = {"task_id": "double", "program": RIGHT, "model": "tiny", "sample": 3}
    result = run("judge", source, "--programs", "-", "--json", typed=json.dumps(line))
    judged = json.loads(result.stdout)
    assert (judged["model"], judged["sample"], judged["passed"]) == ("tiny", 3, True)
    assert "program" not in judged


def test_without_json_it_counts_the_verdicts(run: Run, source: Path) -> None:
    lines = [{"task_id": "double", "program": text} for text in (RIGHT, WRONG, WRONG)]
    typed = "\n".join(map(json.dumps, lines))
    result = run("judge", source, "--programs", "-", typed=typed)
    assert result.exit_code == 0
    assert "1 of 3 programs passed every test" in result.stdout


def test_an_empty_file_of_programs_is_no_error(run: Run, source: Path) -> None:
    result = run("judge", source, "--programs", "-", "--json", typed="\n\n")
    assert (result.exit_code, result.stdout) == (0, "")


def test_an_empty_program_is_judged_like_any_other(run: Run, source: Path) -> None:
    assert run("judge", source, "double", "-", typed="").exit_code == 1


def test_what_a_program_wrote_cannot_command_the_terminal(run: Run, source: Path) -> None:
    program = "print('\\x1b[2J\\x1b]0;owned\\x07')"
    result = run("judge", source, "echo", "-", typed=program)
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout


# ------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("{", "record"),
        ("[1, 2]", "record"),
        ("nonsense", "record"),
        ('"text"', "record"),
        ('{"task_id": "double"}', "program"),
        ('{"program": "x"}', "task_id"),
        ('{"task_id": 7, "program": "x"}', "task_id"),
        ('{"task_id": "double", "program": ["x"]}', "program"),
        ('{"task_id": "duoble", "program": "x"}', "task_id"),
        ('{"task_id": "double", "program": "x", "verdict": "AC"}', "verdict"),
        ("[" * 100_000, "record"),
    ],
)
def test_a_broken_line_is_one_error_before_anything_is_judged(
    run: Run, source: Path, line: str, field: str
) -> None:
    good = json.dumps({"task_id": "double", "program": RIGHT})
    result = run("judge", source, "--programs", "-", "--json", typed=f"{good}\n{line}\n")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert f"-:2: field '{field}'" in result.stderr


def test_broken_lines_are_left_out_on_request_and_listed(run: Run, source: Path) -> None:
    good = json.dumps({"task_id": "double", "program": RIGHT})
    result = run(
        "judge", source, "--programs", "-", "--json", "--skip-bad", typed=f"{{\n{good}\n"
    )
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    assert "1 lines skipped" in result.stderr
    assert "-:1" in result.stderr


def test_bytes_that_are_no_text_are_refused(run: Run, source: Path, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_bytes(b"\xff\xfe\x00")
    result = run("judge", source, "double", file)
    assert result.exit_code == 2
    assert "UTF-8" in result.stderr


def test_a_missing_file_is_one_line(run: Run, source: Path) -> None:
    result = run("judge", source, "double", "nowhere.py")
    assert result.exit_code == 2
    assert "nowhere.py" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_unknown_task_is_one_line_with_the_nearest(
    run: Run, source: Path, program: Path
) -> None:
    result = run("judge", source, "duoble", program)
    assert result.exit_code == 2
    assert "did you mean 'double'" in result.stderr


@pytest.mark.parametrize(
    "args", [(), ("double",), ("double", "p.py", "--programs", "x.jsonl")]
)
def test_one_program_or_many_but_not_both_and_not_neither(
    run: Run, source: Path, args: tuple[str, ...]
) -> None:
    result = run("judge", source, *args)
    assert result.exit_code == 2
    assert "--programs" in result.stderr
