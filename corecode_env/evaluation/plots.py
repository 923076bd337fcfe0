"""Plots: PNG files of what runs came to. Needs matplotlib (extra `plots`).

    plain numbers  ->  a PNG file

Nothing global is touched: every picture is a `Figure` of its own, drawn without a screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from corecode_env.core.errors import BadConfig, MissingExtra
from corecode_env.core.verdict import PRECEDENCE, Verdict
from corecode_env.evaluation.collaboration import Gain
from corecode_env.evaluation.intervals import CONFIDENCE, percentiles, resampled_sums

# Okabe and Ito's colours, which people with any colour vision can tell apart.
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_VERDICT_COLOURS: Final[Mapping[Verdict, str]] = {
    Verdict.AC: "#009E73",
    Verdict.PE: "#F0E442",
    Verdict.WA: "#E69F00",
    Verdict.NOCALL: "#B8860B",
    Verdict.RE: "#D55E00",
    Verdict.TLE: "#CC79A7",
    Verdict.ILE: "#8E5C7F",
    Verdict.MLE: "#56B4E9",
    Verdict.OLE: "#0072B2",
    Verdict.CE: "#7F7F7F",
    Verdict.SV: "#000000",
    Verdict.SKIP: "#D9D9D9",
    Verdict.SE: "#A6761D",
}


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a learning curve.

    Attributes:
        label: What the line is.
        steps: Places on the x axis.
        values: Mean at each step.
        low: Lower end of the interval at each step; equal to `values` if there is none.
        high: Upper end.
        runs: Runs behind it.
    """

    label: str
    steps: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    runs: int = 1

    @classmethod
    def of_runs(
        cls,
        label: str,
        runs: Sequence[Mapping[float, float]],
        *,
        confidence: float = CONFIDENCE,
        seed: int = 0,
    ) -> Curve:
        """Return the mean of several runs with a bootstrap interval over runs.

        Args:
            label: What the runs have in common.
            runs: Value by step, one mapping a run, such as one a seed. Steps that not
                every run has are left out.
            confidence: Probability that the interval is to cover.
            seed: Seed of the draws.

        Raises:
            BadConfig: If the runs have no step in common.
        """
        shared = sorted(set.intersection(*(set(run) for run in runs))) if runs else []
        if not shared:
            raise BadConfig(f"runs of {label!r} must have steps in common, got none")
        values = np.array([[run[step] for run in runs] for step in shared])
        means = values.mean(axis=1)
        low, high = means, means
        if len(runs) > 1:
            draws = resampled_sums(values, seed=seed) / len(runs)
            low, high = np.array([percentiles(row, confidence) for row in draws]).T
        lines = [tuple(float(x) for x in row) for row in (means, low, high)]
        return cls(label, tuple(shared), lines[0], lines[1], lines[2], len(runs))


def learning_curves(
    curves: Sequence[Curve],
    path: str | Path,
    *,
    ylabel: str = "pass@1",
    xlabel: str = "step",
    title: str = "",
) -> None:
    """Draw learning curves, with their intervals shaded.

    Args:
        curves: The lines.
        path: PNG file to write.
        ylabel: What is measured; a share is drawn from 0 to 1.
        xlabel: What a step is.
        title: Heading.

    Raises:
        MissingExtra: If matplotlib is not installed.
    """
    figure, axes = _figure()
    for place, curve in enumerate(curves):
        colour = _COLOURS[place % len(_COLOURS)]
        label = curve.label if curve.runs == 1 else f"{curve.label} ({curve.runs} runs)"
        marker = "o" if len(curve.steps) <= 30 else None
        axes.plot(curve.steps, curve.values, color=colour, label=label, marker=marker, ms=3)
        axes.fill_between(curve.steps, curve.low, curve.high, color=colour, alpha=0.2, lw=0)
    ends = [end for curve in curves for end in (*curve.low, *curve.high)]
    if ends and 0.0 <= min(ends) and max(ends) <= 1.0:
        axes.set_ylim(0.0, 1.02)
    axes.legend(frameon=False)
    _finish(figure, axes, path, xlabel=xlabel, ylabel=ylabel, title=title)


def verdicts_over_time(
    steps: Sequence[float],
    shares: Mapping[Verdict, Sequence[float]],
    path: str | Path,
    *,
    xlabel: str = "step",
    title: str = "",
) -> None:
    """Draw how the share of each verdict moves, stacked to 1.

    Args:
        steps: Places on the x axis.
        shares: Share or number of programs by verdict, one for each step.
        path: PNG file to write.
        xlabel: What a step is.
        title: Heading.

    Raises:
        BadConfig: If a verdict has not one share for each step, or a step has no program.
        MissingExtra: If matplotlib is not installed.
    """
    shown = [v for v in reversed(PRECEDENCE) if any(shares.get(v, ()))]
    for verdict in shown:
        if len(shares[verdict]) != len(steps):
            raise BadConfig(
                f"{verdict.value} must have one share for each of {len(steps)} steps, got "
                f"{len(shares[verdict])}"
            )
    stack = np.array([shares[verdict] for verdict in shown], dtype=float)
    if stack.size == 0 or not (stack.sum(axis=0) > 0).all():
        raise BadConfig("every step must have programs with a verdict, got one without")
    figure, axes = _figure()
    axes.stackplot(
        steps,
        stack / stack.sum(axis=0),
        labels=[f"{verdict.value} {verdict.meaning}" for verdict in shown],
        colors=[_VERDICT_COLOURS[verdict] for verdict in shown],
    )
    axes.set_ylim(0.0, 1.0)
    axes.margins(x=0)
    handles, labels = axes.get_legend_handles_labels()
    # The legend stands in the order of the stack, seen from above.
    axes.legend(
        handles[::-1], labels[::-1], frameon=False, loc="center left", bbox_to_anchor=(1, 0.5)
    )
    _finish(figure, axes, path, xlabel=xlabel, ylabel="share of programs", title=title)


def gain_by_group(gains: Mapping[str, Gain], path: str | Path, *, title: str = "") -> None:
    """Draw the pass rate with a plan beside the one alone, by group of tasks.

    Args:
        gains: Gain by group, such as a level.
        path: PNG file to write.
        title: Heading.

    Raises:
        BadConfig: If there is no group.
        MissingExtra: If matplotlib is not installed.
    """
    if not gains:
        raise BadConfig("gains must have groups to be drawn, got none")
    figure, axes = _figure()
    places = np.arange(len(gains))
    sides = (("alone", -0.2, _COLOURS[5]), ("with a plan", 0.2, _COLOURS[0]))
    for label, shift, colour in sides:
        found = [g.alone if label == "alone" else g.with_plan for g in gains.values()]
        values = np.array([estimate.value for estimate in found])
        ends = np.array([(e.low or 0.0, 1.0 if e.high is None else e.high) for e in found])
        reach = np.clip([values - ends[:, 0], ends[:, 1] - values], 0.0, None)
        axes.bar(places + shift, values, 0.38, label=label, color=colour)
        axes.errorbar(places + shift, values, reach, fmt="none", ecolor="#444444", capsize=3)
    for place, gain in zip(places, gains.values(), strict=True):
        top = max(gain.alone.high or 0.0, gain.with_plan.high or 0.0)
        axes.annotate(_gain_text(gain), (place, top + 0.02), ha="center", va="bottom")
    axes.set_ylim(0.0, 1.15)
    axes.set_yticks(np.linspace(0.0, 1.0, 6))
    # One group alone must not fill the picture with two bars.
    middle, half = (len(gains) - 1) / 2, max(len(gains), 3) / 2
    axes.set_xlim(middle - half, middle + half)
    axes.set_xticks(places, [f"{name}\n{g.alone.n} tasks" for name, g in gains.items()])
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    _finish(figure, axes, path, xlabel="", ylabel="pass@1", title=title)


def _gain_text(gain: Gain) -> str:
    if gain.relative is None:
        return f"{100 * gain.difference.value:+.0f} points"
    return f"{100 * gain.relative.value:+.0f} %"


def _figure() -> tuple[Any, Any]:
    try:
        module = import_module("matplotlib.figure")
    except ImportError as error:
        raise MissingExtra("matplotlib", "plots") from error
    figure = module.Figure(figsize=(7.5, 4.2), layout="constrained")
    return figure, figure.add_subplot()


def _finish(
    figure: Any, axes: Any, path: str | Path, *, xlabel: str, ylabel: str, title: str
) -> None:
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title, loc="left", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, format="png", dpi=150)
