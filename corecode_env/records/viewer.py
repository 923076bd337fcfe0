"""Viewer: one page to look at what was recorded.

    files of episodes, metrics  ->  an HTML file that needs no server and no network

The page holds everything itself: style, script, and the records as JSON. Programs may
hold any text, so that the JSON has no `<`, and the script writes text nodes only.
Texts and turns that several episodes share are kept once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import BadConfig, BadRecord
from corecode_env.core.verdict import Judgement
from corecode_env.records.jsonl import iter_episodes

MOST: Final = 10_000
"""Episodes that a page shows; of longer records it takes the first ones of each file."""


def episode_files(source: str | Path) -> list[Path]:
    """Return the files of episodes that a run folder, or one file, stands for.

    Args:
        source: A file of episodes, or a folder with such files in it or in `episodes/`.

    Raises:
        BadConfig: If there is nothing of that kind.
    """
    path = Path(source)
    if path.is_file():
        return [path]
    folder = path / "episodes" if (path / "episodes").is_dir() else path
    found = sorted(folder.glob("*.jsonl"), key=_natural)
    if not found:
        raise BadConfig(
            f"what is viewed must be a file of episodes or a run folder, got {path}: no "
            "episodes/*.jsonl lies there; record some with `corecode play --out FILE`"
        )
    return found


def page(
    records: Sequence[Path],
    *,
    title: str,
    metrics: Iterable[Mapping[str, Any]] = (),
    most: int = MOST,
) -> str:
    """Return the page.

    Args:
        records: Files of episodes.
        title: What stands at its head.
        metrics: Lines of metrics, with `step`, for the learning curve.
        most: Episodes that it may hold; at least 1.

    Raises:
        OSError: If a file cannot be read.
        BadConfig: If `most` is less than 1.
    """
    if most < 1:
        raise BadConfig(f"a page must show at least 1 episode, got {most}; leave it out")
    data = _Data()
    counts = [_count_lines(path) for path in records]
    share = _share(counts, most)
    if share < max(counts, default=0):
        data.notes.append(
            f"Of {sum(counts)} recorded episodes this page holds the first {share} of each "
            "file at most; --most shows more."
        )
    for path in records:
        problems: list[BadRecord] = []
        found = iter_episodes(path, on_problem=problems.append)
        data.add(path.stem, islice(found, share))
        data.notes += [f"Left out: {problem}" for problem in problems]
    return _fill({"title": escape(title), "data": data.to_script(metrics)})


class _Data:
    """What the script of the page reads."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.files: list[str] = []
        self.episodes: list[dict[str, Any]] = []
        self._texts: dict[str, int] = {}
        self._turns: dict[str, int] = {}

    def add(self, file: str, episodes: Iterable[Episode]) -> None:
        """Take the episodes of one file in."""
        for episode in episodes:
            answer = episode.answer
            self.episodes.append(
                {
                    "file": len(self.files),
                    "task": episode.task_id,
                    "seed": episode.seed,
                    "env": episode.env_id,
                    "valid": episode.valid,
                    "agents": list(episode.agents),
                    "returns": episode.returns,
                    "turns": [self._turn(turn) for turn in episode.turns],
                    "answer": next(
                        (i for i, turn in enumerate(episode.turns) if turn is answer), None
                    ),
                }
            )
        self.files.append(file)

    def to_script(self, metrics: Iterable[Mapping[str, Any]]) -> str:
        """Return everything as JSON that can stand inside a script element."""
        record = {
            "notes": self.notes,
            "files": self.files,
            "texts": list(self._texts),
            "turns": [json.loads(turn) for turn in self._turns],
            "episodes": self.episodes,
            "metrics": list(metrics),
        }
        # In ASCII alone U+2028 and lone surrogates are escaped; without `<` no text can end
        # the element or open a comment.
        return json.dumps(record, allow_nan=False).replace("<", "\\u003c")

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _turn(self, turn: Turn) -> int:
        prompt = turn.observation.get("prompt")
        record = {
            "agent": turn.agent,
            "round": turn.round,
            "prompt": self._text(prompt) if isinstance(prompt, str) else None,
            "action": self._text(turn.action),
            "program": turn.submission and self._text(turn.submission.program),
            "judgement": turn.judgement and _judgement(turn.judgement),
            "terms": {agent: dict(terms) for agent, terms in turn.reward_terms.items()},
            "written": {name: self._text(text) for name, text in turn.written.items()},
        }
        return self._turns.setdefault(json.dumps(record), len(self._turns))


def _judgement(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement with its tests in runs: of hundreds of tests most say the same."""
    runs: list[dict[str, Any]] = []
    first = 0
    for (verdict, public, note), results in groupby(
        judgement.results,
        key=lambda result: (result.verdict.value, result.public, result.note),
    ):
        count = sum(1 for _ in results)
        run = {"first": first, "count": count}
        runs.append({**run, "verdict": verdict, "public": public, "note": note})
        first += count
    return {
        "verdict": judgement.verdict.value,
        "pass_rate": judgement.pass_rate,
        "results": runs,
    }


def _fill(parts: Mapping[str, str]) -> str:
    """Return the template with its marks replaced, once: what is put in holds no marks."""
    room = files("corecode_env.records")
    parts = {
        **parts,
        "style": (room / "viewer.css").read_text(encoding="utf-8"),
        "script": (room / "viewer.js").read_text(encoding="utf-8"),
    }
    template = (room / "viewer.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], template)


def _share(counts: Sequence[int], most: int) -> int:
    """Return how many episodes of each file at most make no more than `most` in all.

    >>> _share([2, 100, 100], 50)
    24
    """
    share = max(counts, default=0)
    low, high = 1, share
    if sum(counts) <= most:
        return share
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(count, middle) for count in counts) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _count_lines(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for line in lines if line.strip())


def _natural(path: Path) -> list[Any]:
    """Return a key that puts `step-2` before `step-10`."""
    return list(_words(path.name))


def _words(name: str) -> Iterator[tuple[int, int, str]]:
    for digits, word in re.findall(r"(\d+)|(\D+)", name):
        yield (0, int(digits), "") if digits else (1, 0, word)
