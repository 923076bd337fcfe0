"""Spaces: any text as a Gymnasium space, and what keeps a text inside it.

`gymnasium.spaces.Text` lists its characters one by one and is written to shared memory by
their index, which returns other text than was put in. `UnicodeText` is a space of its own:
every string up to a length, save those with lone surrogates, which no file, socket or
tokenizer could take.
"""

from __future__ import annotations

import multiprocessing
import operator
import re
import string
from collections.abc import Callable, Iterable
from typing import Any, Final

import gymnasium
import gymnasium.spaces.utils as flat
import gymnasium.vector.utils as batched
import numpy as np
from numpy.typing import NDArray

from corecode_env.core.errors import BadConfig
from corecode_env.core.shared_text import TextWindow, slot_bytes, write_text

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HIGHEST: Final = 0x10FFFF
_PADDING: Final = -1
"""Stands behind the end of a flattened text."""
_LONGEST_SAMPLE: Final = 64
# A few characters beyond ASCII, one of them beyond 16 bits, so that samples exercise them.
_SAMPLED: Final = np.array([ord(c) for c in string.printable[:96] + "é→漢😀"])


def clean_text(text: str, max_chars: int) -> str:
    r"""Return the text inside `UnicodeText(max_chars)`: cut, and without lone surrogates.

    Two surrogates that form a pair become the character they stand for; a lone one
    becomes U+FFFD.

    >>> clean_text("a\ud800b\ud83d\ude00", 10)
    'a\ufffdb😀'
    """
    if len(text) > max_chars:
        text = text[:max_chars]
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class UnicodeText(gymnasium.Space[str]):
    """Every string of at most `max_chars` characters that holds no lone surrogate.

    Samples are short random text: noise that is valid everywhere and right nowhere.

    >>> space = UnicodeText(5)
    >>> "été" in space, "" in space, "longer" in space
    (True, True, False)
    """

    def __init__(
        self, max_chars: int, *, seed: int | np.random.Generator | None = None
    ) -> None:
        """Set the length limit.

        Args:
            max_chars: Greatest length, in characters (code points).
            seed: Seed of `sample`.

        Raises:
            BadConfig: If the limit is not a positive whole number.
        """
        try:
            self.max_chars = operator.index(max_chars)
        except TypeError:
            self.max_chars = 0
        if isinstance(max_chars, bool) or self.max_chars < 1:
            raise BadConfig(
                f"max_chars must be a positive whole number, got {max_chars!r}; "
                "20_000 suits most models"
            )
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Whether `gymnasium.spaces.flatten` gives an array: code points, padded by -1."""
        return True

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Return short random text.

        Raises:
            BadConfig: If a mask or probabilities are given; text has neither.
        """
        if mask is not None or probability is not None:
            raise BadConfig(
                f"mask and probability must be None, got {mask!r} and {probability!r}: "
                "no list could name every text; sample without them"
            )
        random = self.np_random
        longest = min(self.max_chars, _LONGEST_SAMPLE)
        codes = _SAMPLED[random.integers(len(_SAMPLED), size=random.integers(longest + 1))]
        return "".join(map(chr, codes))

    def contains(self, x: Any) -> bool:
        """Return whether a value is text inside this space."""
        return (
            isinstance(x, str)
            and len(x) <= self.max_chars
            and (x.isascii() or not _SURROGATE.search(x))
        )

    def __eq__(self, other: object) -> bool:
        """Return whether the other holds the same texts."""
        return isinstance(other, UnicodeText) and other.max_chars == self.max_chars

    __hash__ = None  # type: ignore[assignment]  # like Gymnasium's own spaces

    def __repr__(self) -> str:
        """Return the constructor's call."""
        return f"UnicodeText({self.max_chars})"


# ------------------------------------------------------------------------------ batches
# `iterate` gets no rule on purpose: Gymnasium walks through a Tuple's items, which is what a
# batch of texts is, as long as the part's class has none.
@batched.create_empty_array.register(UnicodeText)
def _empty(
    space: UnicodeText, n: int = 1, fn: Callable[..., NDArray[Any]] = np.zeros
) -> tuple[str, ...]:
    return ("",) * (1 if n is None else n)


@batched.batch_space.register(UnicodeText)
def _batch(space: UnicodeText, n: int = 1) -> gymnasium.spaces.Tuple[Any]:
    spaces = gymnasium.spaces.Tuple([UnicodeText(space.max_chars) for _ in range(n)])
    # From a copy: batching a space must not move its own random stream.
    own = np.random.Generator(type(space.np_random.bit_generator)())
    own.bit_generator.state = space.np_random.bit_generator.state
    spaces.seed([int(seed) for seed in own.integers(2**31, size=n)])
    return spaces


@batched.concatenate.register(UnicodeText)
def _concatenate(space: UnicodeText, items: Iterable[str], out: Any) -> tuple[str, ...]:
    return tuple(items)


@batched.create_shared_memory.register(UnicodeText)
def _shared(space: UnicodeText, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("B", n * slot_bytes(space.max_chars))


@batched.read_from_shared_memory.register(UnicodeText)
def _read_shared(space: UnicodeText, shared_memory: Any, n: int = 1) -> Any:
    # A sequence of texts, which Gymnasium's annotation does not foresee.
    return TextWindow(shared_memory.get_obj(), slot_bytes(space.max_chars))


@batched.write_to_shared_memory.register(UnicodeText)
def _write_shared(space: UnicodeText, index: int, value: str, shared_memory: Any) -> None:
    write_text(shared_memory.get_obj(), value, index, slot_bytes(space.max_chars))


# ---------------------------------------------------------------------------- flattening
@flat.flatdim.register(UnicodeText)
def _flatdim(space: UnicodeText) -> int:
    return space.max_chars


@flat.flatten_space.register(UnicodeText)
def _flatten_space(space: UnicodeText) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(_PADDING, _HIGHEST, (space.max_chars,), np.int32)


@flat.flatten.register(UnicodeText)
def _flatten(space: UnicodeText, x: str) -> NDArray[np.int32]:  # type: ignore[misc]
    codes = np.full(space.max_chars, _PADDING, dtype=np.int32)
    codes[: len(x)] = np.frombuffer(x.encode("utf-32-le"), dtype="<u4")
    return codes


@flat.unflatten.register(UnicodeText)
def _unflatten(space: UnicodeText, x: NDArray[Any]) -> str:  # type: ignore[misc]
    return "".join(map(chr, x[x != _PADDING].astype(np.int64)))


@flat.is_space_dtype_shape_equiv.register(UnicodeText)
def _equivalent(space_1: UnicodeText, space_2: Any) -> bool:
    return isinstance(space_2, UnicodeText) and space_1.max_chars == space_2.max_chars


# Gymnasium 1.4 and later ask for the flattened dtype without building the flat space.
_flat_dtype = getattr(flat, "_flat_dtype", None)
if _flat_dtype is not None:

    @_flat_dtype.register(UnicodeText)  # type: ignore[untyped-decorator]
    def _text_dtype(space: UnicodeText) -> np.dtype[Any]:
        return np.dtype(np.int32)
