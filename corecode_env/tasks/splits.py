"""Splits for sources that bring none: a stable hash decides.

    what makes two tasks equal, as text  ->  train, validation or test

The text must name the problem and not its wording, so that equal problems under two ids
never stand on both sides.
"""

from __future__ import annotations

import hashlib


def split_by_hash(text: str) -> str:
    """Return the split of a text: 80, 10 and 10 per cent of all texts.

    The same in every process and on every Python.

    >>> [split_by_hash(text) for text in ("tidy_numbers", "reversort", "vote")]
    ['train', 'train', 'train']
    """
    digest = hashlib.sha256(text.encode()).digest()
    return split_by_number(int.from_bytes(digest[:8], "big"))


def split_by_number(number: int) -> str:
    """Return the split of a number by its last digit: 8 validation, 9 test, else train."""
    return {8: "validation", 9: "test"}.get(number % 10, "train")
