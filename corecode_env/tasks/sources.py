"""Sources: a name or a path becomes a task set.

    "humaneval"   "pipelines/4"   "mbpp/601"   my/tasks.jsonl.gz   ->  TaskSet

Names stand for bundled and generated sets; anything else is a file or a folder, whose
format follows from its first record unless it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from corecode_env.core.errors import BadConfig, BadRecord
from corecode_env.core.registry import Registry, unknown_name
from corecode_env.core.task import Task
from corecode_env.tasks import commit_messages, unit_tests
from corecode_env.tasks.apps import APPS, TACO
from corecode_env.tasks.classeval import CLASSEVAL
from corecode_env.tasks.code_contests import CODE_CONTESTS
from corecode_env.tasks.codeforces import CODEFORCES
from corecode_env.tasks.commit_messages import COMMIT_MESSAGES
from corecode_env.tasks.cruxeval import CRUXEVAL
from corecode_env.tasks.deepcoder import DEEPCODER
from corecode_env.tasks.evalplus import EVALPLUS, HUMANEVALPLUS_ORIGIN, MBPPPLUS_ORIGIN
from corecode_env.tasks.file_tasks import FileTasks, FileTaskSet, Placed
from corecode_env.tasks.files import SUFFIXES, indexed_lines, read_records
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
from corecode_env.tasks.problem_folder import (
    HEURISTICS,
    heuristics,
    is_problem_folder,
    load_folder,
)
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
    COMMIT_MESSAGES,
):
    FORMATS.add(_format.name, _format)


# ------------------------------------------------------------------------ known sets
@dataclass(frozen=True, slots=True)
class KnownSet:
    """A set that has a name.

    Attributes:
        description: One line.
        load: Makes the set from what stands after `name/`, which may be empty.
        parts: Full names of the sets in it, where there are several, each with one line.
    """

    description: str
    load: Callable[[str], TaskSet]
    parts: dict[str, str] = field(default_factory=dict)


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


def _describe_pipelines(name: str) -> str:
    _, level, *form = name.split("/")
    forms = {
        "stdio": "on standard input",
        "repair": "a program with one wrong step to mend",
        "io_prediction": "a call whose result is asked for",
    }
    told = forms[form[0]] if form else "a function of a list"
    return f"generated: integers through {level}-level steps, {told} (all splits)"


for _name, (_file, _text) in _BUNDLED.items():
    SETS.add(_name, KnownSet(_text, _bundled(_name, _file)))
SETS.add(
    "pipelines",
    KnownSet(
        "generated: lists through steps, levels 1 to 5, as pipelines/<level>",
        _generated,
        {each: _describe_pipelines(each) for each in SET_NAMES},
    ),
)
SETS.add(
    "unit_tests",
    KnownSet(
        "write tests, judged by coverage and faults found, as unit_tests/<set>",
        unit_tests.bundled,
        {
            "unit_tests/humaneval": "write tests for programs of HumanEval (test)",
            "unit_tests/mbpp-sanitized": "write tests for programs of MBPP (all splits)",
        },
    ),
)
SETS.add(
    "commit_message",
    KnownSet(
        "say in one line what a change does, as commit_message/<set>",
        commit_messages.bundled,
        {
            "commit_message/humanevalpack": "say what mends a bug of HumanEvalPack (test)",
            "commit_message/mbpp-sanitized": "say what mends a fault in MBPP (all splits)",
        },
    ),
)
SETS.add(
    "heuristics",
    KnownSet(
        "optimisation: small problems with a score to raise, as heuristics/<name>",
        heuristics,
        {
            "heuristics": "optimisation: all of heuristics/<name> (all splits)",
            **{
                f"heuristics/{name}": f"optimisation: {title} (all splits)"
                for name, title in HEURISTICS.items()
            },
        },
    ),
)


def known_sets() -> dict[str, str]:
    """Return the names that `load_tasks` knows, each with one line about the set."""
    described: dict[str, str] = {}
    for name in SETS:
        described |= SETS[name].parts or {name: SETS[name].description}
    return described


# --------------------------------------------------------------------------- loading
ON_DISK_BYTES: Final = 64 * 2**20
"""Size above which the tasks of a `.jsonl` file stay in it."""

OnBad = Callable[[BadRecord], None]


def load_tasks(
    name_or_path: str | Path,
    format: str | None = None,
    *,
    skip_bad: bool = False,
    on_disk: bool | None = None,
) -> TaskSet:
    """Load a set of tasks.

    Args:
        name_or_path: The name of a known set (`known_sets` lists them), a set and one id
            in it (`mbpp/601`, `humaneval/HumanEval/0`, `pipelines/4/41`), or a path.
        format: Name of the file's format in `FORMATS`; None: by the first record.
        skip_bad: Leave out records that break the format and list them in `.skipped`.
        on_disk: Leave the tasks in their `.jsonl` file and read each when it is asked for;
            None: if the file is larger than `ON_DISK_BYTES`.

    Raises:
        UnknownName: If no set, id or format has the name; suggests the nearest.
        BadConfig: If the path does not exist or cannot hold tasks, two tasks have one id,
            or tasks cannot stay in a file of this kind.
        BadRecord: At the first record that breaks the format, without `skip_bad`.
    """
    if isinstance(name_or_path, str) and not Path(name_or_path).exists():
        name, _, rest = name_or_path.partition("/")
        if name in SETS:
            return SETS[name].load(rest)
        if not _looks_like_a_path(name_or_path):
            raise unknown_name("a task set or of a file", name_or_path, list(known_sets()))
    if is_problem_folder(Path(name_or_path).expanduser()):
        return load_folder(Path(name_or_path).expanduser()).tasks()
    skipped: list[BadRecord] = []
    on_bad = skipped.append if skip_bad else None
    path = Path(name_or_path).expanduser()
    tasks: Sequence[Task] | FileTasks
    if _stays_on_disk(path, on_disk):
        chosen = FORMATS[format] if format is not None else None
        found = _read_all(indexed_lines(path), str(name_or_path), chosen, on_bad)
        tasks = FileTasks(path, (Placed.of(*each) for each in found))
    else:
        tasks = list(iter_tasks(name_or_path, format, on_bad=on_bad))
    if not tasks:
        reason = f"; {skipped[0]}" if skipped else ""
        raise BadConfig(
            f"a task file must hold at least one task, got {str(name_or_path)!r} with "
            f"{len(skipped)} broken records and no other{reason}"
        )
    if isinstance(tasks, FileTasks):
        return FileTaskSet(tasks, str(name_or_path), skipped)
    return TaskSet(tasks, str(name_or_path), skipped)


def _stays_on_disk(path: Path, wanted: bool | None) -> bool:
    fits = path.is_file() and path.suffix == ".jsonl"
    if wanted is None:
        return fits and path.stat().st_size > ON_DISK_BYTES
    if wanted and path.exists() and not fits:
        raise BadConfig(
            f"tasks can stay on disk in a .jsonl file only, got {str(path)!r}; convert it "
            f"once: corecode tasks show {path} --json > tasks.jsonl"
        )
    return wanted and fits


def _looks_like_a_path(text: str) -> bool:
    return text.endswith(SUFFIXES) or text.startswith((".", "/", "~")) or "\\" in text


def iter_tasks(
    path: str | Path,
    format: str | None = None,
    *,
    on_bad: OnBad | None = None,
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
    place = Path(path).expanduser()
    own = chosen.lines if chosen is not None else None
    lines = read_records(place) if own is None else own(place)
    placed = ((0, number, record) for number, record in lines)
    return (found.task for found in _read_all(placed, str(path), chosen, on_bad))


class _Found(NamedTuple):
    """A task, and how it came out of its file."""

    task: Task
    format: Format
    offset: int
    number: int


def _read_all(
    lines: Iterable[tuple[int, int, dict[str, Any] | BadRecord]],
    source: str,
    chosen: Format | None,
    on_bad: OnBad | None,
) -> Iterator[_Found]:
    for offset, number, record in lines:
        try:
            if isinstance(record, BadRecord):
                raise record
            where = Where(source, number)
            if chosen is None:
                chosen = _detect(record, where)
            yield _Found(chosen.task(record, where), chosen, offset, number)
        except BadRecord as error:
            if on_bad is None:
                raise
            on_bad(error)


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
