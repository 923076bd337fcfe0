"""What the executor says about programs for tasks of public contest data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corecode_env.core.task import Task
from corecode_env.core.verdict import Verdict
from corecode_env.executor.local import LocalExecutor
from corecode_env.tasks import load_tasks
from corecode_env.tasks.codeforces import checker_source

ROWS = Path(__file__).resolve().parents[1] / "data/contest_formats"
TASKS: dict[str, Task] = {
    f"{path.stem.rpartition('_')[0]}/{number}": task
    for path in sorted(ROWS.glob("*.jsonl"))
    for number, task in enumerate(load_tasks(path))
}
METHOD = "class Solution:\n    def {name}(self, {args}):\n        return {value}\n"


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    # Verdicts on our own programs do not depend on how well the machine can isolate.
    with LocalExecutor(min_isolation="L0") as made:
        yield made


def test_references_are_accepted(executor: LocalExecutor) -> None:
    known = {key: task for key, task in TASKS.items() if task.reference_program is not None}
    assert {key.partition("/")[0] for key in known} == {
        "apps",
        "taco",
        "code_contests",
        "livebench",
        "synthetic1",
        "deepcoder",
    }
    judged = executor.map((task, task.reference_program or "") for task in known.values())
    found = {key: judgement.verdict for key, judgement in zip(known, judged, strict=True)}
    assert found == dict.fromkeys(known, Verdict.AC)


WIDEST = METHOD.format(
    name="widest", args="rows, least", value="max([least, *map(len, rows)])"
)


@pytest.mark.parametrize(
    ("task", "program", "verdict"),
    [
        # Where the data do not say if a list stands around the result, both are right.
        ("apps/1", "count_letters = lambda w: [{c: w.count(c) for c in w}]", Verdict.AC),
        ("apps/1", "count_letters = lambda w: {}", Verdict.WA),
        ("apps/1", "count_letters = lambda w: [[{c: w.count(c) for c in w}]]", Verdict.WA),
        # Tuples count as lists, missing tails do not count at all.
        (
            "apps/2",
            METHOD.format(name="pairUp", args="n", value="tuple(zip(n[::2], n[1::2]))"),
            Verdict.AC,
        ),
        ("apps/2", METHOD.format(name="pairUp", args="n", value="[]"), Verdict.WA),
        ("apps/2", "def pairUp(n): return []", Verdict.RE),
        ("livecodebench/1", WIDEST, Verdict.AC),
        ("livecodebench/1", WIDEST.replace("return ", "return ("), Verdict.CE),
        (
            "livecodebench/1",
            METHOD.format(name="widest", args="r, l", value="True"),
            Verdict.WA,
        ),
        # 4.0 is the number 4 here, as in the benchmark; 1.51 is not 1.5.
        ("livecodebench/0", "print(int(input()) / 2)", Verdict.AC),
        ("livecodebench/0", "print(int(input()) / 2 + 1e-9)", Verdict.WA),
        ("livebench/2", "def task_func(w): return sum(x[0].isupper() for x in w)", Verdict.AC),
        ("livebench/2", "def task_func(w): return 0", Verdict.WA),
        ("codeforces/1", "print(2 * int(input()))", Verdict.AC),
        ("deepcoder/3", "print(2 * int(input()))", Verdict.AC),
    ],
)
def test_programs_get_the_verdict_of_the_benchmark(
    executor: LocalExecutor, task: str, program: str, verdict: Verdict
) -> None:
    assert executor.judge(TASKS[task], program).verdict is verdict


@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        ("print(1, int(input()) - 1)", Verdict.AC),
        ("n = int(input()); print(n // 2, n - n // 2)", Verdict.AC),
        ("print(0, input())", Verdict.WA),
        ("print('one', 'three')", Verdict.WA),  # the checker itself fails on it
        ("print(1)", Verdict.WA),  # what a checker prints for a right answer
    ],
)
def test_a_codeforces_checker_decides_what_is_right(
    executor: LocalExecutor, program: str, verdict: Verdict
) -> None:
    assert executor.judge(TASKS["codeforces/0"], program).verdict is verdict


def check(script: str, output: str = "got") -> bool:
    space: dict[str, object] = {}
    exec(checker_source(script), space)
    return bool(space["check"]("given", output, "right"))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("script", "accepted"),
    [
        ("print(1)", True),
        ("print(0)", False),
        ("print('score:', 1)", True),
        ("", False),
        ("print(1); import sys; sys.exit(1)", False),
        ("print(1); raise SystemExit", True),
        ("import sys; print(int(open(sys.argv[1]).read() == 'given'))", True),
        ("import sys; print(int(open(sys.argv[2], 'r').read() == 'right'))", True),
        ("import sys; print(int(open(sys.argv[3], 'rb').read() == b'got'))", True),
        (
            "import sys, pathlib\nprint(int(pathlib.Path(sys.argv[3]).read_text() == 'got'))",
            True,
        ),
    ],
)
def test_a_checker_script_finds_three_files_and_prints_1(script: str, accepted: bool) -> None:
    assert check(script) is accepted


@pytest.mark.parametrize(
    "script",
    ["open('/etc/passwd')", "open('input.txt', 'w')", "import io; io.open('elsewhere.txt')"],
)
def test_a_checker_script_finds_no_other_file(script: str) -> None:
    before = open
    with pytest.raises(FileNotFoundError, match="a checker has no file"):
        check(script)
    assert open is before


def test_a_checker_script_is_no_way_out_of_the_sandbox(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    script = f"import os\nos.mkdir({str(made)!r})\nprint(1)\n"
    task = TASKS["codeforces/0"]
    record = task.to_json() | {"checker": {"source": checker_source(script)}}
    judgement = executor.judge(Task.from_json(record), "print(1, 1)")
    assert judgement.verdict is not Verdict.AC
    assert not made.exists()
