"""Suite run: tests that an agent wrote, run against a program of ours.

    program + a conversation with the tests  ->  what they reached, and each call they made

The tests run in a process of their own, as any program of an agent does, and reach the
program through calls alone: plain values go to it, plain values or exceptions come back.
So nothing that the tests do can read the program's text or touch what is counted here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from corecode_env.core.values import NotPlain, to_jsonable
from corecode_env.executor.inside.instrument import (
    Reached,
    TooLong,
    instrument,
    namespace_of,
)

MAX_CALLS: Final = 2000
"""Most calls of one suite: more would make the report of what was called too long."""

# Not the name of the module of test code, whose objects the tests might look into.
_MODULE: Final = "subject"


class Targets:
    """What a program's own tests reach: all that there is to be reached.

    Raises:
        AssertionError: Or anything else that the program or its own tests raise.
    """

    def __init__(self, source: str, entry: str, tests: Sequence[str], most_steps: int) -> None:
        """Run a program's own tests.

        Args:
            source: The program.
            entry: Name of its function.
            tests: Test code that must pass.
            most_steps: Statements that the program may execute.
        """
        self.reached = Reached(most_steps)
        code = instrument(source)
        for test in tests:
            # Each test finds the program as it is at first.
            names = namespace_of(code, self.reached, _MODULE)
            if not callable(names.get(entry)):
                raise NameError(f"the program defines no function {entry}")
            exec(compile(test, "test.py", "exec", dont_inherit=True), names)

    def counts(self, reached: Reached) -> dict[str, list[int]]:
        """Return how many of the targets were reached, and how many there are."""
        mine = self.reached
        return {
            "line": [len(mine.statements & reached.statements), len(mine.statements)],
            "branch": [len(mine.branches & reached.branches), len(mine.branches)],
        }


class Recorder:
    """The function that tests call in the program's place.

    Attributes:
        reached: What the calls reached.
        calls: For each call a text that says what was asked and what came back.
        broken: Why the run cannot count, empty if it can.
    """

    def __init__(self, source: str, entry: str, most_steps: int) -> None:
        """Load the program.

        Raises:
            Exception: Whatever its module raises.
        """
        self.reached = Reached(most_steps)
        names = namespace_of(instrument(source), self.reached, _MODULE)
        self._function: Callable[..., Any] = names[entry]
        self.calls: list[str] = []
        self.broken = ""

    def function(self) -> Callable[..., Any]:
        """Return the function, as a plain one: of that tests can do nothing but call it."""

        def subject(*args: Any, **kwargs: Any) -> Any:
            return self._call(args, kwargs)

        return subject

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(self.calls) >= MAX_CALLS:
            self.broken = f"tests may make at most {MAX_CALLS} calls"
            raise RuntimeError(self.broken)
        try:
            asked = _digest(to_jsonable([list(args), kwargs]))
        except NotPlain as error:
            raise TypeError(f"tests may pass plain values only: {error}") from error
        try:
            result = self._function(*args, **kwargs)
        except TooLong as error:
            self.calls.append(f"{asked}:long")
            raise RuntimeError(str(error)) from None
        except BaseException as error:
            self.calls.append(f"{asked}:!{type(error).__name__}")
            raise
        try:
            answer = _digest(to_jsonable(result))
        except NotPlain:
            self.calls.append(f"{asked}:?{type(result).__name__}")
            raise TypeError("the program returned no plain value") from None
        self.calls.append(f"{asked}:{answer}")
        return result


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]
