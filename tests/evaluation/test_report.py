"""What reports promise: the same numbers in every form, and no stranger's text as markup."""

import csv
import io
import json

import pytest
from rich.console import Console
from rich.table import Table

from corecode_env.core.errors import MissingExtra
from corecode_env.evaluation.collaboration import collaboration_gain
from corecode_env.evaluation.compare import compare
from corecode_env.evaluation.metrics import Metrics, summarise
from corecode_env.evaluation.report import (
    comparison_markdown,
    comparison_tables,
    metrics_csv,
    metrics_markdown,
    metrics_tables,
    with_gain,
)
from tests.evaluation.samples import rates

GROUPS = {"a": "level 1", "b": "[bold]level | 2"}


@pytest.fixture
def metrics() -> Metrics:
    return summarise(rates(a="11010", b="00000"), ks=(1, 5), groups=GROUPS)


def printed(*tables: Table) -> str:
    file = io.StringIO()
    for table in tables:
        Console(file=file, width=200).print(table)
    return file.getvalue()


def test_the_table_shows_every_metric_and_every_group(metrics: Metrics) -> None:
    text = printed(*metrics_tables(metrics))
    assert all(name in text for name in metrics.values)
    assert "30.0 %" in text
    assert "[bold]level | 2" in text


def test_the_csv_holds_the_plain_numbers(metrics: Metrics) -> None:
    rows = list(csv.DictReader(io.StringIO(metrics_csv(metrics))))
    whole = {row["metric"]: row for row in rows if row["group"] == ""}
    assert set(whole) == set(metrics.values)
    for name, row in whole.items():
        assert float(row["value"]) == metrics[name].value
    (one,) = [r for r in rows if r["group"] == "level 1" and r["metric"] == "pass@1"]
    assert float(one["value"]) == 0.6
    assert float(whole["pass@1"]["low"]) == metrics["pass@1"].low
    assert {row["low"] for row in rows if row["metric"] == "characters" and row["group"]} == {
        ""
    }


def test_markdown_has_a_line_for_each_and_keeps_its_columns(metrics: Metrics) -> None:
    lines = metrics_markdown(metrics).splitlines()
    assert "| pass@1 | 30.0 % |" in lines[2]
    assert any("[bold]level \\| 2" in line for line in lines)


def test_json_holds_everything_and_can_be_read_back(metrics: Metrics) -> None:
    record = json.loads(json.dumps(metrics.to_json(), allow_nan=False))
    assert record["schema"] == "corecode/metrics/1"
    assert record["values"]["pass@5"]["value"] == 0.5
    assert record["groups"]["level 1"]["tasks"] == 1


def test_the_gain_stands_among_the_metrics_where_it_is_defined(metrics: Metrics) -> None:
    gain = collaboration_gain(rates(a="11", b="10"), rates(a="10", b="10"))
    assert with_gain(metrics, gain)["collaboration_gain"].value == pytest.approx(0.5)
    undefined = collaboration_gain(rates(a="11", b="10"), rates(a="00", b="00"))
    found = with_gain(metrics, undefined).values
    assert "collaboration_gain" not in found
    assert found["gain_in_pass@1"].value == 0.75


def test_an_open_end_of_an_interval_is_a_dash() -> None:
    gain = collaboration_gain(rates(a="1", b="1", c="1"), rates(a="1", b="0", c="0"))
    text = printed(*metrics_tables(with_gain(summarise(rates(a="1")), gain)))
    assert "to \N{EN DASH}" in text


def test_a_comparison_lists_what_changed_most() -> None:
    found = compare(rates(a="1", b="0", c="00"), rates(a="1", b="1", c="10"))
    text = printed(*comparison_tables(found))
    assert text.index("\nb ") < text.index("\nc ")
    assert "exact McNemar" in text
    assert len(comparison_tables(found, listed=0)) == 1
    assert "| B less A | 50.0 % |" in comparison_markdown(found)


def test_a_missing_library_is_named_with_its_extra() -> None:
    assert "corecode-env[metrics]" in str(MissingExtra("radon", "metrics"))
