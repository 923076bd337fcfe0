"""What task checks promise: right programs in, wrong ones out, each exception explained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal

import pytest

from corecode_env.core.errors import BadConfig, BadRecord, UnknownName
from corecode_env.core.messages import extract_program
from corecode_env.core.seams import Agent, Job, Request
from corecode_env.core.task import (
    CallTest,
    Checker,
    Function,
    Limits,
    Script,
    Stdio,
    StdioTest,
    Task,
)
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.evaluation import (
    CheckReport,
    check_degenerate,
    check_faulty,
    check_references,
    known,
)
from corecode_env.evaluation.degenerate import degenerate_answers
from corecode_env.executor.testing import InstantExecutor

RIGHT = "def f(x):\n    return x + 1\n"
KNOWN = known.Known(
    {
        ("ours", "t/0", "reference"): "slow",
        ("ours", "t/1", "degenerate:none"): "weak tests",
    }
)


class Judges(InstantExecutor):
    """An executor that asks a function for the verdict of each test."""

    def __init__(self, fn: Callable[[Task, str], list[Verdict]]) -> None:
        def rule(task: Task, program: str) -> Judgement:
            verdicts = fn(task, program)
            return Judgement(task.id, tuple(TestResult(v, note="n") for v in verdicts))

        super().__init__(rule)

    def map(self, jobs: Iterable[Job]) -> Iterator[Judgement]:
        # Pulled all at once, as a pool with a long queue does.
        return super().map(list(jobs))


def task(number: int, reference: str | None = RIGHT, n_tests: int = 3) -> Task:
    return Task(
        id=f"t/{number}",
        statement="Add one.",
        interface=Function("f"),
        hidden_tests=tuple(CallTest((i,), {}, i + 1) for i in range(n_tests)),
        reference_program=reference,
        metadata={"source": "ours"},
    )


def accept_references(task: Task, program: str) -> list[Verdict]:
    right = program == task.reference_program
    return [Verdict.AC if right else Verdict.WA] * len(task.tests)


def accept_all(task: Task, program: str) -> list[Verdict]:
    return [Verdict.AC] * len(task.tests)


def accept_first_test(task: Task, program: str) -> list[Verdict]:
    return [Verdict.AC, *[Verdict.WA] * (len(task.tests) - 1)]


def fail_sandbox(task: Task, program: str) -> list[Verdict]:
    return [Verdict.SE] * len(task.tests)


# -------------------------------------------------------------------------- references
def test_references_that_are_accepted_are_well() -> None:
    report = check_references([task(0), task(1)], Judges(accept_references))
    assert report.ok
    assert report.counts == {Verdict.AC: 2}
    assert [case.task_id for case in report.cases] == ["t/0", "t/1"]


def test_a_reference_that_fails_is_a_failure_with_its_verdict_and_note() -> None:
    report = check_references([task(0)], Judges(lambda t, p: [Verdict.AC, Verdict.TLE]))
    assert not report.ok
    (case,) = report.failures
    assert (case.task_id, case.verdict, case.note) == ("t/0", Verdict.TLE, "n")


def test_a_task_without_a_reference_is_counted_but_is_no_failure() -> None:
    tasks = [task(0, None), task(1), task(2, None), task(3), task(4, None)]
    report = check_references(tasks, Judges(accept_references))
    assert report.ok
    assert report.unjudged == ("t/0", "t/2", "t/4")
    assert [case.task_id for case in report.cases] == [t.id for t in tasks]


def test_a_check_that_judged_nothing_is_not_well() -> None:
    assert not check_references([task(0, None)], Judges(accept_references)).ok
    assert not check_references([], Judges(accept_references)).ok


def test_a_listed_failure_is_an_exception_with_its_reason() -> None:
    report = check_references([task(0)], Judges(lambda t, p: [Verdict.TLE]), exceptions=KNOWN)
    assert report.ok
    assert [case.reason for case in report.exceptions] == ["slow"]


def test_a_listed_failure_that_no_longer_fails_is_stale() -> None:
    report = check_references([task(0)], Judges(accept_references), exceptions=KNOWN)
    assert report.stale == (("t/0", "reference"),)


def test_a_sandbox_that_failed_never_explains_a_wrong_answer() -> None:
    report = check_degenerate([task(1)], Judges(fail_sandbox), exceptions=KNOWN)
    assert len(report.failures) == 8


def test_a_task_that_cannot_be_judged_here_is_asked_nothing_more() -> None:
    unjudgeable = replace(task(0), id="ClassEval_28", metadata={"source": "ClassEval"})
    judges = Judges(fail_sandbox)
    agents: dict[str, Agent] = {"faulty:comment": Spoiler()}
    assert check_references([unjudgeable], judges).exceptions[0].reason == "Needs pandas."
    assert check_degenerate([unjudgeable], judges).cases == ()
    assert check_faulty([unjudgeable], judges, agents).cases == ()


# -------------------------------------------------------------------------- degenerate
def test_degenerate_answers_that_are_refused_are_well() -> None:
    report = check_degenerate([task(0), task(1)], Judges(accept_references))
    assert report.ok
    assert len(report.cases) == 16


def test_a_degenerate_answer_that_passes_all_tests_is_a_failure() -> None:
    report = check_degenerate([task(0)], Judges(accept_all))
    assert {case.answer for case in report.failures} == {
        "degenerate:argument",
        "degenerate:empty_list",
        "degenerate:nan",
        "degenerate:nested_list",
        "degenerate:none",
        "degenerate:stop_iteration",
        "degenerate:stop_iteration_class",
        "degenerate:true",
    }


def test_a_listed_pass_is_an_exception_with_its_reason() -> None:
    def accept_none(task: Task, program: str) -> list[Verdict]:
        return [Verdict.AC if "return None" in program else Verdict.WA]

    report = check_degenerate([task(1)], Judges(accept_none), exceptions=KNOWN)
    assert report.ok
    assert [(c.answer, c.reason) for c in report.exceptions] == [
        ("degenerate:none", "weak tests")
    ]


def test_only_answers_that_pass_one_test_are_judged_on_all() -> None:
    strict, lax = Judges(accept_references), Judges(accept_first_test)
    check_degenerate([task(0)], strict)
    assert [len(job[0].tests) for job in strict.jobs] == [1] * 8
    report = check_degenerate([task(0)], lax)
    assert [len(job[0].tests) for job in lax.jobs] == [1] * 8 + [3] * 8
    assert report.ok
    assert report.counts == {Verdict.WA: 8}


def test_a_task_with_one_test_is_judged_once() -> None:
    judges = Judges(accept_all)
    report = check_degenerate([task(0, n_tests=1)], judges)
    assert len(judges.jobs) == 8
    assert not report.ok


def test_a_sandbox_that_failed_has_refused_nothing() -> None:
    assert len(check_degenerate([task(0)], Judges(fail_sandbox)).failures) == 8


def test_progress_is_told_once_for_each_program() -> None:
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    check_degenerate([task(0)], Judges(accept_first_test), progress=tell)
    assert told == [(i, 8) for i in range(1, 9)]
    told.clear()
    check_references([task(0), task(1, None)], Judges(accept_references), progress=tell)
    assert told == [(1, 2), (2, 2)]


# --------------------------------------------------------- what degenerate answers are
def namespace_of(program: str) -> dict[str, object]:
    namespace: dict[str, object] = {}
    exec(program, namespace)
    return namespace


def test_degenerate_functions_take_any_arguments() -> None:
    answers = degenerate_answers(task(0))
    results = {}
    for name, program in answers.items():
        if name != "stop_iteration":
            results[name] = namespace_of(program)["f"](5, 6)  # type: ignore[operator]
    assert results.pop("nan") != results.get("nan")
    assert results == {
        "none": None,
        "empty_list": [],
        "nested_list": [[]],
        "true": True,
        "argument": 5,
        "stop_iteration_class": StopIteration,
    }
    with pytest.raises(StopIteration):
        namespace_of(answers["stop_iteration"])["f"]()  # type: ignore[operator]


def test_a_degenerate_class_answers_every_method_alike() -> None:
    with_class = replace(task(0), reference_program="class f:\n    pass\n")
    made = namespace_of(degenerate_answers(with_class)["true"])["f"]
    assert made.anything(1) is True  # type: ignore[attr-defined]
    assert made(1, 2).something() is True  # type: ignore[operator]


def test_programs_on_standard_input_print_nothing_the_input_or_a_number() -> None:
    stdio = Task("s", "", Stdio(), hidden_tests=(StdioTest("1", "1"),))
    assert set(degenerate_answers(stdio)) == {"empty_output", "echo", "zero"}


def test_predictions_are_literals() -> None:
    prediction = Task(
        "p", "", Script(), hidden_tests=(CallTest((), {}, 1),), kind="io_prediction"
    )
    assert degenerate_answers(prediction)["none"] == "None"


def test_the_broken_program_of_a_repair_task_mends_nothing() -> None:
    repair = replace(task(0), kind="repair", metadata={"buggy_program": "def f(x): return x"})
    assert degenerate_answers(repair)["unmended"] == "def f(x): return x"


# ------------------------------------------------------------------------------ faulty
class Spoiler:
    def act(self, requests: Iterable[Request]) -> list[str]:
        return [
            f"```python\n# wrong\n{r.task.reference_program}```" for r in requests if r.task
        ]


def test_programs_of_faulty_agents_are_taken_out_of_their_fences() -> None:
    judges = Judges(accept_references)
    agents: dict[str, Agent] = {"faulty:comment": Spoiler()}
    report = check_faulty([task(0), task(1, None)], judges, agents)
    assert report.ok
    assert [program for _, program in judges.jobs] == ["# wrong\n" + RIGHT]
    assert [case.answer for case in report.cases] == ["faulty:comment"]


def test_a_faulty_program_that_passes_is_a_failure() -> None:
    report = check_faulty([task(0)], Judges(accept_all), {"faulty:comment": Spoiler()})
    assert [case.answer for case in report.failures] == ["faulty:comment"]


def test_what_is_known_to_spin_gets_little_time() -> None:
    judges = Judges(accept_references)
    writes = task(0).with_limits(Limits(scratch_bytes=4096))
    check_faulty([writes], judges, {"a": Spoiler(), "b": Spoiler()}, spinning=["b"])
    assert [job[0].limits.cpu_seconds for job in judges.jobs] == [5.0, 0.2]
    assert [job[0].limits.scratch_bytes for job in judges.jobs] == [4096, 4096]


def test_a_function_may_be_the_faulty_agent() -> None:
    judges = Judges(accept_references)
    check_faulty([task(0)], judges, {"plain": lambda observation: "pass"})
    assert judges.jobs[0][1] == extract_program("pass").program


# --------------------------------------------------------------------- known exceptions
def test_the_committed_lists_can_be_read_and_give_reasons() -> None:
    whiches: tuple[Literal["failures", "passes"], ...] = ("failures", "passes")
    for which in whiches:
        assert all(known.known(which).reasons.values())


def entry(**fields: object) -> dict[str, object]:
    return {"answers": ["a"], "tasks": ["t/0"], "reason": "because", **fields}


def test_a_list_of_exceptions_names_tasks_by_source_and_id() -> None:
    record = {"schema": known.KNOWN_SCHEMA, "sources": {"ours": [entry(answers=["a", "b"])]}}
    found = known.read_known(record, "x.json")
    assert found.reason(task(0), "b") == "because"
    assert found.reason(task(1), "b") == ""
    assert found.reason(replace(task(0), metadata={"source": "theirs"}), "b") == ""


@pytest.mark.parametrize(
    "record",
    [
        {"schema": "corecode/known/0", "sources": {}},
        {"schema": known.KNOWN_SCHEMA, "sources": {"ours": [entry(reason=" ")]}},
        {"schema": known.KNOWN_SCHEMA, "sources": {"ours": [entry(), entry(reason="twice")]}},
    ],
)
def test_a_list_without_reasons_or_with_two_for_one_is_refused(
    record: dict[str, object],
) -> None:
    with pytest.raises(BadRecord):
        known.read_known(record, "x.json")


def test_a_report_sums_itself_up_in_one_line() -> None:
    report: CheckReport = check_references([task(0), task(1, None)], Judges(accept_references))
    assert report.summary() == (
        "tasks: references: 1 AC; 0 known exceptions; 0 unexplained; 1 without a reference"
    )


@pytest.mark.parametrize(
    ("checker", "error"),
    [(Checker("nonsense"), UnknownName), (Checker(options={"tolerance": 1}), BadConfig)],
)
def test_a_checker_that_could_judge_nothing_is_refused_before_anything_runs(
    checker: Checker, error: type[Exception]
) -> None:
    tasks = [task(0), replace(task(1), checker=checker)]
    executor = Judges(lambda task, program: [Verdict.AC])
    for check in (check_references, check_degenerate):
        with pytest.raises(error):
            check(tasks, executor)
    with pytest.raises(error):
        check_faulty(tasks, executor, {})
