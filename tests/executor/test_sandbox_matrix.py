"""What the table of ids and users promises: each test counts for its rows, the worst result wins."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "sandbox_matrix.py"


@pytest.fixture(scope="module")
def matrix() -> ModuleType:
    place = importlib.util.spec_from_file_location("sandbox_matrix", SCRIPT)
    assert place is not None and place.loader is not None
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def test_a_test_counts_for_the_ids_that_the_page_names_it_at(matrix: ModuleType) -> None:
    rows = matrix.rows_of
    assert rows("test_forging_ids", "test_f04_f05_ending_the_process", "a]") == ["F04", "F05"]
    assert rows("test_floor_attacks", "test_no_way_of_an_attack_gets_through", "") == []
    attack = "without_landlock-H11_change_others]"
    assert rows("test_floor_attacks", "test_no_way_of_an_attack_gets_through", attack) == [
        "H11"
    ]
    assert rows("test_floor_level", "test_levels_are_in_order", "") == []


def test_a_program_of_the_cases_is_a_row(matrix: ModuleType) -> None:
    case = "as_we_are-D033-prlimit parent]"
    assert matrix.rows_of(
        "test_floor_sandbox_cases", "test_a_program_is_held_and_served", case
    ) == ["D033"]
    name = "test_no_forging_program_is_accepted_on_any_test"
    assert matrix.rows_of("test_forging_programs", name, "P001 object]") == ["P001"]


def test_every_row_has_a_test(matrix: ModuleType) -> None:
    named = {id_ for ids in matrix.told().values() for id_, _ in ids}
    cases = {row for row in matrix.every_row() if row[1:].isdigit() and len(row) == 4}
    assert set(matrix.every_row()) == named | cases


REPORT = """<testsuites><testsuite>
<testcase classname="tests.executor.test_forging_ids" name="test_f16_builtins_win[all]"/>
<testcase classname="tests.executor.test_forging_ids" name="test_f16_builtins_win[len]">
 {first}</testcase>
<testcase classname="tests.executor.test_forging_ids" name="test_f08_printing_a_verdict_is_printing[x]">
 <skipped/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("first", "state"), [("", "ok"), ("<failure/>", "FAIL"), ("<error/>", "FAIL")]
)
def test_the_worst_result_stands_in_the_cell(
    matrix: ModuleType, tmp_path: Path, first: str, state: str
) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT.format(first=first))
    assert matrix.read(report) == {"F16": state, "F08": "-"}


def test_a_failed_cell_and_a_row_without_a_test_are_told(
    matrix: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    good = dict.fromkeys(matrix.every_row(), "ok")
    assert matrix.show({"3.11 root": good}, "") == 0
    assert matrix.show({"3.11 root": good, "3.11 user": good | {"F16": "FAIL"}}, "") == 1
    assert "1 failed" in capsys.readouterr().out
    del good["F16"]
    assert matrix.show({"3.11 root": good}, "") == 1
    assert "no test was run for F16" in capsys.readouterr().out


def test_an_interpreter_that_a_user_cannot_run_is_told_and_is_no_success(
    tmp_path: Path,
) -> None:
    closed = tmp_path / "python"
    closed.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    closed.chmod(0o700)
    tmp_path.chmod(0o700)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--only", "test_f21", str(closed)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "only root can" in done.stderr:
        pytest.skip("only root can become another user")
    assert done.returncode == 2, done.stderr
    lines = done.stdout.splitlines()
    assert sum("not run" in line for line in lines) == 2
    assert any(line.startswith("F21") for line in lines)
