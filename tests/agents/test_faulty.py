"""What faulty agents promise: wrong in the way their name says, on every kind of task."""

from __future__ import annotations

import ast
import contextlib
import io
from itertools import chain
from typing import Any
from unittest import mock

import pytest

from corecode_env.agents import FAULTS, FaultyAgent, ReferenceAgent
from corecode_env.core.errors import BadConfig, UnknownName
from corecode_env.core.messages import extract_program
from corecode_env.core.task import CallTest, Function, Task
from tests.agents.examples import BARE, COUNTER, DOUBLE, ECHO_SUM, LITERAL, request

PROGRAM_FAULTS = [name for name in FAULTS if FAULTS[name].spoil]
PLAN_FAULTS = [name for name in FAULTS if FAULTS[name].spoil_plan]


def spoilt(task: Task, fault: str) -> str:
    (answer,) = FaultyAgent(fault).act([request(task)])
    assert isinstance(answer, str)
    return answer if task.kind == "io_prediction" else extract_program(answer).program


def namespace_of(task: Task, fault: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(spoilt(task, fault), namespace)
    return namespace


def output_of(task: Task, fault: str, given: str) -> str:
    with mock.patch("sys.stdin", io.StringIO(given)):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(spoilt(task, fault), {})
    return out.getvalue()


@pytest.mark.parametrize("fault", PROGRAM_FAULTS)
@pytest.mark.parametrize("task", [DOUBLE, COUNTER, ECHO_SUM, LITERAL], ids=lambda t: str(t.id))
def test_every_fault_changes_every_kind_of_submission(task: Task, fault: str) -> None:
    assert spoilt(task, fault) != task.reference_program


def test_off_by_one_loses_the_last_item() -> None:
    assert namespace_of(DOUBLE, "off_by_one")["double"]([1, -2, 3]) == [2, -4]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("7", 8),
        ("True", False),
        ("2.0", 3.02),
        ("None", 0),
        ("''", [0]),
        ("'ab'", "a"),
        ("{1: 2}", {}),
        ("set()", [0]),
        ("float('inf')", 0),
        ("float('nan')", 0),
        ("object()", None),
    ],
)
def test_off_by_one_changes_every_kind_of_result(right: str, wrong: object) -> None:
    task = Task(
        id="t",
        statement="",
        interface=Function("f"),
        hidden_tests=(CallTest((), {}, 0),),
        reference_program=f"f = lambda: {right}",
    )
    assert namespace_of(task, "off_by_one")["f"]() == wrong


def test_off_by_one_drops_an_item_of_a_generator() -> None:
    task = Task(
        id="t",
        statement="",
        interface=Function("f"),
        hidden_tests=(CallTest((), {}, 0),),
        reference_program="def f():\n    yield from [1, 2, 3]\n",
    )
    assert list(namespace_of(task, "off_by_one")["f"]()) == [2, 3]


def test_off_by_one_reaches_the_methods_of_a_class() -> None:
    counter = namespace_of(COUNTER, "off_by_one")["Counter"]
    assert (counter().add(), counter.zero()) == (2, 1)


def test_off_by_one_changes_what_is_printed() -> None:
    assert "3" not in output_of(ECHO_SUM, "off_by_one", "1 2\n")


def test_wrong_name_defines_something_else() -> None:
    namespace = namespace_of(DOUBLE, "wrong_name")
    assert "double" not in namespace
    assert namespace["double_"]([1]) == [2]


def test_wrong_name_of_a_script_is_a_name_error() -> None:
    with pytest.raises(NameError):
        output_of(ECHO_SUM, "wrong_name", "1 2\n")


def test_returns_none_computes_and_then_forgets() -> None:
    assert namespace_of(DOUBLE, "returns_none")["double"]([1]) is None
    assert output_of(ECHO_SUM, "returns_none", "1 2\n") == ""


def test_a_corner_case_is_wrong_on_short_input_alone() -> None:
    double = namespace_of(DOUBLE, "corner_case")["double"]
    assert [double(xs) for xs in ([], [1], [1, 2])] == [None, None, [2, 4]]
    with pytest.raises(SystemExit):
        output_of(ECHO_SUM, "corner_case", "1\n")
    assert output_of(ECHO_SUM, "corner_case", "1 2\n") == "3\n"


def test_crash_raises_when_called_not_when_defined() -> None:
    with pytest.raises(IndexError):
        namespace_of(DOUBLE, "crash")["double"]([1])


def test_early_exit_ends_with_status_zero() -> None:
    with pytest.raises(SystemExit) as caught:
        output_of(ECHO_SUM, "early_exit", "1 2\n")
    assert caught.value.code == 0


@pytest.mark.parametrize("task", [DOUBLE, COUNTER, ECHO_SUM, LITERAL], ids=lambda t: str(t.id))
def test_a_syntax_error_never_compiles(task: Task) -> None:
    with pytest.raises(SyntaxError):
        ast.parse(spoilt(task, "syntax_error"))


@pytest.mark.parametrize("task", [DOUBLE, ECHO_SUM, COUNTER], ids=lambda t: str(t.id))
def test_an_endless_loop_stands_where_the_test_gets_to(task: Task) -> None:
    loops = [
        n
        for n in ast.walk(ast.parse(spoilt(task, "endless_loop")))
        if isinstance(n, ast.While)
    ]
    assert loops
    assert all(ast.unparse(loop) == "while True:\n    pass" for loop in loops)


@pytest.mark.parametrize("fault", PROGRAM_FAULTS)
def test_a_spoilt_literal_is_no_longer_the_right_value(fault: str) -> None:
    try:
        value = ast.literal_eval(spoilt(LITERAL, fault))
    except (ValueError, SyntaxError):
        return
    assert value != [1, 2, 3]


def test_a_future_import_stays_first() -> None:
    for fault in ("off_by_one", "crash", "returns_none"):
        compile(spoilt(DOUBLE, fault), "main.py", "exec")


def test_reversed_steps_keep_the_result_last() -> None:
    (plan,) = FaultyAgent("reversed_steps").act([request(DOUBLE, "planner")])
    assert plan == "1. double\n2. keep above 0\n3. return list"


def test_a_dropped_step_is_gone_and_the_rest_is_numbered_anew() -> None:
    (plan,) = FaultyAgent("dropped_step").act([request(DOUBLE, "planner")])
    assert plan == "1. double\n2. return list"


def test_a_plan_without_numbers_is_spoilt_line_by_line() -> None:
    spoil = FAULTS["reversed_steps"].spoil_plan
    assert spoil is not None
    assert spoil("sort\n\ndouble") == "1. double\n2. sort"


@pytest.mark.parametrize("fault", PLAN_FAULTS)
def test_a_fault_of_plans_leaves_the_coder_right(fault: str) -> None:
    assert FaultyAgent(fault).act([request(DOUBLE)]) == ReferenceAgent().act([request(DOUBLE)])


@pytest.mark.parametrize("fault", PROGRAM_FAULTS)
def test_a_fault_of_programs_leaves_the_planner_right(fault: str) -> None:
    asked = [request(DOUBLE, "planner")]
    assert FaultyAgent(fault).act(asked) == ReferenceAgent().act(asked)


def test_an_unknown_fault_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'off_by_one'"):
        FaultyAgent("of_by_one")


@pytest.mark.parametrize("fault", sorted(chain(PROGRAM_FAULTS, PLAN_FAULTS)))
def test_a_task_without_a_reference_is_named(fault: str) -> None:
    with pytest.raises(BadConfig, match="'bare'"):
        FaultyAgent(fault).act([request(BARE)])


def test_a_reference_that_does_not_parse_is_named() -> None:
    task = Task(
        id="python-two",
        statement="",
        interface=Function("f"),
        hidden_tests=(CallTest((), {}, 0),),
        reference_program="print 1",
    )
    with pytest.raises(BadConfig, match="'python-two'"):
        FaultyAgent("crash").act([request(task)])


def test_talk_is_handed_in_without_a_fence() -> None:
    (answer,) = FaultyAgent("no_code").act([request(DOUBLE)])
    assert "```" not in str(answer)


def test_integers_beyond_pythons_print_limit_are_no_obstacle() -> None:
    task = Task(
        id="huge",
        statement="",
        interface=Function("f"),
        hidden_tests=(CallTest((), {}, 0),),
        reference_program=f"def f(x=0x{'f' * 5000}):\n    return x & 0x{'e' * 5000}\n",
    )
    assert namespace_of(task, "off_by_one")["f"]() == int("e" * 5000, 16) + 1
    assert ReferenceAgent().act([request(task, "planner")])
