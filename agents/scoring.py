"""Scoring: log-probabilities of given answers, without holding all logits.

prompts, answers  ->  (B, T) log-probabilities, with gradients

The logits of B answers of T tokens over V words are by far the largest tensor of a step: at
V = 150,000 and 2,048 tokens they and their gradient take 2.5 GB. Here the model's body runs
once; its head runs on some positions at a time, on the answers' alone, and each piece of
logits is dropped at once and made again when the gradient needs it.

Shapes: B answers, T tokens of the longest, L tokens of the longest prompt and answer, N
answer tokens of all answers, H hidden size, V tokens in the vocabulary.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any, Final

from corecode_env.agents.policy import Scores, Tokens
from corecode_env.core.errors import BadConfig, MissingExtra

try:
    import torch
    from torch import Tensor
    from torch.utils.checkpoint import checkpoint
except ImportError as error:
    raise MissingExtra("torch", "train") from error

LOGITS_AT_ONCE: Final = 2**24
"""Most logits that are held at one time: 64 MiB of float32."""

_REWORKED_LOGITS: Final = (
    *("final_logit_softcapping", "logit_scale", "logits_scaling", "output_multiplier_scale"),
    *("lm_head_multiplier", "mup_scale", "dim_model_base"),
)
"""Config fields of models that do more to their logits than the head does."""


def has_plain_head(model: Any) -> bool:
    """Return whether a model's logits are its head applied to its body's last output."""
    config = model.config.get_text_config()
    if any(getattr(config, name, None) not in (None, 1, 1.0) for name in _REWORKED_LOGITS):
        return False
    head = model.get_output_embeddings()
    if head is None or model.base_model is model:
        return False
    with torch.no_grad():
        ids = torch.zeros(1, 1, dtype=torch.long, device=model.device)
        same: bool = torch.equal(head(model.base_model(input_ids=ids)[0]), model(ids).logits)
    return same


def answer_scores(
    model: Any,
    prompt_ids: Tokens,
    answer_ids: Tokens,
    *,
    scale: float = 1.0,
    with_entropy: bool = False,
    plain_head: bool = True,
    logits_at_once: int = LOGITS_AT_ONCE,
) -> Scores:
    """Score answers under softmax(logits / scale).

    Args:
        model: A causal language model of `transformers`.
        prompt_ids: B prompts, none of them empty.
        answer_ids: B answers.
        scale: Temperature of the distribution.
        with_entropy: Return the entropy at each token too.
        plain_head: What `has_plain_head(model)` says. False: all logits of the batch are
            held, which every model can do.
        logits_at_once: Most logits that are held at one time, if the head is plain.

    Raises:
        BadConfig: If the numbers of prompts and answers differ, or a prompt is empty.
    """
    _check(prompt_ids, answer_ids)
    device = model.device
    longest = max(max(map(len, answer_ids), default=0), 1)
    mask = torch.zeros(len(answer_ids), longest)
    for row, answer in enumerate(answer_ids):
        mask[row, : len(answer)] = 1.0
    mask = mask.to(device)
    rows, places = mask.nonzero(as_tuple=True)
    if not len(rows):
        return Scores(mask * 0.0, mask, mask * 0.0 if with_entropy else None)
    starts = torch.tensor([len(prompt) - 1 for prompt in prompt_ids], device=device)
    targets = torch.tensor([t for answer in answer_ids for t in answer], device=device)
    inputs = _inputs(model, prompt_ids, answer_ids)
    if plain_head:
        states = model.base_model(**inputs)[0][rows, starts[rows] + places]  # (N, H)
        head = model.get_output_embeddings()
        size = max(1, logits_at_once // head.weight.shape[0])
        parts = _in_pieces(states, targets, head, scale, with_entropy, size)
    else:
        logits = model(**inputs).logits[rows, starts[rows] + places]  # (N, V)
        parts = _of_logits(logits, targets, scale, with_entropy)
    grids = [torch.zeros_like(mask).index_put((rows, places), part) for part in parts]
    return Scores(grids[0], mask, grids[1] if with_entropy else None)


def _check(prompt_ids: Tokens, answer_ids: Tokens) -> None:
    if len(prompt_ids) != len(answer_ids):
        raise BadConfig(
            f"each answer must have its prompt, got {len(prompt_ids)} prompts for "
            f"{len(answer_ids)} answers"
        )
    if not all(len(prompt) for prompt in prompt_ids):
        raise BadConfig(
            "a prompt must have at least one token, got an empty one: nothing predicts the "
            "first token of its answer"
        )


def _inputs(model: Any, prompt_ids: Tokens, answer_ids: Tokens) -> dict[str, Any]:
    """Return the texts padded on the right, where causal attention never looks."""
    # The last token of an answer predicts nothing that is asked for.
    texts = [[*p, *a[:-1]] for p, a in zip(prompt_ids, answer_ids, strict=True)]
    ids = torch.zeros(len(texts), max(map(len, texts)), dtype=torch.long)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = torch.tensor(text)
    # No mask: nothing reads what comes after it, and attention without one is faster.
    return {"input_ids": ids.to(model.device), "use_cache": False}


def _in_pieces(
    states: Tensor, targets: Tensor, head: Any, scale: float, with_entropy: bool, size: int
) -> list[Tensor]:
    """Do as `_of_logits`, with the logits of `size` positions at a time."""

    def score(some: Tensor, wanted: Tensor) -> list[Tensor]:
        return _of_logits(head(some), wanted, scale, with_entropy)

    pieces: list[list[Tensor]] = []
    split = zip(torch.split(states, size), torch.split(targets, size), strict=True)
    for some, wanted in split:
        if torch.is_grad_enabled():
            pieces.append(
                checkpoint(score, some, wanted, use_reentrant=False, preserve_rng_state=False)
            )
        else:
            pieces.append(score(some, wanted))
    return [torch.cat(parts) for parts in zip(*pieces, strict=True)]


def _of_logits(
    logits: Tensor, targets: Tensor, scale: float, with_entropy: bool
) -> list[Tensor]:
    """Return log-probabilities, and entropies if wanted, each (N,), from logits (N, V)."""
    scaled = logits.float()
    if scale != 1.0:
        scaled = scaled / scale
    total = scaled.logsumexp(-1)
    logprobs = scaled.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - total
    if not with_entropy:
        return [logprobs]
    # Without a gradient: what a checkpoint computes again for an output that nothing is
    # derived from stays in memory, piece by piece, until the whole gradient is there.
    with torch.no_grad():
        return [logprobs, total - (scaled.softmax(-1) * scaled).sum(-1)]
