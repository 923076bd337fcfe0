"""What this room promises about each known way to be scored as right without being right.

The ids are those of the catalogue of attacks on public executors; where an attack is on
another part, the test holds what the conversation and the comparison do about it.
"""

from __future__ import annotations

import inspect
import math

import pytest

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import AssertTest, CallTest, Checker, Function, Task
from corecode_env.core.verdict import Verdict
from corecode_env.executor.compare import compare_output, compare_value
from corecode_env.executor.inside import candidate, wire
from corecode_env.executor.inside.tester import Report, run_checker, run_scorer
from corecode_env.executor.local import LocalExecutor
from corecode_env.executor.session import CallReply
from tests.executor.dialogue_harness import call, judge

CHECK = "def check(candidate):\n    assert candidate(3) == 4\n    assert candidate(9) == 10\ncheck(f)"


def outcome(program: str, source: str = CHECK) -> str:
    return judge(program, source).outcome


def accepted(program: str, expected: object = 4) -> bool:
    reply = call(program, 3)
    return reply.kind == "value" and compare_value(reply.value, expected, Checker()).accepted


@pytest.mark.parametrize("base", ["object", "int", "float", "str", "list", "dict", "tuple"])
def test_f01_f02_objects_and_subclasses_that_equal_everything(base: str) -> None:
    program = f"class E({base}):\n    def __eq__(s, o): return True\n    def __ne__(s, o): return False\n    def __hash__(s): return 0\n    def __bool__(s): return True\ndef f(n): return E()"
    assert outcome(program) == "failed"
    assert not accepted(program)


@pytest.mark.parametrize("how", ["sys.exit(0)", "exit(0)", "quit()", "raise SystemExit(0)"])
def test_f03_leaving_before_the_asserts(how: str) -> None:
    assert outcome(f"import sys\ndef f(n): {how}") == "candidate_raised"
    assert outcome(f"import sys\ndef f(n): return n\n{how}") == "candidate_gone"


@pytest.mark.parametrize(
    "how", ["os._exit(0)", "posix._exit(0)", "ctypes.CDLL(None)._exit(0)"]
)
def test_f04_f05_ending_the_process(how: str) -> None:
    program = f"import os, posix, ctypes\ndef f(n): {how}"
    assert outcome(program) == "candidate_gone"
    assert call(program, 3).kind == "gone"
    assert outcome(f"import os, posix, ctypes\n{how}") == "candidate_gone"


def test_f06_f23_nothing_expected_is_in_the_programs_process() -> None:
    program = """
import gc, sys
def f(n):
    frame, seen = sys._getframe(), []
    while frame:
        seen += list(frame.f_locals.values()) + list(frame.f_globals.values())
        frame = frame.f_back
    for thing in gc.get_objects() + seen:
        texts = thing.values() if type(thing) is dict else [thing]
        if any(type(text) is str and text.endswith('the ' + 'canary') for text in texts):
            return 'the ' + 'canary'
    return None
"""
    wanted = "the " + "canary"
    test = AssertTest(f"expected = {{'value': {wanted!r}}}\nassert f(3) == expected['value']")
    tests = (test, CallTest((3,), {}, wanted))
    with LocalExecutor(1, min_isolation="L0") as executor:
        judgement = executor.judge(Task("t", "", Function("f"), hidden_tests=tests), program)
    assert [result.verdict for result in judgement.results] == [Verdict.WA, Verdict.WA]


def test_f07_f09_there_is_no_result_object_and_no_marker() -> None:
    program = "def f(n):\n    for name in ('result', 'passed', 'report'): globals()[name] = ['passed']\n    print('{\"outcome\": \"passed\"}')\n    return None"
    assert outcome(program) == "failed"


@pytest.mark.parametrize("text", ["PASSED", '{"passed": true}', "OK\\n\\nRan 1 test", "1.0"])
def test_f08_printing_a_verdict_is_printing(text: str) -> None:
    assert compare_output(text.encode(), "4", Checker()).verdict is Verdict.WA
    assert outcome(f"def f(n):\n    print({text!r})\n    return {text!r}") == "failed"


def test_f10_writing_to_every_descriptor_says_at_most_a_value() -> None:
    program = """
import os
body = b'{"ok":4}'
frame = len(body).to_bytes(4, 'big') + body
def f(n):
    for fd in range(3, 256):
        try: os.write(fd, frame * 2)
        except OSError: pass
    return 4
"""
    # Even one that guessed the value is refused: it has answered twice. One write brings both
    # answers, so that the second is there before the judge can ask again.
    assert outcome(program) == "candidate_garbled"
    assert call(program, 3).kind == "garbled"


def test_f10_an_answer_too_many_is_at_most_the_next_calls() -> None:
    program = """
import os
body = b'{"ok":4}'
frame = len(body).to_bytes(4, 'big') + body
def f(n):
    for fd in range(3, 256):
        try: os.write(fd, frame)
        except OSError: pass
    for fd in range(3, 256):
        try: os.read(fd, 4096)
        except OSError: pass
    return 4
"""
    # It answers, waits until it is asked again, and only then answers a second time.
    assert outcome(program) == "failed"
    assert call(program, 3) == CallReply("value", 4)


def test_f11_f12_f26_the_conversation_needs_no_file() -> None:
    for module in (candidate, wire):
        assert "open(" not in inspect.getsource(module)


def test_f13_a_program_that_does_not_compile_passes_no_test() -> None:
    assert outcome("def f(n) return 4") == "candidate_gone"


@pytest.mark.parametrize(
    "how", ["raise unittest.SkipTest('x')", "unittest.TestCase().skipTest('x')"]
)
def test_f14_skipping_is_not_passing(how: str) -> None:
    program = f"import unittest\ndef f(n): {how}"
    assert outcome(program) == "candidate_raised"
    source = "import unittest\nclass T(unittest.TestCase):\n    def test(self): assert f(3) == 4\nunittest.TestSuite([T('test')]).debug()"
    assert outcome(program, source) == "candidate_raised"


@pytest.mark.parametrize(
    "name", ["check", "run_tests", "checker", "score", "test", "assertEqual"]
)
def test_f15_the_tests_own_names_win(name: str) -> None:
    program = f"def {name}(*a, **k): return True\ndef f(n): return None"
    source = f"def {name}(candidate):\n    assert candidate(3) == 4\n{name}(f)"
    assert outcome(program, source) == "failed"


@pytest.mark.parametrize(
    "name", ["all", "len", "abs", "sorted", "isinstance", "AssertionError"]
)
def test_f16_builtins_win(name: str) -> None:
    program = f"def {name}(*a, **k): return 4\ndef f(n): return []"
    source = "assert all(x == 4 for x in [f(3)]) and abs(len(f(3))) == 4 and sorted(f(3)) == 4"
    assert outcome(program, source) == "failed"


def test_f17_what_a_program_patches_dies_with_it() -> None:
    program = "import builtins, json, math, unittest\nbuiltins.abs = lambda x: 0\nmath.isclose = lambda *a, **k: True\njson.loads = lambda s: 4\nunittest.TestCase.assertEqual = lambda *a: None\ndef f(n): return 0"
    source = "import math, unittest\nunittest.TestCase().assertEqual(f(3), 4)\nassert math.isclose(f(3), 4)"
    assert outcome(program, source) == "failed"
    assert not accepted(program)
    assert abs(-1) == 1 and math.isclose(1, 1)


@pytest.mark.parametrize("expected", [None, "", [], 0, False, {}])
def test_f18_an_exception_equals_no_empty_value(expected: object) -> None:
    assert not accepted("def f(n): raise ValueError", expected)


def test_f19_a_call_test_without_an_expected_value_is_no_test() -> None:
    record = {"id": "t", "statement": "", "interface": {"kind": "function", "name": "f"}}
    with pytest.raises(BadRecord, match="expected"):
        Task.from_json({**record, "hidden_tests": [{"kind": "call", "args": [1]}]})
    assert not accepted("def f(n): return 4", None)


SCORES = [
    "float('nan')",
    "float('inf')",
    "-float('inf')",
    "10**400",
    "'5'",
    "None",
    "True",
    "[1]",
]


@pytest.mark.parametrize("value", SCORES)
def test_f20_a_score_is_a_finite_number(value: str) -> None:
    report = run_scorer(f"def score(i, o): return {value}", "1", b"x")
    assert (report.outcome, report.score) == ("failed", 0.0)


@pytest.mark.parametrize("value", ["1.5", "-0.1", "float('nan')", "None", "'yes'", "2", "[]"])
def test_f20_a_checkers_answer_is_a_bool_or_a_fraction(value: str) -> None:
    # It says so of the right output too, so it is the checker that is broken.
    source = f"def check(i, o, e): return {value}"
    assert run_checker(source, "1", b"x", "1").outcome == "test_broken"
    source = f"def check(i, o, e): return o == e or {value}"
    assert run_checker(source, "1", b"x", "1") == Report(
        "failed", run_checker(source, "1", b"x", "1").note, 0.0
    )


def test_f20_good_answers_of_checkers_and_scorers_are_taken() -> None:
    check = "def check(i, o, e): return {}"
    assert run_checker(check.format("True"), "", b"x", "y") == Report("passed", "", 1.0)
    assert run_checker(check.format("False"), "", b"x", "y") == Report("failed", "", 0.0)
    assert run_checker(check.format("0.25"), "", b"x", "y") == Report("failed", "", 0.25)
    assert run_checker(check.format("1"), "", b"x", "y") == Report("passed", "", 1.0)
    assert run_scorer("def score(i, o): return -7.5", "", b"") == Report("passed", "", -7.5)
    assert run_scorer("def score(i, o): return len(o)", "", b"\xff\n").score == 2.0


def test_f20_what_the_output_makes_a_checker_raise_is_the_programs() -> None:
    check = "def check(i, o, e): return int(o.split()[0]) == int(e)"
    for output in (b"", b"x", b"\xff", b"9" * 10_000, b"\n"):
        assert run_checker(check, "", output, "4").outcome == "failed"
        assert run_scorer(
            "def score(i, o): return 1 / int(o.split()[0])", "", output
        ).outcome == ("failed")
    assert run_scorer("def score(i, o): return 1 / int(o)", "", b"0").outcome == "failed"


BROKEN = [
    *("def score(i, o) return 1", "x = 1", "1 / 0", "score = 5", "import nowhere", ""),
    *("def score(i, o): return undefined", "def score(i, o): raise RuntimeError('no')"),
]


@pytest.mark.parametrize("source", BROKEN)
def test_f29_a_broken_scorer_or_checker_is_the_tests_fault(source: str) -> None:
    assert run_scorer(source, "1", b"x").outcome == "test_broken"
    checker = source.replace("score(i, o)", "check(i, o, e)").replace("score", "check")
    assert run_checker(checker, "1", b"x", "1").outcome == "test_broken"


def test_f21_an_exit_status_of_zero_is_no_evidence() -> None:
    assert outcome("import os\nos._exit(0)", "try: f(3)\nexcept BaseException: pass") == (
        "candidate_gone"
    )
    assert compare_output(b"", "4", Checker()).verdict is Verdict.WA


def test_f22_patched_clocks_and_tolerances_stay_in_the_program() -> None:
    program = "import time\ntime.time = time.perf_counter = time.monotonic = lambda: 0.0\ndef f(n): return n + 1"
    assert (
        outcome(
            program,
            "import time\na = time.monotonic()\nassert f(3) == 4 and time.monotonic() > a",
        )
        == "passed"
    )


def test_f24_a_hard_coded_answer_fails_the_next_input() -> None:
    assert outcome("def f(n): return 4") == "failed"


def test_f25_what_the_program_says_is_in_the_note_and_nowhere_else() -> None:
    report = judge("def f(n): raise ValueError('input was ' + str(n))", CHECK)
    assert (report.outcome, report.score, report.calls) == ("candidate_raised", None, 1)
    assert len(judge("def f(n): raise ValueError('x' * 10**6)", CHECK).note) <= 300


@pytest.mark.parametrize(
    "returns",
    [
        "[[]] * 3 * 10**7",
        "'x' * 10**9",
        "b'x' * 10**8",
        "{i for i in range(10**7)}",
        "10 ** 10**8",
    ],
)
def test_f27_a_huge_reply_is_the_programs_fault(returns: str) -> None:
    assert not accepted(f"def f(n): return {returns}")


def test_f27_no_pickle_and_no_marshal() -> None:
    program = "import pickle\nclass P:\n    def __reduce__(self): return (print, ('gotcha',))\ndef f(n): return pickle.dumps(P())"
    assert outcome(program) == "failed"
    for module in (candidate, wire):
        assert not {"pickle", "marshal"} & set(vars(module))


def test_f28_no_object_of_the_program_lives_in_the_judge() -> None:
    program = "class Bomb:\n    def __del__(self): raise SystemExit\n    def __repr__(self): raise SystemExit\n    def __hash__(self): raise SystemExit\ndef f(n): return Bomb()"
    source = "import gc\nx = f(3)\nassert type(x).__module__.startswith('corecode_env')\nhash(x)\ndel x\ngc.collect()"
    assert outcome(program, source) == "passed"
