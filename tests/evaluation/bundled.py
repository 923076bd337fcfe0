"""The task sets whose answers are checked: bundled, generated, and kept for tests."""

from __future__ import annotations

from pathlib import Path

from corecode_env.tasks import TaskSet, load_tasks

BUNDLED = (
    "humaneval",
    "humanevalplus",
    "mbpp",
    "mbpp-sanitized",
    "cruxeval",
    "humanevalpack",
    "google_contests",
    "pipelines/1",
    "pipelines/2/stdio",
    "pipelines/2/io_prediction",
    "pipelines/3/repair",
    "pipelines/5",
)
"""Names of sets that come with the package."""
OF_FILES = (
    "p3/puzzles.json.gz",
    "classeval/ClassEval_data.json.gz",
    "mbppplus/MbppPlus-OriginFmt.jsonl.gz",
)
"""Files of `tests/data`."""
_DATA = Path(__file__).parent.parent / "data"


def first_tasks(name: str, n: int) -> TaskSet:
    """Return the first tasks of a set; of generated ones, which have no end, 100 at most."""
    tasks = load_tasks(_DATA / name if name in OF_FILES else name)
    return tasks.head(min(n, 100) if name.startswith("pipelines") else n)
