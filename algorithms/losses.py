"""Losses: from log-probabilities and advantages to a number to descend.

Pure functions on tensors: no model, no optimiser, no logging.

Shapes: B answers, T tokens (padded). `mask` is 1.0 on tokens that count, 0.0 on padding and
on whatever is not to be learnt from. Everything is summed in the dtype of `logprobs`.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from corecode_env.core.errors import BadConfig, MissingExtra

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtra("torch", "train") from error

LossType = Literal["grpo", "dr_grpo", "dapo", "bnpo", "gspo", "cispo"]
LOSS_TYPES: Final = ("grpo", "dr_grpo", "dapo", "bnpo", "gspo", "cispo")
Ratio = Literal["token", "sequence"]
RATIOS: Final = ("token", "sequence")


@dataclass(frozen=True, kw_only=True, slots=True)
class LossConfig:
    """Knobs of the policy loss. Defaults are those of CoRe-Code's published runs."""

    loss_type: LossType = "bnpo"
    """How tokens are averaged (and, for gspo and cispo, weighted):

    `grpo`: mean over an answer's tokens, then over answers (arXiv:2402.03300);
    `dr_grpo`: sum over B times `max_tokens` (arXiv:2503.20783); `dapo`: sum over the tokens
    of the whole batch (arXiv:2503.14476); `bnpo`: the same within one micro-batch, the token
    mean of CoRe-Code; `gspo`: as grpo with sequence ratios (arXiv:2507.18071); `cispo`:
    clipped ratios as constant weights (arXiv:2506.13585)."""
    ratio: Ratio = "token"
    clip_low: float = 0.2
    clip_high: float = 0.3
    """The ratio is clipped to [1 - clip_low, 1 + clip_high] ("clip-higher")."""
    dual_clip: float | None = 3.0
    """Upper bound of the ratio where the advantage is negative (arXiv:1912.09729); None:
    none."""
    kl_weight: float = 0.01
    """Weight of the k3 estimate of KL(policy || reference); 0: no reference needed."""
    max_tokens: int = 256
    """Longest answer, in tokens: the constant of `dr_grpo`."""

    def __post_init__(self) -> None:
        """Refuse values that could only spoil a run later."""
        if self.loss_type not in LOSS_TYPES:
            raise BadConfig(f"loss_type must be one of {LOSS_TYPES}, got {self.loss_type!r}")
        if self.ratio not in RATIOS:
            raise BadConfig(f"ratio must be one of {RATIOS}, got {self.ratio!r}")
        if self.loss_type == "gspo" and self.ratio == "token":
            # A token ratio would make it another loss under the same name.
            object.__setattr__(self, "ratio", "sequence")
        if not 0.0 <= self.clip_low <= 1.0:
            raise BadConfig(f"clip_low must lie in [0, 1], got {self.clip_low}")
        if self.clip_high < 0.0:
            raise BadConfig(f"clip_high must not be negative, got {self.clip_high}")
        if self.dual_clip is not None and self.dual_clip <= 1.0 + self.clip_high:
            raise BadConfig(
                f"dual_clip must exceed 1 + clip_high = {1 + self.clip_high}, got "
                f"{self.dual_clip}; use None to turn it off"
            )
        if self.kl_weight < 0.0:
            raise BadConfig(f"kl_weight must not be negative, got {self.kl_weight}")
        if self.max_tokens < 1:
            raise BadConfig(f"max_tokens must be at least 1, got {self.max_tokens}")


class LossParts(NamedTuple):
    """A loss and what it was made of; all but `loss` are detached scalars."""

    loss: Tensor
    policy: Tensor
    """The loss without the KL term."""
    kl: Tensor
    """Mean k3 per token, in nats; 0 without a reference."""
    clipped: Tensor
    """Share of counted tokens on which clipping is active, in [0, 1]."""
    ratio: Tensor
    """Mean probability ratio over counted tokens."""


def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    config: LossConfig,
    *,
    reference_logprobs: Tensor | None = None,
    weights: Tensor | None = None,
    batch_tokens: Tensor | float | None = None,
) -> LossParts:
    """Return the clipped policy-gradient loss, with the KL penalty if it is asked for.

    Args:
        logprobs: (B, T) of the policy that learns; carries the gradient.
        old_logprobs: (B, T) of the policy that sampled.
        advantages: (B,) one per answer, or (B, T) one per token.
        mask: (B, T).
        config: The knobs.
        reference_logprobs: (B, T); needed if `kl_weight` is not 0.
        weights: (B, T) importance weights of a sampler whose weights lag behind (see
            `truncated_importance_weights`); None: 1.
        batch_tokens: Counted tokens of the whole optimiser step, for `dapo` and `cispo`;
            None: those of this batch.

    Raises:
        BadConfig: If the reference is missing.
    """
    if advantages.dim() == 1:
        advantages = advantages.unsqueeze(1)
    ratios = probability_ratios(logprobs, old_logprobs, mask, config.ratio)  # (B, T) or (B, 1)
    per_token, clipped = _per_token(logprobs, ratios, advantages, config)
    per_token = per_token.expand_as(logprobs)
    if weights is not None:
        per_token = per_token * weights
    counted = mask.sum().clamp(min=1.0)
    policy = aggregate(per_token, mask, config, batch_tokens)
    loss, kl_mean = policy, logprobs.new_zeros(())
    if config.kl_weight:
        if reference_logprobs is None:
            raise BadConfig(
                "kl_weight is not 0, so reference_logprobs must be given, got None"
            )
        kl = kl_k3(logprobs, reference_logprobs)
        loss = policy + config.kl_weight * aggregate(kl, mask, config, batch_tokens)
        kl_mean = (kl * mask).sum() / counted
    with torch.no_grad():
        share = (clipped.expand_as(mask).to(mask.dtype) * mask).sum() / counted
        mean_ratio = (ratios.expand_as(mask) * mask).sum() / counted
    return LossParts(loss, policy.detach(), kl_mean.detach(), share, mean_ratio.detach())


def probability_ratios(
    logprobs: Tensor, old_logprobs: Tensor, mask: Tensor, ratio: Ratio
) -> Tensor:
    """Return how much likelier the answers have become.

    Token: exp(log p - log p_old), (B, T). Sequence: its geometric mean over the answer,
    (B, 1) (GSPO, arXiv:2507.18071, equation 7).
    """
    change = logprobs - old_logprobs
    if ratio == "token":
        # Padding may hold anything; exp of it must not make the gradient NaN.
        return torch.exp(torch.where(mask > 0, change, torch.zeros_like(change)))
    mean = (change * mask).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True).clamp(min=1.0)
    return torch.exp(mean)


def _per_token(
    logprobs: Tensor, ratios: Tensor, advantages: Tensor, config: LossConfig
) -> tuple[Tensor, Tensor]:
    """Return the loss of each token, and where clipping is active."""
    low, high = 1.0 - config.clip_low, 1.0 + config.clip_high
    if config.loss_type == "cispo":
        # The ratio is a constant weight, cut from above: no token loses its gradient.
        weight = ratios.clamp(max=high).detach()
        return -weight * advantages * logprobs, (ratios > high) & (advantages > 0)
    kept = ratios * advantages
    cut = ratios.clamp(low, high) * advantages
    clipped = cut < kept
    objective = torch.minimum(kept, cut)
    if config.dual_clip is not None:
        bound = config.dual_clip * advantages
        negative = advantages < 0
        clipped = clipped | (negative & (objective < bound))
        objective = torch.where(negative, torch.maximum(objective, bound), objective)
    return -objective, clipped


def aggregate(
    per_token: Tensor,
    mask: Tensor,
    config: LossConfig,
    batch_tokens: Tensor | float | None = None,
) -> Tensor:
    """Average over tokens and answers, as the loss type does."""
    total = (per_token * mask).sum()
    match config.loss_type:
        case "grpo" | "gspo":
            means = (per_token * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)
            return means.mean()
        case "bnpo":
            return total / mask.sum().clamp(min=1.0)
        case "dr_grpo":
            return total / (mask.shape[0] * config.max_tokens)
        case "dapo" | "cispo":
            tokens = mask.sum() if batch_tokens is None else batch_tokens
            return total / torch.as_tensor(tokens, dtype=total.dtype).clamp(min=1.0)


def kl_k3(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Return the k3 estimate of KL(policy || reference) per token, in nats.

        k3 = exp(log r - log p) - (log r - log p) - 1   >= 0

    Unbiased under the policy, and of low variance (Schulman, "Approximating KL divergence",
    2020).
    """
    change = reference_logprobs - logprobs
    return torch.exp(change) - change - 1.0


def truncated_importance_weights(
    old_logprobs: Tensor, sampler_logprobs: Tensor, mask: Tensor, cap: float = 2.0
) -> Tensor:
    """Return min(p_old / p_sampler, cap) per token: corrects for a sampler that lags.

    Source: truncated importance sampling (Ionides, 2008), as used between trainer and
    inference engine. No gradient flows through it.

    Args:
        old_logprobs: (B, T) of the trainer's policy before the step.
        sampler_logprobs: (B, T) as reported by whoever sampled.
        mask: (B, T).
        cap: Largest weight, above 0.
    """
    if cap <= 0.0:
        raise BadConfig(f"cap must be positive, got {cap}")
    change = torch.where(mask > 0, old_logprobs - sampler_logprobs, torch.zeros_like(mask))
    return torch.exp(change).clamp(max=cap).detach()
