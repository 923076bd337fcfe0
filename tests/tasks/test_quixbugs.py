"""What the loader of QuixBugs' argument/result lines promises."""

from pathlib import Path
from typing import Any

import pytest

from corecode_env.core.errors import BadConfig, BadRecord
from corecode_env.core.task import AssertTest, Function, Task
from corecode_env.tasks.formats import Where
from corecode_env.tasks.quixbugs import QUIXBUGS, SLOW_LINES, read_quixbugs
from corecode_env.tasks.quixbugs_functions import FUNCTIONS

DATA = Path(__file__).resolve().parents[1] / "data/quixbugs_tests"
RECORDS: dict[str, dict[str, Any]] = {
    record["name"]: record for _, record in read_quixbugs(DATA) if isinstance(record, dict)
}
TASKS = {
    name: QUIXBUGS.read(record, Where(f"{name}.json")) for name, record in RECORDS.items()
}


def passed(task: Task, program: str) -> list[bool]:
    """Run a program of ours (no stranger's) with each test."""
    found = []
    for test in task.tests:
        assert isinstance(test, AssertTest)
        space: dict[str, Any] = {}
        exec(program, space)
        try:
            exec(test.code, space)
        except AssertionError:
            found.append(False)
        else:
            found.append(True)
    return found


def test_a_folder_gives_one_task_a_file() -> None:
    assert len(TASKS) == 31
    assert TASKS.keys() == FUNCTIONS.keys()
    assert all(QUIXBUGS.matches(record) for record in RECORDS.values())


def test_all_lines_become_tests_but_the_slow_ones_which_are_named_with_reasons() -> None:
    lines = sum(len(record["lines"]) for record in RECORDS.values())
    assert lines == 242
    assert sum(len(task.tests) for task in TASKS.values()) == lines - len(SLOW_LINES)
    assert all(number <= len(RECORDS[name]["lines"]) for name, number in SLOW_LINES)
    assert all(SLOW_LINES.values())


def test_the_first_line_is_public_and_blank_lines_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "gcd.json").write_text("\n[[4, 6], 2]\n\n[[7, 0], 7]\r\n")
    ((number, record),) = read_quixbugs(tmp_path / "gcd.json")
    assert number == 1 and isinstance(record, dict)
    assert record == {"name": "gcd", "lines": [[[4, 6], 2], [[7, 0], 7]]}
    task = QUIXBUGS.read(record, Where("gcd.json"))
    assert len(task.public_tests) == len(task.hidden_tests) == 1
    assert passed(task, "from math import gcd") == [True, True]
    assert passed(task, "gcd = max") == [False, True]


def test_the_statement_tells_what_to_write() -> None:
    for name, task in TASKS.items():
        assert isinstance(task.interface, Function)
        assert task.interface.signature.startswith(f"def {name}(")
        assert task.interface.signature in task.statement
        compile(f"{task.interface.signature} pass", name, "exec")


def test_generators_and_tuples_count_as_lists() -> None:
    hanoi = """
def hanoi(height, start=1, end=3):
    if height > 0:
        other = min({1, 2, 3} - {start, end})
        yield from hanoi(height - 1, start, other)
        yield (start, end)
        yield from hanoi(height - 1, other, end)
"""
    assert all(passed(TASKS["hanoi"], hanoi))


def test_true_is_not_one() -> None:
    task = QUIXBUGS.read({"name": "bitcount", "lines": [[[1], 1]]}, Where("b"))
    assert passed(task, "bitcount = int.bit_count") == [True]
    assert passed(task, "def bitcount(n): return True") == [False]


def test_one_is_not_true() -> None:
    record = {"name": "is_valid_parenthesization", "lines": [[["()"], True]]}
    task = QUIXBUGS.read(record, Where("b"))
    assert passed(task, "def is_valid_parenthesization(parens): return 1") == [False]


@pytest.mark.parametrize(
    ("name", "program"),
    [
        (
            "find_in_sorted",
            "def find_in_sorted(arr, x): return arr.index(x) if x in arr else -1",
        ),
        ("sqrt", "def sqrt(x, epsilon): return x ** 0.5"),
        (
            "powerset",
            "from itertools import combinations\n"
            "def powerset(arr):\n"
            "    return [s for n in range(len(arr) + 1) for s in combinations(arr, n)]",
        ),
        (
            "longest_common_subsequence",
            "def longest_common_subsequence(a, b):\n"
            "    best = {'': 0}\n"
            "    table = [[''] * (len(b) + 1) for _ in range(len(a) + 1)]\n"
            "    for i in range(len(a)):\n"
            "        for j in range(len(b)):\n"
            "            up, left = table[i][j + 1], table[i + 1][j]\n"
            "            longer = left if len(left) >= len(up) else up\n"
            "            table[i + 1][j + 1] = table[i][j] + a[i] if a[i] == b[j] else longer\n"
            "    return table[-1][-1]",
        ),
    ],
)
def test_where_several_results_are_right_each_of_them_passes(name: str, program: str) -> None:
    assert all(passed(TASKS[name], program))


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("find_in_sorted", "def find_in_sorted(arr, x): return 0"),
        ("find_in_sorted", "def find_in_sorted(arr, x): return -2"),
        ("sqrt", "def sqrt(x, epsilon): return x ** 0.5 + 2 * epsilon"),
        ("sqrt", "def sqrt(x, epsilon): return float('nan')"),
        ("powerset", "def powerset(arr): return [[], list(arr)]"),
        ("longest_common_subsequence", "def longest_common_subsequence(a, b): return a"),
        ("longest_common_subsequence", "def longest_common_subsequence(a, b): return ''"),
    ],
)
def test_there_too_a_wrong_result_fails(name: str, program: str) -> None:
    assert not all(passed(TASKS[name], program))


RIGHT = {
    "bitcount": "def bitcount(n): return bin(n).count('1')",
    "bucketsort": "def bucketsort(arr, k): return sorted(arr)",
    "find_first_in_sorted": "def find_first_in_sorted(arr, x): return arr.index(x) if x in arr else -1",
    "flatten": "def flatten(arr):\n    for x in arr:\n        yield from flatten(x) if isinstance(x, list) else [x]",
    "gcd": "from math import gcd",
    "get_factors": "def get_factors(n):\n    for d in range(2, n + 1):\n        if n % d == 0:\n            return [d, *get_factors(n // d)]\n    return []",
    "is_valid_parenthesization": "def is_valid_parenthesization(parens):\n    while '()' in parens: parens = parens.replace('()', '')\n    return not parens",
    "kheapsort": "def kheapsort(arr, k): yield from sorted(arr)",
    "kth": "def kth(arr, k): return sorted(arr)[k]",
    "lcs_length": "def lcs_length(s, t): return max([j - i for i in range(len(s)) for j in range(i, len(s) + 1) if s[i:j] in t], default=0)",
    "lis": "from bisect import bisect_left\ndef lis(arr):\n    ends = []\n    for x in arr:\n        i = bisect_left(ends, x)\n        ends[i:i + 1] = [x]\n    return len(ends)",
    "max_sublist_sum": "def max_sublist_sum(arr): return max(sum(arr[i:j]) for i in range(len(arr) + 1) for j in range(i, len(arr) + 1))",
    "mergesort": "mergesort = sorted",
    "next_palindrome": "def next_palindrome(digit_list):\n    n = int(''.join(map(str, digit_list))) + 1\n    while str(n) != str(n)[::-1]: n += 1\n    return list(map(int, str(n)))",
    "next_permutation": "from itertools import permutations\ndef next_permutation(perm):\n    return min(list(p) for p in permutations(perm) if list(p) > perm)",
    "pascal": "from math import comb\ndef pascal(n): return [[comb(i, j) for j in range(i + 1)] for i in range(n)]",
    "possible_change": "def possible_change(coins, total):\n    ways = [1] + [0] * max(total, 0)\n    for c in coins:\n        for t in range(c, total + 1): ways[t] += ways[t - c]\n    return ways[total] if total >= 0 else 0",
    "quicksort": "quicksort = sorted",
    "rpn_eval": "def rpn_eval(tokens):\n    s = []\n    for t in tokens:\n        if isinstance(t, str):\n            b, a = s.pop(), s.pop()\n            s.append({'+': a + b, '-': a - b, '*': a * b, '/': a / b if b else 0}[t])\n        else: s.append(t)\n    return s[0]",
    "shunting_yard": "def shunting_yard(tokens):\n    rank = {'+': 1, '-': 1, '*': 2, '/': 2}\n    out, ops = [], []\n    for t in tokens:\n        if t in rank:\n            while ops and rank[t] <= rank[ops[-1]]: out.append(ops.pop())\n            ops.append(t)\n        else: out.append(t)\n    return out + ops[::-1]",
    "sieve": "def sieve(max): return [p for p in range(2, max + 1) if all(p % d for d in range(2, p))]",
    "subsequences": "from itertools import combinations\ndef subsequences(a, b, k): return list(combinations(range(a, b), k))",
    "to_base": "def to_base(num, b):\n    s = ''\n    while num: num, d = divmod(num, b); s = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'[d] + s\n    return s",
    "wrap": "def wrap(text, cols):\n    lines = []\n    while len(text) > cols:\n        end = text.rfind(' ', 0, cols + 1)\n        end = cols if end == -1 else end\n        lines.append(text[:end]); text = text[end:]\n    return [*lines, text]",
    "knapsack": "def knapsack(capacity, items):\n    best = {0: 0}\n    for w, v in items:\n        for used, value in sorted(best.items(), reverse=True):\n            if used + w <= capacity: best[used + w] = max(best.get(used + w, 0), value + v)\n    return max(best.values())",
    "levenshtein": "def levenshtein(source, target):\n    row = list(range(len(target) + 1))\n    for i, s in enumerate(source):\n        new = [i + 1]\n        for j, t in enumerate(target):\n            new.append(min(row[j] + (s != t), row[j + 1] + 1, new[j] + 1))\n        row = new\n    return row[-1]",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_program_that_does_what_the_statement_says_passes_every_line(name: str) -> None:
    assert all(passed(TASKS[name], RIGHT[name]))


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("answer", ["None", "[]", "[[]]", "float('nan')", "True", "''"])
def test_no_constant_passes(name: str, answer: str) -> None:
    assert not all(passed(TASKS[name], f"def {name}(*args): return {answer}"))


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("name", 3, "name"),
        ("lines", [], "lines"),
        ("lines", {}, "lines"),
        ("lines", [[[1], 1], [[1], 2, 3]], "lines[1]"),
    ],
)
def test_a_broken_record_names_its_field(field: str, value: object, named: str) -> None:
    record = {"name": "bitcount", "lines": [[[1], 1]], field: value}
    with pytest.raises(BadRecord) as caught:
        QUIXBUGS.read(record, Where("bitcount.json"))
    assert caught.value.field == named


def test_a_broken_line_is_named_and_costs_only_its_file(tmp_path: Path) -> None:
    (tmp_path / "gcd.json").write_text("[[4, 6], 2]\n[[7, 0], \n")
    (tmp_path / "kth.json").write_text("[[[3], 0], 3]\n")
    broken, whole = (record for _, record in read_quixbugs(tmp_path))
    assert isinstance(broken, BadRecord) and broken.line == 2
    assert isinstance(whole, dict) and whole["name"] == "kth"


def test_a_path_that_is_not_there_or_holds_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="must exist"):
        next(read_quixbugs(tmp_path / "no"))
    with pytest.raises(BadConfig, match=r"\.json"):
        next(read_quixbugs(tmp_path))
