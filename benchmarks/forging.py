"""Does it pass forged programs? This package's judge beside the ways of others.

    python benchmarks/forging.py [--only NAME] [--drivers 2]

Every program of `tests/executor/cases/forging.jsonl` and some more are judged by every
method on one task: `f(n)` must return `n + 1`. None computes that. Prints a table in
Markdown: `PASS` where a method says that the program is right.

The methods of others are re-created here, in own words, from what their papers and their
published code do; names that a program could look for are kept:

- HumanEval (arXiv:2107.03374): program and test in one namespace of a forked process, the
  outcome appended to a shared list `result` whose first entry decides.
- EvalPlus (arXiv:2305.01210): a forked process calls the function and compares in it;
  `stat` and `details` are shared memory.
- LiveCodeBench, calls (arXiv:2403.07974): inputs and outputs as JSON, loaded beside the
  program, which is called and compared in one process.
- exit code: program and assertions in one file; status 0 means right. The same with the
  usual functions for leaving disabled by a header.
- marker: program, assertions, then a line is printed that means right.

Each attempt runs in a process of its own that says by its exit status what the method
found, since some of the programs attack whoever runs them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from corecode_env.core.task import AssertTest, CallTest, Function, Limits, Task
from corecode_env.executor import LocalExecutor

CASES = Path(__file__).parent.parent / "tests" / "executor" / "cases" / "forging.jsonl"
INPUTS = (3, 10, -1)
CHECK = """
def check(candidate):
    assert all(candidate(n) == n + 1 for n in (3, 10, -1))
"""
HONEST = {
    "honest, right": "def f(n):\n    return n + 1\n",
    "honest, wrong": "def f(n):\n    return n\n",
}
MORE = {
    "raises StopIteration": "def f(n):\n    raise StopIteration\n",
    "raises AssertionError": "def f(n):\n    raise AssertionError\n",
    "fills the result object, then ends": """\
import os, sys
def f(n):
    frame = sys._getframe()
    while frame:
        for name in ("result", "stat", "details"):
            found = frame.f_locals.get(name)
            if hasattr(found, "append"):
                found.append("passed")
            elif hasattr(found, "value"):
                found.value = 0
            elif hasattr(found, "__setitem__"):
                found[:] = [True] * len(found)
        frame = frame.f_back
    os._exit(0)
""",
    "prints what the harness prints": "print('all tests passed')\ndef f(n): return None\n",
}
UNFAIR = {"P013"}
"""Left out: it returns the right value where it finds certain words in memory, and whether
it does depends on how a harness names things, not on its method."""
SECONDS = 3.0
PASSED, FAILED = 10, 11
MARKER = "all tests passed"
HEADER = (
    "import builtins, os, sys\nos._exit = sys.exit = os.abort = os.kill = None\n"
    "builtins.exit = builtins.quit = None\n"
)
Judge = Callable[[str], bool]


# -------------------------------------------------------------------- others' methods
def _guard() -> None:
    """Disable what could do harm, as those do who run programs in their own process."""
    import builtins

    for name in ("kill", "system", "fork", "forkpty", "killpg", "unlink", "chmod", "rmdir"):
        setattr(os, name, None)
    builtins.exit = builtins.quit = None  # type: ignore[assignment]
    subprocess.Popen = None  # type: ignore[assignment, misc]


def _forked(target: Callable[..., None], *arguments: Any) -> None:
    """Run a function in a forked process, for a while."""
    process = multiprocessing.get_context("fork").Process(target=target, args=arguments)
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()


def _humaneval_child(program: str, result: Any) -> None:
    _guard()
    try:
        exec(f"{program}\n{CHECK}\ncheck(f)", {})
        result.append("passed")
    except BaseException as error:
        result.append(f"failed: {error}")


def humaneval(program: str) -> bool:
    """Run program and test in one namespace; the first entry of a shared list decides."""
    with multiprocessing.get_context("fork").Manager() as manager:
        result = manager.list()
        _forked(_humaneval_child, program, result)
        return list(result)[:1] == ["passed"]


def _evalplus_child(program: str, stat: Any, details: Any) -> None:
    _guard()
    try:
        namespace: dict[str, Any] = {}
        exec(program, namespace)
        function = namespace["f"]
        expected = [n + 1 for n in INPUTS]
        for index, n in enumerate(INPUTS):
            output = function(n)
            right = expected[index]
            exact = output == right
            assert exact
            details[index] = True
        stat.value = 0
    except BaseException:
        stat.value = 1


def evalplus(program: str) -> bool:
    """Compare in the program's process; outcomes are kept in shared memory."""
    stat = multiprocessing.Value("i", 3)
    details = multiprocessing.Array("b", [False] * len(INPUTS))
    _forked(_evalplus_child, program, stat, details)
    return bool(stat.value == 0 and all(details[:]))


def _livecodebench_child(program: str, result: Any) -> None:
    _guard()
    inputs = [json.dumps(n) for n in INPUTS]
    outputs = [json.dumps(n + 1) for n in INPUTS]
    try:
        namespace: dict[str, Any] = {}
        exec(program, namespace)
        function = namespace["f"]
        arguments = [json.loads(text) for text in inputs]
        wanted = [json.loads(text) for text in outputs]
        verdicts = []
        for argument, expected in zip(arguments, wanted, strict=True):
            prediction = function(argument)
            if isinstance(prediction, tuple):
                prediction = list(prediction)
            verdicts.append(prediction == expected)
        result.append(verdicts)
    except BaseException as error:
        result.append([repr(error)])


def livecodebench(program: str) -> bool:
    """Load inputs and outputs beside the program, call it and compare there."""
    with multiprocessing.get_context("fork").Manager() as manager:
        result = manager.list()
        _forked(_livecodebench_child, program, result)
        found = list(result)
        return bool(found) and all(verdict is True for verdict in found[0])


def _python(source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        start_new_session=True,
    )


def exit_code(program: str) -> bool:
    """Take status 0 of program and assertions for right."""
    return _python(f"{program}\n{CHECK}\ncheck(f)\n").returncode == 0


def guarded_exit_code(program: str) -> bool:
    """Do the same with the usual ways out disabled by a header."""
    return exit_code(HEADER + program)


def marker(program: str) -> bool:
    """Take a printed line for right."""
    return MARKER in _python(f"{program}\n{CHECK}\ncheck(f)\nprint({MARKER!r})\n").stdout


OTHERS: dict[str, Judge] = {
    "HumanEval's": humaneval,
    "EvalPlus's": evalplus,
    "LiveCodeBench's, calls": livecodebench,
    "exit code": exit_code,
    "exit code, ways out disabled": guarded_exit_code,
    "printed marker": marker,
}


def attempt(method: str, program: str) -> str:
    """Judge in a process of its own; return `PASS`, `no`, or `broke` if it did not survive."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--attempt", method],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        process.communicate(program, timeout=5 * SECONDS)
    except subprocess.TimeoutExpired:
        pass
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # all of it has ended by itself
        process.wait()
    return {PASSED: "PASS", FAILED: "no"}.get(process.returncode, "broke")


def answer(method: str, program: str) -> int:
    """Judge by one method here; return the exit status that says what it found."""
    try:
        return PASSED if OTHERS[method](program) else FAILED
    except subprocess.TimeoutExpired:
        return FAILED


# ------------------------------------------------------------------------------- ours
def tasks() -> dict[str, Task]:
    """Return the task with call tests, and with the test code that the others run."""
    calls = tuple(CallTest((n,), {}, n + 1) for n in INPUTS)
    limits = Limits(cpu_seconds=1.0, wall_seconds=3.0)
    code = (AssertTest(f"{CHECK}\ncheck(f)\n"),)
    return {
        "ours, calls": Task("calls", "", Function("f"), hidden_tests=calls, limits=limits),
        "ours, test code": Task("code", "", Function("f"), hidden_tests=code, limits=limits),
    }


def programs() -> dict[str, str]:
    """Return all programs by what they do; the two honest ones first."""
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    forged = {case["name"]: case["program"] for case in cases if case["id"] not in UNFAIR}
    return {**HONEST, **forged, **MORE}


def judged(names: list[str], drivers: int) -> dict[str, dict[str, str]]:
    """Return what every method says of every program: program -> method -> word."""
    chosen = {name: program for name, program in programs().items() if name in names}
    words: dict[str, dict[str, str]] = {name: {} for name in chosen}
    with ThreadPoolExecutor(drivers) as pool:
        for method in OTHERS:
            found = pool.map(attempt, [method] * len(chosen), chosen.values())
            for name, word in zip(chosen, found, strict=True):
                words[name][method] = word
    with LocalExecutor(drivers) as executor:
        for method, task in tasks().items():
            judgements = executor.map((task, program) for program in chosen.values())
            for name, judgement in zip(chosen, judgements, strict=True):
                words[name][method] = "PASS" if judgement.passed else "no"
    return words


def table(words: dict[str, dict[str, str]]) -> str:
    """Return the table in Markdown, and how many forged programs each method passes."""
    methods = [*OTHERS, *tasks()]
    lines = [f"| program | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
    for name, found in words.items():
        cells = " | ".join(found[method] for method in methods)
        lines.append(f"| {name} | {cells} |")
    forged = [found for name, found in words.items() if name not in HONEST]
    counts = [sum(found[method] == "PASS" for found in forged) for method in methods]
    cells = " | ".join(f"**{count}**" for count in counts)
    lines.append(f"| **forged programs passed, of {len(forged)}** | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", action="append", help="name of a program; may be repeated")
    parser.add_argument("--drivers", type=int, default=2, help="programs judged at once")
    parser.add_argument("--attempt", choices=list(OTHERS), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.attempt:
        # `_exit`: a program may have left threads or exit functions in this process.
        os._exit(answer(chosen.attempt, sys.stdin.read()))
    known = list(programs())
    unknown = sorted(set(chosen.only or ()) - set(known))
    if unknown:
        parser.error(f"--only must name a program, got {unknown[0]!r}; known: {known}")
    print(table(judged(chosen.only or known, chosen.drivers)))


if __name__ == "__main__":
    main()
