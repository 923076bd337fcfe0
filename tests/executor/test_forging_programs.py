"""What the executor promises against programs that never compute the right value.

Every program of `cases/forging.jsonl` and those below are judged on every kind of test, in
the real sandbox; none is accepted anywhere, and none makes the sandbox itself fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Checker,
    Function,
    Limits,
    ScoreTest,
    Script,
    Stdio,
    StdioTest,
    Task,
)
from corecode_env.core.verdict import Verdict
from corecode_env.executor.local import LocalExecutor

FILE = Path(__file__).with_name("cases") / "forging.jsonl"
CASES = {
    f"{case['id']} {case['name']}": case
    for case in map(json.loads, FILE.read_text("utf-8").splitlines())
}
EQUAL = (
    "class E({base}):\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n"
    "    def __hash__(self): return 0\n    def __bool__(self): return True\n"
    "    def __sub__(self, o): return 0\n    __rsub__ = __abs__ = __sub__\n"
    "    def __exit__(self, *a): return True\ndef f(n):\n    return {make}\n"
)
MORE = {
    "StopIteration": "def f(n): raise StopIteration",
    "StopIteration class of its own": "class S(StopIteration): pass\ndef f(n): raise S",
    "GeneratorExit": "def f(n): raise GeneratorExit",
    "AssertionError": "def f(n): raise AssertionError",
    "KeyboardInterrupt": "def f(n): raise KeyboardInterrupt",
    "BaseException": "def f(n): raise BaseException",
    "SystemExit in a thread": "import threading, os\nthreading.Thread(target=lambda: os._exit(0)).start()\ndef f(n): return None",
    "colliding hashes": "def f(n): return {k * (2**61 - 1) for k in range(1, 3000)}",
    "huge value": "def f(n): return 'x' * 10**7",
    "cyclic value": "def f(n):\n    x = []\n    x.append(x)\n    return x",
    "endless iterator": "import itertools\ndef f(n): return itertools.count()",
    "endless range": "def f(n): return range(10**15)",
    "NotImplemented": "def f(n): return NotImplemented",
    "nan": "def f(n): return float('nan')",
    "empty list": "def f(n): return []",
    "True": "def f(n): return True",
    "the argument": "def f(n): return n",
    "memory": "def f(n): return bytearray(10**10)",
    "dies at once": "import os\nos.kill(os.getpid(), 9)",
    "closes everything": "import os\nos.closerange(0, 64)\ndef f(n): return None",
    "syntax error": "def f(n) return",
    "subclass of dict": EQUAL.format(base="dict", make="E()"),
    "subclass of str": EQUAL.format(base="str", make="E('x')"),
    "subclass of tuple": EQUAL.format(base="tuple", make="E()"),
    "subclass of bool's base": EQUAL.format(base="int", make="E(-7)"),
    "swallowing object": EQUAL.format(base="object", make="E()"),
    "instance in a list": EQUAL.format(base="object", make="[E()]"),
    "metaclass": "class M(type):\n    def __eq__(c, o): return True\n    __hash__ = type.__hash__\nclass C(metaclass=M): pass\ndef f(n): return C",
    "lying __class__": "class C:\n    __class__ = int\n    def __eq__(s, o): return True\n    __hash__ = object.__hash__\ndef f(n): return C()",
}
LIMITS = Limits(cpu_seconds=0.5, wall_seconds=1.5, memory_bytes=2**28)
CHECK = "def check(candidate):\n    assert candidate(3) == 4\n    assert candidate(10) == 11\ncheck(f)"
UNITTEST = """
import unittest
class Case(unittest.TestCase):
    def test(self):
        self.assertEqual(f(3), 4)
        self.assertIn(f(3), [4])
        self.assertAlmostEqual(f(3), 4)
unittest.TestSuite([Case('test')]).debug()
"""
FORGIVING = """
def attempt(n):
    try:
        return f(n)
    except BaseException:
        return None
results = [attempt(n) for n in (3, 10)]
assert results == [4, 11]
"""
FUNCTION = Function("f")
TASKS = {
    "calls": Task(
        "c",
        "",
        FUNCTION,
        hidden_tests=(CallTest((3,), {}, 4), CallTest((10,), {}, 11)),
        limits=LIMITS,
    ),
    "float calls": Task(
        "fc", "", FUNCTION, hidden_tests=(CallTest((3,), {}, 4.0),), limits=LIMITS
    ),
    "check": Task("a", "", FUNCTION, hidden_tests=(AssertTest(CHECK),), limits=LIMITS),
    "all": Task(
        "l",
        "",
        FUNCTION,
        hidden_tests=(
            AssertTest(
                "assert all(f(n) == n + 1 for n in (3, 4))\nassert list(map(f, [3])) == [4]"
            ),
        ),
        limits=LIMITS,
    ),
    "isclose": Task(
        "i",
        "",
        FUNCTION,
        hidden_tests=(
            AssertTest(
                "import math\nassert math.isclose(f(3), 4)\nassert abs(f(3) - 4) < 1e-6"
            ),
        ),
        limits=LIMITS,
    ),
    "unittest": Task("u", "", FUNCTION, hidden_tests=(AssertTest(UNITTEST),), limits=LIMITS),
    "forgiving": Task(
        "fo", "", FUNCTION, hidden_tests=(AssertTest(FORGIVING),), limits=LIMITS
    ),
    "with": Task(
        "w",
        "",
        FUNCTION,
        hidden_tests=(AssertTest("with f(3) as x:\n    assert x == 4"),),
        limits=LIMITS,
    ),
    "stdio": Task("s", "", Stdio(), hidden_tests=(StdioTest("3\n", "4\n"),), limits=LIMITS),
    "checker": Task(
        "k",
        "",
        Stdio(),
        hidden_tests=(StdioTest("3\n", "4\n"),),
        limits=LIMITS,
        checker=Checker(
            source="def check(given, output, expected):\n    return int(output) == int(given) + 1"
        ),
    ),
    "scorer": Task(
        "o",
        "",
        Stdio(),
        hidden_tests=(ScoreTest("3\n"),),
        limits=LIMITS,
        kind="optimize",
        checker=Checker(
            source="def score(instance, output):\n    if int(output) != int(instance) + 1:\n        raise ValueError('wrong')\n    return 1.0"
        ),
    ),
    "literal": Task(
        "p",
        "",
        Script(),
        hidden_tests=(CallTest((), {}, 4),),
        limits=LIMITS,
        kind="io_prediction",
    ),
}
MAIN = "\nprint(f(int(input())))\n"


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(2, min_isolation="L0") as executor:
        yield executor


def program_for(program: str, kind: str, stdin_form: str | None = None) -> str:
    if kind in ("stdio", "checker", "scorer"):
        return stdin_form or program + MAIN
    return program


@pytest.mark.parametrize("kind", TASKS)
def test_an_honest_program_is_accepted(kind: str, executor: LocalExecutor) -> None:
    honest = "4" if kind == "literal" else program_for("def f(n): return n + 1", kind)
    verdicts = [result.verdict for result in executor.judge(TASKS[kind], honest).results]
    if kind == "with":
        assert verdicts == [Verdict.RE]  # an int is no context manager
    else:
        assert set(verdicts) == {Verdict.AC}


@pytest.mark.parametrize("name", CASES)
def test_no_forging_program_is_accepted_on_any_test(
    name: str, executor: LocalExecutor
) -> None:
    case = CASES[name]
    for kind, task in TASKS.items():
        program = program_for(case["program"], kind, case.get("stdin_form"))
        for result in executor.judge(task, program).results:
            assert result.verdict not in (Verdict.AC, Verdict.SE, Verdict.NOCALL), (
                kind,
                result,
            )
            assert not result.score


@pytest.mark.parametrize("name", MORE)
def test_no_other_forging_program_is_accepted_either(
    name: str, executor: LocalExecutor
) -> None:
    for kind, task in TASKS.items():
        for result in executor.judge(task, program_for(MORE[name], kind)).results:
            assert result.verdict not in (Verdict.AC, Verdict.SE, Verdict.NOCALL), (
                kind,
                result,
            )
            assert not result.score
