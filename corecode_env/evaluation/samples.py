"""Samples: what evaluation looks at of an episode.

Episode  ->  Sample (one program for one task, and what it took)  ->  metrics
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import BadConfig
from corecode_env.core.verdict import Judgement
from corecode_env.records.jsonl import iter_episodes

EPISODES_FILE: Final = "episodes.jsonl"
SETTINGS_FILE: Final = "settings.json"
SETTINGS_SCHEMA: Final = "corecode/evaluation/1"


@dataclass(frozen=True, slots=True)
class Sample:
    """The last program of one episode.

    Attributes:
        task_id: The task.
        program: Text of the program; empty if none was handed in.
        judgement: What its tests said; None if nothing was judged, which counts as wrong.
        valid: False if the sandbox failed: the sample says nothing and is left out.
        tokens_in: Tokens that the agents read, None if none of them counts tokens.
        tokens_out: Tokens that the agents wrote, None likewise.
    """

    task_id: str
    program: str = ""
    judgement: Judgement | None = None
    valid: bool = True
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def passed(self) -> bool:
        """Whether every test was passed."""
        return self.judgement is not None and self.judgement.passed


def samples_of(episodes: Iterable[Episode], *, shared_turns: int = 0) -> list[Sample]:
    """Return one sample for each episode, in order.

    Args:
        episodes: Played episodes.
        shared_turns: Turns at the beginning that all episodes of a task have in common,
            such as 1 for several programs to one plan: their tokens count once a task.
    """
    seen: set[str] = set()
    samples = []
    for episode in episodes:
        counted = episode.turns[shared_turns:] if episode.task_id in seen else episode.turns
        seen.add(episode.task_id)
        judged = episode.answer
        samples.append(
            Sample(
                task_id=episode.task_id,
                program=judged.submission.program if judged and judged.submission else "",
                judgement=None if judged is None else judged.judgement,
                valid=episode.valid,
                tokens_in=_total(counted, "prompt_ids"),
                tokens_out=_total(counted, "token_ids"),
            )
        )
    return samples


def by_task(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Return samples by task, in order of first appearance; invalid ones are left out."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        if sample.valid:
            found.setdefault(sample.task_id, []).append(sample)
    return found


def read_samples(path: str | Path) -> list[Sample]:
    """Read the samples of a recorded evaluation.

    Args:
        path: A folder that `evaluate` recorded in, or a file of episodes.

    Raises:
        BadRecord: If a line holds no whole episode.
        BadConfig: If the folder's settings are not those of an evaluation.
        OSError: If there is no such file.
    """
    file, shared = Path(path), 0
    if file.is_dir():
        if (file / SETTINGS_FILE).exists():
            shared = read_settings(file)["shared_turns"]
        file = file / EPISODES_FILE
    return samples_of(iter_episodes(file), shared_turns=shared)


def read_settings(folder: Path) -> dict[str, Any]:
    """Return what a recorded evaluation was asked for.

    Raises:
        BadConfig: If its settings are not those of an evaluation.
    """
    file = folder / SETTINGS_FILE
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadConfig(f"{file} must be JSON, got {error}; choose another folder") from error
    schema = settings.get("schema") if isinstance(settings, dict) else None
    if schema != SETTINGS_SCHEMA:
        raise BadConfig(
            f"{file} must have the schema {SETTINGS_SCHEMA!r}, got {schema!r}; choose another "
            "folder, or the version that wrote it"
        )
    return dict(settings)


def _total(turns: Sequence[Turn], name: str) -> int | None:
    counts = [len(ids) for turn in turns if (ids := getattr(turn, name)) is not None]
    return sum(counts) if counts else None
