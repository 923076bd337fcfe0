"""Small tasks of every kind that agents meet, and requests for them."""

from __future__ import annotations

from typing import Any

from corecode_env.core.seams import Request
from corecode_env.core.task import CallTest, Function, Script, Stdio, StdioTest, Task

DOUBLE = Task(
    id="double",
    statement="Double every number.",
    interface=Function("double"),
    hidden_tests=(CallTest(([1, 2],), {}, [2, 4]),),
    reference_program=(
        '"""Doubling."""\nfrom __future__ import annotations\n\n'
        "def double(xs):\n"
        '    """Double all."""\n'
        "    out = []\n"
        "    for x in xs:\n"
        "        if x > 0:\n"
        "            out.append(2 * x)\n"
        "        else:\n"
        "            out.append(x + x)\n"
        "    return out\n"
    ),
    reference_plan="1. keep above 0\n2. double\n3. return list",
)
COUNTER = Task(
    id="counter",
    statement="A counter.",
    interface=Function("Counter"),
    hidden_tests=(CallTest((), {}, None),),
    reference_program=(
        "class Counter:\n"
        "    def __init__(self):\n"
        "        self.n = 0\n"
        "    def add(self):\n"
        "        self.n += 1\n"
        "        return self.n\n"
        "    @staticmethod\n"
        "    def zero():\n"
        "        return 0\n"
    ),
)
ECHO_SUM = Task(
    id="sum",
    statement="Print the sum.",
    interface=Stdio(),
    hidden_tests=(StdioTest("1 2\n", "3\n"),),
    reference_program="print(sum(map(int, input().split())))\n",
)
LITERAL = Task(
    id="literal",
    statement="What does f(3) return?",
    interface=Script(),
    hidden_tests=(CallTest((), {}, [1, 2, 3]),),
    reference_program="[1, 2, 3]",
    kind="io_prediction",
)
BARE = Task(
    id="bare",
    statement="No reference.",
    interface=Function("f"),
    hidden_tests=(CallTest((), {}, None),),
)


def request(task: Task | None, role: str = "coder", **fields: Any) -> Request:
    observation = fields.pop("observation", {"prompt": "Do it.", "round": 0})
    task_id = task.id if task else "unknown"
    return Request(f"{role}_0", role, observation, (), task_id, task=task, **fields)
