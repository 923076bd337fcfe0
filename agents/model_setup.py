"""Model setup: what an agent must know about a language model, and change in it."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from corecode_env.core.errors import MissingExtra

try:
    from torch.nn import Dropout, Module
except ImportError as error:
    raise MissingExtra("torch", "train") from error

_WINDOWS: Final = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")


def window_of(model: Any) -> int | None:
    """Return how many tokens a model can look at, None if it does not say."""
    config = model.config.get_text_config()
    sizes = (getattr(config, name, None) for name in _WINDOWS)
    return next((size for size in sizes if isinstance(size, int) and size > 0), None)


def end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end an answer: the model's and the tokenizer's."""
    config = getattr(model, "generation_config", None)
    ends = getattr(config, "eos_token_id", None)
    several = ends if isinstance(ends, list | tuple) else [ends]
    return frozenset(e for e in (*several, tokenizer.eos_token_id) if e is not None)


def disable_dropout(model: Module) -> None:
    """Set every dropout to 0, in modules and in the numbers that attention reads."""
    for module in model.modules():
        if isinstance(module, Dropout):
            module.p = 0.0
        for name, value in list(vars(module).items()):
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, 0.0)


def checkpoint_layers(model: Any) -> None:
    """Make a `transformers` model compute its layers again instead of keeping them."""
    # Its name up to transformers 5.2x, which warn where the other one is there.
    enable = getattr(model, "activation_checkpointing_enable", None)
    if enable is not None:
        enable()
    else:
        model.gradient_checkpointing_enable({"use_reentrant": False})


@contextmanager
def same_requires_grad(model: Module) -> Iterator[None]:
    """Undo what happens meanwhile to the parameters' `requires_grad`."""
    before = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        yield
    finally:
        for parameter, wanted in before:
            parameter.requires_grad_(wanted)
