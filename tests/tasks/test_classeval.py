"""What the loader of ClassEval promises."""

import gzip
import json
import unittest
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.errors import BadRecord
from corecode_env.core.task import AssertTest, Function, Task
from corecode_env.tasks.classeval import (
    CHANGE_ARGUMENTS,
    CLASSEVAL,
    FLAKY,
    LEFT_OUT,
    NEEDS_FOLDER,
    SLOW,
)
from corecode_env.tasks.formats import Where

DATA = Path(__file__).resolve().parents[1] / "data/classeval/ClassEval_data.json.gz"
with gzip.open(DATA, "rt", encoding="utf-8") as _file:
    RECORDS: list[dict[str, Any]] = json.load(_file)

TEST = """\
import unittest
LIMIT = 3
class CounterTestAdd(unittest.TestCase):
    def setUp(self):
        self.counter = Counter()
    def test_add_1(self):
        self.counter.add()
        self.assertEqual(self.counter.n, 1)
    def test_add_2(self):
        for _ in range(LIMIT):
            self.counter.add()
        self.assertEqual(self.counter.n, LIMIT)
    def tearDown(self):
        del self.counter
class CounterTestReset(unittest.TestCase):
    def test_reset(self):
        counter = Counter()
        counter.add()
        counter.reset()
        self.assertEqual(counter.n, 0)
if __name__ == "__main__":
    unittest.main()
"""
RIGHT = """\
class Counter:
    def __init__(self):
        self.n = 0
    def add(self):
        self.n += 1
    def reset(self):
        self.n = 0
"""
RECORD: dict[str, Any] = {
    "task_id": "ClassEval_900",
    "skeleton": "class Counter:\n    def add(self):\n        '''Count one.'''\n",
    "test": TEST,
    "solution_code": RIGHT,
    "import_statement": ["import math"],
    "class_name": "Counter",
    "test_classes": ["CounterTestAdd", "CounterTestReset"],
}


def outcomes(task: Task, program: str) -> list[str]:
    """Run a program of ours (no stranger's) with each test; name what each test raises."""
    assert isinstance(task.interface, Function)
    found = []
    for test in task.tests:
        assert isinstance(test, AssertTest)
        space: dict[str, Any] = {"__name__": "program"}
        exec(task.interface.preamble + program, space)
        try:
            exec(test.code, space)
        except (Exception, unittest.SkipTest) as error:
            found.append(type(error).__name__)
        else:
            found.append("passed")
    return found


def test_each_unittest_method_is_a_test_and_the_first_of_each_class_is_public() -> None:
    task = CLASSEVAL.read(RECORD, Where("c", 1))
    codes = [test.code for test in task.tests if isinstance(test, AssertTest)]
    methods = ["test_add_1", "test_reset", "test_add_2"]
    assert len(task.public_tests) == 2 and len(task.hidden_tests) == 1
    for code, method in zip(codes, methods, strict=True):
        assert [name for name in methods if f"def {name}" in code] == [method]


def test_a_test_carries_fixtures_and_what_stands_beside_its_class() -> None:
    task = CLASSEVAL.read(RECORD, Where("c", 1))
    assert outcomes(task, RIGHT) == ["passed", "passed", "passed"]


def test_a_wrong_method_fails_its_own_tests_by_assertion() -> None:
    task = CLASSEVAL.read(RECORD, Where("c", 1))
    wrong = RIGHT.replace("self.n += 1", "self.n = 1")
    assert outcomes(task, wrong) == ["passed", "passed", "AssertionError"]


def test_a_missing_method_fails_only_the_tests_that_need_it() -> None:
    task = CLASSEVAL.read(RECORD, Where("c", 1))
    missing = RIGHT.replace("def reset", "def restart")
    assert outcomes(task, missing) == ["passed", "AttributeError", "passed"]


def test_the_program_is_a_class_with_the_imports_given() -> None:
    task = CLASSEVAL.read(RECORD, Where("c", 1))
    assert task.interface == Function("Counter", "class Counter:", "import math\n")
    assert "Count one." in task.statement and "self.n += 1" not in task.statement
    assert task.reference_program == RIGHT


def test_all_100_tasks_are_read_12_of_them_marked_as_left_out_with_the_reason() -> None:
    tasks = [CLASSEVAL.read(r, Where(DATA.name, i)) for i, r in enumerate(RECORDS, 1)]
    assert len({task.id for task in tasks}) == 100
    marked = {t.id: t.metadata["left_out"] for t in tasks if "left_out" in t.metadata}
    assert marked == LEFT_OUT and len(marked) == 12
    assert {task.metadata["split"] for task in tasks} == {"test"}
    assert all(CLASSEVAL.matches(record) for record in RECORDS)


def test_tasks_with_needs_of_their_own_are_named_with_reasons_and_none_twice() -> None:
    tasks = {r["task_id"]: CLASSEVAL.read(r, Where(DATA.name)) for r in RECORDS}
    writing = {i for i, task in tasks.items() if task.limits.scratch_bytes}
    assert writing == NEEDS_FOLDER.keys() and not NEEDS_FOLDER.keys() & LEFT_OUT.keys()
    assert {i for i, t in tasks.items() if "flaky" in t.metadata} == FLAKY.keys()
    changing = {i for i, t in tasks.items() if t.checker.options.get("mutates_arguments")}
    assert changing == CHANGE_ARGUMENTS.keys()
    usual = CLASSEVAL.read(RECORD, Where("c")).limits.cpu_seconds
    assert {i for i, t in tasks.items() if t.limits.cpu_seconds > usual} == SLOW.keys()


def test_tests_that_count_on_the_file_of_another_test_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record = next(r for r in RECORDS if r["task_id"] == "ClassEval_25")
    task = CLASSEVAL.read(record, Where("c"))
    codes = [test.code for test in task.tests if isinstance(test, AssertTest)]
    given = [code for code in codes if code.startswith("with open('cookies.json', 'w')")]
    assert given == [code for code in codes if "def test_load_cookies" in code] and given
    outside: dict[str, Any] = {}
    for code in given:
        exec(code.partition("\n\n")[0], outside)
        assert json.loads(Path("cookies.json").read_text()) == {
            "key1": "value1",
            "key2": "value2",
        }


def test_a_test_may_count_on_the_imports_that_the_statement_gives() -> None:
    given = {**RECORD, "import_statement": ["from math import inf"]}
    test = TEST.replace("LIMIT = 3", "LIMIT = 3 if inf else 0")
    task = CLASSEVAL.read({**given, "test": test}, Where("c", 1))
    assert all(isinstance(t, AssertTest) and "import inf" in t.code for t in task.tests)
    assert outcomes(task, RIGHT) == ["passed", "passed", "passed"]


def test_no_test_method_is_lost() -> None:
    for number, record in enumerate(RECORDS, 1):
        task = CLASSEVAL.read(record, Where(DATA.name, number))
        space: dict[str, Any] = {"__name__": "tests"}
        if record["task_id"] in LEFT_OUT:
            continue
        exec(record["test"], space)
        classes = [
            thing
            for thing in space.values()
            if isinstance(thing, type) and issubclass(thing, unittest.TestCase)
        ]
        loader = unittest.TestLoader()
        named = [loader.getTestCaseNames(thing) for thing in classes]
        assert len(task.tests) == sum(map(len, named)), record["task_id"]
        assert len(task.public_tests) == sum(1 for names in named if names)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("test", "import unittest\n"),
        ("test", "class ("),
        ("class_name", None),
        ("skeleton", 1),
        ("import_statement", "import math"),
    ],
)
def test_a_broken_record_names_its_field(field: str, value: object) -> None:
    with pytest.raises(BadRecord) as caught:
        CLASSEVAL.read({**RECORD, field: value}, Where("c.json", 2))
    assert (caught.value.field, caught.value.line) == (field, 2)
