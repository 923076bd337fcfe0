"""Scripted: says what it was told to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from corecode_env.core.errors import BadConfig
from corecode_env.core.seams import Reply, Request

Answer = str | Reply
Script = str | Sequence[str] | Callable[[Request], Answer]


class ScriptedAgent:
    """Answers from a script.

    Args:
        script: One text for every turn; or one text a round, the last of which is repeated
            when rounds go on; or a function from the request to a text.

    Raises:
        BadConfig: If the script is none of these.

    Example:
        >>> twice = ScriptedAgent(["first try", "second try"])
        >>> request = Request("coder_0", "coder", {"round": 1}, (), "some-task")
        >>> twice.act([request])
        ['second try']
    """

    def __init__(self, script: Script) -> None:
        """Check the script."""
        if not callable(script):
            texts = (script,) if isinstance(script, str) else tuple(script)
            if not texts or not all(isinstance(text, str) for text in texts):
                raise BadConfig(
                    "a script must be a text, a non-empty list of texts or a function "
                    f"of the request, got {script!r}"
                )
            self.texts: tuple[str, ...] = texts
        self.script = script

    def act(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer every request by its round alone, so that batches change nothing."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Answer:
        if callable(self.script):
            return self.script(request)
        current = int(request.observation.get("round", 0))
        return self.texts[min(current, len(self.texts) - 1)]

    def __repr__(self) -> str:
        """Show the constructor call."""
        return f"ScriptedAgent({self.script!r})"
