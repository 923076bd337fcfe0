"""What programs may rely on: they run as plain `python main.py` does (C01 to C21).

The cases that need no more than an input and an output; `cases/sandbox.jsonl` has many of
them too, as several users, and `test_dialogue_values.py` those about values of calls.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corecode_env.core.task import CallTest, Checker, Function, Limits, Stdio, StdioTest, Task
from corecode_env.core.verdict import Verdict
from corecode_env.executor import LocalExecutor

LIMITS = Limits(cpu_seconds=10.0, wall_seconds=60.0, output_bytes=2**23)
BIG = "x" * (5 * 2**20)

# Name, program, input, output.
SAME: list[tuple[str, str, str, str]] = [
    ("C01_main_guard", "if __name__ == '__main__': print(1)", "", "1\n"),
    ("C02_buffer", "import sys\nprint(sys.stdin.buffer.read())", "a\n", "b'a\\n'\n"),
    ("C02_lines", "import sys\nfor line in sys.stdin: print(line, end='')", "a\nb", "a\nb"),
    ("C02_readline", "import sys\nprint(sys.stdin.readline() + input())", "a\nb\n", "a\nb\n"),
    ("C02_rest", "import sys\na = input()\nprint(a, sys.stdin.read())", "a\nb\n", "a b\n\n"),
    ("C03_open_0", "print(open(0).read())", "text", "text\n"),
    ("C03_os_read", "import os\nprint(os.read(0, 9))", "ab", "b'ab'\n"),
    ("C03_dev_stdin", "print(open('/dev/stdin').read())", "text", "text\n"),
    (
        "C03_fileinput",
        "import fileinput\nprint([*fileinput.input()])",
        "a\nb",
        "['a\\n', 'b']\n",
    ),
    ("C04_no_newline", "print(input())", "last", "last\n"),
    ("C04_crlf", "print(repr(input()))", "a\r\n", "'a\\r'\n"),
    ("C04_nul", "print(repr(input()))", "a\0b\n", "'a\\x00b'\n"),
    ("C05_never_read", "print('done')", BIG, "done\n"),
    (
        "C05_read_late",
        "import sys\nprint('x' * 2**18)\nprint(len(sys.stdin.read()))",
        BIG,
        "x" * 2**18 + f"\n{len(BIG)}\n",
    ),
    ("C06_buffer", "import sys\nsys.stdout.buffer.write(b'a\\n')", "", "a\n"),
    ("C06_os_write", "import os\nos.write(1, b'a\\n')", "", "a\n"),
    (
        "C06_redefined",
        "import io, sys\nsys.stdout = io.StringIO()\nprint('lost')\n"
        "sys.__stdout__.write('kept\\n')",
        "",
        "kept\n",
    ),
    ("C06_closed", "import sys\nprint('a')\nsys.stdout.close()", "", "a\n"),
    ("C07_exit", "import sys\nprint('a', end='')\nsys.exit()", "", "a"),
    ("C07_atexit", "import atexit\natexit.register(print, 'end')\nprint('a')", "", "a\nend\n"),
    ("C07_open_file", "out = open(1, 'w', closefd=False)\nout.write('a\\n')", "", "a\n"),
    ("C07_os_exit_loses_what_is_buffered", "import os\nprint('lost')\nos._exit(0)", "", ""),
    ("C08_exit_0", "print('a')\nraise SystemExit(0)", "", "a\n"),
    (
        "C09_many_digits",
        "import sys\nsys.set_int_max_str_digits(0)\nprint(len(str(7 ** 9999)))",
        "",
        "8451\n",
    ),
    ("C13_unicode", "print(input()[::-1])", "aé漢😀\n", "😀漢éa\n"),
    ("C13_bom", "\ufeffprint('a')", "", "a\n"),
    (
        "C15_hash",
        "print(hash('corecode') == hash('core' + 'code'), {1, 2} == {2, 1})",
        "",
        "True True\n",
    ),
    ("C16_shadowed_builtin", "def sum(x): return 'mine'\nprint(sum([1]))", "", "mine\n"),
    (
        "C17_numpy",
        "import numpy as np\na = np.ones((200, 200))\nprint(int((a @ a).sum()))",
        "",
        "8000000\n",
    ),
    ("C18_tabs", "if True:\n\tprint('a')", "", "a\n"),
    ("C18_long_line", "x = [" + "1," * 10**5 + "]\nprint(len(x))", "", "100000\n"),
    (
        "C20_pickle",
        "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))))",
        "",
        "<class '__main__.A'>\n",
    ),
    (
        "C20_dataclass",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int' = 1\n"
        "print(P())",
        "",
        "P(x=1)\n",
    ),
    ("C20_main", "import __main__\nx = 3\nprint(__main__.x)", "", "3\n"),
    (
        "C21_pool",
        "from concurrent.futures import ThreadPoolExecutor as T\n"
        "print(*T(4).map(abs, [-1, -2]))",
        "",
        "1 2\n",
    ),
    (
        "C21_asyncio",
        "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n"
        "    print('a')\nasyncio.run(f())",
        "",
        "a\n",
    ),
]

each_case = pytest.mark.parametrize(
    ("program", "given", "output"),
    [case[1:] for case in SAME],
    ids=[case[0] for case in SAME],
)


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(2) as made:
        yield made


def task(given: str, output: str, **options: bool) -> Task:
    test = StdioTest(given, output)
    checker = Checker("exact", options)
    return Task("t", "", Stdio(), (test,), checker=checker, limits=LIMITS)


@each_case
def test_a_program_prints_what_it_prints_alone(
    program: str, given: str, output: str, executor: LocalExecutor
) -> None:
    judgement = executor.judge(task(given, output), program)
    assert judgement.passed, judgement.results[0]


@each_case
def test_the_expected_output_is_what_a_plain_interpreter_prints(
    program: str, given: str, output: str, tmp_path: Path
) -> None:
    file = tmp_path / "main.py"
    file.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)],
        input=given.encode(),
        capture_output=True,
        timeout=60,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert (done.stdout, done.returncode) == (output.encode(), 0)


def test_C04_input_at_its_end_is_an_eof_error(executor: LocalExecutor) -> None:
    judgement = executor.judge(task("", ""), "input()")
    assert judgement.verdict is Verdict.RE
    assert "EOFError" in judgement.results[0].note


def test_C08_a_right_output_with_another_exit_status_is_an_error_unless_the_task_says_so(
    executor: LocalExecutor,
) -> None:
    program = "print('a')\nraise SystemExit(3)"
    assert executor.judge(task("", "a\n"), program).verdict is Verdict.RE
    assert executor.judge(task("", "a\n", ignore_exit=True), program).passed


@pytest.mark.parametrize(
    "program",
    ["x = 1\0", "if True:\n        x\n\ty", "(" * 10**5, "\udc80", "# coding: nonexistent\n"],
    ids=["C18_nul", "C18_mixed_tabs", "C18_deep", "C13_lone_surrogate", "C18_bad_cookie"],
)
def test_a_source_that_does_not_compile_ends_its_own_process_only(
    program: str, executor: LocalExecutor
) -> None:
    verdict = executor.judge(task("", ""), program).verdict
    assert verdict in (Verdict.CE, Verdict.MLE)
    assert executor.judge(task("", "a\n"), "print('a')").passed


def test_C18_a_future_import_of_ours_does_not_reach_a_program(executor: LocalExecutor) -> None:
    judgement = executor.judge(task("", ""), "def f(a: undefined_name_is_evaluated): pass")
    assert "NameError" in judgement.results[0].note


def test_C15_hashes_are_the_same_in_every_process_and_random_numbers_are_not(
    executor: LocalExecutor,
) -> None:
    call = Task("t", "", Function("f"), (CallTest((), {}, "never"),), limits=LIMITS)
    hashes = {executor.judge(call, "def f(): return hash('a')").results[0].note for _ in "123"}
    assert len(hashes) == 1
    program = "import random\ndef f(): return random.random()"
    numbers = {executor.judge(call, program).results[0].note for _ in "123"}
    assert len(numbers) == 3


def test_C12_a_checker_accepts_every_right_answer(executor: LocalExecutor) -> None:
    source = "def check(given, output, expected):\n    return int(output) % 2 == 0"
    even = Task("t", "", Stdio(), (StdioTest("", "2"),), checker=Checker(source=source))
    assert executor.judge(even, "print(4)").passed
    assert executor.judge(even, "print(5)").verdict is Verdict.WA
