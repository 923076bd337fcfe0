"""Sources: a name or a path becomes a task set.

    "humaneval"   "pipelines/4"   "mbpp/601"   my/tasks.jsonl.gz   ->  TaskSet

Names stand for bundled and generated sets; anything else is a file or a folder, whose
format follows from its first record unless it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from corecode_env.core.errors import BadConfig, BadRecord
from corecode_env.core.registry import Registry, unknown_name
from corecode_env.core.task import Task
from corecode_env.tasks.apps import APPS, TACO
from corecode_env.tasks.classeval import CLASSEVAL
from corecode_env.tasks.code_contests import CODE_CONTESTS
from corecode_env.tasks.codeforces import CODEFORCES
from corecode_env.tasks.cruxeval import CRUXEVAL
from corecode_env.tasks.deepcoder import DEEPCODER
from corecode_env.tasks.evalplus import EVALPLUS, HUMANEVALPLUS_ORIGIN, MBPPPLUS_ORIGIN
from corecode_env.tasks.files import SUFFIXES, Line, read_records
from corecode_env.tasks.formats import FORMATS, Format, Record, Where
from corecode_env.tasks.google_contests import GOOGLE_CONTESTS
from corecode_env.tasks.hashcode import HASHCODE
from corecode_env.tasks.humaneval import HUMANEVAL
from corecode_env.tasks.humanevalpack import HUMANEVALPACK
from corecode_env.tasks.livebench import LIVEBENCH
from corecode_env.tasks.livecodebench import LIVECODEBENCH
from corecode_env.tasks.mbpp import MBPP
from corecode_env.tasks.own_format import OWN
from corecode_env.tasks.p3 import P3
from corecode_env.tasks.pipelines_set import SET_NAMES, pipelines
from corecode_env.tasks.quixbugs import QUIXBUGS
from corecode_env.tasks.synthetic1 import SYNTHETIC_1
from corecode_env.tasks.taskset import TaskSet

for _format in (
    OWN,
    HUMANEVAL,
    EVALPLUS,
    HUMANEVALPLUS_ORIGIN,
    MBPP,
    MBPPPLUS_ORIGIN,
    CRUXEVAL,
    HUMANEVALPACK,
    QUIXBUGS,
    CLASSEVAL,
    P3,
    GOOGLE_CONTESTS,
    HASHCODE,
    APPS,
    TACO,
    CODE_CONTESTS,
    CODEFORCES,
    LIVECODEBENCH,
    LIVEBENCH,
    SYNTHETIC_1,
    DEEPCODER,
):
    FORMATS.add(_format.name, _format)


# ------------------------------------------------------------------------ known sets
@dataclass(frozen=True, slots=True)
class KnownSet:
    """A set that has a name.

    Attributes:
        description: One line.
        load: Makes the set from what stands after `name/`, which may be empty.
    """

    description: str
    load: Callable[[str], TaskSet]


SETS: Final[Registry[KnownSet]] = Registry("a task set")

_BUILTIN: Final = Path(__file__).parent / "builtin"
_BUNDLED: Final = {
    "humaneval": ("HumanEval.jsonl.gz", "HumanEval: 164 functions from docstrings (test)"),
    "humanevalplus": (
        "HumanEvalPlus-Mini.jsonl.gz",
        "HumanEval+ Mini: the same 164 with more inputs (test)",
    ),
    "mbpp": ("mbpp.jsonl.gz", "MBPP: 974 short functions from one sentence (all splits)"),
    "mbpp-sanitized": (
        "sanitized-mbpp.json.gz",
        "MBPP sanitized: 427 of them, checked by hand (all splits)",
    ),
    "cruxeval": ("cruxeval.jsonl.gz", "CRUXEval: 800 calls to predict the result of (test)"),
    "humanevalpack": (
        "humanevalpack-python.jsonl.gz",
        "HumanEvalPack: 164 programs with one bug to mend (test)",
    ),
    "google_contests": (
        "google_contests.jsonl.gz",
        "Google contest archive: easy problems on standard input (all splits)",
    ),
}


def _bundled(name: str, file: str) -> Callable[[str], TaskSet]:
    def load(rest: str) -> TaskSet:
        tasks = TaskSet(iter_tasks(_BUILTIN / file), name)
        return TaskSet([tasks.get(rest)], f"{name}/{rest}") if rest else tasks

    return load


def _generated(rest: str) -> TaskSet:
    return pipelines(f"pipelines/{rest}" if rest else "pipelines")


for _name, (_file, _text) in _BUNDLED.items():
    SETS.add(_name, KnownSet(_text, _bundled(_name, _file)))
SETS.add(
    "pipelines",
    KnownSet(
        "generated: lists through steps, levels 1 to 5, as pipelines/<level>", _generated
    ),
)


def known_sets() -> dict[str, str]:
    """Return the names that `load_tasks` knows, each with one line about the set."""
    described: dict[str, str] = {}
    for name in SETS:
        if name == "pipelines":
            described |= {each: _describe_pipelines(each) for each in SET_NAMES}
        else:
            described[name] = SETS[name].description
    return described


def _describe_pipelines(name: str) -> str:
    _, level, *form = name.split("/")
    forms = {"stdio": "on standard input", "repair": "a program with one wrong step to mend"}
    told = forms[form[0]] if form else "a function of a list"
    return f"generated: integers through {level}-level steps, {told} (all splits)"


# --------------------------------------------------------------------------- loading
def load_tasks(
    name_or_path: str | Path, format: str | None = None, *, skip_bad: bool = False
) -> TaskSet:
    """Load a set of tasks.

    Args:
        name_or_path: The name of a known set (`known_sets` lists them), a set and one id
            in it (`mbpp/601`, `humaneval/HumanEval/0`, `pipelines/4/41`), or a path.
        format: Name of the file's format in `FORMATS`; None: by the first record.
        skip_bad: Leave out records that break the format and list them in `.skipped`.

    Raises:
        UnknownName: If no set, id or format has the name; suggests the nearest.
        BadConfig: If the path does not exist or cannot hold tasks, or two tasks have
            one id.
        BadRecord: At the first record that breaks the format, without `skip_bad`.
    """
    if isinstance(name_or_path, str) and not Path(name_or_path).exists():
        name, _, rest = name_or_path.partition("/")
        if name in SETS:
            return SETS[name].load(rest)
        if not _looks_like_a_path(name_or_path):
            raise unknown_name("a task set or of a file", name_or_path, list(known_sets()))
    skipped: list[BadRecord] = []
    on_bad = skipped.append if skip_bad else None
    tasks = list(iter_tasks(name_or_path, format, on_bad=on_bad))
    if not tasks:
        reason = f"; {skipped[0]}" if skipped else ""
        raise BadConfig(
            f"a task file must hold at least one task, got {str(name_or_path)!r} with "
            f"{len(skipped)} broken records and no other{reason}"
        )
    return TaskSet(tasks, str(name_or_path), skipped)


def _looks_like_a_path(text: str) -> bool:
    return text.endswith(SUFFIXES) or text.startswith((".", "/", "~")) or "\\" in text


def iter_tasks(
    path: str | Path,
    format: str | None = None,
    *,
    on_bad: Callable[[BadRecord], None] | None = None,
) -> Iterator[Task]:
    """Read the tasks of a file one after the other, in bounded memory.

    Args:
        path: The file or folder, as for `read_records`.
        format: Name of its format; None: by the first record that can be read.
        on_bad: Is given each broken record, which is then left out; None: raise it.

    Raises:
        UnknownName: If no format has the name.
        BadConfig: If the path does not exist or cannot hold tasks.
        BadRecord: At the first broken record, unless `on_bad` is given.
    """
    chosen = FORMATS[format] if format is not None else None
    for number, record in _lines(Path(path).expanduser(), chosen):
        try:
            if isinstance(record, BadRecord):
                raise record
            where = Where(str(path), number)
            if chosen is None:
                chosen = _detect(record, where)
            yield _read(chosen, record, where)
        except BadRecord as error:
            if on_bad is None:
                raise
            on_bad(error)


def _lines(path: Path, chosen: Format | None) -> Iterator[Line]:
    if chosen is not None and chosen.lines is not None:
        return chosen.lines(path)
    return read_records(path)


def _read(chosen: Format, record: Record, where: Where) -> Task:
    try:
        return chosen.read(record, where)
    except BadRecord:
        raise
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        # A loader that meets something unforeseen still has to say where.
        expected = f"a record of the format {chosen.name!r} ({type(error).__name__}: {error})"
        raise where.bad("record", record, expected) from error


def _detect(record: Record, where: Where) -> Format:
    """Return the format of a record.

    Raises:
        BadRecord: If no format or several match.
    """
    matching = [FORMATS[name] for name in FORMATS if FORMATS[name].matches(record)]
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(f.name for f in matching) if matching else ", ".join(FORMATS)
    expected = (
        f"of one format, but it fits several ({names}): say which with format="
        if matching
        else f"those of a known format ({names})"
    )
    raise where.bad("record", f"the fields {', '.join(sorted(record))}", expected)
