"""What collecting promises: whole trees, one batch a wave, and nothing finished is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from corecode_env.agents import ReferenceAgent
from corecode_env.core.errors import BadConfig, EpisodeError, UnknownName
from corecode_env.core.seams import Reply, Request
from corecode_env.core.task import CallTest, Function, Task
from corecode_env.core.tree import Tree
from corecode_env.core.verdict import Judgement, Verdict
from corecode_env.environments import planner_coder_v0, solo_coder_v0
from corecode_env.executor.testing import InstantExecutor
from corecode_env.rollout import collect

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
    for n in range(6)
)
IDS = [task.id for task in TASKS]


class Speaker:
    """Says who and with which seed it was asked; remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[list[Request]] = []

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        self.batches.append(list(requests))
        return [
            Reply(f"{r.agent} {r.seed}", prompt_ids=(1, 2), token_ids=(3,)) for r in requests
        ]


def make(executor: Any = None, **options: Any) -> Any:
    options = {"tasks": TASKS, "executor": executor or InstantExecutor(), **options}
    return lambda: planner_coder_v0.env(**options)


def grow(agents: Any, tasks: Any = IDS, **options: Any) -> list[Tree]:
    options = {"samples": {"planner": 3, "coder": 2}, "seed": 5, "make_env": make(), **options}
    trees = collect(options.pop("make_env"), agents, tasks, **options)
    return sorted(trees, key=lambda tree: tree.index)


def both(agent: Any) -> dict[str, Any]:
    return {"planner": agent, "coder": agent}


def test_each_plan_has_its_programs() -> None:
    for place, tree in enumerate(grow(both(Speaker()))):
        assert tree.task_id == IDS[place]
        assert len(tree.indices("planner_0")) == 3
        assert [len(group.indices) for group in tree.groups("coder_0")] == [2, 2, 2]
        assert len({node.turn.action for node in tree.nodes}) == len(tree.nodes)
        assert tree.nodes[0].turn.prompt_ids == (1, 2)


def test_equal_seeds_give_equal_trees_whatever_is_in_flight() -> None:
    narrow = grow(both(Speaker()), max_in_flight=1)
    wide = grow(both(Speaker()), max_in_flight=1000)
    assert narrow == wide
    assert grow(both(Speaker()), seed=6) != wide


def test_an_answer_depends_on_its_place_alone() -> None:
    alone = grow(both(Speaker()), tasks=IDS[:1])
    assert alone[0] == grow(both(Speaker()))[0]


def test_everybody_who_waits_is_asked_in_one_batch_whatever_the_clock_says() -> None:
    sizes = []
    for _ in range(3):
        speaker = Speaker()
        grow(both(speaker), tasks=IDS[:4], max_in_flight=24)
        sizes.append(sorted(len(batch) for batch in speaker.batches))
    assert sizes == [[6, 6, 12, 12]] * 3


def test_rounds_after_the_first_do_not_branch() -> None:
    (tree,) = grow(both(Speaker()), tasks=IDS[:1], make_env=make(max_cycles=3))
    assert len(tree.leaves()) == 6
    assert all(len(tree.path(leaf)) == 6 for leaf in tree.leaves())


def test_stored_turns_are_part_of_the_tree() -> None:
    speaker = Speaker()
    (tree,) = grow(both(speaker), tasks=IDS[:1], prefixes={IDS[0]: [("planner_0", "stored")]})
    assert tree.nodes[0].turn.action == "stored"
    assert len(tree.indices("planner_0")) == 1
    assert len(tree.indices("coder_0")) == 2


def test_reference_agents_are_paid_in_every_tree() -> None:
    for tree in grow(both(ReferenceAgent())):
        assert tree.rewards("planner_0") == pytest.approx([1.1] * 3)
        assert tree.rewards("coder_0") == pytest.approx([1.3] * 6)


def test_programs_are_judged_while_others_are_asked() -> None:
    judging, asked_meanwhile = threading.Event(), threading.Event()
    meetings: list[bool] = []

    def rule(task: Task, program: str) -> Judgement | Verdict:
        judging.set()
        meetings.append(asked_meanwhile.wait(10))
        return Verdict.WA

    class Planner:
        calls = 0

        def act(self, requests: Sequence[Request]) -> list[str]:
            self.calls += 1
            if self.calls == 2:
                assert judging.wait(10)
                asked_meanwhile.set()
            return ["plan"] * len(requests)

    agents = {"planner": Planner(), "coder": lambda observation: "x"}
    options = {"samples": {}, "max_in_flight": 2, "make_env": make(InstantExecutor(rule))}
    assert len(grow(agents, tasks=IDS[:2], **options)) == 2
    assert meetings == [True, True]


def test_a_slow_answer_over_the_network_holds_up_nobody_else() -> None:
    release: list[asyncio.Event] = []

    class Server:
        def act(self, requests: Sequence[Request]) -> list[str]:
            raise AssertionError("asked one at a time through aact")

        async def aact(self, requests: Sequence[Request]) -> list[str]:
            (request,) = requests
            release.append(asyncio.Event()) if not release else None
            if request.task_id == IDS[0] and request.role == "planner":
                await release[0].wait()
            return ["x"]

    finished = []
    options: dict[str, Any] = {"samples": {}, "seed": 1, "max_in_flight": 6}
    trees = collect(make(), both(Server()), IDS, **options)
    for tree in trees:
        finished.append(tree.index)
        if len(finished) == 5:
            loop_event = release[0]
            loop_event._loop.call_soon_threadsafe(loop_event.set)  # type: ignore[attr-defined]
    assert finished[-1] == 0
    assert sorted(finished) == list(range(6))


class Failing:
    """Fails when it is asked about one task."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def act(self, requests: Sequence[Request]) -> list[str]:
        if any(request.task_id == IDS[3] for request in requests):
            raise self.error
        return ["x"] * len(requests)


@pytest.mark.parametrize("error", [RuntimeError("model is gone"), StopIteration()])
def test_what_was_finished_before_a_failure_is_yielded_first(error: Exception) -> None:
    got = []
    with pytest.raises((RuntimeError, EpisodeError)):
        for tree in collect(
            make(), both(Failing(error)), IDS, samples={}, seed=1, max_in_flight=2
        ):
            got.append(tree.index)
    assert {0, 1, 2} <= set(got)
    assert 3 not in got


def test_an_executor_that_fails_is_reported() -> None:
    def rule(task: Task, program: str) -> Verdict:
        raise OSError("no processes left")

    with pytest.raises(OSError, match="no processes left"):
        grow(both(Speaker()), make_env=make(InstantExecutor(rule)))


def test_leaving_early_ends_every_thread() -> None:
    before = threading.active_count()
    for _ in collect(make(), both(Speaker()), IDS * 50, samples={}, seed=1, max_in_flight=2):
        break
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"samples": {"coder": 0}}, BadConfig, "at least 1, got 0"),
        ({"samples": {"codr": 2}}, UnknownName, "did you mean 'coder'"),
        ({"max_in_flight": 0}, BadConfig, "at least 1"),
        ({"agents": {"planner": ReferenceAgent()}}, BadConfig, "who plays 'coder_0'"),
        ({"make_env": dict}, BadConfig, "got dict"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(
    options: Mapping[str, Any], error: type[Exception], words: str
) -> None:
    given = {
        "make_env": make(),
        "agents": both(Speaker()),
        "tasks": IDS,
        "samples": {},
        "seed": 1,
    }
    given.update(options)
    with pytest.raises(error, match=words):
        collect(**given)


def test_one_agent_teams_branch_too() -> None:
    env = solo_coder_v0.env(tasks=TASKS, executor=InstantExecutor())
    (tree,) = collect(
        lambda: env, {"coder": ReferenceAgent()}, IDS[:1], samples={"coder": 4}, seed=1
    )
    assert len(tree.nodes) == 4
