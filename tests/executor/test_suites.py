"""What judging an agent's tests promises: honest numbers, and nothing to be had by tricks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from corecode_env.core.errors import BadConfig, UnknownName
from corecode_env.core.subject import Mutation, Subject
from corecode_env.core.task import Checker, Limits, ScoreTest, Script, StdioTest, Task
from corecode_env.core.verdict import TestResult, Verdict
from corecode_env.executor.compare import validate_checker
from corecode_env.executor.local import LocalExecutor

PROGRAM = """\
def grade(points):
    if points >= 50:
        return "pass"
    return "fail"
"""
OWN_TESTS = "assert grade(50) == 'pass'\nassert grade(49) == 'fail'\n"
BORDER = Mutation(PROGRAM.index(">="), PROGRAM.index(">=") + 2, ">")
SWAPPED = Mutation(PROGRAM.index('"fail"'), PROGRAM.index('"fail"') + 6, '""')
FAULTS = (BORDER, SWAPPED)


def task_of(
    program: str = PROGRAM,
    tests: str = OWN_TESTS,
    faults: tuple[Mutation, ...] = FAULTS,
    *,
    entry: str = "grade",
    weights: dict[str, float] | None = None,
    limits: Limits | None = None,
) -> Task:
    return Task(
        id="suite",
        statement="Write tests.",
        interface=Script(),
        public_tests=(ScoreTest(Subject(program, entry, (tests,), faults).to_text()),),
        checker=Checker("coverage", weights or {}),
        limits=limits or Limits(cpu_seconds=2.0, wall_seconds=10.0),
        kind="unit_tests",
    )


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    # What tests are worth does not depend on how well the machine can isolate.
    with LocalExecutor(workers=1, min_isolation="L0") as made:
        yield made


def judged(executor: LocalExecutor, suite: str, task: Task | None = None) -> TestResult:
    (result,) = executor.judge(task or task_of(), suite).results
    return result


# ---------------------------------------------------------------------------- numbers
def test_tests_that_reach_and_find_everything_are_accepted(executor: LocalExecutor) -> None:
    result = judged(executor, OWN_TESTS)
    assert (result.verdict, result.score) == (Verdict.AC, 1.0)
    assert result.note == "3 of 3 lines reached, 2 of 2 branches taken, 2 of 2 faults found"


@pytest.mark.parametrize(
    ("suite", "note", "score"),
    [
        # Lines count 1, branches 1, faults 2, of 4 in all.
        ("assert grade(80) == 'pass'", "2 of 3 lines, 1 of 2 branches, 0 of 2 faults", 7 / 24),
        (
            "assert grade(50) == 'pass'",
            "2 of 3 lines, 1 of 2 branches, 1 of 2 faults",
            13 / 24,
        ),
        ("grade(50), grade(0)", "3 of 3 lines, 2 of 2 branches, 0 of 2 faults", 1 / 2),
        ("assert grade(0) == 'fail'", "2 of 3 lines, 1 of 2 branches, 1 of 2 faults", 13 / 24),
    ],
)
def test_incomplete_tests_earn_what_they_reach_and_find(
    executor: LocalExecutor, suite: str, note: str, score: float
) -> None:
    result = judged(executor, suite)
    assert result.verdict is Verdict.WA
    assert result.score == pytest.approx(score)
    assert result.fraction == result.score
    told = result.note.replace(" reached", "").replace(" taken", "").replace(" found", "")
    assert told == note


@pytest.mark.parametrize(
    ("weights", "score"),
    [
        ({"line": 1.0}, 2 / 3),
        ({"branch": 2.0}, 1 / 2),
        ({"line": 3.0, "mutation": 1.0}, 5 / 8),
    ],
)
def test_a_task_weighs_the_measures_as_it_likes(
    executor: LocalExecutor, weights: dict[str, float], score: float
) -> None:
    result = judged(executor, "assert grade(50) == 'pass'", task_of(weights=weights))
    assert result.score == pytest.approx(score)


def test_a_program_without_branches_is_scored_by_the_other_measures(
    executor: LocalExecutor,
) -> None:
    program = "def double(x):\n    return 2 * x\n"
    fault = Mutation(program.index("2"), program.index("2") + 1, "3")
    task = task_of(program, "assert double(2) == 4\n", (fault,), entry="double")
    assert judged(executor, "double(1)", task).score == pytest.approx(1 / 3)
    assert judged(executor, "assert double(0) == 0", task).score == pytest.approx(1 / 3)
    assert judged(executor, "assert double(1) == 2", task).score == 1.0


def test_only_what_the_programs_own_tests_reach_is_asked_for(executor: LocalExecutor) -> None:
    program = PROGRAM.replace(
        '    return "fail"', '    if points < 0:\n        raise ValueError\n    return "fail"'
    )
    faults = (Mutation(program.index(">="), program.index(">=") + 2, ">"),)
    result = judged(executor, OWN_TESTS, task_of(program, faults=faults))
    assert result.score == 1.0
    assert result.note == "4 of 4 lines reached, 3 of 3 branches taken, 1 of 1 faults found"


@pytest.mark.parametrize(
    "suite",
    [
        "def test_pass():\n    assert grade(50) == 'pass'\ndef test_fail():\n    assert grade(49) == 'fail'\n",
        "def check(candidate):\n    assert candidate(50) == 'pass'\n    assert candidate(49) == 'fail'\n",
        "import random\nfor points, wanted in [(50, 'pass'), (49, 'fail')]:\n    assert grade(points=points) == wanted\n",
    ],
)
def test_tests_may_be_functions_a_check_or_plain_statements(
    executor: LocalExecutor, suite: str
) -> None:
    assert judged(executor, suite).score == 1.0


def test_exceptions_of_the_program_can_be_tested_for(executor: LocalExecutor) -> None:
    program = (
        "def half(x):\n    if x % 2:\n        raise ValueError('odd')\n    return x // 2\n"
    )
    suite = (
        "assert half(4) == 2\ntry:\n    half(3)\nexcept ValueError as error:\n"
        "    assert str(error) == 'odd'\nelse:\n    assert False\n"
    )
    fault = Mutation(program.index("ValueError"), program.index("ValueError") + 10, "KeyError")
    result = judged(executor, suite, task_of(program, suite, (fault,), entry="half"))
    assert result.score == 1.0


# ---------------------------------------------------------------- tests that are wrong
@pytest.mark.parametrize(
    ("suite", "verdict", "why"),
    [
        ("assert grade(50) == 'fail'", Verdict.WA, "on the right program: AssertionError"),
        ("assert grade(50)['x']", Verdict.RE, "on the right program: TypeError"),
        ("grade()", Verdict.RE, "on the right program: TypeError"),
        ("grade(50)\nraise SystemExit(0)", Verdict.RE, "on the right program: SystemExit"),
        ("from solution import grade", Verdict.RE, "ModuleNotFoundError"),
        ("assert grade(50", Verdict.CE, "SyntaxError"),
        ("Here are the tests.", Verdict.CE, "SyntaxError"),
        ("", Verdict.NOCALL, "the tests never called the program"),
        ("assert True", Verdict.NOCALL, "the tests never called the program"),
        (
            "def grade(p):\n    return 'pass'\nassert grade(50) == 'pass'",
            Verdict.NOCALL,
            "never called",
        ),
        ("grade(lambda: 1)", Verdict.RE, "plain values only"),
        ("for i in range(3000): grade(i)", Verdict.RE, "at most 2000 calls"),
        ("while True: pass", Verdict.TLE, ""),
        ("grade(50)\nimport os\nos._exit(0)", Verdict.RE, "exit status 0"),
    ],
)
def test_tests_that_do_not_hold_on_the_right_program_score_nothing(
    executor: LocalExecutor, suite: str, verdict: Verdict, why: str
) -> None:
    task = task_of(limits=Limits(cpu_seconds=0.3, wall_seconds=10.0))
    result = judged(executor, suite, task)
    assert (result.verdict, result.score, result.fraction) == (verdict, 0.0, 0.0)
    assert why in result.note


def test_a_faulty_copy_that_never_ends_is_found_without_a_wait(
    executor: LocalExecutor,
) -> None:
    program = "def drop(n):\n    while n > 0:\n        n -= 1\n    return n\n"
    place = program.index("-=")
    task = task_of(
        program, "assert drop(3) == 0\n", (Mutation(place, place + 2, "+="),), entry="drop"
    )
    began = time.monotonic()
    assert judged(executor, "assert drop(3) == 0", task).score == 1.0
    assert time.monotonic() - began < task.limits.wall_seconds


# ------------------------------------------------------------------------------ tricks
RAW = "grade(50)\ncaller = next(c.cell_contents for c in grade.__closure__ if hasattr(c.cell_contents, 'call_back'))\n"


@pytest.mark.parametrize("name", ["__code__", "__globals__", "__closure__", "reached"])
def test_tests_cannot_look_into_the_program(executor: LocalExecutor, name: str) -> None:
    suite = RAW + f"caller.call_back('get', 0, {name!r})\n"
    result = judged(executor, suite)
    assert (result.verdict, result.score) == (Verdict.RE, 0.0)
    assert "only objects of the test's own classes" in result.note


def test_tests_cannot_set_anything_in_the_programs_process(executor: LocalExecutor) -> None:
    result = judged(executor, RAW + "caller.call_back('set', 0, 'x', (1,))\n")
    assert (result.verdict, result.score) == (Verdict.RE, 0.0)


@pytest.mark.parametrize(
    "claim",
    [
        '{"ok": null}',
        '{"ok": null, "details": {"calls": ["a:b"], "line": [9, 9], "branch": [9, 9]}}',
        '{"outcome": "passed", "note": "", "score": 1.0, "calls": 9, "details": {}}',
    ],
)
def test_a_claim_written_into_the_pipes_is_worth_nothing(
    executor: LocalExecutor, claim: str
) -> None:
    suite = (
        "import os, struct\n"
        f"body = {claim!r}.encode()\n"
        "for descriptor in range(3, 64):\n"
        "    try:\n        os.write(descriptor, struct.pack('<I', len(body)) + body)\n"
        "        os.write(descriptor, body)\n"
        "    except OSError:\n        pass\n"
        "os._exit(0)\n"
    )
    result = judged(executor, suite)
    assert result.score == 0.0
    assert result.verdict in (Verdict.NOCALL, Verdict.RE)


def test_a_failure_without_a_difference_finds_no_fault(executor: LocalExecutor) -> None:
    # The other calls differ from run to run, so nothing links the failure to the fault.
    suite = (
        "import random\npoints = random.random()\n"
        "assert grade(points) == 'fail'\nassert grade(50 + points) == 'pass'\n"
    )
    assert judged(executor, suite).note.endswith("0 of 2 faults found")


def test_tests_that_differ_from_run_to_run_are_refused_where_they_found_something(
    executor: LocalExecutor,
) -> None:
    suite = f"{OWN_TESTS}import random\ngrade(random.random())\n"
    result = judged(executor, suite)
    assert (result.verdict, result.score) == (Verdict.WA, 0.0)
    assert "each time that they run" in result.note


def test_each_run_begins_anew_so_nothing_can_be_remembered(executor: LocalExecutor) -> None:
    # Were the process the same, the second run would know the first one's answers.
    suite = (
        "import builtins\n"
        "answers = [grade(50), grade(49)]\n"
        "known = getattr(builtins, 'known', answers)\n"
        "builtins.known = answers\n"
        "assert answers == known\n"
    )
    assert judged(executor, suite).note.endswith("0 of 2 faults found")


# ----------------------------------------------------------------------- tasks that fail
def test_a_program_that_fails_its_own_tests_is_the_tasks_fault(
    executor: LocalExecutor,
) -> None:
    result = judged(executor, OWN_TESTS, task_of(tests="assert grade(50) == 'fail'\n"))
    assert (result.verdict, result.score) == (Verdict.SE, 0.0)


@pytest.mark.parametrize(
    ("task", "error", "why"),
    [
        (task_of(weights={"lines": 1.0}), UnknownName, "did you mean 'line'"),
        (task_of(weights={"line": -1.0}), BadConfig, "from 0 up"),
        (task_of(weights={"line": 0.0}), BadConfig, "above 0"),
        (replace(task_of(), public_tests=(StdioTest("", ""),)), BadConfig, "exactly one test"),
        (replace(task_of(), hidden_tests=task_of().tests), BadConfig, "exactly one test"),
        (replace(task_of(), public_tests=(ScoreTest("x"),)), BadConfig, "no JSON"),
        (replace(task_of(), public_tests=(ScoreTest("{}"),)), BadConfig, "program, entry"),
        (task_of(faults=(Mutation(5, 4000, ""),)), BadConfig, "within the program"),
        (task_of(entry="not a name"), BadConfig, "entry point of another form"),
    ],
)
def test_a_task_that_cannot_be_judged_is_refused(
    task: Task, error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        validate_checker(task)
