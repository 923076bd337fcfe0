"""What an evaluation promises: every task its samples, and nothing finished is ever lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from corecode_env.agents import FaultyAgent, ReferenceAgent
from corecode_env.core.errors import BadConfig
from corecode_env.core.seams import Request
from corecode_env.core.task import CallTest, Function, Task
from corecode_env.core.verdict import Verdict
from corecode_env.environments import planner_coder_v0, solo_coder_v0
from corecode_env.evaluation.run import evaluate
from corecode_env.evaluation.samples import Sample, read_samples
from corecode_env.executor.testing import InstantExecutor
from corecode_env.records import read_episodes

TASKS = tuple(
    Task(
        id=f"t/{n}",
        statement=f"Add {n}.",
        interface=Function("f"),
        public_tests=(CallTest((0,), {}, n),),
        hidden_tests=(CallTest((1,), {}, n + 1),),
        reference_program=f"def f(x):\n    return x + {n}\n",
        reference_plan=f"1. add {n}",
    )
    for n in range(8)
)


class Guesser:
    """Says a number that depends on its seed alone; fails at one task if told to."""

    def __init__(self, breaks_at: str = "") -> None:
        self.breaks_at = breaks_at
        self.asked: list[str] = []

    def act(self, requests: Sequence[Request]) -> list[str]:
        self.asked += [request.task_id for request in requests]
        if self.breaks_at in self.asked:
            raise RuntimeError("the server is gone")
        return [f"{request.role} {request.seed}" for request in requests]


def verdict_of(task: Task, program: str) -> Verdict:
    return Verdict.AC if program[-1] in "02468" else Verdict.WA


def make_env(rule: Any = verdict_of) -> Callable[[], Any]:
    return partial(
        planner_coder_v0.env, tasks=TASKS, split="all", executor=InstantExecutor(rule)
    )


def play(agent: Any, out: Path | None = None, **options: Any) -> list[Sample]:
    options = {"samples": {"planner": 3}, "seed": 4, "make_env": make_env(), **options}
    tasks = options.pop("tasks", TASKS)
    agents = {"planner": agent, "coder": agent}
    return evaluate(options.pop("make_env"), agents, tasks, out=out, **options)


def test_every_task_has_its_samples_in_the_order_of_the_tasks() -> None:
    found = play(Guesser())
    assert [sample.task_id for sample in found] == [t.id for t in TASKS for _ in range(3)]
    assert len({sample.program for sample in found}) == len(found)


def test_reference_agents_are_always_right_and_faulty_ones_never() -> None:
    make = make_env(None)
    assert all(sample.passed for sample in play(ReferenceAgent(), make_env=make))
    wrong = play(FaultyAgent("off_by_one"), make_env=make)
    assert not any(sample.passed for sample in wrong)


def test_the_same_seed_plays_the_same(tmp_path: Path) -> None:
    assert play(Guesser()) == play(Guesser(), tmp_path / "a")
    assert play(Guesser()) != play(Guesser(), seed=5)


def test_what_is_recorded_is_what_is_returned(tmp_path: Path) -> None:
    found = play(Guesser(), tmp_path)
    recorded = sorted(read_samples(tmp_path), key=lambda sample: sample.task_id)
    assert recorded == found


def test_an_interrupted_evaluation_goes_on_and_comes_to_the_same(tmp_path: Path) -> None:
    broken = Guesser(breaks_at="t/5")
    with pytest.raises(RuntimeError, match="the server is gone"):
        play(broken, tmp_path, max_in_flight=2)
    kept = read_samples(tmp_path)
    assert 0 < len(kept) < len(TASKS) * 3
    again = Guesser()
    assert play(again, tmp_path, max_in_flight=2) == play(Guesser())
    assert not {sample.task_id for sample in kept} & set(again.asked)


def test_a_finished_evaluation_asks_nobody(tmp_path: Path) -> None:
    first = play(Guesser(), tmp_path)
    again = Guesser()
    assert play(again, tmp_path) == first
    assert again.asked == []


def test_a_task_that_a_crash_cut_short_is_played_again(tmp_path: Path) -> None:
    first = play(Guesser(), tmp_path)
    file = tmp_path / "episodes.jsonl"
    file.write_bytes(file.read_bytes()[:-500])  # the last task's last line is cut
    again = Guesser()
    assert play(again, tmp_path) == first
    assert len(set(again.asked)) == 1
    episodes, problems = read_episodes(file)
    assert (len(episodes), problems) == (len(first), ())


def test_a_file_with_many_broken_lines_is_left_alone(tmp_path: Path) -> None:
    play(Guesser(), tmp_path)
    file = tmp_path / "episodes.jsonl"
    text = file.read_text() + "oops\noops\n"
    file.write_text(text)
    with pytest.raises(BadConfig, match="2 broken lines"):
        play(Guesser(), tmp_path)
    assert file.read_text() == text


def test_what_the_sandbox_failed_at_is_played_again(tmp_path: Path) -> None:
    def fails(task: Task, program: str) -> Verdict:
        return Verdict.SE if task.id == "t/3" else Verdict.AC

    found = play(Guesser(), tmp_path, make_env=make_env(fails))
    assert {sample.task_id for sample in found if not sample.valid} == {"t/3"}
    again = Guesser()
    mended = play(again, tmp_path, make_env=make_env(lambda task, program: Verdict.AC))
    assert set(again.asked) == {"t/3"}
    assert all(sample.valid and sample.passed for sample in mended)


@pytest.mark.parametrize(
    "other",
    [{"seed": 5}, {"samples": {"planner": 2}}, {"tasks": TASKS[:3]}, {"settings": {"x": 1}}],
)
def test_a_folder_of_another_evaluation_is_refused(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    play(Guesser(), tmp_path)
    with pytest.raises(BadConfig, match="choose another folder"):
        play(Guesser(), tmp_path, **other)


def test_a_folder_of_strangers_episodes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "episodes.jsonl").write_text("")
    with pytest.raises(BadConfig, match=r"no settings\.json"):
        play(Guesser(), tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "corecode/evaluation/0"}'])
def test_settings_of_something_else_are_refused(tmp_path: Path, text: str) -> None:
    play(Guesser(), tmp_path)
    (tmp_path / "settings.json").write_text(text)
    for read in (partial(play, Guesser(), tmp_path), partial(read_samples, tmp_path)):
        with pytest.raises(BadConfig, match=r"settings\.json must"):
            read()


def test_an_episode_of_a_strange_task_is_refused(tmp_path: Path) -> None:
    play(Guesser(), tmp_path)
    file = tmp_path / "episodes.jsonl"
    file.write_text(file.read_text().replace('"t/3"', '"x/3"'))
    with pytest.raises(BadConfig, match="'x/3'"):
        play(Guesser(), tmp_path)


def test_ids_that_stand_twice_are_refused() -> None:
    with pytest.raises(BadConfig, match="'t/0' twice"):
        play(Guesser(), tasks=(TASKS[0], TASKS[1], TASKS[0]))


def test_progress_counts_every_task_once(tmp_path: Path) -> None:
    counts: list[int] = []
    with pytest.raises(RuntimeError):
        play(Guesser("t/5"), tmp_path, max_in_flight=2, on_task=counts.append)
    done = sum(counts)
    counts.clear()
    play(Guesser(), tmp_path, on_task=counts.append)
    assert counts[0] == done
    assert sum(counts) == len(TASKS)


def test_programs_to_one_plan_share_it(tmp_path: Path) -> None:
    play(Guesser(), tmp_path, samples={"coder": 3}, shared_turns=1)
    episodes = read_episodes(tmp_path / "episodes.jsonl").episodes
    plans = {(episode.task_id, episode.turns[0].action) for episode in episodes}
    assert len(plans) == len(TASKS)
    assert json.loads((tmp_path / "settings.json").read_text())["shared_turns"] == 1


def test_a_coder_can_be_measured_alone() -> None:
    make = partial(solo_coder_v0.env, tasks=TASKS, split="all", executor=InstantExecutor())
    found = evaluate(make, {"coder": ReferenceAgent()}, TASKS, samples={"coder": 2})
    assert len(found) == 2 * len(TASKS)
    assert all(sample.passed for sample in found)
