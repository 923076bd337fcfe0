"""CRUXEval: say what a short function returns (kind `io_prediction`).

Schema (Gu et al., 2024, arXiv:2401.03065): `id`, `code` (defines `f`), `input` (the
arguments as source, without brackets), `output` (a literal). What is handed in is the
text of a literal. One hidden test; the set is for evaluation.
"""

from __future__ import annotations

from corecode_env.core.task import CallTest, Script, Task
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.python_source import literal, normalise

_STATEMENT = """\
What does this call return? Answer with one Python literal and nothing else.

```python
{code}

f({input})
```
"""


def _read(record: Record, where: Where) -> Task:
    code = normalise(where.string(record, "code"))
    given = where.string(record, "input")
    output = where.string(record, "output")
    try:
        expected = literal(output)
    except ValueError as error:
        raise where.bad("output", output, f"a Python literal ({error})") from error
    return Task(
        id=where.string(record, "id"),
        statement=_STATEMENT.format(code=code.rstrip(), input=given),
        interface=Script(),
        hidden_tests=(CallTest((), expected=expected),),
        reference_program=output,
        kind="io_prediction",
        metadata={"source": "CRUXEval", "licence": "MIT", "split": "test"},
    )


CRUXEVAL = Format(
    name="cruxeval",
    description="CRUXEval: id, code, input, output; predict the output",
    matches=lambda record: {"id", "code", "input", "output"} == record.keys(),
    read=_read,
)
