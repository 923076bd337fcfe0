"""What episodes on disk promise: whole lines, nothing lost, everything broken named."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corecode_env.core.episode import Episode, Submission, Turn
from corecode_env.core.errors import BadRecord
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.records import EpisodeWriter, iter_episodes, read_episodes, write_episodes


def episode(task_id: str = "t/1", text: str = "print(1)") -> Episode:
    judged = Turn(
        agent="coder_0",
        round=0,
        observation={"prompt": "Do it.", "round": 0},
        action=text,
        submission=Submission(text),
        judgement=Judgement(task_id, (TestResult(Verdict.WA, public=True, score=0.5),)),
        reward_terms={"coder_0": {"accuracy": 0.5, "time": None}},
        finish_reason="stop",
        token_ids=(1, 2),
        logprobs=(-0.5, -1.25),
    )
    planned = Turn(agent="planner_0", round=0, observation={}, action="1. think")
    return Episode(task_id, 7, ("planner_0", "coder_0"), (planned, judged), env_id="e-v0")


def test_what_is_written_is_read_back_equal(tmp_path: Path) -> None:
    written = [episode("a"), episode("b")]
    assert write_episodes(tmp_path / "deep" / "e.jsonl", written) == 2
    assert read_episodes(tmp_path / "deep" / "e.jsonl") == (tuple(written), ())


@pytest.mark.parametrize(
    "text", ["naïve 中 🙂", "a\nb\r\nc\u2028d\x85e", "lone \ud800", "", "\x00"]
)
def test_any_text_survives(tmp_path: Path, text: str) -> None:
    write_episodes(tmp_path / "e.jsonl", [episode(text=text), episode(text=text)])
    assert read_episodes(tmp_path / "e.jsonl").episodes == (episode(text=text),) * 2


def test_every_line_is_one_json_object_with_its_schema(tmp_path: Path) -> None:
    write_episodes(tmp_path / "e.jsonl", [episode()] * 3)
    lines = (tmp_path / "e.jsonl").read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert [json.loads(line)["schema"] for line in lines] == ["corecode/episode/1"] * 3


def test_a_file_grows_by_each_writer(tmp_path: Path) -> None:
    for task_id in "abc":
        write_episodes(tmp_path / "e.jsonl", [episode(task_id)])
    found = read_episodes(tmp_path / "e.jsonl").episodes
    assert [e.task_id for e in found] == ["a", "b", "c"]


def test_a_file_cut_anywhere_gives_all_whole_episodes_and_reports_the_rest(
    tmp_path: Path,
) -> None:
    path = tmp_path / "e.jsonl"
    write_episodes(path, [episode("a"), episode("b")])
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first + 1, len(whole) - 1, 37):
        path.write_bytes(whole[:cut])
        found = read_episodes(path)
        assert [e.task_id for e in found.episodes] == ["a"]
        (problem,) = found.problems
        assert (problem.line, problem.source) == (2, str(path))
        assert "this one was cut" in str(problem)


def test_a_whole_last_line_without_its_line_feed_still_counts(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    write_episodes(path, [episode("a")])
    path.write_bytes(path.read_bytes()[:-1])
    assert read_episodes(path) == ((episode("a"),), ())


def test_a_writer_goes_on_behind_a_cut_line(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    write_episodes(path, [episode("a"), episode("b")])
    path.write_bytes(path.read_bytes()[:-40])
    write_episodes(path, [episode("c")])
    found = read_episodes(path)
    assert [e.task_id for e in found.episodes] == ["a", "c"]
    assert [problem.line for problem in found.problems] == [2]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"schema": "corecode/episode/0"}, "schema"),
        ({}, "schema"),
        ([1], "record"),
        ({"schema": "corecode/episode/1"}, "task_id"),
        ({**episode().to_json(), "turns": [{"action": "x"}]}, "submission"),
        ({**episode().to_json(), "turns": 5}, "record"),
        ({**episode().to_json(), "agents": None}, "record"),
    ],
)
def test_a_record_of_another_form_is_named_by_line_and_field(
    tmp_path: Path, line: Any, field: str
) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text("\n" + json.dumps(line) + "\n")
    with pytest.raises(BadRecord) as caught:
        list(iter_episodes(path))
    assert (caught.value.line, caught.value.field) == (2, field)


def test_bytes_that_are_no_text_are_a_problem_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"\xff\xfe\n")
    assert len(read_episodes(path).problems) == 1


def test_numpy_numbers_are_written_as_numbers(tmp_path: Path) -> None:
    turn = replace(episode().turns[0], observation={"round": np.int64(3)})
    write_episodes(tmp_path / "e.jsonl", [replace(episode(), turns=(turn,))])
    (found,) = read_episodes(tmp_path / "e.jsonl").episodes
    assert found.turns[0].observation == {"round": 3}


@pytest.mark.parametrize("value", [math.nan, math.inf, object()])
def test_what_json_cannot_hold_is_refused_and_leaves_no_half_line(
    tmp_path: Path, value: object
) -> None:
    turn = replace(episode().turns[0], observation={"bad": value})
    with pytest.raises(ValueError):
        write_episodes(tmp_path / "e.jsonl", [replace(episode(), turns=(turn,))])
    assert (tmp_path / "e.jsonl").read_bytes() == b""


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = EpisodeWriter(tmp_path / "e.jsonl")
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="must be open"):
        writer.write(episode())


WRITER = """
import sys
from corecode_env.core.episode import Episode, Turn
from corecode_env.records import write_episodes

path, name = sys.argv[1:]
turn = Turn("coder_0", 0, {}, name * 5000)
write_episodes(path, [Episode(name, 0, ("coder_0",), (turn,)) for _ in range(40)])
"""


def test_processes_may_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name]) for name in "abc"]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    found = read_episodes(path)
    assert found.problems == ()
    assert sorted(e.task_id for e in found.episodes) == sorted("abc" * 40)
