"""What a task set in a file promises: the same tasks, read when they are asked for."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from corecode_env.core.errors import BadConfig, BadRecord, SplitError, UnknownName
from corecode_env.tasks import TaskSampler, TaskSet, load_tasks, sources
from corecode_env.tasks.file_tasks import FileTaskSet

APPS = Path(__file__).resolve().parents[1] / "data/contest_formats/apps_train.jsonl"


def record(number: int, split: str) -> str:
    task = {
        "id": f"t{number}",
        "statement": "Print it.",
        "interface": {"kind": "stdio"},
        "hidden_tests": [{"kind": "stdio", "input": "ü", "output": str(number)}],
        "metadata": {"split": split, "source_id": f"s{number}"},
    }
    return json.dumps(task, ensure_ascii=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    lines = [record(i, "test" if i % 3 == 0 else "train") for i in range(9)]
    text = "\ufeff" + "\r\n".join([*lines[:4], "", *lines[4:]])
    path.write_bytes(text.encode())
    return path


def both(path: Path) -> tuple[TaskSet, TaskSet]:
    stored, held = load_tasks(path, on_disk=True), load_tasks(path, on_disk=False)
    assert isinstance(stored, FileTaskSet) and not isinstance(held, FileTaskSet)
    return stored, held


def test_tasks_are_those_of_a_set_in_memory(file: Path) -> None:
    stored, held = both(file)
    assert list(stored) == list(held)
    assert stored.ids() == held.ids() and len(stored) == len(held) == 9
    assert stored[-1] == held[-1]
    assert stored.get("t4") == stored.get("s4") == held.get("t4")


def test_what_is_made_of_the_set_is_the_same_and_stays_in_the_file(file: Path) -> None:
    stored, held = both(file)
    for one, other in (
        (stored.split("train"), held.split("train")),
        (stored.shuffle(3), held.shuffle(3)),
        (stored.head(2), held.head(2)),
        (stored[1:5], held[1:5]),
        (
            stored.filter(lambda task: task.id in "t2 t7"),
            held.filter(lambda task: task.id in "t2 t7"),
        ),
    ):
        assert isinstance(one, FileTaskSet)
        assert list(one) == list(other)
    assert list(stored.mix(stored[:0], seed=1)) == list(held.mix(held[:0], seed=1))


def test_it_is_drawn_from_as_any_set(file: Path) -> None:
    stored, held = both(file)
    one, other = (TaskSampler(tasks, seed=5) for tasks in (stored, held))
    assert [one.next() for _ in range(12)] == [other.next() for _ in range(12)]


def test_splits_are_kept_apart_as_in_any_set(file: Path) -> None:
    stored, held = both(file)
    assert stored.split("train").require_trainable()
    for tasks in (stored, held):
        with pytest.raises(SplitError, match=r"got 't0' of the split 'test'.*6 of 'train'"):
            tasks.require_trainable()
        with pytest.raises(SplitError, match="it has test, train"):
            tasks.split("validation")
        with pytest.raises(UnknownName, match="did you mean 't8'"):
            tasks.get("t88")
        with pytest.raises(UnknownName):
            tasks.get("")


def test_it_travels_to_other_processes(file: Path) -> None:
    stored, held = both(file)
    assert list(pickle.loads(pickle.dumps(stored))) == list(held)


def test_a_loader_of_another_format_is_used_again_on_reading() -> None:
    stored, held = both(APPS)
    assert list(stored) == list(held)


def test_broken_records_are_left_out_and_listed(file: Path) -> None:
    with file.open("ab") as lines:
        lines.write(b"\nbroken\n" + record(10, "train").encode())
    with pytest.raises(BadRecord, match=r"tasks\.jsonl:11"):
        load_tasks(file, on_disk=True)
    tasks = load_tasks(file, on_disk=True, skip_bad=True)
    assert len(tasks) == 10 and tasks[9].id == "t10"
    assert [error.line for error in tasks.skipped] == [11]


def test_two_tasks_of_one_id_are_refused(file: Path) -> None:
    with file.open("ab") as lines:
        lines.write(b"\n" + record(4, "train").encode())
    with pytest.raises(BadConfig, match="must be distinct, got 't4' twice"):
        load_tasks(file, on_disk=True)


def test_a_file_that_changes_meanwhile_is_an_error(file: Path) -> None:
    stored = load_tasks(file, on_disk=True)
    text = file.read_bytes()
    file.write_bytes(text.replace(b"t5", b"t6"))
    with pytest.raises(BadConfig, match="must not change while it is used, got 't6'"):
        stored[5]
    file.write_bytes(text[:200])
    with pytest.raises(BadRecord):
        stored[7]
    file.unlink()
    with pytest.raises(BadConfig, match="must stay where it was loaded from"):
        stored[8]


def test_only_lines_can_stay_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(f"[{record(1, 'train')}]", encoding="utf-8")
    with pytest.raises(BadConfig, match=r"convert it once: corecode tasks show .* --json"):
        load_tasks(path, on_disk=True)
    with pytest.raises(BadConfig, match="must exist"):
        load_tasks(tmp_path / "no.jsonl", on_disk=True)


def test_large_files_stay_on_disk_and_small_ones_do_not(file: Path, tmp_path: Path) -> None:
    assert not isinstance(load_tasks(file), FileTaskSet)
    large = tmp_path / "large.jsonl"
    with large.open("wb") as lines:
        lines.write(file.read_bytes() + b"\n")
        lines.seek(sources.ON_DISK_BYTES)  # a hole: one broken line, and no space on disk
        lines.write(b"\n" * 2)
    tasks = load_tasks(large, skip_bad=True)
    assert isinstance(tasks, FileTaskSet) and len(tasks) == 9


MEASURE = """\
import json, re, sys
from pathlib import Path
from corecode_env.tasks import load_tasks
from corecode_env.tasks.sources import iter_tasks

def peak():
    # The peak of this program alone: getrusage counts that of the process it came from.
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", status).group(1))

how, path = sys.argv[1], Path(sys.argv[2])
if path.suffix == ".parquet":
    import pyarrow.parquet
before = peak()
held = []
if how == "hold":
    held = list(iter_tasks(path))
    found = sum(len(task.tests) for task in held)
elif how == "iterate":
    found = sum(len(task.tests) for task in iter_tasks(path))
else:
    tasks = load_tasks(path)
    found = sum(len(task.tests) for task in tasks.shuffle(0))
print(json.dumps({"tests": found, "grown": peak() - before}))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "suffix"),
    [
        ("load", ".jsonl"),
        ("iterate", ".jsonl.gz"),
        ("iterate", ".parquet"),
        ("hold", ".jsonl"),
    ],
)
def test_a_file_of_200_megabytes_needs_little_memory(
    tmp_path: Path, how: str, suffix: str
) -> None:
    path = tmp_path / f"huge_train{suffix}"
    rows = 400
    size = write_huge(path, rows)
    assert size > 200 * 2**20
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, how, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found = json.loads(run.stdout)
    assert found["tests"] == 2 * rows
    if how == "hold":
        assert found["grown"] > size, "what is measured here is memory"
    else:
        assert found["grown"] < size / 4


def write_huge(path: Path, rows: int) -> int:
    """Write rows of CodeContests of half a megabyte each; return their size in bytes."""
    import gzip
    import random

    numbers = random.Random(0)
    long = " ".join(str(numbers.randrange(10**9)) for _ in range(53_000))
    size = 0

    def row(number: int) -> dict[str, object]:
        text = long[number:] + long[:number]  # no two rows alike
        tests = {"input": [text, "1\n"], "output": ["1\n", "1\n"]}
        return {
            "name": f"{number}_A",
            "description": "Print 1.",
            "public_tests": {"input": [], "output": []},
            "private_tests": tests,
            "generated_tests": {"input": [], "output": []},
        }

    if path.suffix == ".parquet":
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        schema = arrow.Table.from_pylist([row(0)]).schema
        strings = arrow.list_(arrow.string())
        for field in ("public_tests", "generated_tests"):
            kind = arrow.struct([("input", strings), ("output", strings)])
            schema = schema.set(schema.get_field_index(field), arrow.field(field, kind))
        with parquet.ParquetWriter(path, schema) as writer:
            # Each is a row group, of which one is held at a time.
            for start in range(0, rows, 10):
                part = [row(number) for number in range(start, start + 10)]
                size += sum(len(json.dumps(each)) for each in part)
                writer.write_table(arrow.Table.from_pylist(part, schema=schema))
        return size
    opened = gzip.open(path, "wt", compresslevel=1) if path.suffix == ".gz" else path.open("w")
    with opened as file:
        for number in range(rows):
            size += file.write(json.dumps(row(number)) + "\n")
    return size
