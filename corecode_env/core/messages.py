"""Messages: taking a program out of what a model wrote."""

from __future__ import annotations

import re
from functools import lru_cache

from corecode_env.core.episode import Submission

_OPENING = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n`]*$", re.MULTILINE)
_PYTHON = frozenset({"python", "py", "python3"})


def extract_program(action: str, language: str = "python") -> Submission:
    r"""Take the program out of an action.

    The last fenced block marked as Python counts; without one the last unmarked block;
    without any fence the whole text. A fence that is never closed (a truncated answer)
    runs to the end. The text is not otherwise changed, save that CRLF becomes LF.

    Args:
        action: What the agent wrote.
        language: Language of the submission.

    >>> extract_program("Here:\n```python\nprint(1)\n```\nDone.").program
    'print(1)\n'
    """
    text = action.replace("\r\n", "\n")
    blocks = _fenced_blocks(text)
    marked = [block for block in blocks if block[0] in _PYTHON]
    chosen = marked or [block for block in blocks if not block[0]]
    if not chosen:
        return Submission(text, language, "whole text")
    block = chosen[-1]
    _, body, closed = block
    if not closed:
        found = "open fence"
    elif len(blocks) == 1:
        found = "fence"
    else:
        found = f"fence {blocks.index(block) + 1} of {len(blocks)}"
    return Submission(body, language, found)


@lru_cache(maxsize=64)
def _closing(mark: str, length: int) -> re.Pattern[str]:
    """Match a line that closes a fence of `length` marks."""
    return re.compile(rf"^[ ]{{0,3}}{re.escape(mark)}{{{length},}}[ \t]*$", re.MULTILINE)


def _fenced_blocks(text: str) -> list[tuple[str, str, bool]]:
    """Return (tag, body, closed) of every fenced block, in order."""
    blocks: list[tuple[str, str, bool]] = []
    position = 0
    while opening := _OPENING.search(text, position):
        fence, tag = opening.group(1), opening.group(2).lower()
        start = min(opening.end() + 1, len(text))
        closing = _closing(fence[0], len(fence)).search(text, start)
        if closing is None:
            blocks.append((tag, text[start:], False))
            break
        blocks.append((tag, text[start : closing.start()], True))
        position = closing.end()
    return blocks
