"""ClassEval: write a whole class, whose methods use each other.

Schema (Du et al., 2023, arXiv:2308.01861): `task_id`, `skeleton` (the class with
docstrings and empty bodies), `test` (unittest classes), `solution_code`,
`import_statement` (lines), `class_name`, `test_classes`, and more that is not needed here.

Each unittest method is one test, so a class earns a fraction by method. The first method
of every test class is public, the others are hidden. ClassEval is for evaluation: every
task belongs to the test split.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from corecode_env.core.task import AssertTest, Checker, Function, Limits, Task
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.python_source import normalise, parse
from corecode_env.tasks.unittest_cases import unittest_cases

LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ClassEval_17": "depends on today's date",
        "ClassEval_28": "needs pandas",
        "ClassEval_34": "needs docx",
        "ClassEval_38": "needs openpyxl",
        "ClassEval_44": "needs gensim",
        "ClassEval_45": "needs PIL",
        "ClassEval_48": "expects the name of its author's host",
        "ClassEval_50": "expects a permission error, which root does not get",
        "ClassEval_51": "uses np.mat, which NumPy 2 does not have",
        "ClassEval_52": "needs nltk and its data",
        "ClassEval_69": "needs PyPDF2",
        "ClassEval_93": "needs gensim",
    }
)
"""Tasks whose own solution cannot be judged, and why; `metadata["left_out"]` says it
too."""

_FILES: Final = "reads and writes files in the current folder"
_SQLITE: Final = "keeps an sqlite3 database in a file"
NEEDS_FOLDER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ClassEval_14": _SQLITE,
        "ClassEval_25": _FILES,
        "ClassEval_26": _FILES,
        "ClassEval_60": _SQLITE,
        "ClassEval_83": _SQLITE,
        "ClassEval_84": _FILES,
        "ClassEval_92": _SQLITE,
        "ClassEval_98": _FILES,
        "ClassEval_99": _FILES,
    }
)
"""Tasks that need a folder which program and test share, and what for: their limits give
one, in which a test finds nothing that another has left."""
_SCRATCH_BYTES: Final = 2**20

_LEFT_BEHIND: Final[Mapping[tuple[str, str], tuple[str, str]]] = MappingProxyType(
    {
        ("ClassEval_25", "CookiesUtilTestLoadCookies"): (
            "cookies.json",
            '{"key1": "value1", "key2": "value2"}',
        )
    }
)
"""Files (name, content) that the tests of a class count on because those of another class,
which the authors run before, happen to leave them behind."""

CHANGE_ARGUMENTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ClassEval_16": "a test hands in two stacks and looks at them afterwards",
        "ClassEval_23": "a test hands in a list that collects the results",
        "ClassEval_25": "a test hands in a request to which cookies are added",
    }
)
"""Tasks whose tests look at what a method did to its arguments, and how. Elsewhere an
argument is the program's own copy, so that it cannot edit what it is compared with."""

FLAKY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ClassEval_20": "compares the program's clock with the test's, to the second: a right "
        "program fails when a second ends in between",
        "ClassEval_58": "lays two mines at random and counts two: they fall on one square one "
        "time in nine",
    }
)
"""Tasks of which a right program fails a test now and then, and why; `metadata["flaky"]`
says it too."""

_LIMITS: Final = Limits(cpu_seconds=10.0, wall_seconds=30.0)
_SLOW_LIMITS: Final = Limits(cpu_seconds=60.0, wall_seconds=180.0)
SLOW: Final[Mapping[str, str]] = MappingProxyType(
    {"ClassEval_35": "a test searches a sliding puzzle breadth first, 5 seconds"}
)
"""Tasks whose own solution needs more than the default limits, and why."""

_WRITE: Final = "with open({!r}, 'w') as file:\n    file.write({!r})\n\n"
_STATEMENT: Final = """\
Write the Python class `{name}`: fill in the bodies of all methods.

```python
{skeleton}
```
"""


def _read(record: Record, where: Where) -> Task:
    task_id = where.string(record, "task_id")
    name = where.string(record, "class_name")
    skeleton = normalise(where.string(record, "skeleton")).strip("\n")
    imports = "\n".join(where.strings(record, "import_statement", []))
    source = normalise(where.string(record, "test"))
    try:
        # The tests count on the imports that stand before the program.
        cases = dict(_cases(parse(f"{imports}\n{source}"), task_id))
    except ValueError as error:
        raise where.bad("test", source, f"Python source ({error})") from error
    public = [methods[0] for methods in cases.values()]
    hidden = [method for methods in cases.values() for method in methods[1:]]
    if not public:
        raise where.bad("test", source, "unittest classes with test methods")
    metadata: dict[str, Any] = {
        "source": "ClassEval",
        "licence": "MIT",
        "split": "test",
        "difficulty": f"{len(cases)} test classes",
    }
    marks = {"left_out": LEFT_OUT, "flaky": FLAKY}
    metadata |= {key: reasons[task_id] for key, reasons in marks.items() if task_id in reasons}
    options = {"mutates_arguments": True} if task_id in CHANGE_ARGUMENTS else {}
    limits = _SLOW_LIMITS if task_id in SLOW else _LIMITS
    if task_id in NEEDS_FOLDER:
        limits = replace(limits, scratch_bytes=_SCRATCH_BYTES)
    return Task(
        id=task_id,
        statement=_STATEMENT.format(name=name, skeleton=skeleton),
        interface=Function(name, f"class {name}:", imports + "\n" if imports else ""),
        public_tests=tuple(map(AssertTest, public)),
        hidden_tests=tuple(map(AssertTest, hidden)),
        checker=Checker(options=options),
        limits=limits,
        reference_program=normalise(where.string(record, "solution_code")),
        metadata=metadata,
    )


def _cases(tree: ast.Module, task_id: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each unittest class, and test code for each of its methods."""
    for name, codes in unittest_cases(tree).items():
        before = ""
        if (task_id, name) in _LEFT_BEHIND:
            before = _WRITE.format(*_LEFT_BEHIND[task_id, name])
        yield name, [before + code for code in codes]


CLASSEVAL = Format(
    name="classeval",
    description="ClassEval: skeleton, class_name, solution_code, test with unittest classes",
    matches=lambda record: (
        {"skeleton", "class_name", "solution_code", "test"} <= record.keys()
    ),
    read=_read,
)
