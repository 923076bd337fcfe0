"""Tiny: a Planner and a Coder of a million parameters each that come with the package.

The Planner reads a statement of the family `pipelines` and writes a plan; the Coder reads a
plan and writes a program. The Coder obeys nearly every plan; the Planner was trained just far
enough to have something to learn. `MODEL_CARD.md` says how they were made and what they do.

    role  ->  TransformersAgent; PROMPTS  ->  environments
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

MODELS: Final[Mapping[str, Path]] = MappingProxyType(
    {"planner": FOLDER / "planner", "coder": FOLDER / "coder"}
)
"""By role a folder that transformers can load: weights, configuration, tokenizer."""

PROMPTS: Final[Mapping[str, Path]] = MappingProxyType(
    {"planner": FOLDER / "planner.txt", "coder": FOLDER / "coder.txt"}
)
"""The prompts they were trained on, for an environment's argument `prompts`."""

LEVELS: Final = (1, 2, 3)
"""Levels of `pipelines` that they were trained on."""

MAX_NEW_TOKENS: Final = 48
"""Enough for every plan and every program of these levels, in tokens."""


def tiny_policy(source: str | Path) -> TransformersAgent:
    """Load one of the models, ready to play and to be trained.

    Args:
        source: `planner`, `coder`, or a folder with other weights of the same shape, such as
            a checkpoint.

    Raises:
        MissingExtra: If torch or transformers are not installed.
    """
    from corecode_env.agents.local_model import TransformersAgent

    with no_progress_bar():
        return TransformersAgent.from_pretrained(
            MODELS.get(str(source), Path(source)),
            max_new_tokens=MAX_NEW_TOKENS,
            batch_size=256,
        )


def tiny_pair(folder: Path = FOLDER) -> dict[str, TransformersAgent]:
    """Load the Planner and the Coder, by role.

    Args:
        folder: A folder with a subfolder for each role.

    Raises:
        MissingExtra: If torch or transformers are not installed.
    """
    return {role: tiny_policy(folder / role) for role in MODELS}


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
