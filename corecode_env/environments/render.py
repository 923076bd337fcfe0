"""Render: an episode as a transcript that people like to read.

    Episode  ->  coloured text

Made for people, so it shows hidden tests' verdicts too; no policy ever sees it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.verdict import Judgement, TestResult, Verdict

WIDTH: Final = 100
"""Columns of a transcript as a string."""
MAX_SHOWN_CHARS: Final = 4_000
MAX_WRITTEN_CHARS: Final = 1_000
"""Characters of a field that a turn wrote beside its own text."""
MAX_SHOWN_NOTES: Final = 3

_GOOD, _BAD, _QUIET = "green", "red", "dim"
_BORDERS: Final = ("cyan", "magenta", "yellow", "blue")
_MARKS: Final = {Verdict.AC: ("✓", _GOOD), Verdict.SKIP: ("·", _QUIET)}


def transcript(episode: Episode) -> str:
    """Return the whole episode as text with colours (ANSI escape codes)."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=WIDTH,
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        # What the terminal at hand can do must not change the text.
        _environ={},
    )
    for part in _parts(episode, 0):
        console.print(part)
    return out.getvalue()


def print_news(episode: Episode, already: int) -> None:
    """Print what was not yet printed.

    Args:
        episode: The episode so far.
        already: Parts printed before: the task counts as one, and each turn as one.
    """
    console = Console()
    for part in _parts(episode, already):
        console.print(part)


def _parts(episode: Episode, start: int) -> Iterator[RenderableType]:
    if start == 0:
        yield _task(episode)
    for turn in episode.turns[max(start - 1, 0) :]:
        yield _turn(turn, episode)


def _task(episode: Episode) -> RenderableType:
    statement = episode.task.statement if episode.task else ""
    title = Text.assemble(("task ", _QUIET), (episode.task_id, "bold"))
    return Panel(
        Text(_shown(statement)), title=title, title_align="left", border_style="white"
    )


def _turn(turn: Turn, episode: Episode) -> RenderableType:
    place = episode.agents.index(turn.agent)
    parts: list[RenderableType] = []
    if turn.submission is None:
        parts.append(Text(_shown(turn.action)))
    else:
        parts.append(_program(turn.submission.program))
    for name, written in turn.written.items():
        parts += [Text(f"{name}:", _QUIET), Text(_shown(written, MAX_WRITTEN_CHARS))]
    if turn.judgement is not None:
        parts += [Text(), _verdict(turn.judgement), *_notes(turn.judgement)]
    if rewards := _rewards(turn):
        parts.append(rewards)
    title = Text.assemble((turn.agent, "bold"), (f"  round {turn.round + 1}", _QUIET))
    return Panel(
        Group(*parts),
        title=title,
        title_align="left",
        border_style=_BORDERS[place % len(_BORDERS)],
    )


def _program(program: str) -> RenderableType:
    return Syntax(
        _shown(program.rstrip("\n")), "python", theme="ansi_dark", background_color="default"
    )


def _verdict(judgement: Judgement) -> Text:
    """Return the verdict, a mark for each test (public ones first), and the count."""
    verdict = judgement.verdict
    style = _GOOD if judgement.passed else _BAD
    text = Text.assemble(
        (f"{verdict.value} ", f"bold {style}"), (f"{verdict.meaning}  ", style)
    )
    public = [result for result in judgement.results if result.public]
    hidden = [result for result in judgement.results if not result.public]
    for name, results in (("public", public), ("hidden", hidden)):
        if results:
            text.append(f" {name} ", _QUIET)
            for result in results:
                text.append(*_MARKS.get(result.verdict, ("✗", _BAD)))
            passed = sum(result.verdict is Verdict.AC for result in results)
            text.append(f" {passed}/{len(results)}", _QUIET)
    if judgement.score is not None:
        text.append(f"  score {judgement.score:g}")
    return text


def _notes(judgement: Judgement) -> list[RenderableType]:
    """Return the first notes of failed tests."""
    failed: list[tuple[int, TestResult]] = [
        (number, result)
        for number, result in enumerate(judgement.results, 1)
        if result.note and result.verdict is not Verdict.AC
    ]
    return [
        Text(f"test {number}: {_shown(result.note)}", _QUIET)
        for number, result in failed[:MAX_SHOWN_NOTES]
    ]


def _rewards(turn: Turn) -> Text | None:
    """Return what the turn paid, None if it paid nobody."""
    paid: dict[str, dict[str, Any]] = {
        agent: {name: value for name, value in terms.items() if value is not None}
        for agent, terms in turn.reward_terms.items()
    }
    text = Text()
    for agent, terms in paid.items():
        if terms:
            parts = ", ".join(f"{name} {value:z.2f}" for name, value in terms.items())
            text.append("\n" if text else "")
            text.append(f"reward {agent} {turn.reward(agent):.2f}", "bold")
            text.append(f"  ({parts})", _QUIET)
    return text or None


def _shown(text: str, most: int = MAX_SHOWN_CHARS) -> str:
    return text if len(text) <= most else text[:most] + "\n[...]"
