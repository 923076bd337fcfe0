"""HumanEvalPack (Python): mend a program with one bug (kind `repair`).

Schema (Muennighoff et al., 2023, arXiv:2308.07124), of which are read: `task_id`,
`prompt`, `entry_point`, `canonical_solution` and `buggy_solution` (bodies), `test` and
`example_test` (source with `check` and its call), `bug_type`.

The statement shows the whole buggy program; the whole mended program is handed in. Public
tests are those of `example_test`; 20 of the 164 bugs pass them. For evaluation only.
"""

from __future__ import annotations

from corecode_env.core.task import AssertTest, Task
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.humaneval import Prompt, checked_tests
from corecode_env.tasks.python_source import normalise

_STATEMENT = """\
This program has a bug: `{name}` does not do what its docstring says. Mend it, and hand in
the whole program.

```python
{program}
```
"""


def _read(record: Record, where: Where) -> Task:
    entry = where.string(record, "entry_point")
    prompt = Prompt.parse(where.string(record, "prompt"), entry, where)
    buggy = prompt.source + normalise(where.string(record, "buggy_solution"))
    right = prompt.source + normalise(where.string(record, "canonical_solution"))
    return Task(
        id=where.string(record, "task_id"),
        statement=_STATEMENT.format(name=entry, program=buggy.rstrip()),
        interface=prompt.interface,
        public_tests=_example_tests(record, prompt, where),
        hidden_tests=checked_tests(record, "test", prompt, where),
        reference_program=right,
        kind="repair",
        metadata={
            "source": "HumanEvalPack",
            "licence": "MIT",
            "split": "test",
            "buggy_program": buggy,
            "tags": [where.string(record, "bug_type", "unknown")],
        },
    )


def _example_tests(record: Record, prompt: Prompt, where: Where) -> tuple[AssertTest, ...]:
    """Return the tests of `example_test`; docstrings without examples left it empty."""
    source = normalise(where.string(record, "example_test", ""))
    if not source.strip():
        return ()
    # In the published record 119 a stray part of a solution stands before the function.
    start = source.rfind("\ndef check(") + 1
    return checked_tests({"example_test": source[start:]}, "example_test", prompt, where)


HUMANEVALPACK = Format(
    name="humanevalpack",
    description="HumanEvalPack (Python): HumanEval's fields and buggy_solution; repair",
    matches=lambda record: {"task_id", "prompt", "buggy_solution", "test"} <= record.keys(),
    read=_read,
)
