"""What `corecode demo` learns: one run a seed, one table.

    python benchmarks/demo_learning.py [--seeds 0 1 2] [--out FOLDER] [-- OPTIONS OF THE DEMO]

Runs `corecode demo --seed S` for each seed, one after the other, in the public settings, and
prints a Markdown table of what the runs wrote down. A run that is in the folder already is
read and not repeated. Needs the extra `train`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corecode_env.cli.demo_game import OWN, solved
from corecode_env.core.episode import Episode
from corecode_env.records import read_episodes

COMMAND = (str(Path(sys.executable).with_name("corecode")), "demo")


def run(seed: int, folder: Path, options: Sequence[str]) -> Mapping[str, Any]:
    """Run the demo, unless its folder is there already; return summary and shares."""
    if not (folder / "by_plan.json").exists():
        command = [*COMMAND, "--seed", str(seed), "--out", str(folder), *options]
        subprocess.run(command, check=True, stdout=sys.stderr)
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    by_plan = json.loads((folder / "by_plan.json").read_text())
    return summary | {"by_plan": by_plan | by_level(folder / "episodes")}


def by_level(folder: Path) -> dict[str, dict[str, float]]:
    """Return the share solved with the Planner's plan before and after, by level."""
    shares: dict[str, dict[str, float]] = {}
    for moment in ("before", "after"):
        levels: dict[str, list[Episode]] = {}
        for episode in read_episodes(folder / f"{moment}-planners-plan.jsonl").episodes:
            levels.setdefault(episode.task_id.split("/")[1], []).append(episode)
        for level, played in sorted(levels.items()):
            shares.setdefault(f"{OWN}, level {level}", {})[moment] = solved(played)
    return shares


def table(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return held-out pass@1 by seed, and what the Coder did with each kind of plan."""
    lines = [
        "| seed | before | after | gain | best | steps | minutes |",
        "|---|---|---|---|---|---|---|",
    ]
    for done in runs:
        before, best, after = (done[name]["pass@1"] for name in ("before", "best", "after"))
        lines.append(
            f"| {done['seed']} | {before:.2f} | {after:.2f} | {after - before:+.2f} "
            f"| {best:.2f} | {done['step']} | {done['seconds'] / 60:.1f} |"
        )
    lines += ["", "| the Coder is given |" + "".join(f" seed {d['seed']} |" for d in runs)]
    lines.append("|---|" + "---|" * len(runs))
    for plan in runs[0]["by_plan"]:
        shares = [done["by_plan"][plan] for done in runs]
        cells = (f" {share['before']:.2f} → {share['after']:.2f} |" for share in shares)
        lines.append(f"| {plan} |" + "".join(cells))
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=Path("runs/demo"))
    parser.add_argument("options", nargs="*", help="options of the demo, after --")
    given = parser.parse_args()
    runs = [run(s, given.out / f"seed-{s}", given.options) for s in given.seeds]
    print(table(runs))


if __name__ == "__main__":
    main()
