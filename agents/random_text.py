"""Random text: the floor of every table, and a fuzzer for environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from corecode_env.core.errors import BadConfig
from corecode_env.core.messages import fenced
from corecode_env.core.seams import Request
from corecode_env.core.seeding import generator

_WORDS: Final = (
    *("for", "x", "in", "range", "(", ")", ":", "\n", "    ", "return", "print", "input"),
    *("0", "1", "+", "[", "]", "=", "if", "else", "def", "import", ",", ".", "'", "None"),
    *("```", "```python\n", "\r\n", "\t", "\x00", "é", "中", "🙂", "\u2028", "lambda", "#"),
)


class RandomAgent:
    """Answers with random pieces of text, most of which no compiler takes.

    The text depends on the request's seed alone. Half of the answers are fenced, and some
    are empty, so that all ways to find a program are walked.

    Args:
        max_pieces: Most pieces in one answer.

    Raises:
        BadConfig: If `max_pieces` is negative.
    """

    def __init__(self, max_pieces: int = 40) -> None:
        """Check the length."""
        if max_pieces < 0:
            raise BadConfig(f"max_pieces must not be negative, got {max_pieces}")
        self.max_pieces = max_pieces

    def act(self, requests: Sequence[Request]) -> list[str]:
        """Answer every request from its own seed."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> str:
        rng = generator(request.seed, "random text", request.agent)
        size = int(rng.integers(0, self.max_pieces + 1))
        text = " ".join(_WORDS[i] for i in rng.integers(0, len(_WORDS), size=size))
        return fenced(text) if rng.random() < 0.5 else text

    def __repr__(self) -> str:
        """Show the constructor call."""
        return f"RandomAgent(max_pieces={self.max_pieces})"
