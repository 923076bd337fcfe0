"""What the cap of a reply promises: eight MiB, more only where the task's limits say so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from corecode_env.core.task import AssertTest, CallTest, Function, Limits, Task
from corecode_env.core.task import Test as AnyTest
from corecode_env.core.verdict import Verdict
from corecode_env.executor import LocalExecutor
from corecode_env.executor.compare import longest_reply
from corecode_env.executor.inside.wire import MAX_FRAME

LONG = 10 * 2**20
PROGRAM = f"def f(): return 'x' * {LONG}"
KINDS: dict[str, AnyTest] = {
    "call": CallTest((), {}, "x" * LONG),
    "assert": AssertTest(f"assert f() == 'x' * {LONG}"),
}


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(1) as made:
        yield made


def task(test: AnyTest, output_bytes: int) -> Task:
    limits = Limits(output_bytes=output_bytes)
    return Task("large", "", Function("f"), hidden_tests=(test,), limits=limits)


@pytest.mark.parametrize("kind", KINDS)
def test_a_reply_over_eight_mib_is_the_programs_fault(
    kind: str, executor: LocalExecutor
) -> None:
    judged = executor.judge(task(KINDS[kind], Limits().output_bytes), PROGRAM)
    assert judged.verdict is Verdict.RE


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_may_let_replies_be_as_long_as_outputs(
    kind: str, executor: LocalExecutor
) -> None:
    assert executor.judge(task(KINDS[kind], 2**24), PROGRAM).passed
    wrong = executor.judge(task(KINDS[kind], 2**24), PROGRAM.replace("'x'", "'y'"))
    assert wrong.verdict is Verdict.WA
    longer = executor.judge(task(KINDS[kind], 2**24), f"def f(): return 'x' * {2 * LONG}")
    assert longer.verdict is Verdict.RE


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_that_announces_more_than_the_cap_is_not_waited_for(
    kind: str, executor: LocalExecutor
) -> None:
    program = """def f():
    import os, time
    for fd in range(3, 32):
        try: os.write(fd, (2**31 - 1).to_bytes(4, "big"))
        except OSError: pass
    time.sleep(60)
"""
    judged = executor.judge(task(KINDS[kind], 2**24), program)
    assert judged.verdict is Verdict.RE
    assert judged.results[0].wall_seconds < 15


def test_the_cap_is_that_of_the_output_within_that_of_the_memory() -> None:
    assert longest_reply(Limits()) == MAX_FRAME
    assert longest_reply(Limits(output_bytes=2**26)) == 2**26
    assert longest_reply(Limits(output_bytes=2**40, memory_bytes=2**27)) == 2**27
    assert longest_reply(Limits(output_bytes=10, memory_bytes=10)) == MAX_FRAME
