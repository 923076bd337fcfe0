"""The page that explains GRPO line by line speaks of code that is there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "grpo-line-by-line.md"
NAMED = sorted(set(re.findall(r"`(algorithms/\w+\.py):([\w.]+)`", PAGE.read_text())))


def names_in(body: list[ast.stmt], path: str = "") -> set[str]:
    found = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found |= {path + node.name} | names_in(node.body, f"{path}{node.name}.")
    return found


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_place_that_the_page_names_exists(file: str, name: str) -> None:
    assert name in names_in(ast.parse((ROOT / file).read_text()).body)


def test_the_page_names_places() -> None:
    assert len(NAMED) > 15
