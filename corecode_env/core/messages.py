"""Messages: programs and other named texts in what agents write, out of it and into it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from corecode_env.core.episode import Submission

_OPENING = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)([^\n`]*)$", re.MULTILINE)
_PYTHON = frozenset({"python", "py", "python3"})
_TICKS = re.compile(r"^[ ]{0,3}(`{3,})", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a text."""

    tag: str
    """First word behind the fence, in lower case: its language, if it has one."""
    label: str
    """What follows the tag on that line, in lower case."""
    body: str
    closed: bool
    """False where the text ends before the block does."""
    start: int
    """Where its opening line begins in the text."""


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
    blocks = fenced_blocks(text)
    marked = [block for block in blocks if block.tag in _PYTHON]
    chosen = marked or [block for block in blocks if not block.tag]
    if not chosen:
        return Submission(text, language, "whole text")
    block = chosen[-1]
    if not block.closed:
        found = "open fence"
    elif len(blocks) == 1:
        found = "fence"
    else:
        found = f"fence {blocks.index(block) + 1} of {len(blocks)}"
    return Submission(block.body, language, found)


@lru_cache(maxsize=64)
def _closing(mark: str, length: int) -> re.Pattern[str]:
    """Match a line that closes a fence of `length` marks."""
    return re.compile(rf"^[ ]{{0,3}}{re.escape(mark)}{{{length},}}[ \t]*$", re.MULTILINE)


def fenced_blocks(text: str) -> list[Block]:
    r"""Return every fenced block of a text, in order; line ends must be LF.

    >>> fenced_blocks("```python checker\nprint(1)\n```")[0].label
    'checker'
    """
    blocks: list[Block] = []
    position = 0
    while opening := _OPENING.search(text, position):
        fence, tag, label = opening.groups()
        tag, label = tag.lower(), label.strip().lower()
        start = min(opening.end() + 1, len(text))
        closing = _closing(fence[0], len(fence)).search(text, start)
        if closing is None:
            blocks.append(Block(tag, label, text[start:], False, opening.start()))
            break
        body = text[start : closing.start()]
        blocks.append(Block(tag, label, body, True, opening.start()))
        position = closing.end()
    return blocks


def fenced(text: str, info: str = "python") -> str:
    r"""Return a text in a fence that nothing inside it can close.

    Args:
        text: The text, such as a program.
        info: What stands behind the fence: a tag, and a label if there is one.

    >>> fenced("print(1)")
    '```python\nprint(1)\n```'
    """
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    ending = "" if text.endswith("\n") else "\n"
    return f"{fence}{info}\n{text}{ending}{fence}"
