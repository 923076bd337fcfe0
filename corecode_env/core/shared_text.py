"""Shared text: texts in memory that processes share, for Gymnasium's vector environments.

    worker: text  ->  UTF-8 bytes in its own slot  ->  parent: text

Gymnasium reads what is shared once, when it makes a vector environment, and from then on
looks through what it got then. That works for arrays, which are windows on the memory. A text
is none, so it gets a `TextWindow`, which reads the memory anew at every look, and whose copy
is a plain tuple of texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

_HEAD: Final = 4
"""Bytes before a text that hold its length in bytes."""
_WIDEST: Final = 4
"""Bytes of the longest character in UTF-8."""


def slot_bytes(max_chars: int) -> int:
    """Return how many bytes a text of at most `max_chars` characters needs."""
    return _HEAD + _WIDEST * max_chars


def write_text(memory: Any, text: str, slot: int, size: int) -> None:
    """Write a text into a slot.

    Args:
        memory: Bytes that processes share.
        text: A text without lone surrogates that fits.
        slot: Number of the slot.
        size: Bytes of a slot.

    Raises:
        ValueError: If the text does not fit, or is no text that can be encoded.
    """
    encoded = text.encode()
    if _HEAD + len(encoded) > size:
        raise ValueError(
            f"a text must fit into its {size - _HEAD} bytes of shared memory, got "
            f"{len(encoded)}: it is longer than its space says"
        )
    record = len(encoded).to_bytes(_HEAD, "little") + encoded
    memoryview(memory).cast("B")[slot * size : slot * size + len(record)] = record


class TextWindow(Sequence[str]):
    """The texts of all environments, read from shared memory at every look."""

    def __init__(self, memory: Any, size: int) -> None:
        """Look at memory that is made of slots of `size` bytes."""
        self._slots: NDArray[np.uint8] = np.frombuffer(memory, dtype=np.uint8)
        self._slots = self._slots.reshape(-1, size)

    def __len__(self) -> int:
        """Return the number of environments."""
        return len(self._slots)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        """Return the text of an environment as it is now."""
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        slot = self._slots[index]
        length = int.from_bytes(slot[:_HEAD].tobytes(), "little")
        return str(slot[_HEAD : _HEAD + length].tobytes(), "utf-8")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the texts as they are now."""
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Return whether the texts are now those of another sequence."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # what it shows changes

    def __deepcopy__(self, memo: dict[int, object]) -> tuple[str, ...]:
        """Return the texts as they are now, and no longer the memory."""
        return tuple(self)

    def __repr__(self) -> str:
        """Show the texts as they are now."""
        return f"TextWindow({list(self)!r})"
