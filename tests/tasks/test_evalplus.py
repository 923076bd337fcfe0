"""What the EvalPlus loaders promise: HumanEval+ and MBPP+, with and without results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import AssertTest, CallTest, Task
from corecode_env.tasks import TaskSet, load_tasks
from corecode_env.tasks.evalplus import (
    EVALPLUS,
    GROUP,
    HUMANEVALPLUS_ORIGIN,
    MBPPPLUS_ORIGIN,
    OVERSIZE,
    SLOW,
)
from corecode_env.tasks.evalplus_rules import CONVERSIONS, reference_test, root_test
from corecode_env.tasks.files import read_records
from corecode_env.tasks.formats import Where

DATA = Path(__file__).resolve().parents[1] / "data"
BUILTIN = Path(__file__).resolve().parents[2] / "corecode_env/tasks/builtin"
WHERE = Where("plus.jsonl", 4)
HUMAN: dict[str, Any] = {
    "task_id": "HumanEval/2",
    "prompt": 'def half(x):\n    """Halve.\n    >>> half(3.0)\n    1.5\n    """\n',
    "entry_point": "half",
    "canonical_solution": "    return x / 2\n",
    "contract": "",
    "base_input": [[3.0], [5.0]],
    "plus_input": [[float(n)] for n in range(30)],
    "atol": 1e-6,
}
MBPP: dict[str, Any] = {
    "task_id": "Mbpp/106",
    "prompt": '"""\nWrite a function to append.\nassert add([1], (2,)) == (2, 1)\n"""\n',
    "entry_point": "add",
    "canonical_solution": "\ndef add(a, b):\n  return tuple(list(b) + a)\n",
    "base_input": [[[1], [2]]],
    "plus_input": {},
    "atol": 0,
}
ORIGIN: dict[str, Any] = {
    **{key: HUMAN[key] for key in ("task_id", "prompt", "entry_point", "canonical_solution")},
    "test": (
        "import numpy as np\n"
        "def is_floats(x): ...\n"
        "def assertion(out, exp, atol): ...\n"
        "def check(candidate):\n"
        "    inputs = [[3.0], [inf]]\n"
        "    results = [1.5, inf]\n"
        "    for i, (inp, exp) in enumerate(zip(inputs, results)):\n"
        "        assertion(candidate(*inp), exp, 1e-05)\n"
    ),
}
REF_FUNC = (
    "import numpy as np\nimport math\n"
    "def is_floats(x): ...\n"
    "def assertion(out, exp, atol): ...\n"
    "def helper(x):\n    return x / 2\n"
    "def ref_func(x):\n    return helper(x)\n"
    "def check(candidate):\n"
    "    inputs = [[3.0]]\n"
    "    for i, inp in enumerate(inputs):\n"
    "        assertion(candidate(*inp), ref_func(*inp), 0)\n"
)


def run(test: Any, **names: Any) -> None:
    assert isinstance(test, AssertTest)
    exec(test.code, dict(names))


# ------------------------------------------------------------------------ inputs only
def test_without_results_the_tests_hold_the_reference_and_groups_of_inputs() -> None:
    task = EVALPLUS.read(HUMAN, WHERE)
    assert [type(test) for test in task.hidden_tests] == [AssertTest] * 3
    assert GROUP == 25
    for test in task.hidden_tests:
        run(test, half=lambda x: x / 2 + 1e-7)
        with pytest.raises(AssertionError):
            run(test, half=lambda x: x / 2 + 1e-5)


def test_with_results_the_tests_are_calls() -> None:
    record = {**HUMAN, "base_expected": [1.5, 2.5], "plus_input": [[float("inf")]]}
    record["plus_expected"] = [{"$float": "inf"}]
    task = EVALPLUS.read(json.loads(json.dumps(record)), WHERE)
    assert task.hidden_tests[0] == CallTest((3.0,), expected=1.5)
    assert task.hidden_tests[2] == CallTest((float("inf"),), expected=float("inf"))
    assert task.checker.options == {"abs": 1e-6, "rel": 1e-7, "shape": True}


def test_an_mbpp_record_gets_back_the_types_that_json_lost() -> None:
    task = EVALPLUS.read(MBPP, WHERE)
    assert "[[[1], (2,)]]" in task.hidden_tests[0].code  # type: ignore[union-attr]
    assert task.public_tests == (AssertTest("assert add([1], (2,)) == (2, 1)\n"),)
    assert task.statement.startswith("Write a function to append.\n")
    assert task.metadata["split"] == "test"


@pytest.mark.parametrize(
    ("task_id", "given", "converted"),
    [
        ("Mbpp/2", [[1], [2]], [(1,), (2,)]),
        ("Mbpp/63", [[[1, 2], [3]]], [[(1, 2), (3,)]]),
        ("Mbpp/75", [[[1]], 2], [[(1,)], 2]),
        ("Mbpp/750", [[1], [2]], [[1], (2,)]),
        ("Mbpp/115", [[[1, 1], []]], [[{1}, {}]]),
        ("Mbpp/124", [1, "0j"], [1.0, 0j]),
        ("Mbpp/307", [[1], 2], [(1,), 2]),
        ("Mbpp/278", [[1, [2]]], [(1, (2,))]),
        ("Mbpp/722", [{"a": [1]}, 2], [{"a": (1,)}, 2]),
        ("Mbpp/252", ["1j"], [1j]),
        ("Mbpp/580", [[1, [2, [3]]]], [(1, (2, (3,)))]),
    ],
)
def test_each_conversion_does_what_its_task_needs(
    task_id: str, given: list[Any], converted: list[Any]
) -> None:
    assert CONVERSIONS[task_id](given) == converted


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("base_input", [3.0], r"'base_input\[0\]' must be a list of arguments, got 3.0"),
        ("base_input", None, "'base_input' must be a list, got None"),
        ("base_expected", [1.5], "'base_expected' must be a list of 2 results"),
        ("base_expected", [{"$what": 1}, 1], "'base_expected' must be plain values"),
        ("atol", "0", "'atol' must be a finite number, got '0'"),
    ],
)
def test_a_bad_field_is_named_with_its_file_and_line(
    field: str, value: object, message: str
) -> None:
    with pytest.raises(BadRecord, match=f"^plus.jsonl:4: field {message}"):
        EVALPLUS.read({**HUMAN, field: value}, WHERE)


def test_a_record_without_inputs_is_refused() -> None:
    with pytest.raises(BadRecord, match="at least one argument list"):
        EVALPLUS.read({**HUMAN, "base_input": [], "plus_input": []}, WHERE)


# ------------------------------------------------------------------------- OriginFmt
def test_literal_results_become_calls() -> None:
    task = HUMANEVALPLUS_ORIGIN.read(ORIGIN, WHERE)
    assert task.hidden_tests == (
        CallTest((3.0,), expected=1.5),
        CallTest((float("inf"),), expected=float("inf")),
    )
    assert task.checker.options["abs"] == 1e-5


def test_a_reference_function_is_run_beside_the_test() -> None:
    task = HUMANEVALPLUS_ORIGIN.read({**ORIGIN, "test": REF_FUNC}, WHERE)
    (test,) = task.hidden_tests
    run(test, half=lambda x: x / 2)
    with pytest.raises(AssertionError):
        run(test, half=lambda x: x)
    assert "numpy" not in test.code  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("def check(candidate): pass", "a test with literal inputs"),
        ("inputs = [[f(1)]]\nresults = [1]", "a test with literal inputs"),
        ("inputs = [[1]]\nresults = [1, 2]", "a test with 1 results, one per input"),
        ("inputs = [[1]]", "a test with results or a function ref_func"),
    ],
)
def test_an_origin_test_of_another_form_is_an_error(test: str, message: str) -> None:
    with pytest.raises(BadRecord, match=f"^plus.jsonl:4: field 'test' must be {message}"):
        HUMANEVALPLUS_ORIGIN.read({**ORIGIN, "test": test}, WHERE)


# ------------------------------------------------------------------------ comparisons
DEGENERATE: list[Any] = [None, [], [[]], float("nan"), True, StopIteration]


@pytest.mark.parametrize("answer", DEGENERATE, ids=repr)
@pytest.mark.parametrize("expected", [[1.0, 2.0], [1], 0.5, "a", (1, 2)])
def test_no_degenerate_answer_is_near_a_real_one(answer: Any, expected: Any) -> None:
    code = reference_test(
        "f", "[[1]]", reference=f"def g(x):\n    return {expected!r}\n", name="g", atol=0
    )
    run(AssertTest(code), f=lambda x: expected)
    with pytest.raises(AssertionError):
        run(AssertTest(code), f=lambda x: answer)


def test_results_without_an_order_are_compared_as_sets() -> None:
    code = reference_test(
        "Diff", "[[1]]", reference="def g(x):\n    return [1, 2]\n", name="g", atol=0
    )
    run(AssertTest(code), Diff=lambda x: (2, 1))
    with pytest.raises(AssertionError):
        run(AssertTest(code), Diff=lambda x: [2])


def test_a_match_object_counts_as_true_and_a_bool_as_itself() -> None:
    code = reference_test(
        "check_str", "[[1]]", reference="def g(x):\n    return True\n", name="g", atol=0
    )
    run(AssertTest(code), check_str=lambda x: "match")
    for wrong in (None, False):
        with pytest.raises(AssertionError):
            run(AssertTest(code), check_str=lambda x, wrong=wrong: wrong)


def test_any_root_is_right_and_nothing_else() -> None:
    code = root_test("find_zero", "[[[-1.0, 0.0, 1.0]]]")
    for root in (1.0, -1, 1.00001):
        run(AssertTest(code), find_zero=lambda xs, root=root: root)
    rejected: list[Any] = [0.5, float("nan"), True, None, []]
    for wrong in rejected:
        with pytest.raises(AssertionError):
            run(AssertTest(code), find_zero=lambda xs, wrong=wrong: wrong)


# -------------------------------------------------------------------------- real files
def test_the_bundled_set_reads_whole_and_is_for_evaluation() -> None:
    tasks = load_tasks("humanevalplus")
    assert tasks.split("test").ids() == [f"HumanEval/{n}" for n in range(164)]
    calls = [task for task in tasks if any(isinstance(t, CallTest) for t in task.tests)]
    assert len(calls) == 157
    assert [Task.from_json(task.to_json()) for task in tasks] == list(tasks)


@pytest.fixture(scope="module")
def origin() -> TaskSet:
    return load_tasks(DATA / "mbppplus/MbppPlus-OriginFmt.jsonl.gz")


def test_mbpp_plus_as_origin_has_378_tasks_and_375_with_literal_results(
    origin: TaskSet,
) -> None:
    assert len(origin) == 378
    assert sum(any(isinstance(t, CallTest) for t in task.tests) for task in origin) == 375


def test_mbpp_plus_with_inputs_only_has_the_same_tasks(origin: TaskSet) -> None:
    records = read_records(DATA / "mbppplus/MbppPlus.jsonl.gz")
    ids = [record["task_id"] for _, record in records if isinstance(record, dict)]
    assert sorted(ids) == sorted(origin.ids())


def test_named_tasks_have_their_own_limits_and_say_what_was_left_out(
    origin: TaskSet,
) -> None:
    for task_id in ("Mbpp/255", "Mbpp/599"):
        assert origin.get(task_id).limits.cpu_seconds == SLOW[task_id]
    assert OVERSIZE["Mbpp/255"][2] in origin.get("Mbpp/255").metadata["left_out"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (BUILTIN / "HumanEvalPlus-Mini.jsonl.gz", "evalplus"),
        (DATA / "humanevalplus/HumanEvalPlus-Mini.jsonl.gz", "evalplus"),
        (DATA / "mbppplus/MbppPlus.jsonl.gz", "evalplus"),
        (DATA / "humanevalplus/HumanEvalPlus-OriginFmt.jsonl.gz", "humanevalplus-origin"),
        (DATA / "mbppplus/MbppPlus-OriginFmt.jsonl.gz", "mbppplus-origin"),
    ],
)
def test_the_schemas_are_told_apart(path: Path, name: str) -> None:
    formats = (EVALPLUS, HUMANEVALPLUS_ORIGIN, MBPPPLUS_ORIGIN)
    for _, record in read_records(path):
        assert not isinstance(record, BadRecord)
        assert [each.name for each in formats if each.matches(record)] == [name]
