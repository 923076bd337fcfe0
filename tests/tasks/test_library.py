"""What the library promises: solved training tasks, ranked by BM25 of their statements."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.errors import BadConfig
from corecode_env.core.task import CallTest, Function, Task
from corecode_env.tasks.library import K1, B, Library, has_solved_training_task
from corecode_env.tasks.taskset import TaskSet


def a_task(name: str, statement: str, **fields: Any) -> Task:
    fields = {"reference_program": f"# {name}"} | fields
    return Task(name, statement, Function("f"), (CallTest((1,), {}, 1),), **fields)


AT_HAND = a_task("at hand", "something else entirely")
LIBRARY = Library(
    TaskSet(
        [
            a_task("a", "sort the list"),
            a_task("b", "sort the list and the other list"),
            a_task("c", "count the words"),
        ]
    )
)


def ids(query: str, k: int = 9, library: Library = LIBRARY) -> list[str]:
    return [found.task.id for found in library.search(query, k, but=AT_HAND)]


def test_a_score_is_that_of_the_formula() -> None:
    """By hand: 'words' stands once, in one statement of 3 words; the mean is 13 / 3."""
    (found,) = LIBRARY.search("words", 9, but=AT_HAND)
    rarity = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    length = K1 * (1 - B + B * 3 / (13 / 3))
    assert found.task.id == "c"
    assert found.score == pytest.approx(rarity * 1 * (K1 + 1) / (1 + length))


def test_a_rare_word_counts_more_than_common_ones() -> None:
    assert ids("the count")[0] == "c"


def test_the_shorter_of_two_statements_with_a_word_comes_first() -> None:
    assert ids("sort") == ["a", "b"]


def test_equal_scores_stay_in_the_order_of_the_set() -> None:
    twins = Library(TaskSet([a_task(name, "sort it") for name in "zxy"]))
    assert ids("sort", library=twins) == ["z", "x", "y"]


def test_case_order_and_repetition_of_a_query_do_not_count() -> None:
    forms = ("list sort", "SORT, list!", "list list sort sort list")
    results = [LIBRARY.search(form, 9, but=AT_HAND) for form in forms]
    assert results[0] == results[1] == results[2]


def test_only_solved_training_tasks_come_back() -> None:
    library = Library(
        TaskSet(
            [
                a_task("train", "sort it"),
                a_task("test", "sort it", metadata={"split": "test"}),
                a_task("unsolved", "sort it", reference_program=None),
            ]
        )
    )
    assert ids("sort", library=library) == ["train"]


@pytest.mark.parametrize(
    "at_hand",
    [
        a_task("a", "another statement"),
        a_task("other", "Sort the LIST!"),
        a_task("other", "another statement", reference_program="#   a\n"),
    ],
)
def test_what_would_give_the_answer_away_is_passed_over(at_hand: Task) -> None:
    found = LIBRARY.search("sort the list", 1, but=at_hand)
    assert [result.task.id for result in found] == ["b"]


def test_a_task_without_a_program_hides_nothing_but_itself() -> None:
    at_hand = a_task("other", "another statement", reference_program=None)
    assert len(LIBRARY.search("sort", 9, but=at_hand)) == 2


@given(st.text())
def test_any_query_is_answered_with_falling_scores(query: str) -> None:
    scores = [found.score for found in LIBRARY.search(query, 9, but=AT_HAND)]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


@pytest.mark.parametrize(
    "fields", [{"metadata": {"split": "test"}}, {"reference_program": None}]
)
def test_a_set_without_solved_training_tasks_is_no_library(fields: dict[str, Any]) -> None:
    tasks = TaskSet([a_task("a", "sort it", **fields)], "mine")
    assert not has_solved_training_task(tasks)
    with pytest.raises(BadConfig, match=r"TaskSet\('mine', 1 tasks\), which has none; choose"):
        Library(tasks)
