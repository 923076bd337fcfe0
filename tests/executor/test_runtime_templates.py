"""What templates promise: many tests of a program are judged as if each stood alone."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from corecode_env.core.task import Limits, Stdio, StdioTest, Task
from corecode_env.core.verdict import Judgement, Verdict
from corecode_env.executor import LocalExecutor
from corecode_env.executor.bench import Bench, Cancelled, Gate
from corecode_env.executor.judging import judge
from corecode_env.executor.language import Python
from corecode_env.executor.selftest import SELF_TEST, run_self_test
from corecode_env.executor.slot import PROGRAM, Outcome, Run, Slot, SlotDied, sealed
from corecode_env.executor.template import FEWEST_TESTS, Template

LIMITS = Limits(cpu_seconds=0.3, wall_seconds=1.0, memory_bytes=100 * 2**20)
MANY = FEWEST_TESTS + 1


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(1) as made:
        yield made


@pytest.fixture
def slot(executor: LocalExecutor) -> Iterator[Slot]:
    made = Slot(executor._settings("candidate", "plain"))
    yield made
    made.close()


def task(tests: int, given: str = "1 2\n", output: str = "3\n") -> Task:
    return Task(
        "sum",
        "Add two numbers.",
        Stdio(),
        public_tests=(StdioTest(given, output),) * tests,
        limits=LIMITS,
    )


def packed(program: str) -> int:
    content = Python().pack(program, "")
    assert content is not None
    return sealed(content)


def in_template(slot: Slot, program: str) -> Outcome:
    payload = packed(program)
    try:
        template = Template(slot, payload, LIMITS, 1)
        try:
            return template.run(Run(payload, limits=LIMITS, kind=PROGRAM))
        finally:
            template.close()
    finally:
        os.close(payload)


def all_alike(executor: LocalExecutor, program: str) -> Judgement:
    judgement = executor.judge(task(MANY), program)
    assert len({result.verdict for result in judgement.results}) == 1
    return judgement


SUM = "print(sum(map(int, input().split())))\n"


@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        (SUM, Verdict.AC),
        ("print(4)\n", Verdict.WA),
        ("print(3)\nraise SystemExit(7)\n", Verdict.RE),
        ("print(1/0)\n", Verdict.RE),
        ("x = = 1\n", Verdict.CE),
        ("while True: pass\n", Verdict.TLE),
        ("import time\ntime.sleep(60)\n", Verdict.ILE),
        ("bytearray(10**9)\n", Verdict.MLE),
        ("def f(n): f(n)\nf(1)\n", Verdict.RE),
        ("import os\nos.abort()\n", Verdict.RE),
        ("import atexit\natexit.register(print, 3)\n", Verdict.AC),
        ("from threading import Timer\nTimer(0.01, print, [3]).start()\n", Verdict.AC),
    ],
)
def test_a_program_gets_the_verdict_that_it_gets_alone(
    executor: LocalExecutor, program: str, verdict: Verdict
) -> None:
    alone = executor.judge(task(1), program).results[0]
    many = all_alike(executor, program).results[-1]
    assert (alone.verdict, many.verdict) == (verdict, verdict)
    assert (many.exit, many.signal, many.note) == (alone.exit, alone.signal, alone.note)


def test_a_program_may_recurse_as_deep_as_alone(executor: LocalExecutor) -> None:
    program = (
        "def deeper(n):\n    global depth\n    depth = n\n    deeper(n + 1)\n"
        "try:\n    deeper(1)\nexcept RecursionError:\n    raise ValueError(depth)\n"
    )
    notes = {executor.judge(task(tests), program).results[-1].note for tests in (1, MANY)}
    assert len(notes) == 1


def test_no_test_leaves_anything_to_the_next(executor: LocalExecutor) -> None:
    program = (
        "import builtins, math, os, sys\n"
        "fresh = not hasattr(builtins, 'left') and 'left' not in globals()\n"
        "builtins.left = math.left = sys.left = left = True\n"
        "sys.modules['left'] = math\n"
        "print(3 if fresh and sys.stdin.readline() == '1 2\\n' else 'left over')\n"
    )
    assert all_alike(executor, program).passed


def test_each_test_draws_other_random_numbers(executor: LocalExecutor) -> None:
    program = "import random, sys\nsys.exit(f'drew {random.random()}')\n"
    notes = [result.note for result in executor.judge(task(MANY), program).results]
    assert len(set(notes)) == MANY
    assert not any(str(random.Random(0).random()) in note for note in notes)


def test_each_input_reaches_its_own_test(executor: LocalExecutor) -> None:
    tests = tuple(StdioTest(f"{n} {n}\n", f"{2 * n}\n") for n in range(12))
    mixed = Task("sum", "", Stdio(), hidden_tests=tests, limits=LIMITS)
    assert executor.judge(mixed, SUM).passed
    wrong = executor.judge(mixed, "print(8)\n")
    verdicts = [result.verdict for result in wrong.results]
    assert verdicts == [Verdict.AC if n == 4 else Verdict.WA for n in range(12)]


def test_a_test_that_fails_spoils_no_other(executor: LocalExecutor) -> None:
    tests = tuple(StdioTest(f"{n}\n", "done\n") for n in range(6))
    mixed = Task("ways", "", Stdio(), hidden_tests=tests, limits=LIMITS)
    program = (
        "import os\nway = int(input())\n"
        "if way == 1: os.abort()\n"
        "while way == 2: pass\n"
        "if way == 3: os.write(1, bytes(2**25))\n"
        "if way == 4: bytearray(10**9)\n"
        "print('done')\n"
    )
    verdicts = [result.verdict.name for result in executor.judge(mixed, program).results]
    assert verdicts == ["AC", "RE", "TLE", "OLE", "MLE", "AC"]


def test_every_attack_is_refused_in_the_fork_of_a_template(slot: Slot) -> None:
    report = run_self_test(lambda program: in_template(slot, program))
    assert report.breaches == ()
    assert len(report.held) == len(SELF_TEST)


def test_a_program_holds_three_descriptors_and_cannot_reach_its_template(slot: Slot) -> None:
    outcome = in_template(
        slot,
        "import os, resource, signal\n"
        "held = []\n"
        "for n in range(1024):\n"
        "    try:\n        os.fstat(n)\n        held.append(n)\n"
        "    except OSError: pass\n"
        "parent = os.getppid()\n"
        "attacks = [lambda: os.kill(parent, 9), lambda: os.fork(),\n"
        "    lambda: os.killpg(os.getpgid(parent), 9), lambda: open(f'/proc/{parent}/mem'),\n"
        "    lambda: os.listdir(f'/proc/{parent}/fd'), lambda: os.pidfd_open(parent),\n"
        "    lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1)),\n"
        "    lambda: os.setpriority(os.PRIO_PROCESS, parent, 19),\n"
        "    lambda: os.sched_setaffinity(parent, {0}),\n"
        "    lambda: os.waitpid(parent, 0)]\n"
        "got_through = []\n"
        "for number, attack in enumerate(attacks):\n"
        "    try:\n        attack()\n        got_through.append(number)\n"
        "    except OSError: pass\n"
        "print(held, got_through)\n",
    )
    assert outcome.stdout == b"[0, 1, 2] []\n"


def test_the_numbers_of_a_test_are_its_own(slot: Slot) -> None:
    payload = packed(
        "if input() == 'much':\n    x = bytearray(40 * 2**20)\n    for i in range(10**6): pass\n"
    )
    template = Template(slot, payload, LIMITS, 4)
    try:
        much, little = (
            template.run(Run(payload, stdin=given, limits=LIMITS, kind=PROGRAM))
            for given in (b"much\n", b"little\n")
        )
    finally:
        template.close()
        os.close(payload)
    assert much.peak_bytes > 40 * 2**20 > 10 * 2**20 > little.peak_bytes
    assert much.cpu_seconds > little.cpu_seconds


def test_a_dead_template_says_so_and_its_slot_goes_on(slot: Slot) -> None:
    payload = packed(SUM)
    run = Run(payload, stdin=b"1 2\n", limits=LIMITS, kind=PROGRAM)
    template = Template(slot, payload, LIMITS, 4)
    assert template.run(run).stdout == b"3\n"
    template.process.kill("done")
    with pytest.raises(SlotDied):
        template.run(run)
    template.close()
    assert slot.run(run).stdout == b"3\n"
    assert not slot.lost
    os.close(payload)


def test_a_template_that_dies_between_tests_costs_no_test_its_verdict(
    executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, runs = Template.run, 0

    def kill_before_the_third(self: Template, given: Run) -> Outcome:
        nonlocal runs
        runs += 1
        if runs == 3:
            self.process.kill("done")
        return run(self, given)

    monkeypatch.setattr(Template, "run", kill_before_the_third)
    assert executor.judge(task(6), SUM).passed
    assert runs == 3  # the rest started from the zygote


def test_who_interrupts_ends_a_template_with_its_test(executor: LocalExecutor) -> None:
    bench = Bench(executor._settings, Gate(), lambda: False)
    long = Task(
        "wait",
        "",
        Stdio(),
        hidden_tests=(StdioTest("", ""),) * MANY,
        limits=Limits(cpu_seconds=20.0, wall_seconds=60.0),
    )
    bench.slot("candidate", "plain").start()
    bench.interrupt()
    with pytest.raises(Cancelled):
        judge(long, "import time\ntime.sleep(50)\n", bench, Python())
    bench.resume()
    assert judge(task(MANY), SUM, bench, Python()).passed
    bench.close()


def test_templates_leave_no_descriptor_and_no_process_behind(
    executor: LocalExecutor,
) -> None:
    def open_descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    programs = [SUM, "x = = 1\n", "print(1/0)\n", "import os\nos.abort()\n"]
    executor.judge(task(MANY), SUM)
    before = open_descriptors()
    for program in programs * 3:
        executor.judge(task(MANY), program)
    assert open_descriptors() == before
