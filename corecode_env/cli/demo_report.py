"""What `corecode demo` leaves behind: a table, a plot, episodes.

episodes before and after, metrics  ->  files in the run folder
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from corecode_env.cli.demo_game import solved
from corecode_env.core.episode import Episode
from corecode_env.core.errors import MissingExtra
from corecode_env.evaluation.plots import Curve, learning_curves
from corecode_env.records import EpisodeWriter

ByPlan = Mapping[str, Sequence[Episode]]
"""Episodes of the same tasks, by whose plan the Coder was given."""


def table(before: ByPlan, after: ByPlan) -> Table:
    """Return the share of held-out tasks solved, by plan, before and after."""
    number = len(next(iter(before.values())))
    shown = Table(title=f"solved of {number} held-out tasks")
    for name, justify in (
        ("the Coder is given", "left"),
        ("before", "right"),
        ("after", "right"),
    ):
        shown.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name, episodes in before.items():
        shown.add_row(name, f"{solved(episodes):.2f}", f"{solved(after[name]):.2f}")
    return shown


def write_shares(path: Path, before: ByPlan, after: ByPlan) -> None:
    """Write the table as JSON: {plan: {"before": share, "after": share}}."""
    shares = {
        name: {"before": solved(episodes), "after": solved(after[name])}
        for name, episodes in before.items()
    }
    path.write_text(json.dumps(shares, indent=1) + "\n")


def write_all(folder: Path, name: str, by_plan: ByPlan) -> None:
    """Write every episode to `NAME-PLAN.jsonl`, such as `before-no-plan.jsonl`."""
    for plan, episodes in by_plan.items():
        slug = plan.lower().replace(" ", "-").replace("'", "")
        with EpisodeWriter(folder / f"{name}-{slug}.jsonl") as writer:
            for episode in episodes:
                writer.write(episode)


def plot(path: Path, steps: Sequence[Mapping[str, Any]]) -> bool:
    """Draw the learning curve, if matplotlib is installed; return whether it was drawn.

    Args:
        path: The picture to write.
        steps: Metrics of every step, as in metrics.jsonl.
    """
    drawn = {"training": "solved", "held out": "eval/pass@1"}
    curves = [
        Curve.of_runs(label, [{m["step"]: m[key] for m in steps if key in m}])
        for label, key in drawn.items()
        if any(key in m for m in steps)
    ]
    try:
        learning_curves(curves, path, ylabel="share solved", title="corecode demo")
    except MissingExtra:
        return False
    return True
