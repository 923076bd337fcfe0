"""LoRA: several agents, one base model, and a small adapter for each.

The base is held once and stays frozen, so it also is the reference that training is kept
close to (arXiv:2106.09685).
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corecode_env.agents.local_model import TransformersAgent
from corecode_env.agents.model_files import load_model
from corecode_env.core.errors import BadConfig, MissingExtra


def lora_team(
    source: str | Path | tuple[Any, Any],
    roles: Sequence[str] = ("planner", "coder"),
    *,
    rank: int = 16,
    alpha: float = 32.0,
    target_modules: str | Sequence[str] = "all-linear",
    dtype: str = "float32",
    device: str = "cpu",
    **settings: Any,
) -> dict[str, TransformersAgent]:
    """Return an agent for each role, all over one base model.

    A new adapter changes nothing: before training every agent is the base.

    Args:
        source: Folder or hub id of the base, or the pair of model and tokenizer.
        roles: Names of the adapters, and keys of the result.
        rank: Rank of each adapter's matrices.
        alpha: Their product is scaled by alpha / rank.
        target_modules: Names of the layers to adapt; `all-linear`: all but the head.
        dtype: Type of the base's weights.
        device: Where they go.
        settings: Other arguments of `TransformersAgent`, for all of them.

    Raises:
        BadConfig: If there is no role, or one twice.
        MissingExtra: If `peft` is not installed.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise MissingExtra("peft", "train") from error
    if not roles or isinstance(roles, str) or len(set(roles)) != len(roles):
        raise BadConfig(f"roles must be different names, at least one, got {roles!r}")
    if isinstance(source, tuple):
        model, tokenizer = source
    else:
        model, tokenizer = load_model(source, dtype, device, False)
    layers = target_modules if isinstance(target_modules, str) else list(target_modules)

    # peft says that the scale is an int, and takes any number.
    options: dict[str, Any] = {"r": rank, "lora_alpha": alpha, "target_modules": layers}

    def config() -> Any:
        return LoraConfig(task_type="CAUSAL_LM", **options)

    adapted = get_peft_model(model, config(), adapter_name=roles[0])
    for role in roles[1:]:
        adapted.add_adapter(role, config())
    return {
        role: TransformersAgent(adapted, tokenizer, adapter=role, **settings) for role in roles
    }
