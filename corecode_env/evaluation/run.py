"""Run: agents play tasks so that they can be measured; what is played is never lost.

    environment, agents, tasks  ->  Sample, Sample, ...   (and a folder of episodes)

With a folder, a task's episodes are written as soon as the task is finished. The same call
goes on where an interrupted one stopped, and comes to the same samples: an answer's seed
depends on the task's place, not on what else was played.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from corecode_env.core.episode import Episode
from corecode_env.core.errors import BadConfig, BadRecord
from corecode_env.core.task import Task
from corecode_env.evaluation.samples import (
    EPISODES_FILE,
    SETTINGS_FILE,
    SETTINGS_SCHEMA,
    Sample,
    read_settings,
    samples_of,
)
from corecode_env.records.jsonl import EpisodeWriter, read_episodes, write_episodes
from corecode_env.rollout.collect import Environment, collect
from corecode_env.rollout.play import Players


def evaluate(
    make_env: Callable[[], Environment],
    agents: Players,
    tasks: Sequence[Task],
    *,
    samples: Mapping[str, int],
    seed: int = 0,
    shared_turns: int = 0,
    max_in_flight: int = 64,
    out: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    on_task: Callable[[int], None] | None = None,
) -> list[Sample]:
    """Play every task a number of times and return one sample for each episode.

    Args:
        make_env: Makes the environment.
        agents: Who plays, by agent or role.
        tasks: What is played; ids must differ.
        samples: Answers per question, by agent or role: `{"planner": 5}` gives five plans
            with a program each, `{"coder": 5}` five programs to one plan.
        seed: Seed of everything.
        shared_turns: How many first turns the episodes of a task have in common (1 in the
            second case above), so that their tokens count once.
        max_in_flight: Episodes that are under way at one time.
        out: Folder to record in, and to go on from; None: nothing is kept.
        settings: What else makes two evaluations the same, as JSON values, such as names of
            the agents. A folder of other settings is refused.
        on_task: Called with the number of tasks that were finished since the last call.

    Returns:
        Samples in the order of the tasks.

    Raises:
        BadConfig: If an id stands twice, or `out` holds another evaluation.
        Exception: What an agent or the executor raised; what was finished by then is kept
            in `out`.
    """
    ids = [task.id for task in tasks]
    if len(set(ids)) < len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise BadConfig(f"tasks must have ids of their own, got {twice!r} twice; drop one")
    found: dict[str, list[Episode]] = {}
    if out is not None:
        asked = {
            "schema": SETTINGS_SCHEMA,
            "seed": seed,
            "samples": dict(samples),
            "shared_turns": shared_turns,
            "tasks": _fingerprint(ids),
        }
        _claim(out, {**asked, **(settings or {})})
        found = _finished(out / EPISODES_FILE, ids, math.prod(samples.values()))
    finished = {
        i: samples_of(played, shared_turns=shared_turns) for i, played in found.items()
    }
    if on_task is not None and finished:
        on_task(len(finished))
    missing = [(place, task) for place, task in enumerate(tasks) if task.id not in finished]
    if missing:
        places, left = zip(*missing, strict=True)
        trees = collect(
            make_env,
            agents,
            left,
            samples=samples,
            seed=seed,
            max_in_flight=max_in_flight,
            indices=places,
        )
        with _Record(out) as record, closing(trees):  # type: ignore[type-var]
            for tree in trees:
                episodes = tree.episodes()
                record.add(episodes)
                finished[tree.task_id] = samples_of(episodes, shared_turns=shared_turns)
                if on_task is not None:
                    on_task(1)
    return [sample for task_id in ids for sample in finished[task_id]]


class _Record:
    """Where episodes go, if anywhere."""

    def __init__(self, out: Path | None) -> None:
        self.writer = None if out is None else EpisodeWriter(out / EPISODES_FILE)

    def __enter__(self) -> _Record:
        return self

    def add(self, episodes: Iterable[Episode]) -> None:
        if self.writer is not None:
            for episode in episodes:
                self.writer.write(episode)

    def __exit__(self, *error: object) -> None:
        if self.writer is not None:
            self.writer.close()


def _fingerprint(ids: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]


def _claim(out: Path, settings: Mapping[str, Any]) -> None:
    """Make the folder this evaluation's, or see that it is.

    Raises:
        BadConfig: If it is another's.
    """
    # Through JSON, so that what is compared is what a file can hold.
    wanted = json.loads(json.dumps(settings))
    file = out / SETTINGS_FILE
    if not file.exists():
        if (out / EPISODES_FILE).exists():
            raise BadConfig(
                f"{out} must be new or hold an evaluation, got a folder with "
                f"{EPISODES_FILE} but no {SETTINGS_FILE}; choose another folder"
            )
        out.mkdir(parents=True, exist_ok=True)
        _replace(file, json.dumps(wanted, indent=2) + "\n")
        return
    there = read_settings(out)
    if there != wanted:
        names = sorted(n for n in {*there, *wanted} if there.get(n) != wanted.get(n))
        was = {name: there.get(name) for name in names}
        raise BadConfig(
            f"{out} must hold the same evaluation to be gone on with, got one with {was}; "
            "choose another folder, or the same settings"
        )


def _finished(file: Path, ids: Sequence[str], wanted: int) -> dict[str, list[Episode]]:
    """Return the episodes of tasks that are whole, and rid the file of all others.

    A task is played again if a crash cut its episodes short, or the sandbox failed in one.
    """
    if not file.exists():
        return {}
    episodes, problems = read_episodes(file)
    found: dict[str, list[Episode]] = {task_id: [] for task_id in ids}
    for episode in episodes:
        if episode.task_id not in found:
            raise BadConfig(
                f"{file} must hold episodes of the tasks that are played, got one of "
                f"{episode.task_id!r}; choose another folder"
            )
        found[episode.task_id].append(episode)
    whole = {
        task_id: played
        for task_id, played in found.items()
        if len(played) == wanted and all(episode.valid for episode in played)
    }
    kept = [episode for played in whole.values() for episode in played]
    if problems or len(kept) < len(episodes):
        _only_cut(problems, file)
        fresh = file.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        write_episodes(fresh, kept)
        os.replace(fresh, file)
    return whole


def _only_cut(problems: Sequence[BadRecord], file: Path) -> None:
    """Let one broken line pass, which is what a crash leaves; more is somebody's edit."""
    if len(problems) > 1:
        raise BadConfig(
            f"{file} must hold whole episodes, got {len(problems)} broken lines (first: "
            f"{problems[0]}); mend it, or choose another folder"
        )


def _replace(file: Path, text: str) -> None:
    """Write a file so that it is there as a whole or not at all."""
    fresh = file.with_name(file.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    os.replace(fresh, file)
