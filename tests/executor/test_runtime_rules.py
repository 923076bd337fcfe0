"""What the rules of verdicts promise, and the fairness that stands around them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from corecode_env.core.errors import IsolationRefused
from corecode_env.core.task import Limits, Stdio, StdioTest, Task
from corecode_env.core.verdict import TestResult, Verdict
from corecode_env.executor import elsewhere
from corecode_env.executor.bench import Bench, Gate
from corecode_env.executor.judging import judge
from corecode_env.executor.language import MAX_SOURCE_CHARS, Python
from corecode_env.executor.local import LocalExecutor
from corecode_env.executor.slot import Outcome
from corecode_env.executor.submission import judge_fairly
from corecode_env.executor.testing import InstantExecutor
from corecode_env.executor.verdicts import fault, how_it_ended, near_limit, one_line

LIMITS = Limits(cpu_seconds=2.0, wall_seconds=10.0, memory_bytes=1000)
FINE = Outcome(
    ready=True,
    broken=False,
    started=True,
    stdout=b"",
    stderr=b"",
    exit=0,
    signal=None,
    cpu_seconds=0.1,
    wall_seconds=0.2,
    peak_bytes=10,
)
KILLED = replace(FINE, exit=None, signal=signal.SIGKILL)


# ------------------------------------------------------------------- one outcome
@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (FINE, None),
        (replace(FINE, ready=False), Verdict.SE),
        (replace(FINE, broken=True), Verdict.SE),
        (replace(FINE, started=False, exit=1), Verdict.CE),
        (replace(KILLED, started=False), Verdict.CE),
        (replace(KILLED, signal=signal.SIGSYS), Verdict.SV),
        (replace(KILLED, overflow=True, killed_by="output"), Verdict.OLE),
        (replace(FINE, overflow=True), Verdict.OLE),
        (replace(FINE, peak_bytes=1000), Verdict.MLE),
        (replace(FINE, exit=1, stderr=b"Traceback\nMemoryError\n"), Verdict.MLE),
        (replace(FINE, exit=0, stderr=b"MemoryError\n"), None),
        (replace(KILLED, cpu_seconds=1.995), Verdict.TLE),
        (replace(KILLED, cpu_seconds=1.9), Verdict.RE),
        (replace(KILLED, signal=signal.SIGXCPU, cpu_seconds=2.5), Verdict.TLE),
        (replace(FINE, cpu_seconds=2.0), Verdict.TLE),
        (replace(FINE, cpu_seconds=1.999), None),
        (replace(KILLED, killed_by="wall", cpu_seconds=0.9), Verdict.ILE),
        (replace(KILLED, killed_by="wall", cpu_seconds=1.1), Verdict.TLE),
        (replace(KILLED, killed_by="cpu", cpu_seconds=1.5), Verdict.TLE),
        (replace(KILLED, killed_by="done"), None),
        (replace(KILLED, signal=signal.SIGSEGV), Verdict.RE),
        (replace(FINE, exit=3), Verdict.RE),
    ],
)
def test_how_a_process_ended_decides_by_precedence(
    outcome: Outcome, verdict: Verdict | None
) -> None:
    assert fault(outcome, LIMITS) is verdict


def test_only_the_exit_status_can_be_ignored() -> None:
    assert fault(replace(FINE, exit=1), LIMITS, ignore_exit=True) is None
    assert (
        fault(replace(KILLED, signal=signal.SIGABRT), LIMITS, ignore_exit=True) is Verdict.RE
    )


def test_near_the_limit_means_within_a_quarter_of_it() -> None:
    assert [near_limit(cpu, LIMITS) for cpu in (1.4, 1.5, 2.0, 2.5, 2.6)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_how_it_ended_names_signals() -> None:
    assert how_it_ended(replace(KILLED, signal=11)) == "ended by signal 11 (SIGSEGV)"
    assert how_it_ended(replace(KILLED, signal=200)) == "ended by signal 200 (a signal)"
    assert how_it_ended(FINE) == "exit status 0"


def test_a_note_is_one_short_line() -> None:
    assert one_line("a\nb\t c") == "a b c"
    assert len(one_line("x" * 1000)) == 200


# -------------------------------------------------------------------- near misses
def bench_on(*, overloaded: bool) -> Bench:
    def no_settings(role: str, kind: str) -> None:
        raise AssertionError("nothing needs to run")

    return Bench(no_settings, Gate(), lambda: overloaded)  # type: ignore[arg-type]


def test_a_near_miss_on_an_overloaded_machine_is_judged_again_alone() -> None:
    asked: list[float] = []

    def judge_once(cpu_seconds: float) -> TestResult:
        asked.append(cpu_seconds)
        return TestResult(Verdict.TLE if len(asked) == 1 else Verdict.AC, cpu_seconds=2.2)

    result = judge_fairly(bench_on(overloaded=True), LIMITS, judge_once)
    assert asked == [2.5, 2.0]
    assert (result.verdict, result.flags) == (Verdict.AC, ("rerun",))


@pytest.mark.parametrize(
    ("overloaded", "first"),
    [
        (False, TestResult(Verdict.TLE, cpu_seconds=2.2)),
        (True, TestResult(Verdict.TLE, cpu_seconds=2.5, signal=9)),
        (True, TestResult(Verdict.TLE, cpu_seconds=2.6)),
        (True, TestResult(Verdict.WA, cpu_seconds=1.9)),
        (True, TestResult(Verdict.ILE, cpu_seconds=0.1, signal=9)),
    ],
)
def test_nothing_else_is_judged_twice(overloaded: bool, first: TestResult) -> None:
    asked: list[float] = []

    def judge_once(cpu_seconds: float) -> TestResult:
        asked.append(cpu_seconds)
        return first

    assert judge_fairly(bench_on(overloaded=overloaded), LIMITS, judge_once) is first
    assert len(asked) == 1


@pytest.fixture
def overloaded_bench() -> Iterator[Bench]:
    with LocalExecutor(1) as executor:
        bench = Bench(executor._settings, Gate(), lambda: True)
        yield bench
        bench.close()


@pytest.mark.parametrize(("burnt", "flags"), [(0.45, ("near_limit", "rerun")), (9.0, ())])
def test_a_program_that_misses_its_limit_really_runs_twice(
    overloaded_bench: Bench, burnt: float, flags: tuple[str, ...]
) -> None:
    limits = Limits(cpu_seconds=0.4)
    task = Task("t", "", Stdio(), hidden_tests=(StdioTest("", "done"),), limits=limits)
    program = f"import time\nwhile time.process_time() < {burnt}: pass\nprint('done')"
    (result,) = judge(task, program, overloaded_bench, Python()).results
    assert result.verdict is Verdict.TLE
    assert ("rerun" in result.flags) == ("rerun" in flags)


def test_someone_who_must_be_alone_waits_for_others_and_keeps_them_out() -> None:
    gate, events = Gate(), []
    inside, leave = threading.Event(), threading.Event()

    def share() -> None:
        with gate.shared():
            inside.set()
            leave.wait(30)
            events.append("shared")

    def alone() -> None:
        with gate.alone():
            events.append("alone")

    threads = [threading.Thread(target=share), threading.Thread(target=alone)]
    threads[0].start()
    assert inside.wait(30)
    threads[1].start()
    leave.set()
    for thread in threads:
        thread.join(30)
    assert events == ["shared", "alone"]
    with gate.shared():
        pass


# ----------------------------------------------------------------------- language
def test_a_program_that_mentions_numpy_gets_it_warm() -> None:
    python = Python()
    assert python.warm_process(("import numpy",)) == "numpy"
    assert python.warm_process(("__import__('numpy')", "")) == "numpy"
    assert python.warm_process(("import math", "")) == "plain"
    assert Python(numpy=False).warm_process(("import numpy",)) == "plain"


def test_packing_keeps_preamble_and_program_apart() -> None:
    packed = Python().pack("program é", "given")
    assert packed == (5).to_bytes(8, "little") + b"given" + "program é".encode()
    assert Python().pack("x" * (MAX_SOURCE_CHARS + 1), "") is None


# ------------------------------------------------------------------ instant executor
TASK = Task(
    "t", "", Stdio(), (StdioTest("", ""),), (StdioTest("", ""),), reference_program="r"
)


def test_an_instant_executor_judges_by_its_rule() -> None:
    executor = InstantExecutor()
    assert executor.judge(TASK, "r").passed
    judged = InstantExecutor(lambda task, program: Verdict.RE).judge(TASK, "r")
    assert [(r.verdict, r.public) for r in judged.results] == [
        (Verdict.RE, True),
        (Verdict.RE, False),
    ]
    assert [j.passed for j in executor.map([(TASK, "r"), (TASK, "x")])] == [True, False]
    assert executor.jobs == [(TASK, "r"), (TASK, "r"), (TASK, "x")]


# ------------------------------------------------------------------- other systems
def test_other_systems_are_refused_plainly() -> None:
    with pytest.raises(IsolationRefused, match="must run on Linux"):
        elsewhere.LocalExecutor(workers=2)
