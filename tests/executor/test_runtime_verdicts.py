"""What judging promises: a verdict for every way in which a program can end."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from corecode_env.core.errors import BadConfig
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
    Test,
)
from corecode_env.core.verdict import Judgement, Verdict
from corecode_env.executor import LocalExecutor

SHORT = Limits(cpu_seconds=0.3, wall_seconds=1.0, memory_bytes=100 * 2**20, output_bytes=4096)


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    with LocalExecutor(2) as made:
        yield made


def stdio(*tests: tuple[str, str], checker: Checker | None = None) -> Task:
    return Task(
        "stdio",
        "Add two numbers.",
        Stdio(),
        hidden_tests=tuple(StdioTest(given, output) for given, output in tests),
        checker=checker or Checker(),
        limits=SHORT,
    )


ADD = stdio(("1 2\n", "3\n"))


def function(*tests: Test, public: int = 0, preamble: str = "", **options: object) -> Task:
    return Task(
        "function",
        "Return n + 1.",
        Function("f", preamble=preamble),
        public_tests=tests[:public],
        hidden_tests=tests[public:],
        checker=Checker(options=options),
        limits=SHORT,
    )


def calls(*numbers: int) -> Task:
    return function(*(CallTest((number,), {}, number + 1) for number in numbers))


def verdicts(judgement: Judgement) -> list[str]:
    return [result.verdict.value for result in judgement.results]


# ----------------------------------------------------------------- standard input
ENDS = {
    "AC": "print(sum(map(int, input().split())))",
    "WA": "print(4)",
    "CE": "print(",
    "RE": "1 / 0",
    "TLE": "while True: pass",
    "ILE": "import time; time.sleep(60)",
    "MLE": "rows = [bytes(2**20 + i) for i in range(10**6)]",
    "OLE": "while True: print('x' * 1000)",
}


@pytest.mark.parametrize("verdict", ENDS)
def test_each_way_to_end_has_its_verdict(executor: LocalExecutor, verdict: str) -> None:
    assert verdicts(executor.judge(ADD, ENDS[verdict])) == [verdict]


@pytest.mark.parametrize(
    "program",
    [
        "import os; print(3, flush=True); os._exit(1)",
        "import sys; print(3); sys.exit('failed')",
        "print(3); raise ValueError",
        "import ctypes; print(3, flush=True); ctypes.string_at(0)",
        "import os, signal; print(3, flush=True); signal.raise_signal(signal.SIGKILL)",
    ],
)
def test_a_right_output_does_not_outweigh_a_failing_end(
    executor: LocalExecutor, program: str
) -> None:
    assert verdicts(executor.judge(ADD, program)) == ["RE"]


@pytest.mark.parametrize("ending", ["sys.exit()", "sys.exit(0)", "exit()", "raise SystemExit"])
def test_an_orderly_exit_is_no_failure(executor: LocalExecutor, ending: str) -> None:
    assert executor.judge(ADD, f"import sys\nprint(3)\n{ending}").passed


@pytest.mark.parametrize(
    "ending", ["sys.exit(0)", "os._exit(0)", "raise SystemExit(0)", "pass"]
)
def test_exit_status_zero_is_no_evidence(executor: LocalExecutor, ending: str) -> None:
    program = f"import os, sys\n{ending}"
    assert verdicts(executor.judge(ADD, program)) == ["WA"]
    assert not executor.judge(calls(1), program).passed
    assert not executor.judge(function(AssertTest("assert f(1) == 2")), program).passed


def test_a_task_may_ignore_the_exit_status(executor: LocalExecutor) -> None:
    task = stdio(("", "3"), checker=Checker(options={"ignore_exit": True}))
    assert executor.judge(task, "import sys; print(3); sys.exit(1)").passed
    assert verdicts(executor.judge(task, "import sys; print(4); sys.exit(1)")) == ["WA"]


def test_a_death_by_the_filter_is_a_security_violation(executor: LocalExecutor) -> None:
    program = "import signal; signal.raise_signal(signal.SIGSYS)"
    (result,) = executor.judge(ADD, program).results
    assert (result.verdict, result.signal) == (Verdict.SV, signal.SIGSYS)


def test_every_test_runs_also_after_a_failure(executor: LocalExecutor) -> None:
    task = stdio(("1 2", "3"), ("0 0", "1"), ("4 4", "8"))
    assert verdicts(executor.judge(task, ENDS["AC"])) == ["AC", "WA", "AC"]


def test_a_source_that_is_too_long_does_not_compile(executor: LocalExecutor) -> None:
    assert verdicts(executor.judge(ADD, "#" * (4 * 2**20 + 1))) == ["CE"]


@pytest.mark.parametrize("program", ["\0", "x = '\ud800", "(" * 5000, "if 1:\n\tx\n        y"])
def test_bad_source_does_not_compile_and_harms_nobody(
    executor: LocalExecutor, program: str
) -> None:
    assert executor.judge(ADD, program).verdict is Verdict.CE
    assert executor.judge(ADD, ENDS["AC"]).passed


def test_a_program_that_a_busy_machine_keeps_waiting_is_not_idle(
    executor: LocalExecutor,
) -> None:
    task = stdio(("", "3")).with_limits(Limits(cpu_seconds=5.0, wall_seconds=0.5))
    program = "import time\nwhile time.process_time() < 0.4: pass\nprint(3)"
    # Of six that share two workers, and with them the machine, none is idle.
    for judgement in executor.map([(task, program)] * 6):
        assert judgement.passed


def test_measures_come_with_every_result(executor: LocalExecutor) -> None:
    task = stdio(("", "done")).with_limits(Limits(cpu_seconds=5.0))
    program = (
        "import time\nblock = bytearray(50 * 2**20)\n"
        "while time.process_time() < 0.3: pass\nprint('done')"
    )
    (result,) = executor.judge(task, program).results
    assert result.verdict is Verdict.AC
    assert 0.25 < result.cpu_seconds < 0.6
    assert result.wall_seconds > 0.25
    assert 50 * 2**20 <= result.peak_bytes < 54 * 2**20
    assert (result.exit, result.signal) == (0, None)


def test_each_judgement_carries_the_isolation_level(executor: LocalExecutor) -> None:
    assert executor.judge(ADD, "").isolation == executor.isolation().level


def test_equal_runs_give_equal_judgements(executor: LocalExecutor) -> None:
    asserts = function(AssertTest("assert f(1) == 2"), AssertTest("assert f(2) == 4"))
    for task in (ADD, calls(1, 2), asserts):
        for program in (
            *(ENDS[name] for name in ("AC", "CE", "RE")),
            "def f(n): return n + 1",
        ):
            assert executor.judge(task, program) == executor.judge(task, program)


# -------------------------------------------------------------------------- notes
def test_notes_on_hidden_tests_hold_nothing_that_the_program_wrote(
    executor: LocalExecutor,
) -> None:
    shown, hidden = StdioTest("5", "canary"), StdioTest("77", "canary")
    task = Task("t", "", Stdio(), (shown,), (hidden,), limits=SHORT)
    for program in (
        "raise ValueError('seen ' + input())",
        "import sys; sys.exit('seen ' + input())",
        "print('seen', input())",
    ):
        first, second = executor.judge(task, program).results
        assert "77" not in second.note and "canary" not in second.note
        assert "seen 5" in first.note or "seen" in first.note
        assert (first.public, second.public) == (True, False)


def test_notes_hide_addresses_and_paths_of_this_host(executor: LocalExecutor) -> None:
    task = Task("t", "", Stdio(), (StdioTest("", ""),), limits=SHORT)
    program = "import os\nraise ValueError(f'{object()} {os.__file__}')"
    (result,) = executor.judge(task, program).results
    assert "<object object at 0x...> <python>/os.py" in result.note


# -------------------------------------------------------------------------- calls
def test_calls_share_a_process_and_are_judged_one_by_one(executor: LocalExecutor) -> None:
    program = "count = 0\ndef f(n):\n    global count\n    count += 1\n    return n + count"
    assert verdicts(executor.judge(calls(5, 5, 5), program)) == ["AC", "WA", "WA"]


@pytest.mark.parametrize(
    ("harm", "verdict"),
    [
        ("while True: pass", "TLE"),
        ("__import__('time').sleep(60)", "ILE"),
        ("__import__('os')._exit(0)", "RE"),
        ("__import__('ctypes').string_at(0)", "RE"),
        ("raise ValueError", "RE"),
        ("return bytearray(10**9)", "MLE"),
        ("[print('x' * 1000) for _ in iter(int, 1)]", "OLE"),
        ("return 'x' * 10**6", "WA"),
        ("return f", "WA"),
    ],
)
def test_a_harmful_call_costs_its_own_test_only(
    executor: LocalExecutor, harm: str, verdict: str
) -> None:
    program = f"def f(n):\n    if n == 2:\n        {harm}\n    return n + 1"
    assert verdicts(executor.judge(calls(1, 2, 3), program)) == ["AC", verdict, "AC"]


def test_clocks_start_anew_for_each_call(executor: LocalExecutor) -> None:
    program = (
        "import time\ndef f(n):\n    end = time.process_time() + 0.15\n"
        "    while time.process_time() < end: pass\n    return n + 1"
    )
    judgement = executor.judge(calls(1, 2, 3, 4), program)
    assert judgement.passed
    assert all(0.1 < result.cpu_seconds < 0.3 for result in judgement.results)


@pytest.mark.parametrize(
    ("program", "verdict"),
    [("while True: pass", "TLE"), ("1 / 0", "RE"), ("def f(n)", "CE"), ("", "RE")],
)
def test_what_fails_before_the_first_call_fails_every_test(
    executor: LocalExecutor, program: str, verdict: str
) -> None:
    assert verdicts(executor.judge(calls(1, 2, 3), program)) == [verdict] * 3


def test_output_of_calls_is_drained_and_not_an_answer(executor: LocalExecutor) -> None:
    program = "import sys\ndef f(n):\n    print(n + 1)\n    sys.stderr.write('x' * 3000)"
    assert verdicts(executor.judge(calls(1, 2, 3), program)) == ["WA"] * 3


def test_a_main_part_does_not_run_under_calls(executor: LocalExecutor) -> None:
    program = "def f(n): return n + 1\nif __name__ == '__main__': input()"
    assert executor.judge(calls(1), program).passed


def test_the_preamble_is_there_before_the_program(executor: LocalExecutor) -> None:
    task = function(CallTest((2,), {}, 3.0), preamble="import math\nONE = 1\n")
    program = "from __future__ import annotations\ndef f(n): return math.sqrt(n * n) + ONE"
    assert executor.judge(task, program).passed


def test_a_broken_preamble_is_the_sandbox_owners_fault(executor: LocalExecutor) -> None:
    for test in (CallTest((1,), {}, 2), AssertTest("assert f(1) == 2")):
        task = function(test, preamble="1 / 0")
        assert executor.judge(task, "def f(n): return n + 1").verdict is Verdict.SE


def test_call_tests_without_a_function_are_refused(executor: LocalExecutor) -> None:
    task = Task("t", "", Stdio(), (CallTest((), {}, 1),))
    with pytest.raises(BadConfig, match="interface of kind function"):
        executor.judge(task, "print(1)")


# ------------------------------------------------------------------------ asserts
@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        ("def f(n): return n + 1", "AC"),
        ("def f(n): return n", "WA"),
        ("def f(n): return None", "WA"),
        ("def f(n): raise AssertionError", "RE"),
        ("def f(n): raise StopIteration", "RE"),
        ("def f(n): raise SystemExit(0)", "RE"),
        ("def f(n):\n    while True: pass", "TLE"),
        ("def f(n): import time; time.sleep(60)", "ILE"),
        ("def f(n): import os; os._exit(0)", "RE"),
        ("def f(n): return bytearray(10**9)", "MLE"),
        ("def f(n):\n    while True: print('x' * 1000)", "OLE"),
        ("def f(n)", "CE"),
        ("def g(n): return n + 1", "RE"),
        ("raise ValueError", "RE"),
        ("while True: pass", "TLE"),
    ],
)
def test_test_code_gets_a_verdict_for_each_way_to_end(
    executor: LocalExecutor, program: str, verdict: str
) -> None:
    task = function(AssertTest("for n in range(3):\n    assert f(n) == n + 1"))
    assert verdicts(executor.judge(task, program)) == [verdict]


def test_a_test_that_never_calls_the_program_accepts_nothing(executor: LocalExecutor) -> None:
    task = function(AssertTest("assert True"), AssertTest("assert f(1) == 2"))
    assert verdicts(executor.judge(task, "def f(n): return n + 1")) == ["NOCALL", "AC"]


def test_a_verdict_does_not_depend_on_who_comes_first(executor: LocalExecutor) -> None:
    # The tests end before the program has started, or has been compiled.
    never = function(AssertTest("assert True"))
    right = executor.map([(never, "def f(n): return n + 1")] * 200)
    assert {judgement.verdict for judgement in right} == {Verdict.NOCALL}
    broken = executor.map([(never, "def f(n")] * 200)
    assert {judgement.verdict for judgement in broken} == {Verdict.CE}
    gone = executor.map(
        [(function(AssertTest("f(1)")), "import os\ndef f(n): os._exit(3)")] * 200
    )
    assert {(j.verdict, j.results[0].exit) for j in gone} == {(Verdict.RE, 3)}


def test_a_test_that_fails_by_itself_is_the_sandbox_owners_fault(
    executor: LocalExecutor,
) -> None:
    broken = function(AssertTest("undefined_helper = 1 / 0\nassert f(1) == 2"))
    assert executor.judge(broken, "def f(n): return n + 1").verdict is Verdict.SE


@pytest.mark.parametrize(
    "reply", ["'x' * (8 * 2**20 - 100)", "[[]] * 10**6", "n", "10 ** 10 ** 4"]
)
def test_what_a_reply_exhausts_in_the_judge_is_the_programs_fault(
    executor: LocalExecutor, reply: str
) -> None:
    test = AssertTest(
        "values = [f(1) for _ in range(3)]\nwhile True: values = [*values, *values]"
    )
    judgement = executor.judge(function(test), f"def f(n): return {reply}")
    assert judgement.verdict in (Verdict.RE, Verdict.TLE, Verdict.MLE)


# ------------------------------------------------- checkers, scorers and literals
def test_a_checker_of_the_task_decides(executor: LocalExecutor) -> None:
    source = "def check(given, output, expected):\n    return int(output) % 2 == int(expected)"
    task = stdio(("", "1"), checker=Checker("source", source=source))
    assert verdicts(executor.judge(task, "print(7)")) == ["AC"]
    assert verdicts(executor.judge(task, "print(8)")) == ["WA"]
    assert verdicts(executor.judge(task, "print('x')")) == ["WA"]
    assert verdicts(executor.judge(task, "1 / 0")) == ["RE"]


def test_a_checker_that_fails_on_the_right_output_is_the_owners_fault(
    executor: LocalExecutor,
) -> None:
    source = "def check(given, output, expected):\n    return undefined"
    task = stdio(("", "1"), checker=Checker("source", source=source))
    assert executor.judge(task, "print(1)").verdict is Verdict.SE


def test_a_checker_that_an_output_brings_down_is_the_programs_fault(
    executor: LocalExecutor,
) -> None:
    source = (
        "import os\ndef check(given, output, expected):\n"
        "    if 'bomb' in output: os._exit(0)\n    return True"
    )
    task = stdio(("", "1"), checker=Checker("source", source=source))
    assert executor.judge(task, "print('bomb')").verdict is Verdict.RE
    assert executor.judge(task, "print(1)").passed


def test_scores_are_means_relative_to_the_reference(executor: LocalExecutor) -> None:
    source = "def score(instance, output):\n    return float(output)"
    task = Task(
        "t",
        "",
        Stdio(),
        hidden_tests=(ScoreTest("", reference=4.0), ScoreTest("")),
        checker=Checker("source", source=source),
        kind="optimize",
    )
    judgement = executor.judge(task, "print(2)")
    assert ([r.score for r in judgement.results], judgement.score) == ([0.5, 2.0], 1.25)
    for invalid in ("print('nan')", "print('inf')", "print('x')", "1 / 0", ""):
        judgement = executor.judge(task, invalid)
        assert (judgement.score, judgement.passed, judgement.valid) == (0.0, False, True)


def test_a_predicted_output_is_compared_as_a_literal(executor: LocalExecutor) -> None:
    task = Task(
        "t", "", Script(), hidden_tests=(CallTest((), {}, [1, (2, 3)]),), kind="io_prediction"
    )
    assert executor.judge(task, "[1, (2, 3)]").passed
    for wrong in ("[1, (2, 4)]", "", "[1", "__import__('os')._exit(0)", "(" * 10**5):
        judgement = executor.judge(task, wrong)
        assert not judgement.passed and judgement.valid


# -------------------------------------------------------------------------- numpy
def test_programs_that_import_numpy_find_it(executor: LocalExecutor) -> None:
    program = "import numpy as np\nprint(np.sum([int(n) for n in input().split()]))"
    assert executor.judge(ADD, program).passed


def test_numpy_can_be_withheld() -> None:
    with LocalExecutor(1, numpy=False) as executor:
        assert executor.judge(ADD, "import numpy").verdict is Verdict.RE


# ------------------------------------------- nothing that a program does is our fault
GREEDY_CHECKER = "def check(given, output, expected):\n    return len(output) > 10\n"


@pytest.mark.slow
def test_a_huge_output_in_a_checkers_hands_is_not_the_sandboxes_fault(
    executor: LocalExecutor,
) -> None:
    task = stdio(("", "1"), checker=Checker("source", source=GREEDY_CHECKER))
    task = task.with_limits(Limits(output_bytes=2**28, memory_bytes=2**29))
    program = "import sys\nfor _ in range(200): sys.stdout.write('\\udcff' * 2**20)"
    judgement = executor.judge(task, program)
    assert judgement.valid


def test_inputs_may_hold_any_text(executor: LocalExecutor) -> None:
    program = "import sys\nprint(sys.stdin.buffer.read().hex())"
    given = "\ud800é\0"
    task = stdio((given, given.encode("utf-8", "surrogatepass").hex()))
    assert executor.judge(task, program).passed
