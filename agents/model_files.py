"""Model files: folders of models and adapters, read and written.

A folder is written beside its place and then renamed, so that whoever reads finds the old
one, the new one, or for an instant none; never half of one.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from corecode_env.core.errors import BadConfig, MissingExtra

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtra("torch", "train") from error

_DTYPES: Final = ("float32", "bfloat16", "float16")


def torch_dtype(name: str) -> Any:
    """Return a dtype by its name.

    Raises:
        BadConfig: If it is none of those for weights.
    """
    if name not in _DTYPES:
        raise BadConfig(f"dtype must be one of {', '.join(_DTYPES)}, got {name!r}")
    return getattr(torch, name)


def load_model(
    source: str | Path, dtype: str, device: str, trust_remote_code: bool
) -> tuple[Any, Any]:
    """Return a causal language model (or a `peft` model, of an adapter) and its tokenizer.

    Raises:
        BadConfig: If the source is a folder that is not there, or the dtype is none.
        MissingExtra: If `transformers`, or `peft` for an adapter, is not installed.
    """
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingExtra("transformers", "train") from error
    wanted = torch_dtype(dtype)
    path = Path(source)
    if not path.is_dir() and (path.is_absolute() or str(source).startswith(".")):
        raise BadConfig(
            f"a model must be a folder or a hub id, got {str(source)!r}: no such folder"
        )
    options = {"trust_remote_code": trust_remote_code}

    def load(base: str) -> Any:
        return AutoModelForCausalLM.from_pretrained(base, dtype=wanted, **options)

    if (path / "adapter_config.json").is_file():
        model = _with_adapter(str(source), load)
    else:
        model = load(str(source))
    tokenizer = AutoTokenizer.from_pretrained(source, **options)
    return model.to(device), tokenizer


def _with_adapter(folder: str, load: Callable[[str], Any]) -> Any:
    """Return the base of an adapter, with the adapter on it."""
    try:
        from peft import PeftConfig, PeftModel
    except ImportError as error:
        raise MissingExtra("peft", "train") from error
    name = PeftConfig.from_pretrained(folder).base_model_name_or_path
    if not name:
        raise BadConfig(
            f"an adapter must name its base model, got none in {folder!r}; load the base and "
            "use lora_team(...)[role].load(folder)"
        )
    return PeftModel.from_pretrained(load(name), folder, is_trainable=True)


def read_weights(folder: str | Path, model: Any, adapter: str | None) -> Mapping[str, Tensor]:
    """Return the weights that a folder holds, under the names of a model's parameters.

    Raises:
        BadConfig: If the folder holds no such model or adapter.
    """
    file = "config.json" if adapter is None else "adapter_config.json"
    if not (Path(folder) / file).is_file():
        kind = "a model" if adapter is None else "an adapter"
        raise BadConfig(
            f"the folder must hold {kind} that `save` wrote, got {str(folder)!r} "
            f"without {file}"
        )
    if adapter is None:
        stored = type(model).from_pretrained(str(folder), dtype=model.dtype)
        return dict(stored.named_parameters())
    from peft import load_peft_weights

    # Files know a weight without the adapter's name, which comes before its last part.
    weights = load_peft_weights(str(folder), device="cpu")
    named = ((*name.rpartition("."),) for name in weights)
    return {f"{head}.{adapter}.{last}": weights[f"{head}.{last}"] for head, _, last in named}


def write_folder(folder: str | Path, model: Any, tokenizer: Any, adapter: str | None) -> None:
    """Write a model, or one adapter of it, and its tokenizer."""
    place = Path(folder).absolute()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as work:
        new = Path(work) / "new"
        if adapter is None:
            model.save_pretrained(new)
        else:
            model.save_pretrained(new, selected_adapters=[adapter])
            if (new / adapter).is_dir():  # peft gives all but `default` a folder
                (new / adapter).rename(Path(work) / "adapter")
                shutil.rmtree(new)
                new = Path(work) / "adapter"
        tokenizer.save_pretrained(new)
        for file in new.rglob("*"):
            _flush(file)
        _flush(new)
        if place.exists():
            place.rename(Path(work) / "old")
        new.rename(place)
        _flush(place.parent)


def _flush(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
