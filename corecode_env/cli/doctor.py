"""`corecode doctor`: what this machine can do, and what to do about the rest."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from typing import TYPE_CHECKING, Final

import click
from rich.table import Table
from rich.text import Text

from corecode_env.cli import options
from corecode_env.cli.exits import Exit
from corecode_env.cli.terminal import output, progress, write_json
from corecode_env.executor import LocalExecutor

if TYPE_CHECKING:
    from corecode_env.executor.isolation import IsolationReport

DISTRIBUTION: Final = "corecode-env"
FOR_DEVELOPERS: Final = frozenset({"docs", "test", "bench", "all"})
_EXTRA = re.compile(r"""^(?P<name>[\w.-]+).*;\s*extra\s*==\s*['"](?P<extra>[\w-]+)['"]""")
_NAME = re.compile(r"^[\w.-]+")


@click.command(short_help="Say how well this machine isolates programs.")
@options.min_isolation
@options.as_json("One object with everything.")
def doctor(min_isolation: str, as_json: bool) -> None:
    """Say how well this machine isolates programs, what is missing, and how to get it.

    Attack programs are run through the sandbox; a level is claimed only if none of them
    gets through. The exit code is 0 if the level is reached and 3 if not.

    \b
    Examples:
      corecode doctor
      corecode doctor --min-isolation L3
      corecode doctor --json
    """
    # Level L0 accepts every machine: the point is to see what it can do.
    with LocalExecutor(1, min_isolation="L0") as executor:
        with progress("testing the sandbox", None):
            report = executor.isolation()
    from corecode_env.executor.isolation import acceptable, ways_out  # for Linux only

    good = acceptable(report.level, min_isolation)
    if as_json:
        write_json(
            {
                **report.to_json(),
                "wanted": min_isolation,
                "reached": good,
                "ways_out": ways_out(report),
                "versions": versions(),
                "extras": extras(),
            }
        )
    else:
        _print_isolation(report, min_isolation, good=good)
        _print_software()
    raise click.exceptions.Exit(Exit.FINE if good else Exit.SANDBOX)


def versions() -> dict[str, str]:
    """Return the versions that results may depend on."""
    found = {"python": platform.python_version(), DISTRIBUTION: metadata.version(DISTRIBUTION)}
    for requirement in metadata.requires(DISTRIBUTION) or ():
        match = _NAME.match(requirement)
        if match and not _EXTRA.match(requirement):
            found[match[0]] = metadata.version(match[0])
    return found


def extras() -> dict[str, dict[str, str | None]]:
    """Return for each extra its distributions and their versions; None: not installed."""
    found: dict[str, dict[str, str | None]] = {}
    for requirement in metadata.requires(DISTRIBUTION) or ():
        match = _EXTRA.match(requirement)
        if match and match["extra"] not in FOR_DEVELOPERS:
            found.setdefault(match["extra"], {})[match["name"]] = _version(match["name"])
    return found


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _print_isolation(report: IsolationReport, wanted: str, *, good: bool) -> None:
    console = output()
    word = Text("reached", style="bold green") if good else Text("missed", style="bold red")
    console.print(
        Text.assemble("isolation ", (report.level, "bold"), f", {wanted} asked for: ", word)
    )
    landlock = f"Landlock ABI {report.landlock_abi}" if report.landlock_abi else "no Landlock"
    console.print(f"kernel {report.kernel}, {landlock}")
    table = Table(box=None, pad_edge=False)
    table.add_column("layer")
    table.add_column("")
    for layer, state in report.layers.items():
        style = "green" if state == "on" else "yellow"
        table.add_row(Text(layer), Text(state, style=style))
    console.print()
    console.print(table)
    if report.selftest.breaches:
        console.print(Text("\nattacks that got through", style="bold red"))
        console.print(", ".join(report.selftest.breaches))
    else:
        console.print(f"\n{len(report.selftest.held)} attacks were tried, all were held off")
    from corecode_env.executor.isolation import ways_out  # for Linux only

    ways = ways_out(report)
    if ways:
        console.print(Text("\nto get more", style="bold"))
    for layer, way in ways.items():
        console.print(f"- {layer}: {way}")


def _print_software() -> None:
    console = output()
    console.print(Text("\nversions", style="bold"))
    for name, version in versions().items():
        console.print(f"{name} {version}")
    console.print(Text("\nextras", style="bold"))
    for extra, parts in extras().items():
        missing = [name for name, version in parts.items() if version is None]
        if missing:
            console.print(
                f"{extra}: without {', '.join(missing)}; pip install '{DISTRIBUTION}[{extra}]'"
            )
        else:
            console.print(f"{extra}: " + ", ".join(f"{n} {v}" for n, v in parts.items()))
