"""Language models of a few thousand random weights, whose tokens are bytes."""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

# Its libraries are imported inside: pytest imports every file of the tests.
EOS = 0
TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def byte_tokenizer(*, template: str | None = None) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {"<eos>": EOS, **{letter: place for place, letter in enumerate(letters, 1)}}
    tokenizer = Tokenizer(models.BPE(vocab=words, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    make: Any = PreTrainedTokenizerFast
    fast = make(tokenizer_object=tokenizer, eos_token="<eos>")
    fast.chat_template = template
    return fast


def tiny_llama(seed: int = 0, *, window: int = 128, spread: float = 0.3, **config: Any) -> Any:
    """A Llama whose weights are wide enough for its tokens to differ in probability."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    sizes = {
        "vocab_size": 257,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": window,
        "initializer_range": spread,
        "bos_token_id": None,
        "eos_token_id": EOS,
        **config,
    }
    return LlamaForCausalLM(LlamaConfig(**sizes))
