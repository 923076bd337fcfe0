"""Splits for sources that bring none: a stable hash decides.

    what makes two tasks equal, as text  ->  train, validation or test

The text must name the problem and not its wording, so that equal problems under two ids
never stand on both sides.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePath
from typing import Final


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


def split_of_file(source: str, text: str) -> str:
    """Return the split that a file's name or folder says, else by a hash of the problem.

    Public sets keep their splits in files: `train.jsonl`, `data/test-00000-of-00004.parquet`.

    Args:
        source: Path of the file.
        text: What makes two tasks equal, for files that say nothing.

    >>> split_of_file("apps/test.jsonl", ""), split_of_file("taco/valid-00000.parquet", "")
    ('test', 'validation')
    """
    for part in reversed(PurePath(source).parts[-2:]):
        for word in re.findall(r"[a-z]+", part.lower()):
            if word in _WORDS:
                return _WORDS[word]
    return split_by_hash(text)


_WORDS: Final = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}
