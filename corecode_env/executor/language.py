"""Languages: how a program's text becomes a process.

A language names the warm process that runs its programs and packs a program for it. The
rest of the executor (slots, limits, verdicts) knows no language. Python is the only one;
another is one more object with these two methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

MAX_SOURCE_CHARS: Final = 4 * 2**20
"""Longer programs are refused as not compiling: nobody writes them by hand."""


class Language(Protocol):
    """How to compile, how to start."""

    @property
    def name(self) -> str:
        """Name as users type it."""
        ...

    def warm_process(self, sources: tuple[str, ...]) -> str:
        """Return the kind of warm process that suits these sources (`plain`, `numpy`)."""
        ...

    def pack(self, program: str, preamble: str) -> bytes | None:
        """Return what the child reads and compiles; None if no compiler would take it."""
        ...


@dataclass(frozen=True, slots=True)
class Python:
    """Python, by the interpreter that runs this package."""

    numpy: bool = True
    """Whether programs that mention numpy get an interpreter that has it loaded."""

    @property
    def name(self) -> str:
        """Name as users type it."""
        return "python"

    def warm_process(self, sources: tuple[str, ...]) -> str:
        """Return `numpy` if any source mentions it.

        A mention is enough: it costs a millisecond where none was needed, and also finds
        imports that are made from strings.
        """
        wanted = self.numpy and any("numpy" in source for source in sources)
        return "numpy" if wanted else "plain"

    def pack(self, program: str, preamble: str) -> bytes | None:
        """Return size of the preamble (8 bytes), preamble, program."""
        if len(program) > MAX_SOURCE_CHARS:
            return None
        given = preamble.encode("utf-8", "surrogatepass")
        # Lone surrogates cannot be source; the child's compiler says so.
        source = program.encode("utf-8", "surrogatepass")
        return len(given).to_bytes(8, "little") + given + source
