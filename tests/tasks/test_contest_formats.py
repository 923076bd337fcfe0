"""What the loaders of public contest data promise: rows of the true form become tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.errors import BadConfig, BadRecord
from corecode_env.core.task import AssertTest, CallTest, Function, Stdio, StdioTest, Task
from corecode_env.tasks import contest_tests, load_tasks
from corecode_env.tasks.formats import FORMATS, Where

ROWS = Path(__file__).resolve().parents[1] / "data/contest_formats"
FILES = {
    "apps": "apps_train.jsonl",
    "taco": "taco_train.jsonl",
    "code_contests": "code_contests_valid.jsonl",
    "codeforces": "codeforces_train.jsonl",
    "livecodebench": "livecodebench_test.jsonl",
    "livebench": "livebench_test.jsonl",
    "synthetic1": "synthetic1_train.jsonl",
    "deepcoder": "deepcoder_train.jsonl",
}


def records(name: str) -> list[dict[str, Any]]:
    text = (ROWS / FILES[name]).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read(name: str, record: Mapping[str, Any], source: str = "file.jsonl") -> Task:
    return FORMATS[name].read(record, Where(source, 7))


def changed(name: str, index: int = 0, **fields: Any) -> Task:
    return read(name, {**records(name)[index], **fields})


# ------------------------------------------------------------------------ all of them
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_without_saying_its_format(name: str) -> None:
    tasks = load_tasks(ROWS / FILES[name])
    assert len(tasks) == len(records(name)) and not tasks.skipped
    assert list(tasks) == list(load_tasks(ROWS / FILES[name], name))


@pytest.mark.parametrize("name", FILES)
def test_a_record_fits_one_format_only(name: str) -> None:
    for record in records(name):
        assert [key for key in FORMATS if FORMATS[key].matches(record)] == [name]


@pytest.mark.parametrize("name", FILES)
def test_source_licence_and_split_are_told(name: str) -> None:
    for task in load_tasks(ROWS / FILES[name]):
        assert task.metadata["source"] and task.metadata["licence"]
        assert task.metadata["split"] == {
            "code_contests": "validation",
            "livecodebench": "test",
            "livebench": "test",
        }.get(name, "train")


@pytest.mark.parametrize("name", FILES)
def test_a_task_survives_the_packages_own_format(name: str) -> None:
    for task in load_tasks(ROWS / FILES[name]):
        assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task


@pytest.mark.parametrize("name", FILES)
def test_the_parquet_copy_gives_the_same_tasks(name: str, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / FILES[name].replace(".jsonl", "-00000-of-00001.parquet")
    rows = records(name)
    columns = {key: None for row in rows for key in row}
    parquet.write_table(arrow.Table.from_pylist([{**columns, **row} for row in rows]), path)
    assert list(load_tasks(path, name)) == list(load_tasks(ROWS / FILES[name]))


@pytest.mark.parametrize(
    ("name", "index", "fields", "named"),
    [
        ("apps", 0, {"problem_id": "12"}, "problem_id"),
        ("apps", 0, {"question": None}, "question"),
        ("apps", 0, {"input_output": ""}, "input_output"),
        ("apps", 0, {"input_output": "{"}, "input_output"),
        ("apps", 0, {"input_output": "[]"}, "input_output"),
        ("apps", 0, {"input_output": '{"inputs": []}'}, "input_output.outputs"),
        ("apps", 0, {"input_output": '{"inputs": [], "outputs": []}'}, "input_output"),
        ("apps", 0, {"input_output": '{"inputs": ["1"], "outputs": []}'}, "input_output"),
        (
            "apps",
            0,
            {"input_output": '{"inputs": [3], "outputs": ["1"]}'},
            "input_output.inputs[0]",
        ),
        (
            "apps",
            1,
            {"input_output": '{"inputs": [3], "outputs": ["1"], "fn_name": "f"}'},
            "input_output.inputs[0]",
        ),
        (
            "apps",
            1,
            {"input_output": '{"inputs": [[3]], "outputs": ["1"], "fn_name": 5}'},
            "input_output.fn_name",
        ),
        ("apps", 0, {"solutions": "["}, "solutions"),
        ("taco", 0, {"tags": "__import__('os')"}, "tags"),
        ("code_contests", 0, {"input_file": "in.txt"}, "input_file"),
        ("code_contests", 0, {"output_file": "out.txt"}, "output_file"),
        ("code_contests", 0, {"public_tests": {"input": ["1"]}}, "public_tests.output"),
        ("code_contests", 0, {"time_limit": {"seconds": "1"}}, "time_limit.seconds"),
        ("codeforces", 0, {"interaction_format": "Ask."}, "interaction_format"),
        ("codeforces", 0, {"input_mode": "file"}, "input_mode"),
        ("codeforces", 0, {"examples": [], "official_tests": []}, "official_tests"),
        ("codeforces", 0, {"examples": [{"input": "1"}]}, "examples[0]"),
        ("livecodebench", 0, {"private_test_cases": None}, "private_test_cases"),
        ("livecodebench", 0, {"private_test_cases": "gASVC"}, "private_test_cases"),
        ("livecodebench", 0, {"private_test_cases": '{"a": 1}'}, "private_test_cases"),
        ("livecodebench", 1, {"metadata": "{}"}, "metadata"),
        ("livecodebench", 1, {"metadata": "{"}, "metadata"),
        (
            "livecodebench",
            1,
            {
                "public_test_cases": json.dumps(
                    [{"input": "[1", "output": "1", "testtype": "functional"}]
                )
            },
            "public_test_cases[0]",
        ),
        ("livebench", 0, {"turns": []}, "turns"),
        ("livebench", 0, {"original_json": "[]"}, "original_json"),
        ("livebench", 2, {"tests": "def"}, "tests"),
        ("livebench", 2, {"tests": "x = 1"}, "tests"),
        ("synthetic1", 0, {"verification_info": "open('x')"}, "verification_info"),
        ("synthetic1", 0, {"verification_info": "[]"}, "verification_info"),
        (
            "synthetic1",
            0,
            {"verification_info": '{"language": "rust", "test_cases": []}'},
            "verification_info.language",
        ),
        (
            "synthetic1",
            0,
            {"verification_info": '{"language": "python", "test_cases": []}'},
            "verification_info.test_cases",
        ),
        ("deepcoder", 0, {"tests": "["}, "tests"),
        ("deepcoder", 0, {"tests": "[1]"}, "tests"),
        (
            "deepcoder",
            0,
            {"tests": '[{"type": "quantum", "input": "", "output": ""}]'},
            "tests",
        ),
    ],
)
def test_a_broken_record_names_its_line_and_field(
    name: str, index: int, fields: dict[str, Any], named: str
) -> None:
    with pytest.raises(BadRecord) as caught:
        changed(name, index, **fields)
    assert (caught.value.line, caught.value.field) == (7, named)


def test_tests_beyond_the_cap_are_left_out_and_counted() -> None:
    long = "9" * contest_tests.MAX_TEST_CHARS
    tests = {"inputs": ["3 4\n", long, "1 1\n"], "outputs": ["7\n", "7\n", "2\n"]}
    task = changed("apps", 0, input_output=json.dumps(tests))
    assert [test.input for test in task.tests if isinstance(test, StdioTest)] == [
        "3 4\n",
        "1 1\n",
    ]
    assert task.metadata["tests_left_out"] == 1
    only = {"inputs": [long], "outputs": ["7\n"]}
    with pytest.raises(BadRecord, match="short enough to keep"):
        changed("apps", 0, input_output=json.dumps(only))


def test_leading_tests_that_the_statement_shows_are_public() -> None:
    for name, index, shown in (("apps", 0, 2), ("taco", 0, 1), ("synthetic1", 0, 1)):
        assert len(read(name, records(name)[index]).public_tests) == shown
    tests = {"inputs": ["5 5\n", "3 4\n"], "outputs": ["10\n", "7\n"]}
    hidden = changed("apps", 0, input_output=json.dumps(tests))
    assert not hidden.public_tests, "the first test is not shown, so the search stops"


def test_a_number_that_stands_somewhere_in_the_statement_is_no_example() -> None:
    # All of them are there, but 8 answers another input, and 4 is part of the input.
    for given, output in (("3 4\n", "8\n"), ("3\n", "4\n"), ("3 4\n", "-2\n")):
        tests = {"inputs": [given], "outputs": [output]}
        assert not changed("apps", 0, input_output=json.dumps(tests)).public_tests


def test_an_example_may_stand_under_a_numbered_heading() -> None:
    tests = json.dumps({"inputs": ["abc\n"], "outputs": ["2\n"]})
    question = "Sample Input 1:\nabc\n\nSample Output 1:\n2\n"
    assert changed("apps", 0, question=question, input_output=tests).public_tests
    other = "Sample Input 1:\nabc\n\nSample Output 1:\n3\n\nInput\nx\nOutput\n2\n"
    assert not changed("apps", 0, question=other, input_output=tests).public_tests


# ------------------------------------------------------------------------------- APPS
def test_apps_outputs_may_be_lists_of_lines() -> None:
    task = read("apps", records("apps")[0])
    assert task.hidden_tests == (StdioTest("100 200\n", "300"),)


def test_apps_calls_a_function_or_a_method_by_the_starter_code() -> None:
    letters, pairs = (read("apps", record) for record in records("apps")[1:])
    assert letters.interface == Function("count_letters", "def count_letters(word):")
    assert isinstance(pairs.interface, Function)
    assert pairs.interface.name == "Solution"
    assert "Solution().pairUp(" in pairs.tests[0].code  # type: ignore[union-attr]


def test_apps_results_are_compared_by_value_where_the_form_is_clear() -> None:
    tests = {"fn_name": "count_letters", "inputs": [["a"], ["b"]], "outputs": [{"a": 1}, 3]}
    task = changed("apps", 1, input_output=json.dumps(tests))
    assert task.tests == (CallTest(("a",), {}, {"a": 1}), CallTest(("b",), {}, 3))
    assert task.checker.options == {"json_keys": True}


def test_a_python_2_solution_is_no_reference() -> None:
    task = read("apps", records("apps")[0])
    assert task.reference_program == json.loads(records("apps")[0]["solutions"])[1]
    assert changed("apps", 0, solutions="").reference_program is None
    only_old = json.dumps(["print 1"])
    assert changed("apps", 0, solutions=only_old).reference_program is None


def test_apps_is_read_from_its_folders_too(tmp_path: Path) -> None:
    record = records("apps")[0]
    folder = tmp_path / "train" / "0012"
    folder.mkdir(parents=True)
    (folder / "question.txt").write_text(record["question"], encoding="utf-8")
    (folder / "solutions.json").write_text(record["solutions"], encoding="utf-8")
    (folder / "input_output.json").write_text(record["input_output"], encoding="utf-8")
    about = {"difficulty": record["difficulty"], "url": record["url"]}
    (folder / "metadata.json").write_text(json.dumps(about), encoding="utf-8")
    assert list(load_tasks(tmp_path / "train", "apps")) == [read("apps", record, "train")]
    broken = tmp_path / "train" / "0013"
    broken.mkdir()
    (broken / "question.txt").write_text("?", encoding="utf-8")
    (broken / "metadata.json").write_text("[]", encoding="utf-8")
    tasks = load_tasks(tmp_path / "train", "apps", skip_bad=True)
    assert len(tasks) == 1 and tasks.skipped[0].field == "metadata.json"
    with pytest.raises(BadConfig, match="must exist"):
        load_tasks(tmp_path / "no", "apps")


# ------------------------------------------------------------------------------- TACO
def test_taco_limits_are_words() -> None:
    task = read("taco", records("taco")[0])
    assert task.limits.cpu_seconds == 8.0
    assert task.limits.memory_bytes == 512 * 2**20
    vague = changed("taco", time_limit="soon", memory_limit="1 page")
    assert vague.limits == contest_tests.limits_of()


def test_taco_tags_are_literals_and_its_ids_come_from_line_and_problem() -> None:
    task = read("taco", records("taco")[0])
    assert task.metadata["tags"] == ["Mathematics"]
    assert task.id.startswith("TACO/7-")
    assert task.id != changed("taco", question="Another question.").id


def test_statements_with_several_right_answers_are_marked() -> None:
    assert read("taco", records("taco")[0]).metadata["several_answers"]
    assert "several_answers" not in changed("taco", question="Print it.").metadata


# ----------------------------------------------------------------------- CodeContests
def test_code_contests_hides_private_and_generated_tests() -> None:
    task = read("code_contests", records("code_contests")[0])
    assert task.public_tests == (StdioTest("abc\n", "cba\n"),)
    assert [test.input for test in task.hidden_tests if isinstance(test, StdioTest)] == [
        "zz\n",
        "xy\n",
        "q\n",
    ]


def test_code_contests_tests_may_be_lists_of_objects() -> None:
    rows = [{"input": "abc\n", "output": "cba\n"}]
    task = changed("code_contests", public_tests=rows, private_tests=[], generated_tests=None)
    assert task.tests == (StdioTest("abc\n", "cba\n"),)


def test_code_contests_takes_the_python_3_solution_and_the_limits() -> None:
    task = read("code_contests", records("code_contests")[0])
    assert task.reference_program == "print(input()[::-1])\n"
    assert task.limits.cpu_seconds == 5.0, "half a second is too little for Python"
    slow = changed("code_contests", time_limit={"seconds": 9, "nanos": 500_000_000})
    assert slow.limits.cpu_seconds == 9.5
    assert changed("code_contests", time_limit=None).limits.cpu_seconds == 5.0


# ------------------------------------------------------------------------- codeforces
def test_codeforces_examples_are_public_and_no_hidden_test_twice() -> None:
    task = read("codeforces", records("codeforces")[0])
    assert task.public_tests == (StdioTest("4", "1 3"),)
    assert task.hidden_tests == (StdioTest("2", "1 1"), StdioTest("99", "1 98"))
    assert task.limits.memory_bytes == 512 * 2**20


def test_codeforces_statements_have_all_their_parts() -> None:
    task = read("codeforces", records("codeforces")[0])
    for part in ("Split a Number", "Input\n\nOne integer", "Output\n\nTwo", "Note\n\nIn the"):
        assert part in task.statement


def test_only_problems_without_a_checker_are_marked_for_several_answers() -> None:
    assert "several_answers" not in read("codeforces", records("codeforces")[0]).metadata
    assert changed("codeforces", generated_checker=None).metadata["several_answers"]


# --------------------------------------------------------- LiveCodeBench and LiveBench
def test_livecodebench_unpacks_private_tests() -> None:
    task = read("livecodebench", records("livecodebench")[0])
    assert task.interface == Stdio()
    assert task.hidden_tests == (StdioTest("8\n", "4\n"), StdioTest("1\n", "0.5\n"))


def test_livecodebench_calls_methods_with_an_argument_a_line() -> None:
    task = read("livecodebench", records("livecodebench")[1])
    (test,) = task.public_tests
    assert isinstance(test, AssertTest)
    assert test.code.startswith("_result = Solution().widest([[1, 2], [3]], 1)\n_right = 2\n")
    assert isinstance(task.interface, Function)
    assert task.interface.signature == (
        "class Solution:\n    def widest(self, rows: List[List[int]], least: int) -> int:"
    )
    assert "class Solution:" in task.statement


def test_livebench_shows_a_partial_solution_and_asks_for_the_whole() -> None:
    task = read("livebench", records("livebench")[1])
    assert "beginning with these lines:\n\n```python\nn = int(input())\n```" in task.statement
    assert task.reference_program == "n = int(input())\nprint(n / 2)\n"


def test_livebench_library_tasks_have_one_test_a_method() -> None:
    task = read("livebench", records("livebench")[2])
    assert task.interface == Function("task_func", "def task_func(words):")
    assert len(task.hidden_tests) == 2


def test_livebench_tasks_that_need_containers_are_refused() -> None:
    record = {"question_id": "a", "category": "coding", "task": "agentic_coding"}
    with pytest.raises(BadRecord, match="'agentic_coding'"):
        read("livebench", {**record, "turns": ["Fix the repository."]})


# ----------------------------------------------------------- SYNTHETIC-1 and DeepCoder
def test_synthetic1_reads_literals_and_json() -> None:
    stdin, call = (read("synthetic1", record) for record in records("synthetic1"))
    assert stdin.interface == Stdio()
    assert call.interface == Function("tripled", "def tripled(n):")
    assert call.reference_program == "def tripled(n):\n    return 3 * n\n"


def test_deepcoder_reads_the_tests_of_each_of_its_sources() -> None:
    call, columns, method, plain = (read("deepcoder", row) for row in records("deepcoder"))
    assert call.interface == Function("tripled", "")
    assert columns.tests[2] == StdioTest("100 200\n", "300")
    assert "Solution().widest([], 3)" in method.tests[1].code  # type: ignore[union-attr]
    assert plain.tests == (StdioTest("4\n", "8\n"),)
