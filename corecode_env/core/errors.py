"""Errors: everything this package raises on purpose, on one screen.

    CorecodeError
    ├── UnknownName        (LookupError)   a name that no registry, set or space knows
    ├── BadRecord          (ValueError)    a record of a file that breaks its format
    ├── BadConfig          (ValueError)    an argument, option or knob that cannot work
    ├── SplitError         (ValueError)    training on data that is meant for testing
    ├── RewardError        (ValueError)    a reward term of a wrong shape, or one that failed
    ├── EpisodeError       (RuntimeError)  a step that the environment's rules forbid
    ├── ExecutorError      (RuntimeError)  the sandbox itself failed or was closed
    │   └── IsolationRefused               this machine cannot give the isolation asked for
    ├── AgentError         (RuntimeError)  an agent that could not answer
    ├── TrainingError      (RuntimeError)  a loss or gradient that is no number
    ├── ConformanceError   (AssertionError) an environment that breaks a promise
    └── MissingExtra       (ImportError)   an optional dependency is not installed

A program that crashes, hangs or lies is not an error: it is a `Verdict`. Each message
says what must hold, which value broke it, and the way out.
"""


class CorecodeError(Exception):
    """Root of every error that this package raises on purpose."""


class UnknownName(CorecodeError, LookupError):
    """A name that nothing is registered under."""

    # LookupError's children print repr(args[0]); people should read a sentence.
    def __str__(self) -> str:
        """Return the message as a sentence."""
        return str(self.args[0]) if self.args else ""


class BadConfig(CorecodeError, ValueError):
    """An argument, option or knob whose value cannot work."""


class SplitError(CorecodeError, ValueError):
    """An attempt to train on tasks that are meant for testing."""


class RewardError(CorecodeError, ValueError):
    """A reward term of a wrong shape, or one that raised or returned nonsense."""


class EpisodeError(CorecodeError, RuntimeError):
    """A step that the rules of the environment forbid at this moment."""


class ExecutorError(CorecodeError, RuntimeError):
    """The sandbox itself failed; says nothing about any program."""


class IsolationRefused(ExecutorError):
    """This machine cannot give the isolation level that was asked for."""


class AgentError(CorecodeError, RuntimeError):
    """An agent that could not answer; says nothing about what it would have said."""


class TrainingError(CorecodeError, RuntimeError):
    """A loss or a gradient that is not finite: going on would ruin the weights."""


class ConformanceError(CorecodeError, AssertionError):
    """An environment that breaks a promise which agents and trainers build on."""


class MissingExtra(CorecodeError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, library: str, extra: str, then: str | None = None) -> None:
        """Name the library that is missing and the extra that brings it.

        Args:
            library: What is missing.
            extra: The extra that brings it.
            then: A second command, where no extra can bring it.
        """
        comes = "it comes with" if then is None else "it is installed beside"
        super().__init__(
            f"{library} is not installed; {comes} the extra {extra!r}: "
            f"pip install 'corecode-env[{extra}]'" + (f" && {then}" if then else "")
        )
        self.library = library
        self.extra = extra


class BadRecord(CorecodeError, ValueError):
    """A record that breaks its file's format.

    Attributes:
        source: File or set that holds the record.
        line: Line (JSON Lines) or index (arrays) of the record, from 1; None if unknown.
        field: Field that is wrong, dotted for nested ones.
        found: What stood there, shortened.
        expected: The form that was expected.
    """

    def __init__(
        self, *, source: str, line: int | None, field: str, found: object, expected: str
    ) -> None:
        """Build the one-line message from its five parts."""
        shown = repr(found)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        where = f"{source}:{line}" if line is not None else source
        super().__init__(
            f"{where}: field {field!r} must be {expected}, got {shown}; mend the "
            "record, or skip broken ones with skip_bad=True (--skip-bad)"
        )
        self.source = source
        self.line = line
        self.field = field
        self.found = shown
        self.expected = expected
