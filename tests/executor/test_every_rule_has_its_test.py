"""What the page "What is tested" promises: every rule and id has a test that is there."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "explanation" / "what-is-tested.md"
CASES = Path(__file__).with_name("cases") / "sandbox.jsonl"
COUNTS = {"F": 29, "H": 20, "R": 28, "C": 21, "K": 11}
IDS = [f"rule {n}" for n in range(1, 13)] + [
    f"{letter}{n:02}" for letter, count in COUNTS.items() for n in range(1, count + 1)
]
ROW = re.compile(r"^\| (rule \d+|[FHRCK]\d\d) \| (.+) \| (.*) \|$", re.MULTILINE)
NAME = re.compile(r"(test_\w+)\.(test_\w+)(?:\[([FHRC]\d\d)\])?")


@cache
def rows() -> Mapping[str, tuple[str, list[str]]]:
    """Return what the page says: id -> meaning, names of tests and cases."""
    found = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len({row[0] for row in found}) == len(found), "an id stands there twice"
    return {row[0]: (row[1], re.findall(r"`([^`]+)`", row[2])) for row in found}


@cache
def text_of(file: str) -> str:
    """Return the text of a file of tests; of both, where two rooms have one of that name."""
    found = sorted(TESTS.rglob(f"{file}.py"))
    assert found, f"there is no {file}.py"
    return "\n".join(path.read_text(encoding="utf-8") for path in found)


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse(text_of(file))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions))


def test_no_rule_and_no_id_is_missing() -> None:
    assert list(rows()) == IDS
    assert all(meaning.strip() for meaning, _ in rows().values())


@pytest.mark.parametrize("id_", IDS)
def test_each_has_tests_that_are_there(id_: str) -> None:
    names = rows()[id_][1]
    cases = {json.loads(line)["id"] for line in CASES.read_text("utf-8").splitlines()}
    tests = [name for name in names if name.startswith("test_")]
    assert tests, f"{id_} has no test"
    assert cases.issuperset(set(names) - set(tests))
    for name in tests:
        match = NAME.fullmatch(name)
        assert match is not None, name
        file, function, parameters = match.groups()
        assert function in functions_of(file), f"{name} is no test"
        if parameters is not None:
            assert f'"{parameters}_' in text_of(file), name


def test_every_test_that_carries_an_id_is_on_the_page() -> None:
    told = {id_: " ".join(names) for id_, (_, names) in rows().items()}
    for path in Path(__file__).parent.glob("test_*.py"):
        for function in functions_of(path.stem):
            ids = re.findall(r"(?<=_)([fhrcFHRC]\d\d)(?=_)", function)
            ids += re.findall(r"(?<=_)rule_(\d+)(?=_)", function)
            for id_ in ids:
                key = id_.upper() if id_[0].isalpha() else f"rule {id_}"
                assert f"{path.stem}.{function}" in told[key], (
                    f"{function} is not told of {key}"
                )
