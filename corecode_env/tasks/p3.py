"""P3, Programming Puzzles: find a value for which a given function returns True.

Schema (Schuster et al., 2021, arXiv:2106.05784): `name` ("Kind:number"), `sat` (source of
the verifier; its further arguments have defaults, the instance), `ans_type`, `sol_header`,
`sol_docstring`, `sol_bodies` (reference bodies; may be empty), `module`.

The program defines `sol`, which returns the value. The one test is hidden but holds no
secret: it is the verifier that the statement shows. As in the original judge, a value of
another type than `ans_type` is refused before the verifier sees it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from corecode_env.core.task import AssertTest, Function, Limits, Task
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.splits import split_by_hash

ANSWER_TYPES: Final = frozenset({"bool", "float", "int", "str"})
"""What an answer is, or a list of, or a list of lists of, ..."""

SLOW_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {"Mastermind": "the reference plays all 1,296 games, 6 seconds; so does the verifier"}
)
"""Kinds whose reference needs more than the default limits, and why."""

LARGE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ExponentialCoinMoves:0": "its answer takes 68 MB: 30,000 lists that hold integers "
        "of up to 5,000 digits"
    }
)
"""Puzzles whose answers need larger limits than other answers, and why."""

MANY_DIGITS: Final[Mapping[str, str]] = MappingProxyType(
    {"FivePowers": "the verifier prints 5**7012, more than 4,300 digits"}
)
"""Kinds for which the interpreter's limit on the digits of integers is lifted, and why."""

_SLOW_LIMITS: Final = Limits(cpu_seconds=60.0, wall_seconds=180.0)
_LARGE_LIMITS: Final = Limits(output_bytes=2**27)
_LIFT_DIGITS: Final = "import sys\nsys.set_int_max_str_digits(0)\n"
_LIST: Final = re.compile(r"List\[(.+)\]")
# CPython refuses to compile decimal literals of more than 4,300 digits.
_LONG_NUMBER: Final = re.compile(r"(?<![\w.])\d{4001,}(?![\w.])")

_TYPE_CHECK: Final = """\
def _has_type(value, levels, kind):
    if levels:
        return type(value) is list and all(_has_type(v, levels - 1, kind) for v in value)
    return type(value) is kind


_answer = sol()
assert _has_type(_answer, {levels}, {kind}), "the answer must be of type {ans_type}"
assert sat(_answer) is True
"""
_STATEMENT: Final = """\
Write a Python function `sol` that returns a value for which `sat` below returns True. The
value must be of type `{ans_type}`. `sol` is called without arguments; `sat` may be called
in it.{told}

```python
{sat}
```

```python
{header}
```
"""


def hex_literals(source: str) -> str:
    """Return source in which integers too long to be compiled are written in hex.

    >>> hex_literals("n = 12")
    'n = 12'
    """
    return _LONG_NUMBER.sub(lambda match: hex(_whole_number(match.group())), source)


def _whole_number(digits: str) -> int:
    if len(digits) <= 4000:
        return int(digits)
    half = len(digits) // 2
    return int(_whole_number(digits[:-half]) * 10**half + _whole_number(digits[-half:]))


def answer_type(text: str) -> tuple[int, str] | None:
    """Return how many lists are around which builtin type; None for other types.

    >>> answer_type("List[List[int]]"), answer_type("str"), answer_type("Set[int]")
    ((2, 'int'), (0, 'str'), None)
    """
    if text in ANSWER_TYPES:
        return 0, text
    match = _LIST.fullmatch(text)
    inner = answer_type(match[1]) if match else None
    return inner and (inner[0] + 1, inner[1])


def _read(record: Record, where: Where) -> Task:
    name = where.string(record, "name")
    kind = name.partition(":")[0]
    sat = hex_literals(where.string(record, "sat"))
    header = hex_literals(where.string(record, "sol_header"))
    docstring = where.string(record, "sol_docstring", "")
    bodies = where.strings(record, "sol_bodies")
    ans_type = where.string(record, "ans_type")
    module = where.string(record, "module", "")
    found = answer_type(ans_type)
    if found is None:
        raise where.bad("ans_type", ans_type, "bool, float, int, str, or lists of these")
    metadata = {
        "source": "P3",
        "source_id": name,
        "licence": "MIT",
        "difficulty": module.removesuffix(".py"),
        "split": _split(kind, module),
    }
    typing = "from typing import *\n"
    lift = _LIFT_DIGITS if kind in MANY_DIGITS else ""
    check = _TYPE_CHECK.format(levels=found[0], kind=found[1], ans_type=ans_type)
    told = textwrap.dedent(docstring).strip().strip('"').strip()
    return Task(
        id=f"p3/{name}",
        statement=_STATEMENT.format(
            ans_type=ans_type, told=f"\n\n{told}" if told else "", sat=sat, header=header
        ),
        interface=Function("sol", header, f"{lift}{typing}\n{sat}\n"),
        hidden_tests=(AssertTest(f"{lift}{typing}\n{sat}\n\n{check}"),),
        limits=_limits(name, kind),
        reference_program=f"{header}\n{bodies[0]}\n" if bodies else None,
        metadata=metadata,
    )


def _limits(name: str, kind: str) -> Limits:
    if name in LARGE:
        return _LARGE_LIMITS
    return _SLOW_LIMITS if kind in SLOW_KINDS else Limits()


def _split(kind: str, module: str) -> str:
    # Puzzles made from HumanEval would teach a policy what HumanEval asks. All instances
    # of a kind stay together: they share one verifier.
    if module == "human_eval.py":
        return "test"
    return split_by_hash(kind)


P3 = Format(
    name="p3",
    description="P3 puzzles: name, sat, ans_type, sol_header, sol_docstring, sol_bodies",
    matches=lambda record: {"name", "sat", "sol_header", "sol_bodies"} <= record.keys(),
    read=_read,
)
