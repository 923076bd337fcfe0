"""What `corecode demo` leaves behind: a table, a plot, episodes.

episodes before and after, metrics  ->  files in the run folder
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from corecode_env.cli.demo_game import solved
from corecode_env.core.episode import Episode
from corecode_env.core.errors import MissingExtra
from corecode_env.evaluation.compare import mcnemar
from corecode_env.evaluation.plots import Curve, learning_curves
from corecode_env.records import EpisodeWriter

SIGNIFICANT: Final = 0.05
"""Largest p-value of a gain that is not put down to chance."""
SLIDE: Final = 0.03
"""How far the last share may lie below the best before it is called a slide."""
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


def verdict(
    before: Sequence[Episode],
    after: Sequence[Episode],
    best: Mapping[str, float] | None = None,
    last: Mapping[str, float] | None = None,
) -> str:
    """Return whether a run learned, in words.

    Args:
        before: Episodes of the shipped pair with its own plans.
        after: Those of the trained pair, on the same tasks in the same order.
        best: The trainer's best evaluation: `step` and `pass@1`.
        last: Its last one. Both were drawn with the same random numbers, and `after` with
            others, so that the best is compared with this one.
    """
    pairs = [(solved([a]), solved([b])) for a, b in zip(before, after, strict=True)]
    won, lost = (sum(gain == sign for gain in (b - a for a, b in pairs)) for sign in (1, -1))
    was, now = solved(before), solved(after)
    numbers = f"{was:.2f} before, {now:.2f} after ({won} tasks won, {lost} lost)"
    if won <= lost or mcnemar(won, lost) > SIGNIFICANT:
        return f"this run did not learn, or too little to tell from chance: {numbers}"
    slid = "" if best is None or last is None else _slid_back(best, last)
    return f"the pair learned: {numbers}{slid}"


def _slid_back(best: Mapping[str, float], last: Mapping[str, float]) -> str:
    if best["pass@1"] - last["pass@1"] <= SLIDE:
        return ""
    return (
        f"; it slid back from {best['pass@1']:.2f} after step {best['step']:.0f}, whose "
        f"checkpoint is kept, to {last['pass@1']:.2f}"
    )


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
