"""Growing cache: keys and values of the tokens so far, with room for those to come.

`transformers`' own cache copies all of it for each new token, which costs more than the
model itself where answers are long and the model is small.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from corecode_env.core.errors import MissingExtra

try:
    from torch import Tensor
except ImportError as error:
    raise MissingExtra("torch", "train") from error
try:
    from transformers.cache_utils import Cache, DynamicLayer
except ImportError as error:
    raise MissingExtra("transformers", "train") from error


def growing_cache() -> Any:
    """Return an empty cache. It is written in place: only without gradients."""
    return Cache(layer_class_to_replicate=GrowingLayer)


class GrowingLayer(DynamicLayer):  # type: ignore[misc, no-untyped-call, unused-ignore]
    """The keys and values of one layer, each (rows, heads, tokens, size)."""

    _room: tuple[Tensor, Tensor] | None = None
    """Tensors that begin with the keys and values, and go on behind them."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Append, and return all so far."""
        used = self.get_seq_length()
        if used == 0:
            self.dtype, self.device = key_states.dtype, key_states.device
            self.is_initialized = True
            self.keys, self.values = key_states, value_states
            return key_states, value_states
        size = used + key_states.shape[-2]
        if self._room is None or self._room[0].shape[-2] < size:
            before: tuple[Any, Any] = self.keys, self.values
            self._room = _with_room(before[0], size), _with_room(before[1], size)
        keys, values = self._room
        keys[..., used:size, :] = key_states
        values[..., used:size, :] = value_states
        self.keys, self.values = keys[..., :size, :], values[..., :size, :]
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep some rows, or the same ones several times."""
        super().batch_select_indices(indices)
        self._room = None


def _with_room(states: Tensor, size: int) -> Tensor:
    """Return a copy that has room for `size` tokens, and for some more."""
    *outer, used, width = states.shape
    bigger = states.new_empty(*outer, size + max(32, size // 4), width)
    bigger[..., :used, :] = states
    return bigger
