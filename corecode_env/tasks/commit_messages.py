"""Commit messages: say in one line what a change of a program does (kind `commit_message`).

    a diff, and the message that goes with it  ->  Task

Schema of a user's own file: `diff` and `message`; optional `id`, `split`, `licence`. The
bundled sets are made from programs and mended programs: of HumanEvalPack, whose bugs people
put in, and of MBPP sanitized with the stored faults of `tasks/unit_tests.py`. Their messages
are made by rule from the change, so they all have one style.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from corecode_env.core.registry import unknown_name
from corecode_env.core.subject import Mutation
from corecode_env.core.task import Checker, Script, StdioTest, Task
from corecode_env.tasks.formats import Format, Record, Where
from corecode_env.tasks.python_source import parse
from corecode_env.tasks.splits import split_by_hash
from corecode_env.tasks.taskset import SPLITS, TaskSet

SOURCES: Final = ("humanevalpack", "mbpp-sanitized")
"""Bundled sets from which messages are made."""
CHANGES: Final = 3
"""Most changes of one program of MBPP."""
_LONGEST: Final = 60

_STATEMENT: Final = """\
Write the message of a commit that makes this change: one line that says what is mended, and
where.

```diff
{diff}
```
"""


def message_task(
    id: str, diff: str, message: str, metadata: dict[str, Any], checker: Checker | None = None
) -> Task:
    """Return the task that asks for a message.

    Args:
        id: Its id.
        diff: The change.
        message: The reference.
        metadata: Source, licence and split.
        checker: Weights of `bleu`, `chrf` and `rouge_l` in its options; None: all alike.
    """
    return Task(
        id=id,
        statement=_STATEMENT.format(diff=diff.rstrip("\n")),
        interface=Script(),
        hidden_tests=(StdioTest("", message.strip()),),
        checker=checker or Checker("message"),
        reference_program=message.strip(),
        kind="commit_message",
        metadata=metadata,
    )


# -------------------------------------------------------------------------- users' files
def _read(record: Record, where: Where) -> Task:
    diff = where.string(record, "diff")
    message = where.string(record, "message")
    for name, text in (("diff", diff), ("message", message)):
        if not text.strip():
            raise where.bad(name, text, "text that is not empty")
    split = where.string(record, "split", split_by_hash(diff))
    if split not in SPLITS:
        raise where.bad("split", split, f"one of {', '.join(SPLITS)}")
    metadata = {
        "source": where.source,
        "licence": where.string(record, "licence", "unknown"),
        "split": split,
    }
    id_ = where.string(record, "id", f"commit/{where.line}")
    return message_task(id_, diff, message, metadata)


COMMIT_MESSAGES = Format(
    name="commit_message",
    description="commits: diff and message; say what a change does",
    matches=lambda record: {"diff", "message"} <= record.keys(),
    read=_read,
)


# -------------------------------------------------------------------------- bundled sets
def bundled(rest: str) -> TaskSet:
    """Return the tasks made from a bundled set, or one of them.

    Args:
        rest: One of `SOURCES`, or one of these and the rest of a task's id.

    Raises:
        UnknownName: If there is no such set or task.
    """
    source, _, task_id = rest.partition("/")
    if source not in SOURCES:
        known = [f"commit_message/{each}" for each in SOURCES]
        raise unknown_name("a set of commit messages", f"commit_message/{rest}", known)
    tasks = _bundled(source)
    if not task_id:
        return tasks
    full = f"{tasks.name}/{task_id}"
    return TaskSet([tasks.get(full)], full)


@cache
def _bundled(source: str) -> TaskSet:
    # Imported here: sources knows this module by name.
    from corecode_env.tasks.sources import load_tasks

    name = f"commit_message/{source}"
    tasks = load_tasks(source)
    made = _mended(tasks, name) if source == "humanevalpack" else _unfaulted(tasks, name)
    return TaskSet(made, name)


def _mended(tasks: Sequence[Task], name: str) -> Iterator[Task]:
    """Yield the tasks of HumanEvalPack's bugs."""
    for task in tasks:
        old, new = str(task.metadata["buggy_program"]), task.reference_program or ""
        (bug,) = task.metadata["tags"]
        function = getattr(task.interface, "name", "")
        message = f"Fix {bug} in {function}: {_lines_in_words(old, new)}"
        yield message_task(f"{name}/{task.id}", diff_of(old, new), message, _origin(task))


def _unfaulted(tasks: Sequence[Task], name: str) -> Iterator[Task]:
    """Yield the tasks of faults that are taken out again."""
    from corecode_env.tasks.unit_tests import stored_faults

    faults = stored_faults("mbpp-sanitized")
    for task in tasks:
        program = task.reference_program or ""
        for number, fault in enumerate(faults.get(task.id, [])[:CHANGES]):
            yield message_task(
                f"{name}/{task.id}/{number}",
                diff_of(fault.apply(program), program),
                _fault_in_words(program, fault),
                _origin(task),
            )


def _origin(task: Task) -> dict[str, Any]:
    kept = ("source", "licence", "split")
    return {**{name: task.metadata[name] for name in kept}, "source_task": task.id}


def diff_of(old: str, new: str) -> str:
    """Return a change of one file as a unified diff, without the names of the file."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="")
    return "\n".join(list(lines)[2:])


def _lines_in_words(old: str, new: str) -> str:
    """Say which lines a change adds, removes or replaces."""
    before, after = (
        [line.strip() for line in text.splitlines() if line.strip()] for text in (old, new)
    )
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    said = []
    for tag, i, j, m, n in matcher.get_opcodes():
        removed, added = (_shown(" ".join(part)) for part in (before[i:j], after[m:n]))
        if tag == "insert":
            said.append(f"add {added}")
        elif tag == "delete":
            said.append(f"remove {removed}")
        elif tag == "replace":
            said.append(f"use {added} instead of {removed}")
    return "; ".join(said)


def _fault_in_words(program: str, fault: Mutation) -> str:
    """Say what taking a fault out of a program does."""
    right = _shown(program[fault.start : fault.end])
    line = program.count("\n", 0, fault.start) + 1
    function = _function_at(program, line)
    wrong = _shown(fault.text)
    if fault.text == "None":
        return f"Return {right} from {function} instead of {wrong}"
    text = _shown(program.split("\n")[line - 1])
    return f"Fix {function}: use {right} instead of {wrong} in {text}"


def _function_at(program: str, line: int) -> str:
    """Return the name of the innermost function around a line."""
    functions = [n for n in ast.walk(parse(program)) if isinstance(n, ast.FunctionDef)]
    around = [n for n in functions if n.lineno <= line <= (n.end_lineno or n.lineno)]
    return max(around, key=lambda node: node.lineno).name


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
