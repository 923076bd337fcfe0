"""What loading promises: names, paths, formats found out, bad records named or counted."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.errors import BadConfig, BadRecord, UnknownName
from corecode_env.tasks import FORMATS, iter_tasks, known_sets, load_tasks

DATA = Path(__file__).resolve().parents[1] / "data"
OWN: dict[str, Any] = {
    "id": "t1",
    "statement": "Print 1.",
    "interface": {"kind": "stdio"},
    "hidden_tests": [{"kind": "stdio", "input": "", "output": "1\n"}],
}
CRUX = {"id": "sample_0", "code": "def f(a):\n    return a", "input": "3", "output": "3"}
MBPP = {
    "text": "Double.",
    "code": "def f(a):\n return 2*a",
    "task_id": 3,
    "test_list": ["assert f(1) == 2"],
}


def write(path: Path, *rows: object) -> Path:
    path.write_text(
        "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    )
    return path


# ----------------------------------------------------------------------------- names
SIZES = {
    "cruxeval": 800,
    "google_contests": 45,
    "humaneval": 164,
    "humanevalpack": 164,
    "humanevalplus": 164,
    "mbpp": 974,
    "mbpp-sanitized": 427,
}


def test_every_bundled_set_is_known_and_whole() -> None:
    families = ("pipelines", "heuristics", "unit_tests", "commit_message")
    assert {name for name in known_sets() if not name.startswith(families)} == set(SIZES)
    assert {name: len(load_tasks(name)) for name in SIZES} == SIZES


def test_every_task_of_a_bundled_set_says_its_source_licence_and_split() -> None:
    for name in SIZES:
        for task in load_tasks(name):
            assert {"source", "licence", "split"} <= task.metadata.keys(), task.id


def test_every_level_and_form_of_pipelines_is_known() -> None:
    names = [name for name in known_sets() if name.startswith("pipelines")]
    assert len(names) == 20
    assert all(load_tasks(name).name == name for name in names)


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("mbpp/601", ["Mbpp/601"]),
        ("mbpp/Mbpp/601", ["Mbpp/601"]),
        ("humaneval/HumanEval/0", ["HumanEval/0"]),
        ("pipelines/4/41", ["pipelines/4/41"]),
        ("pipelines/4/stdio/41", ["pipelines/4/stdio/41"]),
    ],
)
def test_a_set_and_an_id_is_a_set_of_one(name: str, ids: list[str]) -> None:
    assert load_tasks(name).ids() == ids


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("humanevl", "did you mean 'humaneval'"),
        ("HumanEval", "did you mean 'humaneval'"),
        ("mbpp_sanitized", "did you mean 'mbpp-sanitized'"),
        ("mbpp/Mbpp/9999", "did you mean 'Mbpp/9"),
        ("pipelines/9", "not the name of a set of pipelines; did you mean 'pipelines/"),
        ("pipelines", "did you mean"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UnknownName) as caught:
        load_tasks(name)
    assert hint in str(caught.value)


def test_a_path_that_does_not_exist_is_said_to_be_one() -> None:
    for path in ("./humaneval", "tasks.jsonl", Path("humaneval")):
        with pytest.raises(BadConfig, match="a task file must exist"):
            load_tasks(path)


# ------------------------------------------------------------------ formats, one file
@pytest.mark.parametrize(
    ("row", "task_id"), [(OWN, "t1"), (CRUX, "sample_0"), (MBPP, "Mbpp/3")]
)
def test_the_format_follows_from_the_first_record(
    tmp_path: Path, row: dict[str, Any], task_id: str
) -> None:
    tasks = load_tasks(write(tmp_path / "t.jsonl", row))
    assert tasks.ids() == [task_id]
    assert tasks.skipped == ()
    assert load_tasks(str(tmp_path / "t.jsonl")).ids() == [task_id]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("google_contests/google_contests.jsonl.gz", "google_contests"),
        ("hashcode/hashcode.jsonl.gz", "hashcode"),
        ("p3/puzzles.json.gz", "p3"),
        ("classeval/ClassEval_data.json.gz", "classeval"),
    ],
)
def test_each_real_file_has_exactly_one_format(path: str, name: str) -> None:
    from corecode_env.tasks.files import read_records

    for _, record in read_records(DATA / path):
        assert not isinstance(record, BadRecord)
        assert [each for each in FORMATS if FORMATS[each].matches(record)] == [name]


def test_a_folder_of_quixbugs_is_read_by_its_format() -> None:
    tasks = load_tasks(DATA / "quixbugs_tests", "quixbugs")
    assert tasks.get("gcd").id == "quixbugs/gcd"


def test_a_record_of_no_format_names_its_fields_and_the_known_formats(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", {"question": 1, "answer": 2})
    with pytest.raises(
        BadRecord, match=r"t\.jsonl:1: .*known format \(.*humaneval.*answer, q"
    ):
        load_tasks(path)


def test_an_unknown_format_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'mbpp'"):
        load_tasks(write(tmp_path / "t.jsonl", MBPP), "mbp")


def test_a_given_format_is_used_even_if_the_first_record_is_broken(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", {"task_id": "x"}, MBPP)
    with pytest.raises(BadRecord, match=r"t\.jsonl:1: field 'task_id' must be an integer"):
        load_tasks(path, "mbpp")


def test_our_own_format_refuses_a_misspelt_field(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", OWN, {**OWN, "id": "t2", "statment": "x"})
    with pytest.raises(BadRecord, match=r"t\.jsonl:2: field 'statment' must be left out"):
        load_tasks(path)


# ------------------------------------------------------------------------ bad records
def test_bad_records_are_left_out_counted_and_listed_with_skip_bad(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl", "{", MBPP, {**MBPP, "task_id": "4"}, {**MBPP, "task_id": 5}, "7"
    )
    tasks = load_tasks(path, skip_bad=True)
    assert tasks.ids() == ["Mbpp/3", "Mbpp/5"]
    assert [error.line for error in tasks.skipped] == [1, 3, 5]
    assert tasks.skipped[1].field == "task_id"
    assert tasks.split("train").skipped == tasks.skipped


def test_without_skip_bad_the_first_bad_record_is_raised(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", MBPP, "{", {**MBPP, "task_id": "4"})
    with pytest.raises(BadRecord, match=r"t\.jsonl:2: .*skip_bad=True \(--skip-bad\)"):
        load_tasks(path)


def test_a_file_without_a_usable_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="at least one task"):
        load_tasks(write(tmp_path / "empty.jsonl"))
    with pytest.raises(BadConfig, match="1 broken records"):
        load_tasks(write(tmp_path / "bad.jsonl", "{"), skip_bad=True)


def test_one_id_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="'Mbpp/3' twice"):
        load_tasks(write(tmp_path / "t.jsonl", MBPP, MBPP))


# --------------------------------------------------------------- other kinds of file
def test_parquet_and_saved_folders_load_as_the_same_tasks(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    datasets = pytest.importorskip("datasets")
    from pyarrow import parquet

    rows = [MBPP, {**MBPP, "task_id": 4}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "t.parquet")
    datasets.Dataset.from_list(rows).save_to_disk(str(tmp_path / "saved"))
    plain = list(load_tasks(write(tmp_path / "t.jsonl", *rows)))
    assert list(load_tasks(tmp_path / "t.parquet")) == plain
    assert list(load_tasks(tmp_path / "saved")) == plain


def test_tasks_of_a_long_file_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    with gzip.open(path, "wt") as file:
        for number in range(100):
            file.write(
                json.dumps({**OWN, "id": str(number), "statement": "x" * 300_000}) + "\n"
            )
    tracemalloc.start()
    try:
        assert sum(1 for _ in iter_tasks(path)) == 100
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 10**6
