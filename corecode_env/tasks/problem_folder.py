"""Problem folders: a statement, a generator of instances and a scorer become tasks.

    statement.md + generate.py + score.py  ->  one Task a seed, each with its own instances

`generate.py` defines `generate(seed) -> str` and is run here, when tasks are made; it
belongs to whoever wrote the problem, and must give the same text for the same seed.
`score.py` defines `score(instance, output) -> float`, larger is better, and raises
ValueError for an invalid output; it is run by the judge, in the sandbox. Optional:
`decent.py`, the program that tasks get as their reference, and `problem.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal

from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import unknown_name
from corecode_env.core.seeding import derive_seed
from corecode_env.core.source import parse_quietly
from corecode_env.core.task import Checker, Limits, ScoreTest, Stdio, Task
from corecode_env.tasks.splits import split_by_number
from corecode_env.tasks.taskset import TaskSet

NEEDED: Final = ("statement.md", "generate.py", "score.py")
"""Files that make a folder a problem."""
REFERENCE: Final = "decent.py"
SETTINGS: Final = "problem.toml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What `problem.toml` may say."""

    tasks: int = 20
    """Tasks of the set: those of the seeds from 0 on."""
    instances: int = 4
    """Hidden instances of a task; one more is public."""
    cpu_seconds: float = 5.0
    """CPU time for one instance."""
    memory_mib: int = 512
    """Memory for one instance, in MiB."""
    licence: str = ""
    """Licence of the problem."""

    def __post_init__(self) -> None:
        """Refuse what could only fail later."""
        for name, least in (("tasks", 1), ("instances", 1), ("memory_mib", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise BadConfig(f"{name} must be a whole number from {least}, got {value!r}")
        if type(self.cpu_seconds) not in (int, float) or not 0 < self.cpu_seconds < 1e6:
            raise BadConfig(
                f"cpu_seconds must be a number of seconds above 0, got {self.cpu_seconds!r}"
            )
        if type(self.licence) is not str:
            raise BadConfig(f"licence must be text, got {self.licence!r}")


def is_problem_folder(path: Path) -> bool:
    """Return whether a path is a folder with one of the files that make a problem."""
    return any((path / name).is_file() for name in NEEDED)


def load_folder(path: Path, name: str | None = None, *, source: str = "") -> Problem:
    """Read a problem.

    Args:
        path: The folder.
        name: What its tasks are called: `<name>/<seed>`; None: as the folder.
        source: `metadata["source"]` of the tasks; empty: the name.

    Raises:
        BadConfig: If a file is missing, cannot be read or run, or a setting cannot work.
    """
    missing = [file for file in NEEDED if not (path / file).is_file()]
    if missing:
        raise BadConfig(
            f"a problem folder must hold {', '.join(NEEDED)}, got {str(path)!r} without "
            f"{', '.join(missing)}"
        )
    statement, generator, scorer = (_text(path / file) for file in NEEDED)
    _require_function(scorer, "score", path / "score.py")
    reference = _text(path / REFERENCE) if (path / REFERENCE).is_file() else None
    return Problem(
        name=name or path.resolve().name,
        statement=statement,
        generate=_generator(generator, path / "generate.py"),
        scorer=scorer,
        settings=_settings(path / SETTINGS),
        reference=reference,
        source=source,
    )


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, of which every seed makes a task."""

    name: str
    statement: str
    generate: Callable[[int], str]
    scorer: str
    settings: Settings
    reference: str | None
    source: str

    def task(self, seed: int) -> Task:
        """Make the task of a seed; equal seeds give equal tasks.

        The seed also says to which split the task belongs: its last digit 8 is validation,
        9 test, any other train.

        Raises:
            BadConfig: If the generator fails, or what it returns is no text.
        """
        tests = [
            ScoreTest(self.generate(derive_seed(seed, "instance", number)), f"{seed}.{number}")
            for number in range(1 + self.settings.instances)
        ]
        chosen = self.settings
        return Task(
            id=f"{self.name}/{seed}",
            statement=self.statement,
            interface=Stdio(),
            public_tests=tuple(tests[:1]),
            hidden_tests=tuple(tests[1:]),
            checker=Checker("source", source=self.scorer),
            limits=Limits(
                cpu_seconds=chosen.cpu_seconds,
                wall_seconds=3 * chosen.cpu_seconds,
                memory_bytes=chosen.memory_mib * 2**20,
            ),
            reference_program=self.reference,
            kind="optimize",
            metadata={
                "source": self.source or self.name,
                "licence": chosen.licence,
                "difficulty": "open",
                "split": split_by_number(seed),
            },
        )

    def tasks(self, seeds: Iterable[int] | None = None) -> TaskSet:
        """Return the set of all tasks, or of those of some seeds."""
        chosen = range(self.settings.tasks) if seeds is None else seeds
        return TaskSet((self.task(seed) for seed in chosen), self.name)


# ---------------------------------------------------------------------- bundled problems
_HEURISTICS: Final = Path(__file__).parent / "heuristics"
HEURISTICS: Final = {
    "cargo": "load a van within two limits",
    "courier": "a short round through all places",
    "harvest": "walk where the crops are",
    "rivals": "seat rivals apart",
    "rolls": "cut strips from few rolls",
    "workshop": "plan jobs and tools on machines",
}
"""Problems that come with the package, each with what it asks for."""


def heuristics(rest: str) -> TaskSet:
    """Return the tasks of all bundled problems, of one, or one task.

    Args:
        rest: Empty, `courier`, or `courier/7`; any seed from 0 makes a task.

    Raises:
        UnknownName: If there is no such problem or seed.
    """
    if not rest:
        every = [task for name in HEURISTICS for task in _bundled(name).tasks()]
        return TaskSet(every, "heuristics")
    name, _, seed = rest.partition("/")
    if name not in HEURISTICS:
        known = [f"heuristics/{each}" for each in HEURISTICS]
        raise unknown_name("a set of heuristics", f"heuristics/{rest}", known)
    problem = _bundled(name)
    if not seed:
        return problem.tasks()
    if not (seed.isascii() and seed.isdigit()):
        known = [f"{problem.name}/{each}" for each in range(problem.settings.tasks)]
        raise unknown_name(f"a task of {problem.name}", f"heuristics/{rest}", known)
    return problem.tasks([int(seed)])


def program_of(name: str, which: Literal["trivial", "decent"]) -> str:
    """Return one of the two programs of a bundled problem.

    Args:
        name: One of `HEURISTICS`.
        which: The valid answer without thought, or the reference.
    """
    return _text(_HEURISTICS / name / f"{which}.py")


def _bundled(name: str) -> Problem:
    return load_folder(_HEURISTICS / name, f"heuristics/{name}", source="heuristics")


# -------------------------------------------------------------------------------- reading
def _text(path: Path) -> str:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} must be a readable UTF-8 file: {error}") from error
    if not text.strip():
        raise BadConfig(f"{path} must not be empty")
    return text


def _settings(path: Path) -> Settings:
    if not path.is_file():
        return Settings()
    try:
        given: dict[str, Any] = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{path} must be TOML: {error}") from error
    known = [field.name for field in fields(Settings)]
    for name in given:
        if name not in known:
            raise unknown_name(f"a setting of {path.name}", name, known)
    try:
        return Settings(**given)
    except BadConfig as error:
        raise BadConfig(f"{path}: {error}") from error


def _require_function(source: str, name: str, path: Path) -> None:
    try:
        body = parse_quietly(source).body
    except (SyntaxError, ValueError) as error:
        raise BadConfig(f"{path} must be Python that parses: {error}") from error
    if not any(getattr(node, "name", None) == name for node in body):
        raise BadConfig(f"{path} must define {name}(), got no function of the name")


def _generator(source: str, path: Path) -> Callable[[int], str]:
    """Run a generator's module and return its function, with its mistakes made sayable."""
    _require_function(source, "generate", path)
    namespace: dict[str, Any] = {"__name__": "generate", "__file__": str(path)}

    def generate(seed: int) -> str:
        instance = _generated(seed)
        if instance != _generated(seed):
            raise BadConfig(
                f"generate() of {path} must return the same text for the same seed, got two "
                f"for {seed}: take every chance from random.Random(seed)"
            )
        return instance

    def _generated(seed: int) -> str:
        try:
            instance = namespace["generate"](seed)
        except Exception as error:
            raise BadConfig(
                f"generate() of {path} must return an instance, got "
                f"{type(error).__name__}: {error}"
            ) from error
        if type(instance) is not str or not instance:
            raise BadConfig(
                f"generate() of {path} must return text that is not empty, got {instance!r}"
            )
        return instance

    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), namespace)
    except Exception as error:
        raise BadConfig(
            f"{path} must run without an error, got {type(error).__name__}: {error}"
        ) from error
    return generate
