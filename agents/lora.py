"""LoRA: several agents, one base model, and a small adapter for each.

The base is held once and stays frozen, so it also is the reference that training is kept
close to (arXiv:2106.09685).
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from corecode_env.agents.local_model import TransformersAgent
from corecode_env.agents.model_files import load_model
from corecode_env.core.errors import BadConfig, MissingExtra

try:
    from torch import Tensor
except ImportError as error:
    raise MissingExtra("torch", "train") from error


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
    from transformers.pytorch_utils import Conv1D

    if not roles or isinstance(roles, str) or len(set(roles)) != len(roles):
        raise BadConfig(f"roles must be different names, at least one, got {roles!r}")
    if isinstance(source, tuple):
        model, tokenizer = source
    else:
        model, tokenizer = load_model(source, dtype, device, False)
    layers = target_modules if isinstance(target_modules, str) else list(target_modules)

    options: dict[str, Any] = {
        "r": rank,
        "lora_alpha": alpha,  # peft says that this is an int, and takes any number
        "target_modules": layers,
        # GPT-2 and its like hold their matrices the other way round.
        "fan_in_fan_out": any(isinstance(module, Conv1D) for module in model.modules()),
    }

    def config() -> Any:
        return LoraConfig(task_type="CAUSAL_LM", **options)

    adapted = get_peft_model(model, config(), adapter_name=roles[0])
    for role in roles[1:]:
        adapted.add_adapter(role, config())
    return {
        role: TransformersAgent(adapted, tokenizer, adapter=role, **settings) for role in roles
    }


def whole_weights(agent: TransformersAgent) -> Iterator[tuple[str, Tensor]]:
    """Iterate over the weights of the model that an agent is, its adapter worked in.

    Names and shapes are those of the base without adapters, as any other program loads
    them. Nothing is changed meanwhile: merging an adapter into the base and taking it out
    again, as `peft` offers, would leave rounding errors behind each time.
    """
    if agent.adapter is None:
        yield from ((name, weight.data) for name, weight in agent.model.named_parameters())
        return
    base = agent.model.get_base_model()
    for name, weight in base.named_parameters():
        layer, adapted, part = name.partition(".base_layer.")
        if not adapted:
            # What belongs to adapters alone is part of the sums below.
            if not _of_adapters(name):
                yield name, weight.data
            continue
        merged = weight.data
        if part == "weight":
            change = base.get_submodule(layer).get_delta_weight(agent.adapter)
            merged = merged + change.detach().to(merged)
        yield f"{layer}.{part}", merged


def _of_adapters(name: str) -> bool:
    return any(part.startswith("lora_") for part in name.split("."))
