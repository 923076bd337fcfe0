"""What every kind of task promises in an environment: it is played to its end and paid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from corecode_env.agents import ReferenceAgent, make_agent
from corecode_env.core.episode import Episode
from corecode_env.environments import planner_coder_v0, solo_coder_v0
from corecode_env.environments.templates import packaged
from corecode_env.executor.local import LocalExecutor
from corecode_env.rewards import score
from corecode_env.rollout import play
from corecode_env.tasks import TaskSet, load_tasks

KINDS = {
    "code": "pipelines/3/0",
    "repair": "pipelines/3/repair/0",
    "io_prediction": "pipelines/3/io_prediction/0",
    "unit_tests": "unit_tests/mbpp-sanitized/602",
    "commit_message": "commit_message/mbpp-sanitized/Mbpp/602/0",
    "optimize": "heuristics/cargo/0",
}
REPAIRS = "humanevalpack/Python/0"
PREDICTIONS = "cruxeval/sample_0"
every_kind = pytest.mark.parametrize("name", [*KINDS.values()])
teams = pytest.mark.parametrize("make", [planner_coder_v0.env, solo_coder_v0.env])


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    pytest.importorskip("sacrebleu")
    pytest.importorskip("rouge_score")


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    # Verdicts on our own programs do not depend on how well the machine can isolate.
    with LocalExecutor(workers=1, min_isolation="L0") as made:
        yield made


def played(
    executor: LocalExecutor,
    make: Callable[..., Any],
    tasks: TaskSet,
    coder: str,
    **options: Any,
) -> Episode:
    env = make(tasks=tasks, split=tasks[0].metadata["split"], executor=executor, **options)
    agents = {"planner_0": ReferenceAgent(), "coder_0": make_agent(coder)}
    return play(env, {name: agents[name] for name in env.possible_agents}, seed=0)


@teams
@pytest.mark.parametrize("name", [*KINDS.values(), REPAIRS, PREDICTIONS])
def test_the_reference_agents_solve_it(
    executor: LocalExecutor, make: Callable[..., Any], name: str
) -> None:
    episode = played(executor, make, load_tasks(name), "reference")
    judgement = episode.turns[-1].judgement
    assert judgement is not None and judgement.passed


@teams
@every_kind
def test_a_wrong_answer_is_refused_and_earns_less(
    executor: LocalExecutor, make: Callable[..., Any], name: str
) -> None:
    tasks = load_tasks(name)
    right = played(executor, make, tasks, "reference", rewards=score())
    wrong = played(executor, make, tasks, "faulty:returns_none", rewards=score())
    judgement = wrong.turns[-1].judgement
    assert judgement is not None and not judgement.passed
    assert wrong.returns["coder_0"] < right.returns["coder_0"]


@pytest.mark.parametrize("coder_sees", ["both", "plan"])
@every_kind
def test_prompts_speak_of_the_task_at_hand(
    executor: LocalExecutor, name: str, coder_sees: str
) -> None:
    tasks = load_tasks(name)
    episode = played(executor, planner_coder_v0.env, tasks, "reference", coder_sees=coder_sees)
    prompts = [turn.observation["prompt"] for turn in episode.turns]
    assert tasks[0].statement.strip() in prompts[0]
    assert (tasks[0].statement.strip() in prompts[1]) == (coder_sees == "both")


@pytest.mark.parametrize("role", ["planner", "coder", "solo", "debugger", "tree_search"])
@pytest.mark.parametrize("kind", ["io_prediction", "unit_tests", "commit_message"])
def test_each_role_has_a_prompt_for_what_is_no_plain_program(role: str, kind: str) -> None:
    known = ("role", "problem", "interface", "examples", "plan", "program", "feedback", "tree")
    assert packaged(f"{role}_{kind}", known) is not None


def test_faults_that_tests_should_find_are_shown_to_nobody(executor: LocalExecutor) -> None:
    tasks = load_tasks(KINDS["unit_tests"])
    episode = played(
        executor,
        planner_coder_v0.env,
        tasks,
        "faulty:off_by_one",
        max_cycles=3,
        coder_sees="plan",
    )
    texts = [str(value) for turn in episode.turns for value in turn.observation.values()]
    assert len(episode.turns) == 6
    assert any("on the right program: AssertionError" in text for text in texts)
    assert not any("mutations" in text for text in texts)


def test_feedback_says_what_incomplete_tests_reach_and_find(executor: LocalExecutor) -> None:
    tasks = load_tasks(KINDS["unit_tests"])
    episode = played(executor, solo_coder_v0.env, tasks, "faulty:returns_none", max_cycles=2)
    feedback = episode.turns[1].observation["feedback"]
    assert re.search(r"score 0\.5\..*, 0 of \d faults found$", feedback, re.DOTALL)


def test_complete_tests_end_the_episode(executor: LocalExecutor) -> None:
    tasks = load_tasks(KINDS["unit_tests"])
    episode = played(executor, solo_coder_v0.env, tasks, "reference", max_cycles=3)
    assert len(episode.turns) == 1


def test_all_kinds_can_be_mixed_in_one_environment(executor: LocalExecutor) -> None:
    first, *others = (load_tasks(name) for name in KINDS.values())
    mixed = first.mix(*others, seed=1)
    env = planner_coder_v0.env(tasks=mixed, executor=executor, rewards=score())
    agents = {name: ReferenceAgent() for name in env.possible_agents}
    earned = {}
    for task in mixed:
        episode = play(env, agents, seed=0, options={"task": task.id})
        judgement = episode.turns[-1].judgement
        assert judgement is not None and judgement.passed, task.id
        earned[task.kind] = episode.returns["coder_0"]
    assert earned.keys() == KINDS.keys()
    assert all(value == 1.0 for kind, value in earned.items() if kind != "optimize")
    assert 0.5 < earned["optimize"] < 1.0
