"""What reading files promises: every form alike, one bad line at a time, little memory."""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.errors import BadConfig, BadRecord
from corecode_env.tasks.files import parse_json, read_records

ROWS: list[dict[str, Any]] = [
    {"id": "a", "n": 1, "tests": ["x", "y"]},
    {"id": "é", "n": 2, "tests": []},
    {"id": "c", "n": 3, "tests": ["z"]},
]


def rows_of(path: Path) -> list[dict[str, Any]]:
    rows = []
    for _, record in read_records(path):
        assert not isinstance(record, BadRecord)
        rows.append(record)
    return rows


def lines_of(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# -------------------------------------------------------------------------- the forms
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.jsonl", lines_of(ROWS)),
        ("crlf.jsonl", lines_of(ROWS).replace("\n", "\r\n")),
        ("bom.jsonl", "\ufeff" + lines_of(ROWS)),
        ("blank.jsonl", "\n" + lines_of(ROWS).replace("\n", "\n\n \t\n")),
        ("no_end.jsonl", lines_of(ROWS).rstrip("\n")),
        ("array.json", json.dumps(ROWS)),
        ("pretty.json", json.dumps(ROWS, indent=4, ensure_ascii=False)),
        ("bom.json", "\ufeff" + json.dumps(ROWS)),
        ("lines.json", lines_of(ROWS)),
        ("pretty_lines.json", "\n".join(json.dumps(row, indent=1) for row in ROWS)),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_of_json_gives_the_same_records(
    tmp_path: Path, name: str, text: str, packed: bool
) -> None:
    path = tmp_path / (name + ".gz" if packed else name)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    assert rows_of(path) == ROWS


def test_parquet_gives_the_same_records(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(ROWS * 100), tmp_path / "t.parquet")
    found = list(read_records(tmp_path / "t.parquet"))
    assert [record for _, record in found] == ROWS * 100
    assert [number for number, _ in found] == list(range(1, 301))


def test_a_folder_saved_by_datasets_gives_the_same_records(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    saved = datasets.Dataset.from_list(ROWS)
    saved.save_to_disk(str(tmp_path / "one"))
    assert rows_of(tmp_path / "one") == ROWS
    both = datasets.DatasetDict({"train": saved, "test": saved.select([2, 0])})
    both.save_to_disk(str(tmp_path / "dict"))
    assert rows_of(tmp_path / "dict") == [ROWS[2], ROWS[0], *ROWS]


def test_line_numbers_count_blank_lines_too(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('\n{"a": 1}\n\n{"a": 2}\n')
    assert [number for number, _ in read_records(path)] == [2, 4]


# --------------------------------------------------------------------------- bad data
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"a": 1', "one JSON object"),
        (b"[1, 2]", "one JSON object"),
        (b"nonsense", "one JSON object"),
        (b'{"a": "\xff"}', "one JSON object"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_line_is_one_error_and_the_next_line_is_read(
    tmp_path: Path, line: bytes, expected: str
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a": 0}\n' + line + b'\n{"a": 2}\n')
    first, second, third = (record for _, record in read_records(path))
    assert (first, third) == ({"a": 0}, {"a": 2})
    assert isinstance(second, BadRecord)
    assert (second.source, second.line) == (str(path), 2)
    assert expected in str(second)


@pytest.mark.parametrize(
    "text",
    ['[{"a": 0}, {"a": 1', '[{"a": 0}, nonsense]', '[{"a": 0}, ', '[{"a": 0}, {"a" 1}]'],
)
def test_a_broken_array_gives_what_stands_before_the_break_and_an_error(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    (_, first), (number, second) = read_records(path)
    assert first == {"a": 0}
    assert isinstance(second, BadRecord) and number == second.line == 2


def test_an_array_of_something_else_names_the_index(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('[{"a": 0}, 7, {"a": 2}]')
    records = [record for _, record in read_records(path)]
    assert records[0] == {"a": 0} and records[2] == {"a": 2}
    assert isinstance(records[1], BadRecord)
    assert (records[1].line, records[1].found) == (2, "7")


def test_a_gzip_file_that_is_cut_off_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(lines_of(ROWS * 50).encode())[:-20])
    with pytest.raises(BadRecord, match=r"t\.jsonl\.gz: field 'file' must be a whole gzip"):
        list(read_records(path))


@pytest.mark.parametrize("name", ["t.jsonl.gz", "t.parquet"])
def test_a_file_of_another_kind_than_its_name_says_is_an_error(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text(lines_of(ROWS))
    with pytest.raises(BadRecord, match="field 'file'"):
        list(read_records(tmp_path / name))


def test_a_missing_file_an_unknown_suffix_and_an_empty_folder_are_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(BadConfig, match="must exist"):
        list(read_records(tmp_path / "none.jsonl"))
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(BadConfig, match=r"\.jsonl, .*\.parquet"):
        list(read_records(tmp_path / "t.csv"))
    with pytest.raises(BadConfig, match="saved"):
        list(read_records(tmp_path))


# ------------------------------------------------------------------- numbers, memory
@pytest.mark.parametrize("digits", [1, 4299, 4300, 4301, 9000, 50_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_of_any_length_are_read_and_the_interpreter_stays_as_it_is(
    digits: int, sign: str
) -> None:
    limit = sys.get_int_max_str_digits()
    value = parse_json(f'{{"n": {sign}1{"0" * (digits - 1)}}}')["n"]
    assert value == (-1 if sign else 1) * 10 ** (digits - 1)
    assert sys.get_int_max_str_digits() == limit


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_a_file_of_200_megabytes_is_read_in_less_than_8(tmp_path: Path, suffix: str) -> None:
    _peak_while_reading(tmp_path / f"big{suffix}", megabytes=200)


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".jsonl.gz"])
def test_a_file_of_24_megabytes_is_read_in_less_than_8(tmp_path: Path, suffix: str) -> None:
    _peak_while_reading(tmp_path / f"big{suffix}", megabytes=24)


def _peak_while_reading(path: Path, megabytes: int) -> None:
    row = json.dumps({"id": "x", "text": "y" * 200_000})
    count = megabytes * 5
    array = path.suffix == ".json"
    file = gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w")
    with file:
        file.write("[" if array else "")
        for index in range(count):
            file.write(row + ("," if array and index < count - 1 else "") + "\n")
        file.write("]" if array else "")
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_records(path)) == count
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 10**6
