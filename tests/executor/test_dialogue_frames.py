"""What the judge and the parent promise about bytes that are no honest reply.

Whatever is in the pipe, neither raises, hangs or accepts.
"""

from __future__ import annotations

import json
import os
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given, settings
from hypothesis import strategies as st

from corecode_env.core.task import Checker
from corecode_env.executor.compare import compare_value
from corecode_env.executor.inside.tester import Report, run_test
from corecode_env.executor.inside.wire import HEADER, MAX_FRAME
from corecode_env.executor.session import CallReply, CallSession
from tests.executor.dialogue_harness import call, running

TEST = "assert f(1) == 'a value that no random bytes hold'"


@contextmanager
def liar(*answers: bytes) -> Iterator[tuple[int, int]]:
    """A program that answers requests with given bytes, one each, then ends."""
    requests_r, requests_w = os.pipe()
    replies_r, replies_w = os.pipe()

    def answer() -> None:
        question = select.poll()
        question.register(requests_r, select.POLLIN)
        for data in answers:
            # A judge that waits for the rest of a frame asks nothing more: go on then.
            if question.poll(20):
                os.read(requests_r, 2**16)
            os.write(replies_w, data)
        os.close(replies_w)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield requests_w, replies_r
    finally:
        os.close(requests_w)
        thread.join()
        os.close(requests_r)
        os.close(replies_r)


def judged(*answers: bytes) -> Report:
    with liar(*answers) as (requests, replies):
        return run_test(requests, replies, TEST, "f")


def called(*answers: bytes, seconds: float = 5.0) -> CallReply:
    with liar(*answers) as (requests, replies):
        session = CallSession(requests, replies)
        return session.call("f", (1,), {}, deadline=time.monotonic() + seconds)


def frame(message: object) -> bytes:
    body = json.dumps(message).encode()
    return HEADER.pack(len(body)) + body


FUNCTION = frame({"ok": {"$object": [0, "function", True, False]}})
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    "ok raised classes args message origin object stop callback of name kwargs "
                    "missing op $object $raisable $visitor $std $type $set $dict $numpy $tuple "
                    "$int $global $opaque"
                ).split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=64), min_size=1, max_size=3))
def test_random_bytes_are_never_accepted(answers: list[bytes]) -> None:
    assert judged(*answers).outcome in ("candidate_gone", "candidate_garbled")
    assert judged(FUNCTION, *answers).outcome in ("candidate_gone", "candidate_garbled")
    assert called(*answers).kind in ("gone", "garbled")


@settings(max_examples=80, deadline=None)
@given(jsons, jsons)
def test_random_messages_are_never_accepted(first: object, second: object) -> None:
    for answers in ([first], [first, second], None):
        frames = [FUNCTION, frame(second)] if answers is None else [*map(frame, answers)]
        report = judged(*frames)
        assert report.outcome not in ("passed", "test_broken", "nocall"), report
    reply = called(frame(first))
    if reply.kind == "value":
        assert not compare_value(reply.value, 2**70, Checker()).accepted


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["raised", "classes", "args", "message", "origin"]), jsons)
)
def test_random_exceptions_are_the_programs_fault(fields: dict[str, object]) -> None:
    report = judged(FUNCTION, frame({"raised": "ValueError", "message": "m", **fields}))
    assert report.outcome in ("candidate_raised", "candidate_garbled"), report
    assert called(frame({"raised": "ValueError", **fields})).kind in ("raised", "garbled")


@settings(max_examples=50, deadline=None)
@given(jsons, st.sampled_from(["call", "get", "set", "next", "special"]), jsons)
def test_random_callbacks_are_never_accepted(of: object, operation: str, args: object) -> None:
    message = {"callback": operation, "of": of, "name": "x", "args": args, "kwargs": {}}
    report = judged(FUNCTION, frame(message), frame({"ok": 1}))
    assert report.outcome not in ("passed", "test_broken", "nocall"), report


def test_a_reply_before_the_question_is_refused() -> None:
    requests_r, requests_w = os.pipe()
    replies_r, replies_w = os.pipe()
    os.write(replies_w, frame({"ok": 2}))
    assert run_test(requests_w, replies_r, TEST, "f").outcome == "candidate_garbled"
    reply = CallSession(requests_w, replies_r).call(
        "f", (1,), {}, deadline=time.monotonic() + 5
    )
    assert reply.kind == "garbled"
    for fd in (requests_r, requests_w, replies_r, replies_w):
        os.close(fd)


def test_two_replies_to_one_question_are_refused() -> None:
    assert called(frame({"ok": 1}) + frame({"ok": 2})).kind == "garbled"


def test_silence_ends_at_the_deadline() -> None:
    with running("import time\ndef f(n): time.sleep(60)") as (requests, replies):
        session = CallSession(requests, replies)
        began = time.monotonic()
        reply = session.call("f", (1,), {}, deadline=began + 0.3)
        assert reply.kind == "timeout"
        assert time.monotonic() - began < 5.0
        assert session.call("f", (1,), {}, deadline=began + 60.0) is reply


def test_a_program_that_never_reads_blocks_nobody() -> None:
    program = "import time\ntime.sleep(60)"
    with running(program) as (requests, replies):
        session = CallSession(requests, replies)
        began = time.monotonic()
        reply = session.call("f", ("x" * 2**20,), {}, deadline=began + 0.3)
        assert reply.kind == "timeout"
        assert time.monotonic() - began < 5.0


def test_a_program_that_sends_byte_by_byte_ends_at_the_deadline() -> None:
    program = """
import os, time
def f(n):
    while True:
        for fd in range(3, 256):
            try: os.write(fd, b'\\0')
            except OSError: pass
        time.sleep(0.01)
"""
    reply = call(program, 1, seconds=1)
    assert reply.kind in ("timeout", "garbled")


def test_large_arguments_and_results_pass() -> None:
    reply = call("def f(x): return x", "x" * 2**22)
    assert reply.value == "x" * 2**22


def test_a_result_over_the_cap_is_the_programs_fault() -> None:
    assert call("def f(n): return 'x' * n", MAX_FRAME).kind == "raised"
    with running("def f(n): return 'x' * n") as (requests, replies):
        session = CallSession(requests, replies)
        deadline = time.monotonic() + 10
        assert (
            session.call("f", (100,), {}, deadline=deadline, max_bytes=2**16).kind == "value"
        )
        big = session.call("f", (10**6,), {}, deadline=deadline, max_bytes=2**16)
        assert big.kind == "oversized"


def test_calls_of_one_session_share_the_programs_state() -> None:
    with running("seen = []\ndef f(n):\n    seen.append(n)\n    return seen") as pipes:
        session = CallSession(*pipes)
        deadline = time.monotonic() + 10
        replies = [session.call("f", (n,), {}, deadline=deadline).value for n in range(3)]
        assert replies == [[0], [0, 1], [0, 1, 2]]


def test_a_call_that_raises_does_not_end_the_session() -> None:
    with running("def f(n): return 1 // n") as pipes:
        session = CallSession(*pipes)
        deadline = time.monotonic() + 10
        failed = session.call("f", (0,), {}, deadline=deadline)
        assert (failed.kind, failed.error) == ("raised", "ZeroDivisionError")
        assert session.call("f", (1,), {}, deadline=deadline).value == 1


def test_where_arguments_are_tested_the_changed_one_stands_for_no_result() -> None:
    program = "def f(xs): xs.sort()"
    with running(program) as (requests, replies):
        session = CallSession(requests, replies, mutates_arguments=True)
        reply = session.call("f", ([2, 1],), {}, deadline=time.monotonic() + 10)
    assert reply.value == [1, 2]
    assert call(program, [2, 1]).value is None
