"""EvalPlus: HumanEval+ and MBPP+, the same tasks with many more inputs.

Two schemas (Liu et al., 2023, arXiv:2305.01210):

- inputs only: `task_id` (`HumanEval/0` or `Mbpp/2`), `prompt`, `entry_point`,
  `canonical_solution`, `base_input` and `plus_input` (lists of argument lists), `atol`.
  Results are not in the file, so the tests hold the reference and run it on the judge's
  side. Where a record also has `base_expected` and `plus_expected` (in our form for plain
  values), its tests are plain calls.
- OriginFmt: HumanEval's or MBPP's fields, and a `test` with the literals `inputs` and
  `results`. These become plain calls; the few records that hold a function `ref_func` in
  place of `results` are judged by that.

Public tests are the docstring's examples (HumanEval+) or the assert of the statement
(MBPP+). HumanEval+ is for evaluation; MBPP+ has MBPP's splits.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from corecode_env.core.task import AssertTest, CallTest, Checker, Function, Limits, Task, Test
from corecode_env.core.values import NotPlain, from_jsonable
from corecode_env.tasks.evalplus_rules import (
    CONVERSIONS,
    ROOTS,
    checker_for,
    reference_test,
    root_test,
)
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.humaneval import Prompt, shown_examples
from corecode_env.tasks.mbpp import assert_tests, split_of_id, statement_of
from corecode_env.tasks.python_source import definitions, literal, normalise, parse, source_of

SLOW: Final[dict[str, float]] = {
    "HumanEval/15": 30.0,
    "HumanEval/83": 30.0,
    "HumanEval/139": 30.0,
    "Mbpp/255": 30.0,
    "Mbpp/599": 60.0,
}
"""CPU seconds of a test for tasks whose own solution is slow on some input."""

OVERSIZE: Final[dict[str, tuple[int, int, str]]] = {
    "HumanEval/130": (0, 100_000, "a list of a million numbers"),
    "Mbpp/255": (1, 70, "up to 1.7 million tuples of 77 items"),
}
"""Tasks of which some inputs are left out: the argument at a position, its largest value
that is kept, and what larger ones return. Such results exceed what a program may send to
the judge (8 MB), right or wrong."""

GROUP: Final = 25
"""Inputs in one test where the reference has to run: a process per input would cost more
than all the calls."""

GROUP_LIMITS: Final = Limits(cpu_seconds=10.0, wall_seconds=45.0)
"""Limits of such a test: many calls, and the reference's time as well."""


@dataclass(frozen=True, slots=True)
class _Data:
    """What all forms of a record come to."""

    task_id: str
    statement: str
    interface: Function
    public_tests: tuple[Test, ...]
    reference: str
    atol: float


# ---------------------------------------------------------------------- inputs only
def _read(record: Record, where: Where) -> Task:
    data = _data(record, where)
    convert = CONVERSIONS.get(data.task_id, list)
    tests: list[Test] = []
    checker = Checker()
    for part in ("base", "plus"):
        inputs = [convert(args) for args in _argument_lists(record, f"{part}_input", where)]
        expected = _expected(record, f"{part}_expected", inputs, where)
        inputs, expected = _sendable(data.task_id, inputs, expected)
        if data.interface.name in ROOTS:
            tests += _root_tests(data, inputs)
        elif expected is None:
            tests += _reference_tests(data, inputs, data.reference, data.interface.name)
        else:
            tests += _call_tests(inputs, expected)
            checker = _checker(data, tests)
    if not tests:
        raise where.bad("base_input", [], "at least one argument list")
    return _task(data, tests, checker)


def _data(record: Record, where: Where) -> _Data:
    entry = where.string(record, "entry_point")
    task_id = where.string(record, "task_id")
    source = normalise(where.string(record, "prompt"))
    solution = normalise(where.string(record, "canonical_solution"))
    atol = where.number(record, "atol", 0.0)
    if task_id.startswith("Mbpp/"):
        statement, public = _mbpp_statement(source, entry, where)
        return _Data(task_id, statement, Function(entry), public, solution, atol)
    prompt = Prompt.parse(source, entry, where)
    return _human(task_id, prompt, prompt.source + solution, atol)


def _human(task_id: str, prompt: Prompt, reference: str, atol: float) -> _Data:
    public = tuple(AssertTest(example.test) for example in shown_examples(prompt))
    return _Data(task_id, prompt.statement, prompt.interface, public, reference, atol)


def _mbpp_statement(
    prompt: str, entry: str, where: Where
) -> tuple[str, tuple[AssertTest, ...]]:
    """Take an MBPP+ prompt apart: a docstring of a sentence and one assert."""
    try:
        text = literal(prompt.strip())
    except ValueError as error:
        raise where.bad("prompt", prompt, f"a docstring ({error})") from error
    if not isinstance(text, str):
        raise where.bad("prompt", prompt, "a docstring")
    sentence, found, shown = text.partition("\nassert ")
    if not found:
        return f"{text.strip()}\n\nName the function `{entry}`.\n", ()
    shown = f"assert {shown.strip()}"
    record = {"prompt": [shown]}
    tests = assert_tests(record, "prompt", _imports_for(shown), where)
    return statement_of(sentence, entry, shown), tests


def _imports_for(source: str) -> str:
    return "import math\n" if "math." in source else ""


def _argument_lists(record: Record, field: str, where: Where) -> list[list[Any]]:
    # Mbpp/793 is published with an empty object in place of an empty list.
    if record.get(field) == {}:
        return []
    inputs = where.list(record, field, [])
    for index, args in enumerate(inputs):
        if type(args) is not list:
            raise where.bad(f"{field}[{index}]", args, "a list of arguments")
    return inputs


def _expected(
    record: Record, field: str, inputs: Sequence[Any], where: Where
) -> list[Any] | None:
    if record.get(field) is None:
        return None
    values = where.list(record, field)
    if len(values) != len(inputs):
        expected = f"a list of {len(inputs)} results, one per input"
        raise where.bad(field, f"{len(values)} results", expected)
    try:
        return [from_jsonable(value) for value in values]
    except NotPlain as error:
        raise where.bad(field, values, f"plain values ({error})") from error


# ------------------------------------------------------------------------- OriginFmt
def _read_human_origin(record: Record, where: Where) -> Task:
    entry = where.string(record, "entry_point")
    prompt = Prompt.parse(where.string(record, "prompt"), entry, where)
    reference = prompt.source + normalise(where.string(record, "canonical_solution"))
    origin = _Origin.parse(where.string(record, "test"), where)
    task_id = where.string(record, "task_id")
    return _origin_task(_human(task_id, prompt, reference, origin.atol), origin)


def _read_mbpp_origin(record: Record, where: Where) -> Task:
    origin = _Origin.parse(where.string(record, "test"), where)
    number = where.integer(record, "task_id")
    imports = "".join(f"{line}\n" for line in where.strings(record, "test_imports", []))
    lines = where.strings(record, "test_list")
    if not lines:
        raise where.bad("test_list", lines, "at least one assert line")
    code = normalise(where.string(record, "code"))
    statement = statement_of(where.string(record, "prompt"), origin.entry, lines[0])
    public = assert_tests(record, "test_list", imports, where)[:1]
    interface = Function(origin.entry)
    data = _Data(f"Mbpp/{number}", statement, interface, public, code, origin.atol)
    return _origin_task(data, origin)


def _origin_task(data: _Data, origin: _Origin) -> Task:
    inputs, results = _sendable(data.task_id, origin.inputs, origin.results)
    if data.interface.name in ROOTS:
        return _task(data, _root_tests(data, inputs), Checker())
    if results is None:
        tests = _reference_tests(data, inputs, origin.reference, "ref_func")
        return _task(data, tests, Checker())
    calls = _call_tests(inputs, results)
    return _task(data, calls, _checker(data, calls))


@dataclass(frozen=True, slots=True)
class _Origin:
    """The `test` of an OriginFmt record, taken apart."""

    inputs: list[list[Any]]
    results: list[Any] | None
    reference: str
    entry: str
    atol: float

    @classmethod
    def parse(cls, source: str, where: Where) -> _Origin:
        """Read the literals of a test; nothing is run.

        Raises:
            BadRecord: If they are not there.
        """
        try:
            tree = parse(source)
            values = {
                node.targets[0].id: node.value
                for node in _statements(tree)
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            }
            inputs = [list(args) for args in literal(values["inputs"])]
            results = literal(values["results"]) if "results" in values else None
        except (ValueError, KeyError, TypeError) as error:
            expected = f"a test with literal inputs ({type(error).__name__}: {error})"
            raise where.bad("test", source, expected) from error
        reference = _reference_source(tree)
        entry, atol = _compared(tree)
        if results is None and "ref_func" not in definitions(tree):
            raise where.bad("test", source, "a test with results or a function ref_func")
        if results is not None and len(results) != len(inputs):
            expected = f"a test with {len(inputs)} results, one per input"
            raise where.bad("test", f"{len(results)} results", expected)
        return cls(inputs, results, reference, entry, atol)


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements of the module and of its function `check`."""
    check = definitions(tree).get("check")
    return [*tree.body, *(check.body if check else [])]


_HARNESS: Final = frozenset({"is_floats", "assertion", "check"})


def _reference_source(tree: ast.Module) -> str:
    """Return what the test defines besides its own harness: `ref_func` and helpers."""
    kept = []
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) if name in _HARNESS:
                continue
            case ast.Assign() | ast.For():
                continue
            case ast.Import(names=[ast.alias(name="numpy")]):
                continue
        kept.append(ast.unparse(node))
    return "\n".join(kept) + "\n"


def _compared(tree: ast.Module) -> tuple[str, float]:
    """Return the function that the test calls, and its tolerance."""
    loops = [node for node in _statements(tree) if isinstance(node, ast.For)]
    for node in (inner for loop in loops for inner in ast.walk(loop)):
        match node:
            case ast.Call(
                func=ast.Name(id="assertion"),
                args=[ast.Call(func=ast.Name(id=entry)), _, ast.Constant(value=float(atol))],
            ):
                return entry, atol
            case ast.Call(
                func=ast.Name(id="assertion"),
                args=[ast.Call(func=ast.Name(id=entry)), *_],
            ):
                return entry, 0.0
    return "candidate", 0.0


# ----------------------------------------------------------------------------- tests
def _sendable(
    task_id: str, inputs: list[list[Any]], results: list[Any] | None
) -> tuple[list[list[Any]], list[Any] | None]:
    """Leave out the inputs whose results are `OVERSIZE`."""
    if task_id not in OVERSIZE:
        return inputs, results
    position, largest, _ = OVERSIZE[task_id]
    kept = [index for index, args in enumerate(inputs) if args[position] <= largest]
    return (
        [inputs[index] for index in kept],
        None if results is None else [results[index] for index in kept],
    )


def _call_tests(inputs: Sequence[Any], expected: Sequence[Any]) -> list[Test]:
    pairs = zip(inputs, expected, strict=True)
    return [CallTest(tuple(args), expected=value) for args, value in pairs]


def _checker(data: _Data, tests: Iterable[Test]) -> Checker:
    has_nan = any(isinstance(test, CallTest) and _has_nan(test.expected) for test in tests)
    return checker_for(data.interface.name, data.atol, has_nan=has_nan)


def _has_nan(value: object) -> bool:
    match value:
        case float():
            return math.isnan(value)
        case list() | tuple() | set() | frozenset():
            return any(map(_has_nan, value))
        case dict():
            return any(map(_has_nan, value.values()))
    return False


def _groups(inputs: Sequence[Any]) -> list[str]:
    parts = [inputs[start : start + GROUP] for start in range(0, len(inputs), GROUP)]
    return [source_of([list(args) for args in part]) for part in parts]


def _reference_tests(
    data: _Data, inputs: Sequence[Any], reference: str, name: str
) -> list[Test]:
    entry = data.interface.name
    return [
        AssertTest(reference_test(entry, part, reference=reference, name=name, atol=data.atol))
        for part in _groups(inputs)
    ]


def _root_tests(data: _Data, inputs: Sequence[Any]) -> list[Test]:
    return [AssertTest(root_test(data.interface.name, part)) for part in _groups(inputs)]


def _task(data: _Data, hidden: Sequence[Test], checker: Checker) -> Task:
    mbpp = data.task_id.startswith("Mbpp/")
    number = int(data.task_id.rpartition("/")[2]) if mbpp else 0
    seconds = SLOW.get(data.task_id)
    grouped = any(isinstance(test, AssertTest) for test in hidden)
    usual = GROUP_LIMITS if grouped else Limits()
    return Task(
        id=data.task_id,
        statement=data.statement,
        interface=data.interface,
        public_tests=data.public_tests,
        hidden_tests=tuple(hidden),
        checker=checker,
        limits=usual if seconds is None else Limits(seconds, wall_seconds=3 * seconds),
        reference_program=data.reference,
        metadata={
            "source": "MBPP+" if mbpp else "HumanEval+",
            "source_id": data.task_id.rpartition("/")[2],
            "licence": "Apache-2.0",
            "split": split_of_id(number) if mbpp else "test",
            **_left_out(data.task_id),
        },
    )


def _left_out(task_id: str) -> dict[str, str]:
    if task_id not in OVERSIZE:
        return {}
    position, largest, returned = OVERSIZE[task_id]
    return {"left_out": f"inputs with argument {position} above {largest}: {returned}"}


# --------------------------------------------------------------------------- formats
def _is_origin(record: Record) -> bool:
    test = str(record.get("test", ""))
    return "zip(inputs, results)" in test or "ref_func(*inp)" in test


EVALPLUS = Format(
    name="evalplus",
    description="HumanEval+ and MBPP+: prompt, canonical_solution, base_input, plus_input",
    matches=lambda record: (
        {"task_id", "prompt", "entry_point", "canonical_solution", "base_input"}
        <= record.keys()
    ),
    read=_read,
)
HUMANEVALPLUS_ORIGIN = Format(
    name="humanevalplus-origin",
    description="HumanEval+ as OriginFmt: HumanEval's fields, test with inputs and results",
    matches=lambda record: (
        {"task_id", "prompt", "entry_point", "canonical_solution"} <= record.keys()
        and "base_input" not in record
        and _is_origin(record)
    ),
    read=_read_human_origin,
)
MBPPPLUS_ORIGIN = Format(
    name="mbppplus-origin",
    description="MBPP+ as OriginFmt: sanitized MBPP's fields, test with inputs and results",
    matches=lambda record: (
        {"task_id", "prompt", "code", "test_list", "test"} <= record.keys()
        and _is_origin(record)
    ),
    read=_read_mbpp_origin,
)
