"""What the notebooks promise: each runs as it stands, on any machine, and teaches by doing.

They are kept without outputs, so that a change of one is a change of what a person wrote.
"""

import json
import os
import re
import resource
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
FIVE_MINUTES = 300
CORES = 2
NEEDS_TRAIN = "the extra `train`"

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    return [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == kind]


def text_of(path: Path) -> str:
    return "\n\n".join("".join(cell["source"]) for cell in cells(path, "markdown"))


def used_by_children() -> float:
    """Return CPU seconds, which a busy machine does not lengthen as it does wall time."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_there_are_notebooks_and_the_page_links_each() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05"]
    page = (FOLDER / "index.md").read_text()
    assert re.findall(r"\]\(([\w-]+\.ipynb)\)", page) == [path.name for path in NOTEBOOKS]


@each_notebook
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    for cell in cells(path, "code"):
        assert not cell["outputs"]
        assert cell["execution_count"] is None


@each_notebook
def test_every_exercise_has_an_answer_that_is_folded_and_checked(path: Path) -> None:
    exercises = re.search(r"^## Exercises\n(.*)", text_of(path), re.DOTALL | re.MULTILINE)
    assert exercises is not None
    numbers = re.findall(r"^(\d)\. ", exercises[1], re.MULTILINE)
    answers = [cell for cell in cells(path, "code") if cell["metadata"].get("tags")]
    assert numbers == [str(number) for number in range(1, len(answers) + 1)]
    assert len(answers) >= 2
    for number, cell in zip(numbers, answers, strict=True):
        source = "".join(cell["source"])
        assert source.startswith(f"# {number}. ")
        assert cell["metadata"]["jupyter"]["source_hidden"]
        assert "assert " in source, "an answer says what must come out"


@pytest.mark.slow
@each_notebook
def test_a_notebook_runs_in_five_minutes_of_two_cores_without_a_warning(
    path: Path, tmp_path: Path
) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    if NEEDS_TRAIN in text_of(path) and find_spec("torch") is None:
        pytest.skip("needs the extra train")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    # Without ipywidgets tqdm, which transformers imports, draws its bars as text and says so.
    environment = os.environ | {"PYTHONWARNINGS": "ignore:IProgress not found"}
    begun = used_by_children()
    nbclient.NotebookClient(
        notebook, timeout=4 * FIVE_MINUTES, resources={"metadata": {"path": str(tmp_path)}}
    ).execute(env=environment)
    assert used_by_children() - begun < CORES * FIVE_MINUTES
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    warnings = [o["text"] for o in outputs if o.get("name") == "stderr"]
    assert not warnings
