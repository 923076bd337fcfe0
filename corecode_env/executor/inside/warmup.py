"""Warm-up: what a zygote does once so that its children do nothing for the first time.

The interpreter makes much on first use: specialised code, versions of types, states of the
compiler. Made before the fork it is shared; made in a child it costs that child the pages
that it touches. All that runs here is code of ours, and its results are dropped.
"""

from __future__ import annotations

import json
import os
import types
from typing import Any, Final

from corecode_env.core.values import from_jsonable
from corecode_env.executor.inside import candidate, wire

ROUNDS: Final = 20
"""The interpreter specialises code that has run about ten times."""

_PROGRAM: Final = """
import sys
from math import gcd
def solve(values, *, scale=1):
    total = sum(value * scale for value in values if value > 0)
    return max(total, 0), {str(value): [value] for value in values}
class Pair:
    def __init__(self, first, second=2):
        self.first, self.second = first, second
try:
    number, texts = solve(map(int, "1 2 3".split()))
    while number > gcd(4, 6):
        number -= 1
    print(f"{number:.0f}"[:0], Pair(number).first and "", sep="", end="")
except ValueError as error:
    raise SystemExit(1) from error
sys.stdout.flush()
"""
_SOLUTION: Final = "def add(first, second):\n    return first + second\n"
_TEST: Final = (
    "def check(candidate):\n    assert candidate(1, 2) == 3\n"
    "    assert candidate([1], ['a']) == [1, 'a']\ncheck(add)\n"
)


def warm_up(tester: types.ModuleType | None) -> None:
    """Do what programs, and the functions that serve or test them, do.

    Args:
        tester: Runs test code, in a zygote of judges.
    """
    for _ in range(ROUNDS):
        code = compile(_PROGRAM, "main.py", "exec", dont_inherit=True)
        exec(code, {"__name__": "warm_up"})
    if tester is None:
        _answer_calls()
    else:
        _test(tester)


def _answer_calls() -> None:
    namespace: dict[str, Any] = {"__name__": "warm_up"}
    exec(_SOLUTION, namespace)
    call = {"op": "call", "function": "add", "args": [1, 2], "kwargs": {"$dict": []}}
    frames = wire.pack({"op": "name", "name": "add"}) + wire.pack(call)
    for _ in range(ROUNDS):
        requests, replies = os.pipe(), os.pipe()
        os.write(requests[1], frames)
        os.close(requests[1])
        candidate.serve(requests[0], replies[1], namespace)
        for descriptor in (requests[0], *replies):
            os.close(descriptor)


def _test(tester: types.ModuleType) -> None:
    """Test a program of ours, which a child serves."""
    requests, replies = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(requests[1])
            namespace: dict[str, Any] = {"__name__": "warm_up"}
            exec(_SOLUTION, namespace)
            candidate.serve(requests[0], replies[1], namespace)
        finally:
            os._exit(0)
    os.close(requests[0])
    os.close(replies[1])
    order = json.dumps({"arguments": [_TEST, "add"]})
    for _ in range(ROUNDS):
        arguments = from_jsonable(json.loads(order)["arguments"])
        report = tester.run_test(requests[1], replies[0], *arguments)
        json.dumps(report.to_json())
    os.close(requests[1])
    os.close(replies[0])
    os.waitpid(child, 0)
