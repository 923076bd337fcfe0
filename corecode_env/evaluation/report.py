"""Report: metrics and comparisons, as a person or a program wants to read them.

Metrics, Gain, Comparison  ->  a table for the terminal, CSV, Markdown
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from corecode_env.evaluation.ablation import ArmResult
from corecode_env.evaluation.collaboration import Gain
from corecode_env.evaluation.compare import Comparison
from corecode_env.evaluation.intervals import Estimate
from corecode_env.evaluation.metrics import SHARES, Metrics

_IN_PER_CENT = (*SHARES, "gain_in_pass@1", "collaboration_gain")


def with_gain(metrics: Metrics, gain: Gain) -> Metrics:
    """Return metrics with the Collaboration Gain among them.

    `collaboration_gain` is missing where it is not defined; `pass@1/alone` and
    `gain_in_pass@1` are always there.
    """
    added = {"pass@1/alone": gain.alone, "gain_in_pass@1": gain.difference}
    if gain.relative is not None:
        added["collaboration_gain"] = gain.relative
    return replace(metrics, values={**metrics.values, **added})


def show(name: str, number: float | None) -> str:
    """Return a number of a metric in the unit that people read it in.

    >>> show("pass@1", 0.25), show("peak_bytes", 3 * 2**20), show("cpu_seconds", 0.0123)
    ('25.0 %', '3.0 MiB', '0.0123')
    """
    if number is None:
        return "–"  # noqa: RUF001  a dash, not a minus
    if name.startswith(_IN_PER_CENT):
        return f"{100 * number:.1f} %"
    if name.startswith("peak_bytes"):
        return f"{number / 2**20:.1f} MiB"
    return f"{number:.4g}" if abs(number) < 1000 else f"{number:,.0f}"


def _span(name: str, estimate: Estimate) -> str:
    if estimate.low is None and estimate.high is None:
        return ""
    return f"{show(name, estimate.low)} to {show(name, estimate.high)}"


# ------------------------------------------------------------------------------- metrics
def metrics_tables(metrics: Metrics) -> list[Table]:
    """Return a table of all metrics, and one of the groups if there are any."""
    return [_table(header, rows) for header, rows in _sections(metrics)]


def metrics_markdown(metrics: Metrics) -> str:
    """Return the same tables in Markdown."""
    return "\n".join(_markdown(header, rows) for header, rows in _sections(metrics))


def metrics_csv(metrics: Metrics) -> str:
    """Return one line for each metric of the whole and of each group, in plain numbers.

    The whole has an empty group; what is unknown is an empty field.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["group", "metric", "value", "low", "high", "tasks"])
    for group, part in [("", metrics), *metrics.groups.items()]:
        for name, found in part.values.items():
            writer.writerow([group, name, found.value, found.low, found.high, found.n])
    return file.getvalue()


def _sections(metrics: Metrics) -> Iterator[tuple[list[str], list[list[str]]]]:
    yield (
        ["metric", "value", "interval", "tasks"],
        [
            [name, show(name, found.value), _span(name, found), str(found.n)]
            for name, found in metrics.values.items()
        ],
    )
    if metrics.groups:
        names = [n for n in metrics.values if n.startswith("pass@") and "/" not in n]
        names += ["apr", "failure"]
        yield (
            ["group", "tasks", *names],
            [
                [group, str(part.tasks), *(_cell(part, name) for name in names)]
                for group, part in metrics.groups.items()
            ],
        )


def _cell(metrics: Metrics, name: str) -> str:
    return show(name, metrics.values[name].value) if name in metrics.values else ""


# ---------------------------------------------------------------------------- comparison
def comparison_tables(comparison: Comparison, *, listed: int = 20) -> list[Table]:
    """Return a table of the numbers, and one of the tasks that changed most.

    Args:
        comparison: What was found.
        listed: How many changed tasks are shown.
    """
    tables = [_table(["", "value", "interval"], _comparison_rows(comparison))]
    if comparison.changes and listed:
        rows = [
            [change.task_id, show("pass@1", change.a), show("pass@1", change.b)]
            for change in comparison.changes[:listed]
        ]
        tables.append(_table(["task", "A", "B"], rows))
    return tables


def comparison_markdown(comparison: Comparison) -> str:
    """Return the numbers in Markdown."""
    return _markdown(["", "value", "interval"], _comparison_rows(comparison))


def _comparison_rows(comparison: Comparison) -> list[list[str]]:
    def row(label: str, estimate: Estimate) -> list[str]:
        return [label, show("pass@1", estimate.value), _span("pass@1", estimate)]

    return [
        ["tasks of both", str(comparison.tasks), ""],
        ["tasks of A only", str(comparison.only_a), ""],
        ["tasks of B only", str(comparison.only_b), ""],
        row("A: pass@1", comparison.a),
        row("B: pass@1", comparison.b),
        row("B less A", comparison.difference),
        ["p, paired bootstrap", f"{comparison.bootstrap_p:.3g}", ""],
        ["won by B, first programs", str(comparison.won), ""],
        ["lost by B, first programs", str(comparison.lost), ""],
        ["p, exact McNemar", f"{comparison.mcnemar_p:.3g}", ""],
    ]


# ------------------------------------------------------------------------------ ablation
def ablation_table(results: Sequence[ArmResult]) -> Table:
    """Return one line for each arm of an ablation."""
    return _table(*_arm_lines(results))


def ablation_markdown(results: Sequence[ArmResult]) -> str:
    """Return the same table in Markdown."""
    return _markdown(*_arm_lines(results))


def ablation_csv(results: Sequence[ArmResult]) -> str:
    """Return one line for each number of each arm, unrounded; unknown ones are empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["arm", "programs", "metric", "value", "low", "high", "tasks"])
    for result in results:
        for name in ("solved", "alone", "change", "gain"):
            found: Estimate | None = getattr(result, name)
            numbers = ("", "", "", "") if found is None else found
            writer.writerow([result.arm, result.programs, name, *numbers])
    return file.getvalue()


def _arm_lines(results: Sequence[ArmResult]) -> tuple[list[str], list[list[str]]]:
    header = ["arm", "learnt from", "pass@1", "interval", "change", "interval"]
    header += ["Coder alone", "Collaboration Gain", "interval", "by seed"]

    def cells(found: Estimate | None) -> list[str]:
        return ["", ""] if found is None else [_percent(found), _span("pass@1", found)]

    return header, [
        [
            result.arm,
            f"{result.programs} programs",
            *cells(result.solved),
            *cells(result.change),
            _percent(result.alone),
            *cells(result.gain),
            ", ".join(f"{100 * rate:.1f}" for rate in result.by_seed),
        ]
        for result in results
    ]


def _percent(found: Estimate) -> str:
    return show("pass@1", found.value)


# --------------------------------------------------------------------------------- forms
def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place == 0 else "right", overflow="fold")
    for row in rows:
        # Names of tasks and groups are strangers' text, never markup.
        table.add_row(*(Text(cell) for cell in row))
    return table


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
    )
