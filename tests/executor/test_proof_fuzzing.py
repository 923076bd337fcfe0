"""What random programs, replies and inputs promise: nothing raises, hangs or is mixed up.

Beside every random program runs one that prints its own number: a result that went to the
wrong job would show.
"""

from __future__ import annotations

import random
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corecode_env.core.seams import Job
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Function,
    Limits,
    Stdio,
    StdioTest,
    Task,
)
from corecode_env.core.task import Test as AnyTest
from corecode_env.core.verdict import Verdict
from corecode_env.executor import LocalExecutor
from tests.executor.program_fuzzer import random_program

LIMITS = Limits(cpu_seconds=0.3, wall_seconds=2.0, memory_bytes=64 * 2**20, output_bytes=2**14)
PATIENT = Limits(cpu_seconds=5.0, wall_seconds=120.0)
FUNCTION = Function("f")
# No random program prints it or returns it.
SECRET = "canary 7f3a91"
KINDS: dict[str, tuple[AnyTest, Stdio | Function]] = {
    "print": (StdioTest("", SECRET), Stdio()),
    "call": (CallTest((), {}, SECRET), FUNCTION),
    "code": (AssertTest(f"assert f() == {SECRET!r}"), FUNCTION),
}
fuzzing = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(2) as made:
        yield made


def job(program: str, kind: str, limits: Limits = LIMITS) -> Job:
    test, interface = KINDS[kind]
    return Task("random", "", interface, hidden_tests=(test,), limits=limits), program


def numbered(number: int) -> Job:
    test = StdioTest("", str(number))
    task = Task(str(number), "", Stdio(), hidden_tests=(test,), limits=PATIENT)
    return task, f"print({number})"


def check(executor: LocalExecutor, jobs: Sequence[Job]) -> list[Verdict]:
    """Judge jobs, a numbered one after each; return their verdicts."""
    mixed = [each for n, one in enumerate(jobs) for each in (one, numbered(n))]
    judged = list(executor.map(mixed))
    assert [j.task_id for j in judged] == [task.id for task, _ in mixed]
    assert all(judgement.passed for judgement in judged[1::2])
    verdicts = [judgement.verdict for judgement in judged[::2]]
    for (_, program), verdict in zip(jobs, verdicts, strict=True):
        assert verdict not in (Verdict.AC, Verdict.SE), program
    return verdicts


@fuzzing
@given(st.lists(st.text() | st.binary().map(lambda b: b.decode("latin-1")), max_size=4))
def test_random_text_as_a_program(executor: LocalExecutor, programs: list[str]) -> None:
    for kind in KINDS:
        check(executor, [job(program, kind) for program in programs])


@fuzzing
@given(st.lists(st.binary(max_size=200), min_size=1, max_size=3), st.booleans())
def test_random_bytes_as_replies(
    executor: LocalExecutor, replies: list[bytes], framed: bool
) -> None:
    texts = [len(r).to_bytes(4, "big") + r if framed else r for r in replies]
    program = f"""import os
def f():
    for text in {texts!r}:
        for fd in range(32):
            try: os.write(fd, text)
            except OSError: pass
"""
    check(executor, [job(program, kind) for kind in KINDS])


@fuzzing
@given(st.text(max_size=3000))
def test_random_text_as_input_arrives_byte_by_byte(executor: LocalExecutor, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    expected = f"{len(data)} {zlib.crc32(data)}"
    program = (
        "import sys, zlib\ndata = sys.stdin.buffer.read()\nprint(len(data), zlib.crc32(data))"
    )
    test = StdioTest(text, expected)
    task = Task("t", "", Stdio(), hidden_tests=(test,), limits=PATIENT)
    assert executor.judge(task, program).passed


@fuzzing
@given(st.text(max_size=3000))
def test_random_text_as_input_of_a_program_that_reads_text(
    executor: LocalExecutor, text: str
) -> None:
    test = StdioTest(text, SECRET)
    task = Task("t", "", Stdio(), hidden_tests=(test,), limits=PATIENT)
    program = "import sys\nfor line in sys.stdin: print(int(line))"
    assert executor.judge(task, program).verdict in (Verdict.WA, Verdict.RE)


@fuzzing
@given(st.permutations(range(12)), st.sampled_from(["map", "as_completed"]))
def test_every_answer_belongs_to_its_job(
    executor: LocalExecutor, order: list[int], how: str
) -> None:
    ends = ["", "1 / 0", "(", "import os; os._exit(3)", "x = [0] * 10**10"]
    jobs = [
        numbered(n) if n % 2 else job(f"print({n})\n{ends[n % len(ends)]}", "print")
        for n in order
    ]
    if how == "map":
        found = dict(enumerate(executor.map(jobs)))
    else:
        pairs = list(executor.as_completed(jobs))
        found = dict(pairs)
        assert len(pairs) == len(jobs)
    for place, n in enumerate(order):
        assert found[place].passed == bool(n % 2)
        assert found[place].task_id == (str(n) if n % 2 else "random")


def fuzz(executor: LocalExecutor, count: int, seed: int) -> list[Verdict]:
    dice = random.Random(seed)
    verdicts: list[Verdict] = []
    for _ in range(0, count, 50):
        jobs = []
        for _ in range(50):
            program, kind = random_program(dice), dice.choice(list(KINDS))
            if kind != "print" and dice.random() < 0.8:
                body = "\n".join(f"    {line}" for line in program.splitlines())
                program = f"def f():\n{body}"
            jobs.append(job(program, kind))
        verdicts += check(executor, jobs)
    return verdicts


def test_a_few_random_programs_of_a_grammar(executor: LocalExecutor) -> None:
    fuzz(executor, 100, 1)


@pytest.mark.slow
def test_thousands_of_random_programs_of_a_grammar(executor: LocalExecutor) -> None:
    verdicts = fuzz(executor, 5000, 2)
    # The grammar is worth its while only if its programs end in many ways.
    assert {Verdict.CE, Verdict.RE, Verdict.WA, Verdict.TLE, Verdict.MLE} <= set(verdicts)


# ------------------------------------------------------------ many, in the full run
WORDS = b"def f(): return\n import os \x00 \xff \xef\xbb\xbf ( [ { # coding: \" ' \\ \t 1 ok {}".split(
    b" "
)


def random_bytes(dice: random.Random, most: int = 400) -> bytes:
    """Return random bytes, in half of the cases of words that Python knows."""
    if dice.random() < 0.5:
        return dice.randbytes(dice.randrange(most))
    return b" ".join(dice.choice(WORDS) for _ in range(dice.randrange(most // 8)))


def as_text(data: bytes, dice: random.Random) -> str:
    """Return bytes as a text that holds every one of them, in one of two ways."""
    return data.decode(*dice.choice([("latin-1",), ("utf-8", "surrogateescape")]))


@pytest.mark.slow
def test_thousands_of_random_bytes_as_programs(executor: LocalExecutor) -> None:
    dice = random.Random(3)
    for _ in range(60):
        kinds = dice.choices(list(KINDS), k=50)
        check(executor, [job(as_text(random_bytes(dice), dice), kind) for kind in kinds])


@pytest.mark.slow
def test_thousands_of_random_bytes_as_replies(executor: LocalExecutor) -> None:
    dice = random.Random(4)
    for _ in range(40):
        jobs = []
        for kind in dice.choices(["call", "code"], k=50):
            replies = [random_bytes(dice, 100) for _ in range(dice.randrange(1, 4))]
            framed = [len(r).to_bytes(4, "big") + r for r in replies]
            texts = framed if dice.random() < 0.7 else replies
            # At once, in a call, or with an answer of its own.
            when = dice.choice(["say()", "def f(): say()", "def f():\n    say(); return 1"])
            jobs.append(job(SAY.format(texts=texts) + when, kind))
        check(executor, jobs)


SAY = """import os
def say():
    for text in {texts!r}:
        for fd in range(3, 32):
            try: os.write(fd, text)
            except OSError: pass
"""


@pytest.mark.slow
def test_thousands_of_random_bytes_as_input(executor: LocalExecutor) -> None:
    dice = random.Random(5)
    program = (
        "import sys, zlib\ndata = sys.stdin.buffer.read()\nprint(len(data), zlib.crc32(data))"
    )
    jobs = []
    for number in range(2000):
        # Some fit into a pipe, some do not.
        text = random_bytes(dice, dice.choice([50, 5000, 200_000])).decode("latin-1")
        data = text.encode()
        test = StdioTest(text, f"{len(data)} {zlib.crc32(data)}")
        jobs.append((Task(str(number), "", Stdio(), (test,), limits=PATIENT), program))
    judged = list(executor.map(jobs))
    assert [judgement.task_id for judgement in judged] == [task.id for task, _ in jobs]
    assert all(judgement.passed for judgement in judged)


@pytest.mark.slow
def test_replies_that_a_coverage_guided_fuzzer_makes_up() -> None:
    pytest.importorskip("atheris", reason="has wheels for some Pythons: pip install atheris")
    script = Path(__file__).with_name("atheris_frames.py")
    options = ["-max_total_time=60", "-max_len=4096", "-timeout=10", "-seed=6"]
    done = subprocess.run(
        [sys.executable, str(script), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "DONE" in done.stderr
