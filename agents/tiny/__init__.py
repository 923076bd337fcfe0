"""Tiny: a language model of a million parameters that comes with the package.

One set of weights plays both roles: it reads a statement of the family `pipelines` and
writes a plan, or reads a plan and writes a program. It was trained just far enough to have
something to learn; `MODEL_CARD.md` says how, and how well it does.

    FOLDER, PROMPTS  ->  TransformersAgent, environments
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from corecode_env.agents.local_model import TransformersAgent

FOLDER: Final = Path(__file__).parent
"""A folder that transformers can load: weights, configuration, tokenizer."""

PROMPTS: Final[Mapping[str, Path]] = MappingProxyType(
    {"planner": FOLDER / "planner.txt", "coder": FOLDER / "coder.txt"}
)
"""The prompts it was trained on, for an environment's argument `prompts`."""

LEVELS: Final = (1, 2, 3)
"""Levels of `pipelines` that it was trained on."""

MAX_NEW_TOKENS: Final = 80
"""Enough for every plan and every program of these levels, in tokens."""


def tiny_policy(source: str | Path = FOLDER) -> TransformersAgent:
    """Load the model, ready to play both roles and to be trained.

    Args:
        source: A folder with other weights of the same model, such as a checkpoint.

    Raises:
        MissingExtra: If torch or transformers are not installed.
    """
    from corecode_env.agents.local_model import TransformersAgent

    with no_progress_bar():
        return TransformersAgent.from_pretrained(
            source, max_new_tokens=MAX_NEW_TOKENS, batch_size=256
        )


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """Keep transformers from drawing bars about two megabytes."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
