"""What a remembering executor promises: the same verdicts, and equal programs judged once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest

from corecode_env.core.errors import BadConfig, ExecutorError
from corecode_env.core.task import Stdio, StdioTest, Task
from corecode_env.core.verdict import Judgement, Verdict
from corecode_env.executor.remembering import RememberingExecutor
from corecode_env.executor.testing import InstantExecutor


def task(name: str) -> Task:
    return Task(name, "Print 1.", Stdio(), public_tests=(StdioTest("", "1"),))


ONE, OTHER = task("one"), task("other")


def right_if_it_prints_one(asked: Task, program: str) -> Verdict:
    return Verdict.AC if program == "print(1)" else Verdict.WA


def test_an_equal_program_of_a_task_is_judged_once_and_gets_the_same_judgement() -> None:
    inner = InstantExecutor(right_if_it_prints_one)
    executor = RememberingExecutor(inner)
    first, again = (executor.judge(ONE, "print(1)") for _ in range(2))
    assert first is again and first.passed
    assert len(inner.jobs) == 1


def test_another_program_or_another_task_is_judged_on_its_own() -> None:
    inner = InstantExecutor(right_if_it_prints_one)
    executor = RememberingExecutor(inner)
    assert executor.judge(ONE, "print(1)").passed
    assert not executor.judge(ONE, "print(2)").passed
    assert executor.judge(OTHER, "print(1)").task_id == "other"
    assert len(inner.jobs) == 3


def test_tasks_of_one_id_that_differ_in_anything_are_told_apart() -> None:
    inner = InstantExecutor(right_if_it_prints_one)
    executor = RememberingExecutor(inner)
    derived = [replace(ONE, public_tests=(StdioTest(given, "1"),)) for given in ("a", "b")]
    equal = replace(derived[1])
    for asked in (ONE, derived[0], derived[1], equal, derived[0]):
        executor.judge(asked, "print(1)")
    # One judgement is kept an id: what was asked for before the last is judged anew.
    assert [asked.public_tests[0] for asked, _ in inner.jobs] == [
        StdioTest(given, "1") for given in ("", "a", "b", "a")
    ]


def test_equal_programs_at_the_same_time_are_judged_once() -> None:
    begun, go_on = Event(), Event()

    def slow(asked: Task, program: str) -> Verdict:
        begun.set()
        assert go_on.wait(timeout=10)
        return Verdict.AC

    inner = InstantExecutor(slow)
    executor = RememberingExecutor(inner)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(executor.judge, ONE, "print(1)")
        assert begun.wait(timeout=10)
        second = threads.submit(executor.judge, ONE, "print(1)")
        go_on.set()
        assert first.result() is second.result()
    assert len(inner.jobs) == 1


@pytest.mark.parametrize("most", [1, 2])
def test_what_was_asked_for_longest_ago_is_forgotten_first(most: int) -> None:
    inner = InstantExecutor(right_if_it_prints_one)
    executor = RememberingExecutor(inner, most)
    for program in ("a", "b", "a"):
        executor.judge(ONE, program)
    assert len(inner.jobs) == (3 if most == 1 else 2)


def test_a_failure_of_the_sandbox_is_not_remembered() -> None:
    verdicts = iter([Verdict.SE, Verdict.AC])
    executor = RememberingExecutor(InstantExecutor(lambda asked, program: next(verdicts)))
    judged = [executor.judge(ONE, "print(1)").verdict for _ in range(3)]
    assert judged == [Verdict.SE, Verdict.AC, Verdict.AC]


def test_an_error_is_raised_each_time_and_not_remembered() -> None:
    inner = InstantExecutor(right_if_it_prints_one)
    executor = RememberingExecutor(inner)
    inner.closed = True
    for _ in range(2):
        with pytest.raises(ExecutorError, match="closed"):
            executor.judge(ONE, "print(1)")
    inner.closed = False
    assert executor.judge(ONE, "print(1)").passed


def test_many_jobs_are_passed_on_in_order() -> None:
    executor = RememberingExecutor(InstantExecutor(right_if_it_prints_one))
    judged: list[Judgement] = list(executor.map([(ONE, "print(1)"), (ONE, "print(2)")]))
    assert [j.passed for j in judged] == [True, False]


def test_it_closes_the_other_executor() -> None:
    inner = InstantExecutor(right_if_it_prints_one)
    RememberingExecutor(inner).close()
    assert inner.closed


def test_room_for_no_judgement_is_refused() -> None:
    with pytest.raises(BadConfig, match="at least 1"):
        RememberingExecutor(InstantExecutor(right_if_it_prints_one), 0)
