"""Human: a person at a terminal plays a role."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, TextIO

from corecode_env.core.errors import EpisodeError
from corecode_env.core.seams import Request

END: Final = "."
"""A line with this alone ends an answer, as in old mail programs."""


class HumanAgent:
    """Shows the prompt, reads lines until one that holds only a dot.

    Args:
        source: Where lines come from; None: standard input.
        sink: Where prompts go; None: standard error, so that output can be piped.
    """

    def __init__(self, source: TextIO | None = None, sink: TextIO | None = None) -> None:
        """Keep the streams; the standard ones are looked up when needed."""
        self.source = source
        self.sink = sink

    def act(self, requests: Sequence[Request]) -> list[str]:
        """Ask the person once for each request.

        Raises:
            EpisodeError: If the input ends before anything was written.
        """
        return [self._ask(request) for request in requests]

    def _ask(self, request: Request) -> str:
        source, sink = self.source or sys.stdin, self.sink or sys.stderr
        rule = "-" * 72
        prompt = request.observation.get("prompt", "")
        sink.write(
            f"{rule}\nYou are {request.agent} on task {request.task_id}.\n{rule}\n{prompt}\n"
            f"{rule}\nYour answer; end it with a line that holds only {END!r}:\n"
        )
        sink.flush()
        lines: list[str] = []
        while True:
            line = source.readline()
            if not line and not lines:
                raise EpisodeError(
                    f"the person who plays {request.agent} must write an answer, got the "
                    f"end of input; write some lines and then one with only {END!r}"
                )
            if not line or line.rstrip("\r\n") == END:
                return "".join(lines)
            lines.append(line)

    def __repr__(self) -> str:
        """Show the class; streams say nothing to a reader."""
        return "HumanAgent()"
