"""What task sets promise: distinct ids, honest splits, draws that a seed decides."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from corecode_env.core.errors import BadConfig, SplitError, UnknownName
from corecode_env.core.task import Stdio, StdioTest, Task
from corecode_env.tasks.taskset import TaskSampler, TaskSet


def task(name: str, split: str | None = None, source_id: int | None = None) -> Task:
    metadata = {"split": split, "source_id": source_id}
    return Task(
        name,
        "",
        Stdio(),
        (StdioTest("", ""),),
        metadata={key: value for key, value in metadata.items() if value is not None},
    )


def some(names: str, split: str | None = None, name: str = "letters") -> TaskSet:
    return TaskSet((task(each, split) for each in names), name)


LETTERS = some("abcdefgh")


# ----------------------------------------------------------------------- a sequence
def test_a_set_is_a_sequence_of_its_tasks() -> None:
    assert len(LETTERS) == 8
    assert LETTERS[0].id == "a" and LETTERS[-1].id == "h"
    assert LETTERS[2:4].ids() == ["c", "d"]
    assert [each.id for each in LETTERS] == LETTERS.ids()
    assert repr(LETTERS) == "TaskSet('letters', 8 tasks)"


def test_two_tasks_with_one_id_are_refused() -> None:
    with pytest.raises(BadConfig, match="distinct, got 'a' twice in letters"):
        some("aba")


def test_a_task_is_found_by_its_id_or_by_its_id_in_the_source() -> None:
    tasks = TaskSet([task("Mbpp/7", source_id=7), task("7", source_id=8)])
    assert tasks.get("7").id == "7"
    assert tasks.get("8").id == "7"
    assert tasks.get("Mbpp/7").id == "Mbpp/7"


def test_an_unknown_id_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'HumanEval/10'"):
        TaskSet([task("HumanEval/10")], "x").get("HumanEval/1O")


# --------------------------------------------------------------------------- splits
def test_split_takes_the_tasks_that_say_so_and_tasks_that_say_nothing_train() -> None:
    tasks = TaskSet([task("a"), task("b", "test"), task("c", "train")])
    assert tasks.split("train").ids() == ["a", "c"]
    assert tasks.split("test").ids() == ["b"]


def test_an_empty_split_is_an_error_with_the_way_out() -> None:
    with pytest.raises(SplitError, match=r"got 8 of 'test'; train on 'mbpp'"):
        some("abcdefgh", "test").split("train")
    with pytest.raises(SplitError, match="it has train: choose another"):
        LETTERS.split("validation")


def test_an_unknown_split_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'train'"):
        LETTERS.split("trian")


@pytest.mark.parametrize("split", ["test", "validation"])
def test_training_on_what_is_evaluated_is_an_error_with_the_way_out(split: str) -> None:
    mixed = TaskSet([task("a"), task("b", split)], "mixed")
    with pytest.raises(SplitError, match=rf"'b' of the split '{split}'.*\.split\('train'\)"):
        mixed.require_trainable()
    with pytest.raises(SplitError, match="train on 'mbpp' or 'pipelines/1'"):
        some("ab", split).require_trainable()


def test_a_set_for_training_is_returned_as_it_is() -> None:
    assert LETTERS.require_trainable() is LETTERS


# ------------------------------------------------------------- filter, shuffle, mix
def test_filter_and_head_keep_the_order() -> None:
    assert LETTERS.filter(lambda each: each.id in "hca").ids() == ["a", "c", "h"]
    assert LETTERS.head(2).ids() == ["a", "b"]
    assert LETTERS.head(99).ids() == LETTERS.ids()
    assert LETTERS.head(0).ids() == []
    with pytest.raises(BadConfig, match="not be negative"):
        LETTERS.head(-1)


def test_shuffle_is_an_order_of_the_same_tasks_that_the_seed_decides() -> None:
    once, again, other = LETTERS.shuffle(1), LETTERS.shuffle(1), LETTERS.shuffle(2)
    assert once.ids() == again.ids() != other.ids()
    assert sorted(once.ids()) == LETTERS.ids()


def test_mix_holds_every_task_and_each_set_in_its_order() -> None:
    mixed = some("abcd").mix(some("wxyz"), some("12"), seed=3)
    ids = mixed.ids()
    assert sorted(ids) == sorted("abcdwxyz12")
    for part in ("abcd", "wxyz", "12"):
        assert [each for each in ids if each in part] == list(part)
    assert some("abcd").mix(some("wxyz"), seed=3).ids() != [*"abcdwxyz"]
    assert mixed.name == "letters+letters+letters"


def test_mix_with_weights_keeps_the_proportions_until_a_set_is_used_up() -> None:
    many = TaskSet(task(f"m{i}") for i in range(900))
    few = TaskSet(task(f"f{i}") for i in range(300))
    counts = Counter(each[0] for each in many.mix(few, weights=(1, 3), seed=0).ids())
    assert counts["f"] == 300
    assert 70 <= counts["m"] <= 130
    assert few.mix(many, weights=(1, 0)).ids() == few.ids()


@pytest.mark.parametrize("weights", [(1,), (1, -1), (0, 0), (1, float("nan"))])
def test_weights_that_mean_nothing_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(BadConfig, match="weights must be 2 numbers"):
        some("ab").mix(some("cd"), weights=weights)


def test_mix_refuses_one_problem_under_one_id_twice() -> None:
    with pytest.raises(BadConfig, match="'a' twice"):
        some("a").mix(some("a"))


# -------------------------------------------------------------------------- sampler
def test_the_sampler_draws_every_task_once_per_epoch_in_another_order() -> None:
    sampler = TaskSampler(LETTERS, seed=5)
    first = [sampler.next().id for _ in LETTERS]
    second = [sampler.next().id for _ in LETTERS]
    assert sorted(first) == sorted(second) == LETTERS.ids()
    assert first != second
    assert sampler.epoch == 2


def test_equal_seeds_draw_equal_tasks() -> None:
    one, two = TaskSampler(LETTERS, seed=5), TaskSampler(LETTERS, seed=5)
    assert [one.next().id for _ in range(20)] == [two.next().id for _ in range(20)]


@pytest.mark.parametrize("drawn", [0, 3, 8, 11])
def test_a_sampler_goes_on_where_another_stood(drawn: int) -> None:
    one, two = TaskSampler(LETTERS, seed=5), TaskSampler(LETTERS, seed=99)
    for _ in range(drawn):
        one.next()
    two.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert [one.next().id for _ in range(20)] == [two.next().id for _ in range(20)]


def test_the_state_of_other_tasks_is_refused() -> None:
    state = TaskSampler(some("xyz"), seed=0).state_dict()
    with pytest.raises(BadConfig, match="other tasks"):
        TaskSampler(LETTERS, seed=0).load_state_dict(state)


def test_nothing_can_be_drawn_from_an_empty_set() -> None:
    with pytest.raises(BadConfig, match="empty"):
        TaskSampler(LETTERS.head(0), seed=0)
