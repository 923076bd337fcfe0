"""What the conversation between test code and program promises: rules 1 to 7 of the judge.

A rule is tested as a kind: not one exception but every builtin one, not one way to die but
all, and always with a test that would pass if the rule did not hold.
"""

from __future__ import annotations

import builtins

import pytest

from corecode_env.core.task import Checker
from corecode_env.executor.compare import compare_value, reply_cap
from tests.executor.dialogue_harness import call, judge

# Exceptions that mean something to the test or to the interpreter.
MEANINGFUL = (
    "StopIteration",
    "StopAsyncIteration",
    "GeneratorExit",
    "AssertionError",
    "SystemExit",
    "KeyboardInterrupt",
    "BaseException",
)
ORDINARY = sorted(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type)
    and issubclass(kind, Exception)
    and kind.__name__ == name
    and not issubclass(kind, (UnicodeError, ExceptionGroup))
    and name not in MEANINGFUL
)


# ------------------------------------------------------------------ rule 1: exceptions
@pytest.mark.parametrize("name", MEANINGFUL)
def test_exceptions_with_a_meaning_arrive_as_runtime_errors(name: str) -> None:
    source = f"""
try:
    f(1)
except BaseException as error:
    assert type(error) is RuntimeError, type(error)
    assert {name!r} in str(error)
else:
    assert False
"""
    assert judge(f"def f(n): raise {name}('x')", source).outcome == "passed"


@pytest.mark.parametrize("name", MEANINGFUL)
def test_subclasses_of_them_arrive_as_runtime_errors_too(name: str) -> None:
    source = """
try:
    f(1)
except RuntimeError as error:
    assert not isinstance(error, (StopIteration, StopAsyncIteration, AssertionError))
"""
    program = f"class Sly({name}): pass\ndef f(n): raise Sly('x')"
    assert judge(program, source).outcome == "passed"


@pytest.mark.parametrize("name", ORDINARY)
def test_every_other_builtin_exception_arrives_as_itself(name: str) -> None:
    source = f"""
try:
    f(1)
except {name} as error:
    assert type(error) is {name}
    assert 'why' in str(error)
else:
    assert False
"""
    assert judge(f"def f(n): raise {name}('why')", source).outcome == "passed"


@pytest.mark.parametrize("raised", ["StopIteration", "StopIteration()", "GeneratorExit"])
@pytest.mark.parametrize(
    "test",
    [
        "assert all(map(f, [1, 2]))",
        "assert list(f(i) for i in [1]) == []",
        "assert [x for x in map(f, [1])] == []",
        "def g():\n    yield f(1)\nassert list(g()) == []",
        "for x in map(f, [1]):\n    assert x == 5",
    ],
)
def test_no_exception_ends_an_iteration_of_the_test(raised: str, test: str) -> None:
    report = judge(f"def f(n): raise {raised}", test)
    assert report.outcome == "candidate_raised"


def test_an_honest_subclass_is_caught_as_its_base() -> None:
    program = "class Bad(ValueError): pass\ndef f(n): raise Bad('no')"
    assert judge(
        program, "try: f(1)\nexcept ValueError as e: assert str(e) == 'no'"
    ).outcome == ("passed")


def test_a_forged_name_is_not_a_builtin_class() -> None:
    program = (
        "ValueError = type('ValueError', (Exception,), {})\ndef f(n): raise ValueError('no')"
    )
    report = judge(program, "try: f(1)\nexcept ValueError: pass")
    assert report.outcome == "candidate_raised"


def test_the_programs_own_exception_classes_keep_their_family() -> None:
    program = """
class Base(Exception): pass
class Low(Base, KeyError):
    def __init__(self, need, have):
        super().__init__(f'{need} > {have}')
        self.need = need
def f(n): raise Low(n, 0)
"""
    source = """
for kind in (Low, Base, KeyError, LookupError):
    try:
        f(7)
    except kind as error:
        assert str(error) and error.need == 7
    else:
        assert False
try:
    f(7)
except (ValueError, TypeError):
    assert False
except Base:
    pass
"""
    assert judge(program, source).outcome == "passed"


def test_skip_test_of_a_program_skips_nothing() -> None:
    program = "import unittest\ndef f(n): raise unittest.SkipTest('no')"
    source = """
import unittest
class T(unittest.TestCase):
    def test(self): self.assertEqual(f(1), 2)
result = unittest.TestResult()
T('test').run(result)
assert not result.skipped and result.wasSuccessful()
"""
    assert judge(program, source).outcome == "failed"


# ------------------------------------------------------------------- rule 2: the latch
BREAKS = {
    "exits": "import os\ndef f(n): os._exit(0)",
    "kills itself": "import os\ndef f(n): os.kill(os.getpid(), 9)",
    "closes its pipes": "import os\ndef f(n): os.closerange(3, 64); os._exit(0)",
    "writes text": "import os\ndef f(n): [w(b'true') for _ in range(9)]",
    "writes a huge length": "import os\ndef f(n): w(b'\\xff\\xff\\xff\\xff')",
    "writes half a frame": "import os\ndef f(n): w(b'\\0\\0\\0\\x09{\"ok\"'); os._exit(0)",
    "writes no object": "import os\ndef f(n): w(b'\\0\\0\\0\\x04true')",
    "writes an empty object": "import os\ndef f(n): w(b'\\0\\0\\0\\x02{}')",
    "writes an unknown tag": 'import os\ndef f(n): w(b\'\\0\\0\\0\\x10{"ok":{"$no":1}}\')',
    "writes a wrong set": 'def f(n): w(b\'\\0\\0\\0\\x15{"ok":{"$set":[[1]]}}\')',
    "writes nan": "def f(n): w(b'\\0\\0\\0\\x0a{\"ok\":NaN}')",
    "is not there": "import os\nos._exit(0)",
    "fails on import": "raise ValueError\ndef f(n): return n + 1",
}
WRITER = """
import os
def w(data):
    for fd in range(3, 64):
        try: os.write(fd, data)
        except OSError: pass
"""
SWALLOWS = [
    "f(1)",
    "try: f(1)\nexcept Exception: pass",
    "try: f(1)\nexcept BaseException: pass",
    "try: f(1)\nfinally:\n    try: f(2)\n    except: pass",
    "while True:\n    try:\n        f(1)\n    except: break\n    break",
    "import contextlib\nwith contextlib.suppress(BaseException): f(1)",
    """
import unittest
class T(unittest.TestCase):
    def test(self): self.assertRaises(Exception, f, 1)
    def test_base(self):
        with self.assertRaises(BaseException): f(1)
for name in ('test', 'test_base'):
    T(name).run(unittest.TestResult())
""",
]


@pytest.mark.parametrize("swallow", SWALLOWS)
@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_conversation_decides_whatever_the_test_swallows(
    how: str, swallow: str
) -> None:
    report = judge(WRITER + BREAKS[how], swallow)
    assert report.outcome in ("candidate_gone", "candidate_garbled"), report


def test_a_broken_conversation_stays_broken() -> None:
    program = "import os\ncalls = []\ndef f(n):\n    calls.append(1)\n    w(b'\\0\\0\\0\\x01x')\n    return 2"
    source = """
def attempt():
    try: return f(1)
    except BaseException as error: return type(error).__name__
assert [attempt() for _ in range(3)] == ['CandidateFault'] * 3
"""
    assert judge(WRITER + program, source).outcome == "candidate_garbled"


# ------------------------------------------- rule 3: what a reply exhausts is the program's
HOSTILE = {
    "colliding hashes": "def f(n): return {k * (2**61 - 1) for k in range(1, 120_000)}",
    "deep": "def f(n):\n    x = []\n    for _ in range(10**5): x = [x]\n    return x",
    "cyclic": "def f(n):\n    x = []\n    x.append(x)\n    return x",
    "wide": "def f(n): return [[] for _ in range(10**7)]",
    "many digits": "def f(n): return 10 ** 100_000",
    "endless": "import itertools\ndef f(n): return itertools.count()",
    "endless range": "def f(n): return range(10**15)",
}
USES = {
    "compares": "assert f(1) == 2",
    "sums": "assert sum(f(1)) == 2",
    "powers": "assert f(1) ** f(1) ** f(1) == 2",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("reply", HOSTILE)
def test_whatever_a_reply_exhausts_in_the_judge_is_never_the_tests_fault(
    reply: str, use: str
) -> None:
    report = judge(HOSTILE[reply], USES[use], seconds=1)
    assert report.outcome not in ("passed", "test_broken", "nocall"), report


def test_a_fault_before_any_reply_is_the_tests_own() -> None:
    for source in (
        "1 / 0",
        "syntax error(",
        "raise SystemExit",
        "assert False",
        "import nowhere",
    ):
        assert judge("def f(n): return n + 1", source).outcome == "test_broken", source


def test_no_program_can_cause_a_fault_before_its_first_reply() -> None:
    program = "import os\nos._exit(0)"
    assert judge(program, "f(1)\n1 / 0").outcome == "candidate_gone"


# --------------------------------------------------------- rule 4: arguments changed in place
EMPTIES = {
    "a list": ("xs.clear()", "[3, 1, 2]", "sorted(xs)"),
    "a dict": ("xs.clear()", "{1: 2}", "dict(xs)"),
    "a set": ("xs.clear()", "{1, 2}", "set(xs)"),
    "a nested list": ("xs[0].clear()", "[[1], [2]]", "[list(x) for x in xs]"),
}


@pytest.mark.parametrize("kind", EMPTIES)
def test_an_emptied_argument_does_not_change_the_tests_own(kind: str) -> None:
    statement, argument, expected = EMPTIES[kind]
    source = f"xs = {argument}\nresult = f(xs)\nassert result == {expected}"
    program = f"def f(xs):\n    {statement}\n    return type(xs)()"
    assert judge(program, source).outcome == "failed"


@pytest.mark.parametrize("kind", EMPTIES)
def test_arguments_are_changed_where_the_task_tests_it(kind: str) -> None:
    statement, argument, _ = EMPTIES[kind]
    source = f"""
xs, ys = {argument}, {argument}
def reference(xs):
    {statement}
reference(ys)
f(xs)
assert xs == ys
"""
    program = f"def f(xs):\n    {statement}"
    assert judge(program, source, mutates_arguments=True).outcome == "passed"
    assert judge("def f(xs): pass", source, mutates_arguments=True).outcome == "failed"


# ------------------------------------------------------------------ rule 5: names and callbacks
SHADOWED = [
    *("all", "any", "len", "abs", "sorted", "isinstance", "sum", "max", "min", "set", "list"),
    *("str", "int", "float", "round", "range", "zip", "map", "enumerate", "repr", "type"),
    *("AssertionError", "Exception", "ValueError", "print", "open", "hasattr", "callable"),
]


@pytest.mark.parametrize("name", SHADOWED)
def test_a_program_cannot_define_a_builtin_for_the_test(name: str) -> None:
    program = f"def {name}(*a, **k): return True\ndef f(n): return None"
    source = f"import builtins\nf(1)\nassert {name} is builtins.{name}"
    assert judge(program, source).outcome == "passed"


@pytest.mark.parametrize("name", ["math", "re", "sys", "collections", "itertools", "unittest"])
def test_a_program_cannot_define_a_module_for_the_test(name: str) -> None:
    program = f"{name} = None\ndef f(n): return n"
    source = f"f(1)\nassert {name}.__name__ == {name!r}"
    assert judge(program, source).outcome == "passed"


def test_a_tests_own_helper_is_the_tests() -> None:
    program = "def close(*a): return True\ndef check(c): pass\ndef f(n): return None"
    source = """
def close(a, b): return a == b
def check(candidate): assert close(candidate(1), 2)
check(f)
"""
    assert judge(program, source).outcome == "failed"


def test_the_entry_point_alone_may_have_a_builtins_name() -> None:
    program = "def sum(a, b): return a - b\ndef max(*a): return 0"
    source = "assert sum(5, 3) == 2\nassert max(1, 2) == 2"
    assert judge(program, source, "sum").outcome == "passed"


def test_the_program_uses_a_function_of_the_test_while_it_is_called() -> None:
    program = "def f(g, xs): return [g(x, k=1) for x in xs]"
    source = "assert f(lambda x, k: x + k, [1, 2]) == [2, 3]"
    assert judge(program, source).outcome == "passed"


def test_callbacks_nest_fifty_deep_and_no_deeper() -> None:
    program = "def f(g, n): return g(n)"
    source = """
def g(n): return 0 if n == 0 else 1 + f(g, n - 1)
assert f(g, {depth}) == {depth}
"""
    assert judge(program, source.format(depth=49)).outcome == "passed"
    assert judge(program, source.format(depth=50)).outcome == "candidate_garbled"


@pytest.mark.slow
def test_endless_callbacks_are_the_programs_fault() -> None:
    program = "def f(g):\n    while True: g()"
    report = judge(program, "try: f(lambda: 1)\nexcept BaseException: pass", seconds=60)
    assert report.outcome == "candidate_garbled"


def test_a_callback_after_the_call_is_over_is_refused() -> None:
    program = """
import threading, time
def f(g):
    threading.Thread(target=lambda: (time.sleep(0.2), g())).start()
    return 1
"""
    source = "import time\nassert f(lambda: 1) == 1\ntime.sleep(1)\nassert f(lambda: 1) == 1"
    assert judge(program, source).outcome == "candidate_garbled"


def test_an_assertion_that_fails_in_a_callback_fails_the_test() -> None:
    program = "def f(g):\n    try: g()\n    except BaseException: pass\n    return 2"
    source = "def g():\n    assert False, 'inside'\nassert f(g) == 2"
    report = judge(program, source)
    assert report.outcome == "failed"
    assert "inside" in report.note


def test_what_a_callback_raises_reaches_the_program_as_itself() -> None:
    program = "def f(g):\n    try: g()\n    except KeyError: return 'caught'"
    source = "def g(): raise KeyError('x')\nassert f(g) == 'caught'"
    assert judge(program, source).outcome == "passed"


def test_what_a_callback_raises_comes_back_to_the_test_as_the_same_object() -> None:
    program = "def f(g): return g()"
    source = """
class Mine(Exception): pass
error = Mine('x')
def g(): raise error
try: f(g)
except Mine as found: assert found is error
else: assert False
"""
    assert judge(program, source).outcome == "passed"


READS = {
    "globals of a function": "g.__globals__",
    "code of a function": "g.__code__",
    "closure of a function": "g.__closure__",
    "frame of a generator": "g.gi_frame",
    "globals through a frame": "g.gi_frame.f_globals",
    "class of an object": "g.__class__.__init__.__globals__",
    "private attributes": "g._secret",
    "dictionary": "vars(g)['secret']",
}
GUESTS = {
    "function": "def guest():\n    return secret",
    "lambda": "guest = lambda: secret",
    "generator": "guest = (secret for _ in range(1))",
    "object": "class Guest:\n    _secret = 4\nguest = Guest()",
    "method": "class Guest:\n    def m(self): return secret\nguest = Guest().m",
    "class": "class guest:\n    _secret = 4",
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("guest", GUESTS)
def test_a_visiting_object_shows_nothing_behind_it(read: str, guest: str) -> None:
    program = (
        f"def f(g):\n    try: return {READS[read]}\n    except Exception: return 'refused'"
    )
    source = f"secret = 4\n{GUESTS[guest]}\nresult = f(guest)\nassert result != 4, result\nstr(result)"
    report = judge(program, source)
    assert report.outcome == "passed", report
    walks = f"""
def f(g):
    found = {READS[read]}
    if isinstance(found, dict): return found.get('secret')
    return getattr(found, 'secret', None) or found
"""
    leaked = judge(walks, f"secret = 4\n{GUESTS[guest]}\nassert f(guest) == 4")
    assert leaked.outcome != "passed", leaked


def test_a_program_cannot_replace_a_method_of_a_tests_object() -> None:
    program = "def f(g):\n    g.check = lambda: None\n    return 0"
    source = """
class Guard:
    def check(self): assert False
guard = Guard()
try: f(guard)
except AttributeError: pass
guard.check()
"""
    assert judge(program, source).outcome == "failed"


# --------------------------------------------------------------- rule 5: every test needs a call
@pytest.mark.parametrize(
    "source",
    ["assert True", "f", "g = f", "def check(candidate): pass\ncheck(f)", "callable(f)"],
)
def test_a_test_that_never_calls_the_program_is_no_evidence(source: str) -> None:
    assert judge("def f(n): return n + 1", source).outcome == "nocall"


# ------------------------------------------------------------------ rule 6: plain values
def test_a_call_tests_reply_has_a_cap_relative_to_the_expected_value() -> None:
    assert reply_cap(4) < 2**17
    assert reply_cap(list(range(10**6))) > 16 * 10**6


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        ("__import__('fractions').Fraction(1, 4)", 0.25),
        ("__import__('fractions').Fraction(8, 4)", 2),
        ("__import__('decimal').Decimal('2.50')", 2.5),
        ("__import__('decimal').Decimal('3')", 3),
        ("__import__('collections').deque([1, 2])", [1, 2]),
        ("__import__('collections').Counter('aab')", {"a": 2, "b": 1}),
        ("__import__('collections').OrderedDict(a=1)", {"a": 1}),
        ("__import__('collections').defaultdict(int, a=1)", {"a": 1}),
        ("__import__('collections').namedtuple('P', 'x y')(1, 2)", [1, 2]),
        ("{'a': 1}.keys()", ["a"]),
        ("{'a': 1}.values()", [1]),
        ("{'a': 1}.items()", [("a", 1)]),
        ("bytearray(b'ab')", b"ab"),
        ("map(abs, [-1, 2])", [1, 2]),
        ("(x for x in 'ab')", ["a", "b"]),
        ("zip('ab', [1, 2])", [("a", 1), ("b", 2)]),
        ("reversed([1, 2])", [2, 1]),
        ("__import__('enum').IntEnum('E', 'a b').b", 2),
        ("__import__('datetime').date(2024, 1, 2)", "2024-01-02"),
        ("__import__('datetime').timedelta(seconds=90)", 90.0),
        ("__import__('array').array('i', [1, 2])", [1, 2]),
        ("range(3)", [0, 1, 2]),
        ("type('L', (list,), {})([1])", [1]),
        ("type('S', (str,), {})('ab')", "ab"),
        ("type('I', (int,), {})(7)", 7),
        ("type('F', (float,), {})(0.5)", 0.5),
        ("[__import__('fractions').Fraction(1, 2), (map(abs, [-1]),)]", [0.5, ([1],)]),
    ],
)
def test_results_become_plain_values_by_documented_rules(returns: str, value: object) -> None:
    reply = call(f"def f(): return {returns}")
    assert compare_value(reply.value, value, Checker()).accepted, reply


@pytest.mark.parametrize(
    "returns",
    ["object()", "f", "__import__('re').match('a', 'a')", "type('C', (), {})()", "..."],
)
@pytest.mark.parametrize("value", [None, 0, "", [], True, "<object>"])
def test_any_other_object_equals_nothing(returns: str, value: object) -> None:
    reply = call(f"def f(): return {returns}")
    assert not compare_value(reply.value, value, Checker()).accepted


def test_numpy_results_become_lists_and_numbers() -> None:
    program = "import numpy\ndef f(n): return [numpy.arange(n), numpy.float64(0.5), numpy.int64(3), numpy.bool_(True)]"
    reply = call(program, 3)
    assert compare_value(reply.value, [[0, 1, 2], 0.5, 3, True], Checker()).accepted


# ------------------------------------------------------------------ rule 7: weak data
DEGENERATE = {
    "None": "None",
    "empty list": "[]",
    "nested empty list": "[[]]",
    "nan": "float('nan')",
    "True": "True",
    "the argument": "n",
}
EXPECTED = [4, 0.5, "x", [1, 2], [[1.0]], {"a": 1}, (1, 2), {1}, [0.0], [True]]


@pytest.mark.parametrize("answer", DEGENERATE)
@pytest.mark.parametrize("expected", EXPECTED, ids=repr)
def test_no_degenerate_answer_equals_a_real_one(answer: str, expected: object) -> None:
    reply = call(f"def f(n): return {DEGENERATE[answer]}", 3)
    for options in ({}, {"shape": True, "abs": 1e-6, "rel": 1e-7}):
        assert not compare_value(reply.value, expected, Checker(options=options)).accepted
