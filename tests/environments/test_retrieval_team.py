"""What the retrieval team promises: a query finds solved training tasks, and no answer."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from corecode_env.agents import make_agent
from corecode_env.core.errors import BadConfig, UnknownName
from corecode_env.core.task import Task
from corecode_env.environments import fork, retrieval_team_v0
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.retrieval_team_v0 import NOTHING_FOUND
from corecode_env.rollout import play

Team = Callable[..., TeamEnv]
CANARY = "canary_of_the_test_split"


@pytest.fixture
def library(say: SimpleNamespace) -> list[Task]:
    """Solved problems, one of them of the test split."""

    def solved(number: int, statement: str, program: str, **fields: Any) -> Task:
        task: Task = say.task(number, statement=statement, reference_program=program, **fields)
        return task

    return [
        solved(100, "Return the product of a list of numbers.", "def solve(xs): product"),
        solved(101, "Reverse a word.", "def solve(s): reverse", reference_plan=None),
        solved(
            102, "Product of the numbers.", f"def {CANARY}(): 0", metadata={"split": "test"}
        ),
        solved(103, "Product of products of numbers.", "", metadata={"split": "validation"}),
    ]


@pytest.fixture
def team(tasks: list[Task], library: list[Task], executor: Any) -> Team:
    """Return a function that plays turns of the team and returns the environment."""

    def with_turns(*turns: str, **options: Any) -> TeamEnv:
        settings: dict[str, Any] = {"tasks": tasks, "library": library} | options
        env = retrieval_team_v0.raw_env(executor=executor, **settings)
        env.reset(seed=0)
        for turn in turns:
            env.step(turn)
        return env

    return with_turns


def test_the_planner_reads_statement_plan_and_program_of_what_was_found(team: Team) -> None:
    planner = team("product of numbers").observe("planner_0")
    for part in ("Solved problem 1", "Return the product", "1. add up", "solve(xs): product"):
        assert part in planner["retrieved"]
    assert planner["retrieved"] in planner["prompt"]


def test_a_solved_problem_without_a_plan_shows_none(team: Team) -> None:
    found = team("reverse").observe("planner_0")["retrieved"]
    assert "reverse" in found
    assert "plan" not in found


def test_the_coder_works_from_the_plan_alone(team: Team) -> None:
    coder = team("product", "my plan").observe("coder_0")
    assert (coder["retrieved"], coder["query"]) == ("", "")
    assert "Solved problem" not in coder["prompt"]
    assert "my plan" in coder["prompt"]


def test_nothing_of_another_split_than_train_comes_back(team: Team) -> None:
    env = team("product of the numbers", k=10)
    assert CANARY not in str(env.state())
    assert env.state()["retrieved"].count("Solved problem") == 1


@pytest.mark.parametrize(
    "twin",
    [
        {"number": 0, "statement": "Sum of a list, in other words."},
        {"number": 51, "reference_program": "def solve(other): ..."},
        {"number": 52, "statement": "Another sum of a list of integers."},
    ],
    ids=["same id", "same statement", "same program"],
)
def test_the_answer_to_the_task_at_hand_never_comes_back(
    twin: dict[str, Any], team: Team, say: SimpleNamespace
) -> None:
    task = say.task(0, statement="Return the sum of a list of integers.")
    stored = say.task(**{"statement": "RETURN the sum of a list of integers!"} | twin)
    assert team("sum of a list", tasks=[task], library=[stored]).state()["retrieved"] == (
        NOTHING_FOUND
    )
    other = say.task(9, statement="Something else.", reference_program="pass")
    found = team("sum of a list", tasks=[other], library=[stored]).state()["retrieved"]
    assert "Solved problem 1" in found


@pytest.mark.parametrize("query", ["", "zebra", "```", "\x00"])
def test_a_useless_query_finds_nothing_and_says_so(query: str, team: Team) -> None:
    assert team(query).observe("planner_0")["retrieved"] == NOTHING_FOUND


def test_at_most_k_come_back(say: SimpleNamespace, team: Team) -> None:
    many = [
        say.task(200 + n, statement=f"Find the number {n}.", reference_program=f"pass # {n}")
        for n in range(9)
    ]
    for k in (1, 4):
        found = team("find the number", library=many, k=k).state()["retrieved"]
        assert found.count("Solved problem") == k


def test_later_rounds_show_the_retriever_what_its_query_led_to(
    team: Team, say: SimpleNamespace
) -> None:
    env = team("product", "p", say.wrong, max_cycles=2)
    retriever = env.observe("retriever_0")
    assert retriever["query"] == "product"
    for part in ("product", "Solved problem 1", "return None", "0 of 1 passed"):
        assert part in retriever["prompt"]


def test_retriever_and_planner_are_paid_by_the_coders_program(
    team: Team, say: SimpleNamespace
) -> None:
    env = team("product", "p", say.right)
    assert env.episode.returns == pytest.approx(
        {"retriever_0": 1.1, "planner_0": 1.1, "coder_0": 1.3}
    )


def test_the_tasks_themselves_are_the_library_by_default(
    tasks: list[Task], executor: Any
) -> None:
    env = retrieval_team_v0.raw_env(tasks=tasks, executor=executor)
    assert env.library.tasks.ids() == [task.id for task in tasks]


def test_tasks_without_a_training_split_are_helped_by_mbpp(
    executor: Any, say: SimpleNamespace
) -> None:
    task = say.task(metadata={"split": "test"})
    env = retrieval_team_v0.raw_env(tasks=[task], split="test", executor=executor)
    env.reset(seed=0)
    env.step("sum of a list")
    assert env.library.tasks.name == "mbpp"
    assert "Solved problem 3" in env.state()["retrieved"]


def test_a_library_that_cannot_help_is_refused_with_the_way_out(
    team: Team, say: SimpleNamespace
) -> None:
    for useless in ({"metadata": {"split": "test"}}, {"reference_program": None}):
        with pytest.raises(BadConfig, match="choose another set for it, such as 'mbpp'"):
            team(library=[say.task(**useless)])
    with pytest.raises(UnknownName, match="mbpp"):
        team(library="mbbp")
    with pytest.raises(BadConfig, match="k must be a whole number of at least 1"):
        team(k=0)


def test_forks_share_the_library(team: Team) -> None:
    env = team()
    (child,) = fork(env, 1)
    assert child.role_of("retriever_0").act is env.role_of("retriever_0").act
    assert vars(child)["library"] is vars(env)["library"]
    for each in (env, child):
        each.step("product")
    assert child.state() == env.state()


def test_reference_agents_play_every_seat(team: Team) -> None:
    env = team()
    agents = {role: make_agent("reference") for role in ("retriever", "planner", "coder")}
    episode = play(env, agents, seed=0)
    assert episode.turns[0].action == env.task.statement
    assert episode.judgement is not None
    assert episode.judgement.passed


def test_the_same_query_finds_the_same_in_the_generated_family(executor: Any) -> None:
    def found() -> str:
        env = retrieval_team_v0.raw_env(tasks="pipelines/3", split="test", executor=executor)
        env.reset(seed=4)
        env.step(env.task.statement)
        assert env.task.reference_program not in env.state()["retrieved"]
        return str(env.state()["retrieved"])

    assert found() == found()
