"""What `corecode demo` shows while it learns: a curve, verdicts, one example.

step, trees  ->  a panel that is redrawn, or one line a step where there is no terminal
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from corecode_env.cli.terminal import printable, verdict_style
from corecode_env.core.episode import Episode
from corecode_env.core.tree import Tree
from corecode_env.core.verdict import Verdict

BLOCKS: Final = " ▁▂▃▄▅▆▇█"
CURVE_WIDTH: Final = 60
BAR_WIDTH: Final = 40
EXAMPLE_LINES: Final = 8


class View:
    """The display of one run; a context manager."""

    def __init__(self, console: Console, label: str) -> None:
        """Prepare the display.

        Args:
            console: Where to draw.
            label: What is being done, for the title.
        """
        self._console, self._label = console, label
        self._shares: list[float] = []
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> View:
        """Begin to draw, if there is a terminal."""
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop drawing."""
        self._live.stop()

    def show(self, step: int, trees: Sequence[Tree], seconds: float) -> None:
        """Show what one step brought.

        Args:
            step: Its number, from 1.
            trees: What was played in it.
            seconds: Wall time since training began.
        """
        episodes = [e for tree in trees for e in tree.episodes() if e.valid]
        verdicts = Counter(e.judgement.verdict for e in episodes if e.judgement is not None)
        share = verdicts[Verdict.AC] / max(1, len(episodes))
        self._shares.append(share)
        if not self._console.is_terminal:
            self._console.print(f"step {step:3}: {share:4.0%} solved, {seconds:4.0f} s")
            return
        head = f"{self._label}: step {step}, {seconds:.0f} s, {share:.0%} solved"
        parts: list[RenderableType] = [curve(self._shares), bars(verdicts)]
        if episodes:
            parts.append(told(episodes[step % len(episodes)]))
        self._live.update(Panel(Group(*parts), title=head), refresh=True)


def curve(shares: Sequence[float]) -> Text:
    """Return the share of solved episodes per step as a line of blocks."""
    lately = shares[-CURVE_WIDTH:]
    return Text("solved  ") + Text(
        "".join(BLOCKS[round(share * (len(BLOCKS) - 1))] for share in lately), style="green"
    )


def bars(verdicts: Counter[Verdict]) -> Table:
    """Return one bar for each verdict that occurred, the most frequent first."""
    table = Table.grid(padding=(0, 1))
    total = verdicts.total()
    for verdict, number in verdicts.most_common():
        bar = Text("█" * round(BAR_WIDTH * number / total), style=verdict_style(verdict))
        table.add_row(verdict.value, bar, f"{number / total:.0%}")
    return table


def told(episode: Episode) -> Panel:
    """Return one episode: what was asked, planned and written, and how it ended."""
    plan, program = (episode.turns[i].action if i < len(episode.turns) else "" for i in (0, 1))
    sides = Table.grid(padding=(0, 3))
    sides.add_row(_text(plan), _text(program))
    judged = episode.judgement
    title = judged.verdict.value if judged else "no program"
    statement = _text(str(episode.turns[0].observation["statement"]))
    return Panel(Group(statement, Text(""), sides), title=f"one example: {title}")


def _text(text: str) -> Text:
    return Text(printable("\n".join(text.splitlines()[:EXAMPLE_LINES])))
