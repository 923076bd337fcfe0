"""What the rules of judging promise that no other file tests by itself."""

from __future__ import annotations

import array
import os
import time
from collections.abc import Iterator

import pytest

from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Function,
    Limits,
    Stdio,
    StdioTest,
    Task,
)
from corecode_env.core.verdict import Verdict
from corecode_env.executor import LocalExecutor
from corecode_env.executor.process import STDIN_PIPE_BYTES

FUNCTION = Function("f")


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(1) as made:
        yield made


def test_rule_5_test_and_program_hash_alike(executor: LocalExecutor) -> None:
    code = "assert f('corecode') == hash('corecode')\nassert f(('a', 1)) == hash(('a', 1))"
    task = Task("t", "", FUNCTION, hidden_tests=(AssertTest(code),))
    assert executor.judge(task, "def f(x): return hash(x)").passed


def test_rule_5_every_listed_test_needs_a_call_of_its_own(executor: LocalExecutor) -> None:
    tests = (AssertTest("assert f(1) == 1"), AssertTest("assert True"))
    task = Task("t", "", FUNCTION, hidden_tests=tests)
    judgement = executor.judge(task, "def f(x): return x")
    assert [r.verdict for r in judgement.results] == [Verdict.AC, Verdict.NOCALL]
    assert judgement.verdict is Verdict.NOCALL


@pytest.mark.parametrize("size", [0, 1, STDIN_PIPE_BYTES, STDIN_PIPE_BYTES + 1, 2**20, 2**23])
def test_rule_8_input_of_any_size_arrives_whole_and_blocks_nobody(
    size: int, executor: LocalExecutor
) -> None:
    limits = Limits(cpu_seconds=10.0, wall_seconds=60.0)
    reads = Task("t", "", Stdio(), (StdioTest("x" * size, str(size)),), limits=limits)
    assert executor.judge(reads, "import sys\nprint(len(sys.stdin.read()))").passed
    ignores = Task("t", "", Stdio(), (StdioTest("x" * size, "a"),), limits=limits)
    assert executor.judge(ignores, "print('a')").passed


def test_rule_8_large_input_cannot_be_changed_by_the_program(executor: LocalExecutor) -> None:
    program = "import os\ntry: os.write(0, b'y')\nexcept OSError: print('held')"
    task = Task("t", "", Stdio(), (StdioTest("x" * 10**5, "held"),))
    assert executor.judge(task, program).passed


def test_rule_8_after_the_last_reply_nobody_waits_for_the_program(
    executor: LocalExecutor,
) -> None:
    program = """import atexit, threading, time
atexit.register(time.sleep, 60)
def f(n):
    threading.Thread(target=time.sleep, args=(60,)).start()
    return n
"""
    tests = (CallTest((1,), {}, 1), CallTest((2,), {}, 2), AssertTest("assert f(3) == 3"))
    began = time.monotonic()
    assert executor.judge(Task("t", "", FUNCTION, hidden_tests=tests), program).passed
    assert time.monotonic() - began < 30


def test_rule_8_outputs_are_drained_while_a_program_talks(executor: LocalExecutor) -> None:
    program = (
        "import sys\ndef f(n):\n    print('o' * 200000)\n"
        "    print('e' * 200000, file=sys.stderr)\n    return n"
    )
    tests = (CallTest((1,), {}, 1), AssertTest("assert f(3) == 3"))
    assert executor.judge(Task("t", "", FUNCTION, hidden_tests=tests), program).passed


@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        ("import os\nos.kill(os.getpid(), 9)", Verdict.RE),
        ("while True: pass", Verdict.TLE),
        (
            "import os\nx = 0\nfor i in range(10**5): x += i\nos.kill(os.getpid(), 9)",
            Verdict.RE,
        ),
    ],
)
def test_rule_8_a_kill_below_the_cpu_limit_is_an_error_and_at_it_a_timeout(
    program: str, verdict: Verdict, executor: LocalExecutor
) -> None:
    limits = Limits(cpu_seconds=1.0, wall_seconds=60.0)
    task = Task("t", "", Stdio(), (StdioTest("", ""),), limits=limits)
    assert executor.judge(task, program).verdict is verdict


def test_rule_3_no_program_makes_the_sandbox_fail_by_what_it_does_to_its_own_set_up(
    executor: LocalExecutor,
) -> None:
    programs = [
        "import os\nfor fd in range(200):\n    try: os.write(fd, b'F' * 32)\n    except OSError: pass",
        "import os\nos.closerange(0, 2**16)\nwhile True: pass",
        "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\nwhile True: pass",
        "import os, resource\nresource.setrlimit(resource.RLIMIT_CPU, (0, 0))\nwhile True: pass",
        "import gc, sys\nfor o in gc.get_objects():\n    if isinstance(o, dict): o.clear()",
        "import sys\nsys.modules.clear()\nx = input()",
        "import os\nos._exit(111)",
    ]
    limits = Limits(cpu_seconds=0.5, wall_seconds=5.0)
    tests = {
        "print": Task("t", "", Stdio(), (StdioTest("", "a"),), limits=limits),
        "call": Task("t", "", FUNCTION, hidden_tests=(CallTest((1,), {}, 2),), limits=limits),
        "code": Task(
            "t", "", FUNCTION, hidden_tests=(AssertTest("assert f(1) == 2"),), limits=limits
        ),
    }
    for program in programs:
        for task in tests.values():
            for text in (program, f"def f(n):\n    exec({program!r}, {{}})"):
                verdict = executor.judge(task, text).verdict
                assert verdict not in (Verdict.SE, Verdict.AC), (text, task, verdict)


def test_a_pipe_takes_what_is_written_into_it_without_a_reader() -> None:
    # Small inputs are written before the program runs: no pipe may block on them.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    assert os.write(writing, array.array("b", bytes(STDIN_PIPE_BYTES))) == STDIN_PIPE_BYTES
    os.close(reading)
    os.close(writing)
