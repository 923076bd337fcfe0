"""Reports: what a run says of itself, while it goes on and at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corecode_env.core.tree import Tree


@dataclass(frozen=True, slots=True)
class StepReport:
    """What callbacks are told after each step, and once before the first (step 0)."""

    step: int
    """Steps done."""
    metrics: Mapping[str, float]
    trees: tuple[Tree, ...]
    """What was played and learnt from."""
    evaluated: tuple[Tree, ...] = ()
    """What was played to evaluate after this step, if it was."""


Callback = Callable[[StepReport], bool | None]
"""Called after each step; True ends the run, with its last evaluation and checkpoint."""


@dataclass(slots=True)
class Progress:
    """How far a run is: what a checkpoint keeps besides weights."""

    step: int = 0
    skipped: int = 0
    """Steps in which there was nothing to learn from."""
    seconds: float = 0.0
    before: dict[str, float] | None = None
    best: dict[str, float] | None = None
    after: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run came to: the evaluations before, at their best, and at the end."""

    before: Mapping[str, float] | None
    best: Mapping[str, float] | None
    after: Mapping[str, float] | None
    step: int
    """Steps done."""
    skipped: int
    """Steps in which there was nothing to learn from."""
    seconds: float
    seed: int
    run_dir: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the content of summary.json."""
        record = asdict(self)
        del record["run_dir"]
        return record
