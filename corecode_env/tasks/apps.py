"""APPS and TACO: problems of programming sites, with all tests in one field.

Schema of APPS (Hendrycks et al., 2021, arXiv:2105.09938): `problem_id`, `question`,
`solutions` (JSON list of sources, or empty), `input_output` (JSON object with `inputs`,
`outputs` and for calls `fn_name`, or empty), `difficulty`, `url`, `starter_code`. On disk
one folder a problem: `question.txt`, `solutions.json`, `input_output.json`, and optionally
`starter_code.py` and `metadata.json`; such a folder is read with `format="apps"`.

Schema of TACO (Li et al., 2023, arXiv:2312.14852): the same but `problem_id`, and `name`,
`source`, `raw_tags`, `tags`, `skill_types`, `time_limit` and `memory_limit` in words.

Leading tests that the statement shows are public, the others hidden. Neither set has
checkers: where several answers are right the data know one, and
`metadata["several_answers"]` marks statements that say so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import Task
from corecode_env.tasks.contest_tests import (
    bounded,
    checker_of,
    columns,
    first_python,
    interface_of,
    json_field,
    limits_of,
    marks_of,
    numbered,
    split_shown,
    tests_of,
    with_starter,
)
from corecode_env.tasks.files import Line, parse_json, read_records
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.splits import split_of_file

_TACO_ONLY: Final = {"raw_tags", "skill_types", "picture_num"}
_UNITS: Final = {"byte": 1, "kilobyte": 2**10, "megabyte": 2**20, "gigabyte": 2**30}


def _read_apps(record: Record, where: Where) -> Task:
    number = where.integer(record, "problem_id")
    metadata = {
        "source": "APPS",
        "source_id": number,
        "licence": "MIT",
        "difficulty": where.string(record, "difficulty", "") or "unknown",
        "url": where.string(record, "url", ""),
    }
    return _task(f"APPS/{number:04}", record, metadata, where)


def _read_taco(record: Record, where: Where) -> Task:
    question = where.string(record, "question")
    metadata = {
        "source": "TACO",
        "licence": "Apache-2.0",
        "difficulty": where.string(record, "difficulty", "") or "unknown",
        "url": _text(record, "url"),
        "site": _text(record, "source"),
        "tags": _names(record, "tags", where) or _names(record, "raw_tags", where),
        "skills": _names(record, "skill_types", where),
    }
    return _task(numbered("TACO", question, where), record, metadata, where)


def _task(task_id: str, record: Record, metadata: dict[str, Any], where: Where) -> Task:
    question = where.string(record, "question")
    starter = _text(record, "starter_code")
    if not record.get("input_output"):
        raise where.bad("input_output", record.get("input_output"), "tests, but it has none")
    value = json_field(record, "input_output", where, "inputs and outputs")
    cases, left_out = bounded(columns(value, "input_output", where))
    if not cases.pairs:
        raise where.bad("input_output", f"{left_out} tests", "tests short enough to keep")
    reference = None
    if record.get("solutions"):
        reference = first_python(json_field(record, "solutions", where, "a list of sources"))
    interface = interface_of(cases.function, starter, reference)
    public, hidden = split_shown(cases, question)
    return Task(
        id=task_id,
        statement=with_starter(question, starter),
        interface=interface,
        public_tests=tests_of(public, interface),
        hidden_tests=tests_of(hidden, interface),
        # Their tests came through JSON, which has text keys only.
        checker=checker_of(interface),
        limits=limits_of(_seconds(record), _memory(record)),
        reference_program=reference,
        metadata={
            **metadata,
            "split": split_of_file(where.source, question),
            **marks_of(question, left_out),
        },
    )


def _text(record: Record, field: str) -> str:
    value = record.get(field)
    return value if isinstance(value, str) else ""


def _names(record: Record, field: str, where: Where) -> list[str]:
    """Return a list of strings that stands in a string, as a Python literal."""
    text = _text(record, field)
    try:
        found = ast.literal_eval(text) if text else []
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise where.bad(field, text, f"a list of strings as a literal ({error})") from error
    return [str(name) for name in found] if isinstance(found, list) else []


def _seconds(record: Record) -> float | None:
    found = re.match(r"\s*(\d+(?:\.\d+)?)\s*sec", _text(record, "time_limit"))
    return float(found.group(1)) if found else None


def _memory(record: Record) -> int | None:
    found = re.match(r"\s*(\d+(?:\.\d+)?)\s*(\w*byte)", _text(record, "memory_limit"))
    if found is None or found.group(2) not in _UNITS:
        return None
    return int(float(found.group(1)) * _UNITS[found.group(2)])


# -------------------------------------------------------------------- APPS on disk
def read_apps(path: Path) -> Iterator[Line]:
    """Read the records of a file, or of a folder that holds one folder a problem.

    Yields:
        One record a problem, numbered from 1, or what is wrong with it.

    Raises:
        BadConfig: As `read_records`, for anything that is no such folder.
    """
    problems = sorted(file.parent for file in path.glob("*/question.txt"))
    if (path / "question.txt").is_file():
        problems = [path]
    if not problems:
        yield from read_records(path)
        return
    for number, folder in enumerate(problems, 1):
        try:
            yield number, _folder_record(folder)
        except BadRecord as error:
            yield number, error


def _folder_record(folder: Path) -> dict[str, Any]:
    def content(name: str) -> str:
        file = folder / name
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    digits = re.sub(r"\D", "", folder.name)
    try:
        about = parse_json(content("metadata.json") or "{}")
        return {
            "problem_id": int(digits) if digits else folder.name,
            "question": content("question.txt"),
            "solutions": content("solutions.json"),
            "input_output": content("input_output.json"),
            "starter_code": content("starter_code.py"),
            "difficulty": about.get("difficulty", ""),
            "url": about.get("url", ""),
        }
    except (ValueError, AttributeError) as error:
        raise BadRecord(
            source=str(folder),
            line=None,
            field="metadata.json",
            found=str(error),
            expected="text in UTF-8 and one JSON object",
        ) from error


def _is_apps(record: Record) -> bool:
    return {"question", "solutions", "input_output"} <= record.keys()


APPS = Format(
    name="apps",
    description="APPS: problem_id, question, solutions, input_output",
    matches=lambda record: (
        _is_apps(record) and "problem_id" in record and not _TACO_ONLY & record.keys()
    ),
    read=_read_apps,
    lines=read_apps,
)
TACO = Format(
    name="taco",
    description="TACO: question, solutions, input_output, skill_types, raw_tags",
    matches=lambda record: _is_apps(record) and bool(_TACO_ONLY & record.keys()),
    read=_read_taco,
)
