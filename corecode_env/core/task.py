"""Tasks: one problem as data. A task never runs anything.

    a record of a file  ->  Task  ->  environments, executor

Everything here is frozen, compares by value, and goes to JSON and back without loss. The
JSON form is the package's own task format, one object a line (`docs/tasks/jsonl.md`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal

from corecode_env.core.errors import BadRecord
from corecode_env.core.values import NotPlain, from_jsonable, to_jsonable

TaskKind = Literal[
    "code", "io_prediction", "unit_tests", "repair", "commit_message", "optimize"
]
KINDS: Final[tuple[str, ...]] = (
    "code",
    "io_prediction",
    "unit_tests",
    "repair",
    "commit_message",
    "optimize",
)
"""What the last agent hands in, and so how it is judged."""


# --------------------------------------------------------------------- interfaces
@dataclass(frozen=True, slots=True)
class Stdio:
    """The program reads standard input and writes standard output."""


@dataclass(frozen=True, slots=True)
class Function:
    """The program defines a function or class that the tests call."""

    name: str
    """Entry point; the only candidate name that may shadow a builtin in test code."""
    signature: str = ""
    """The `def` line as shown to agents; empty if the source gives none."""
    preamble: str = ""
    """Source run before the program in the same namespace: the imports and helpers that
    the statement shows as given."""


@dataclass(frozen=True, slots=True)
class Script:
    """The submission is taken whole: a literal, a message, a script."""


Interface = Stdio | Function | Script


# -------------------------------------------------------------------------- tests
@dataclass(frozen=True, slots=True)
class StdioTest:
    """Feed `input`, compare what is printed with `output` by the task's checker."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class CallTest:
    """Call the entry point with plain values, compare the result with `expected`."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None


@dataclass(frozen=True, slots=True)
class AssertTest:
    """Test code: passes when it runs to its end and the program was called in it.

    The code must bring every helper that sees a result or an expected value; names that
    it leaves open are looked up in builtins, then in the program.
    """

    code: str


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """Feed `instance`, let the task's scorer turn what is printed into a number."""

    instance: str
    name: str = ""
    reference: float | None = None
    """Raw score that counts as 1.0; None: the scorer's number is taken as it is."""


Test = StdioTest | CallTest | AssertTest | ScoreTest


# ------------------------------------------------------------- checker and limits
@dataclass(frozen=True, slots=True)
class Checker:
    """How results are compared, or outputs scored. Larger scores are better.

    A named built-in with options (`corecode_env.executor.compare` lists them), or source
    that runs in a judge slot of the sandbox: it defines `check(input, output, expected)`
    returning a bool or a float in [0, 1], or `score(instance, output)` returning a
    finite float, or raising ValueError for an invalid output.
    """

    name: str = "default"
    options: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one test may use."""

    cpu_seconds: float = 5.0
    """CPU time by the kernel's clock, in seconds."""
    wall_seconds: float = 15.0
    """Wall time, in seconds: a generous second limit for programs that sleep."""
    memory_bytes: int = 512 * 2**20
    """Peak memory above the bare interpreter's, in bytes."""
    output_bytes: int = 2**20
    """Bytes on standard output and standard error, each. Above 8 MiB it also lets a reply
    of a call be as long."""
    scratch_bytes: int = 0
    """Bytes of files in a private folder that program and test code share; 0: there is no
    such folder, and nothing can be written."""

    def __post_init__(self) -> None:
        """Refuse limits that no program could meet."""
        for name in ("cpu_seconds", "wall_seconds", "memory_bytes", "output_bytes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{name} must be a number, got {value!r}")
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be positive and finite, got {value!r}")
        scratch = self.scratch_bytes
        if isinstance(scratch, bool) or not isinstance(scratch, int) or scratch < 0:
            raise ValueError(f"scratch_bytes must be a whole number from 0, got {scratch!r}")


# --------------------------------------------------------------------------- task
@dataclass(frozen=True, slots=True)
class Task:
    """One problem: a statement, how a program is called, and tests with their limits.

    Raises:
        ValueError: If `kind` is unknown, or the task has no test at all (an empty test
            list would make every program right).
    """

    id: str
    statement: str
    interface: Interface
    public_tests: tuple[Test, ...] = ()
    """Tests that agents may see, in text and in feedback."""
    hidden_tests: tuple[Test, ...] = ()
    """Tests of which nothing reaches an agent."""
    checker: Checker = Checker()
    limits: Limits = Limits()
    """Limits of each test."""
    reference_program: str | None = None
    reference_plan: str | None = None
    kind: TaskKind = "code"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Plain values: source, licence, difficulty, tags, split."""

    def __post_init__(self) -> None:
        """Refuse what could only fail later, in the judge."""
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {self.kind!r}")
        if not self.tests:
            raise ValueError(
                f"task {self.id!r} must have at least one test: without tests every "
                "program would pass"
            )

    @property
    def tests(self) -> tuple[Test, ...]:
        """All tests in the order of judgement: public first, then hidden."""
        return self.public_tests + self.hidden_tests

    def with_limits(self, limits: Limits) -> Task:
        """Return the same task under other limits."""
        return replace(self, limits=limits)

    def to_json(self) -> dict[str, Any]:
        """Return the task as one object of our JSON Lines format."""
        record: dict[str, Any] = {
            "id": self.id,
            "statement": self.statement,
            "interface": _interface_to_json(self.interface),
            "public_tests": [_test_to_json(test) for test in self.public_tests],
            "hidden_tests": [_test_to_json(test) for test in self.hidden_tests],
            "limits": {
                "cpu_seconds": self.limits.cpu_seconds,
                "wall_seconds": self.limits.wall_seconds,
                "memory_bytes": self.limits.memory_bytes,
                "output_bytes": self.limits.output_bytes,
            },
            "kind": self.kind,
        }
        if self.limits.scratch_bytes:
            record["limits"]["scratch_bytes"] = self.limits.scratch_bytes
        if self.checker != Checker():
            record["checker"] = {
                "name": self.checker.name,
                "options": to_jsonable(dict(self.checker.options)),
                "source": self.checker.source,
            }
        if self.reference_program is not None:
            record["reference_program"] = self.reference_program
        if self.reference_plan is not None:
            record["reference_plan"] = self.reference_plan
        if self.metadata:
            record["metadata"] = to_jsonable(dict(self.metadata))
        return record

    @classmethod
    def from_json(
        cls, record: Any, *, source: str = "<record>", line: int | None = None
    ) -> Task:
        """Build a task from one object of our JSON Lines format.

        Args:
            record: The object.
            source: File or set it comes from, for the message.
            line: Its line, from 1, for the message.

        Raises:
            BadRecord: If a field is missing, unknown, or has another form.
        """
        return _TaskReader(source, line).task(record)


# ------------------------------------------------------------------- JSON, writing
def _interface_to_json(interface: Interface) -> dict[str, Any]:
    match interface:
        case Stdio():
            return {"kind": "stdio"}
        case Script():
            return {"kind": "script"}
        case Function(name, signature, preamble):
            record = {"kind": "function", "name": name}
            if signature:
                record["signature"] = signature
            if preamble:
                record["preamble"] = preamble
            return record


def _test_to_json(test: Test) -> dict[str, Any]:
    match test:
        case StdioTest(given, output):
            return {"kind": "stdio", "input": given, "output": output}
        case AssertTest(code):
            return {"kind": "assert", "code": code}
        case CallTest(args, kwargs, expected):
            return {
                "kind": "call",
                "args": [to_jsonable(arg) for arg in args],
                "kwargs": {key: to_jsonable(value) for key, value in kwargs.items()},
                "expected": to_jsonable(expected),
            }
        case ScoreTest(instance, name, reference):
            record: dict[str, Any] = {"kind": "score", "instance": instance}
            if name:
                record["name"] = name
            if reference is not None:
                record["reference"] = reference
            return record


# ------------------------------------------------------------------- JSON, reading
_MISSING: Final = object()


class _TaskReader:
    """Reads one record; knows where it stands, so that errors can say it."""

    def __init__(self, source: str, line: int | None) -> None:
        self.source = source
        self.line = line

    def bad(self, name: str, found: object, expected: str) -> BadRecord:
        shown = "nothing" if found is _MISSING else found
        return BadRecord(
            source=self.source,
            line=self.line,
            field=name,
            found=shown,
            expected=expected,
        )

    def object(self, value: Any, name: str, known: frozenset[str] | None) -> dict[str, Any]:
        if type(value) is not dict:
            raise self.bad(name, value, "a JSON object")
        for key in value:
            if known is not None and key not in known:
                path = f"{name}.{key}" if name != "record" else key
                expected = f"left out (known here: {', '.join(sorted(known))})"
                raise self.bad(path, value[key], expected)
        return value

    def string(self, value: Any, name: str) -> str:
        if type(value) is not str:
            raise self.bad(name, value, "a string")
        return value

    def plain(self, value: Any, name: str) -> Any:
        try:
            return from_jsonable(value)
        except NotPlain as error:
            raise self.bad(name, value, f"a plain value ({error})") from error

    def task(self, record: Any) -> Task:
        fields = self.object(record, "record", _TASK_FIELDS)
        options: dict[str, Any] = {}
        for name in ("reference_program", "reference_plan"):
            if fields.get(name) is not None:
                options[name] = self.string(fields[name], name)
        if "checker" in fields:
            options["checker"] = self.checker(fields["checker"])
        if "limits" in fields:
            options["limits"] = self.limits(fields["limits"])
        if "metadata" in fields:
            metadata = self.object(fields["metadata"], "metadata", None)
            options["metadata"] = self.plain(metadata, "metadata")
        kind = fields.get("kind", "code")
        if kind not in KINDS:
            raise self.bad("kind", kind, f"one of {', '.join(KINDS)}")
        public = self.tests(fields.get("public_tests", []), "public_tests")
        hidden = self.tests(fields.get("hidden_tests", []), "hidden_tests")
        if not public and not hidden:
            raise self.bad("hidden_tests", [], "at least one test, public or hidden")
        return Task(
            id=self.string(fields.get("id", _MISSING), "id"),
            statement=self.string(fields.get("statement", _MISSING), "statement"),
            interface=self.interface(fields.get("interface", _MISSING)),
            public_tests=public,
            hidden_tests=hidden,
            kind=kind,
            **options,
        )

    def interface(self, value: Any) -> Interface:
        known = frozenset({"kind", "name", "signature", "preamble"})
        fields = self.object(value, "interface", known)
        match fields.get("kind"):
            case "stdio":
                return Stdio()
            case "script":
                return Script()
            case "function":
                return Function(
                    self.string(fields.get("name", _MISSING), "interface.name"),
                    self.string(fields.get("signature", ""), "interface.signature"),
                    self.string(fields.get("preamble", ""), "interface.preamble"),
                )
            case other:
                raise self.bad("interface.kind", other, "stdio, function or script")

    def checker(self, value: Any) -> Checker:
        if type(value) is str:
            return Checker(name=value)
        fields = self.object(value, "checker", frozenset({"name", "options", "source"}))
        options = self.object(fields.get("options", {}), "checker.options", None)
        return Checker(
            name=self.string(fields.get("name", "default"), "checker.name"),
            options=self.plain(options, "checker.options"),
            source=self.string(fields.get("source", ""), "checker.source"),
        )

    def limits(self, value: Any) -> Limits:
        known = frozenset(field.name for field in dataclasses.fields(Limits))
        fields = self.object(value, "limits", known)
        try:
            return Limits(**fields)
        except ValueError as error:
            raise self.bad("limits", fields, f"limits in numbers ({error})") from error

    def tests(self, value: Any, name: str) -> tuple[Test, ...]:
        if type(value) is not list:
            raise self.bad(name, value, "a list of tests")
        return tuple(self.test(item, f"{name}[{i}]") for i, item in enumerate(value))

    def test(self, value: Any, name: str) -> Test:
        if type(value) is not dict:
            raise self.bad(name, value, "a JSON object")
        kind = value.get("kind")
        if type(kind) is not str or kind not in _TEST_READERS:
            raise self.bad(f"{name}.kind", kind, "stdio, call, assert or score")
        known, read = _TEST_READERS[kind]
        return read(self, self.object(value, name, known), name)

    def stdio_test(self, fields: dict[str, Any], name: str) -> Test:
        return StdioTest(
            self.string(fields.get("input", _MISSING), f"{name}.input"),
            self.string(fields.get("output", _MISSING), f"{name}.output"),
        )

    def assert_test(self, fields: dict[str, Any], name: str) -> Test:
        return AssertTest(self.string(fields.get("code", _MISSING), f"{name}.code"))

    def call_test(self, fields: dict[str, Any], name: str) -> Test:
        if "expected" not in fields:
            # A missing expectation must never accept everything.
            raise self.bad(f"{name}.expected", _MISSING, "the expected plain value")
        args = fields.get("args", [])
        if type(args) is not list:
            raise self.bad(f"{name}.args", args, "a list of plain values")
        kwargs = self.object(fields.get("kwargs", {}), f"{name}.kwargs", None)
        return CallTest(
            tuple(self.plain(arg, f"{name}.args") for arg in args),
            {key: self.plain(v, f"{name}.kwargs") for key, v in kwargs.items()},
            self.plain(fields["expected"], f"{name}.expected"),
        )

    def score_test(self, fields: dict[str, Any], name: str) -> Test:
        reference = fields.get("reference")
        if reference is not None and (
            isinstance(reference, bool)
            or not isinstance(reference, int | float)
            or not math.isfinite(reference)
        ):
            raise self.bad(f"{name}.reference", reference, "a finite number")
        return ScoreTest(
            self.string(fields.get("instance", _MISSING), f"{name}.instance"),
            self.string(fields.get("name", ""), f"{name}.name"),
            reference,
        )


_TASK_FIELDS: Final = frozenset(
    {
        "id",
        "statement",
        "interface",
        "public_tests",
        "hidden_tests",
        "limits",
        "checker",
        "reference_program",
        "reference_plan",
        "kind",
        "metadata",
    }
)
_TestReader = Callable[[_TaskReader, dict[str, Any], str], Test]
_TEST_READERS: Final[Mapping[str, tuple[frozenset[str], _TestReader]]] = MappingProxyType(
    {
        "stdio": (
            frozenset({"kind", "input", "output"}),
            _TaskReader.stdio_test,
        ),
        "call": (
            frozenset({"kind", "args", "kwargs", "expected"}),
            _TaskReader.call_test,
        ),
        "assert": (frozenset({"kind", "code"}), _TaskReader.assert_test),
        "score": (
            frozenset({"kind", "instance", "name", "reference"}),
            _TaskReader.score_test,
        ),
    }
)
