"""What the losses promise: hand-worked values, no gradient from padding, and TRL's numbers."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from corecode_env.algorithms.losses import (  # noqa: E402
    LOSS_TYPES,
    LossConfig,
    kl_k3,
    policy_loss,
    truncated_importance_weights,
)
from corecode_env.core.errors import BadConfig  # noqa: E402

PLAIN: dict[str, Any] = {"kl_weight": 0.0, "dual_clip": None, "max_tokens": 4}


def tensor(*rows: list[float]) -> Any:
    return torch.tensor(rows, dtype=torch.float64)


def random_batch(seed: int) -> dict[str, Any]:
    source = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Any:
        return torch.randn(*shape, generator=source, dtype=torch.float64)

    mask = torch.ones(5, 7, dtype=torch.float64)
    for row, length in enumerate([7, 3, 5, 1, 6]):
        mask[row, length:] = 0.0
    logprobs = -draw(5, 7).abs()
    return {
        "logprobs": logprobs,
        "old_logprobs": logprobs + 0.4 * draw(5, 7),
        "reference_logprobs": logprobs + 0.4 * draw(5, 7),
        "advantages": draw(5),
        "mask": mask,
    }


def test_on_policy_the_loss_is_minus_the_mean_advantage() -> None:
    logprobs = tensor([-1.0, -2.0], [-3.0, -4.0])
    parts = policy_loss(
        logprobs, logprobs, torch.tensor([1.0, 3.0]), torch.ones(2, 2), LossConfig(**PLAIN)
    )
    assert parts.loss.item() == pytest.approx(-2.0)
    assert parts.clipped.item() == 0.0
    assert parts.ratio.item() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("loss_type", "expected"),
    [
        ("grpo", -(1.0 + 3.0) / 2),  # mean of each answer's mean
        ("bnpo", -(2 * 1.0 + 1 * 3.0) / 3),  # mean of the tokens
        ("dapo", -(2 * 1.0 + 1 * 3.0) / 3),
        ("dr_grpo", -(2 * 1.0 + 1 * 3.0) / (2 * 4)),  # over answers times max_tokens
        ("gspo", -(1.0 + 3.0) / 2),
    ],
)
def test_each_type_averages_tokens_in_its_way(loss_type: Any, expected: float) -> None:
    logprobs, mask = tensor([-1.0, -2.0], [-3.0, 9.0]), tensor([1.0, 1.0], [1.0, 0.0])
    parts = policy_loss(
        logprobs,
        logprobs,
        torch.tensor([1.0, 3.0]),
        mask,
        LossConfig(loss_type=loss_type, **PLAIN),
    )
    assert parts.loss.item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected"),
    [
        (2.0, 1.0, -1.3),  # clip-higher stops the push up at 1 + 0.3
        (0.5, 1.0, -0.5),
        (0.5, -1.0, 0.8),  # stops the push down at 1 - 0.2
        (2.0, -1.0, 2.0),
        (9.0, -1.0, 3.0),  # the dual clip bounds what one bad token can do
    ],
)
def test_clipping(ratio: float, advantage: float, expected: float) -> None:
    old = tensor([-1.0])
    config = LossConfig(kl_weight=0.0)
    parts = policy_loss(
        old + math.log(ratio), old, torch.tensor([advantage]), torch.ones(1, 1), config
    )
    assert parts.loss.item() == pytest.approx(expected)


def test_a_sequence_has_one_ratio() -> None:
    new, old = tensor([math.log(2.0), math.log(8.0)]), tensor([0.0, 0.0])
    config = LossConfig(loss_type="gspo", kl_weight=0.0, clip_high=9.0, dual_clip=None)
    parts = policy_loss(new, old, torch.tensor([1.0]), torch.ones(1, 2), config)
    assert parts.loss.item() == pytest.approx(-4.0)  # geometric mean of 2 and 8


def test_k3_is_hand_worked_and_never_negative() -> None:
    assert kl_k3(tensor([0.0]), tensor([math.log(2.0)])).item() == pytest.approx(
        2.0 - math.log(2.0) - 1.0
    )
    batch = random_batch(3)
    assert (kl_k3(batch["logprobs"], batch["reference_logprobs"]) >= 0).all()


def test_importance_weights_are_cut_and_carry_no_gradient() -> None:
    old = tensor([math.log(8.0), math.log(0.5)]).requires_grad_()
    weights = truncated_importance_weights(old, tensor([0.0, 0.0]), torch.ones(1, 2))
    assert weights.tolist() == [[2.0, 0.5]]
    assert not weights.requires_grad


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_padding_reaches_neither_loss_nor_gradient(loss_type: Any) -> None:
    batch = random_batch(1)
    config = LossConfig(loss_type=loss_type, max_tokens=7)
    spoilt = {name: value.clone() for name, value in batch.items()}
    for name in ("old_logprobs", "reference_logprobs"):
        spoilt[name][batch["mask"] == 0] = -1e3
    results = []
    for inputs in (batch, spoilt):
        inputs["logprobs"].requires_grad_()
        loss: Any = policy_loss(config=config, **inputs).loss
        loss.backward()
        results.append((loss.item(), inputs["logprobs"].grad))
    assert results[0][0] == pytest.approx(results[1][0])
    assert torch.equal(results[0][1][batch["mask"] == 0], torch.zeros(13, dtype=torch.float64))
    assert torch.allclose(results[0][1], results[1][1])


@pytest.mark.parametrize("loss_type", ["grpo", "dr_grpo", "dapo", "bnpo", "cispo"])
@pytest.mark.parametrize("ratio", ["token", "sequence"])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_equals_trls(loss_type: Any, ratio: Any, seed: int) -> None:
    trainer = pytest.importorskip("trl.trainer.grpo_trainer").GRPOTrainer
    batch = random_batch(seed)
    logprobs = batch["logprobs"].requires_grad_()
    config = LossConfig(
        loss_type=loss_type,
        ratio=ratio,
        clip_low=0.2,
        # TRL's cispo takes the bound itself, not its distance from 1.
        clip_high=0.28,
        dual_clip=None,
        kl_weight=0.04,
        max_tokens=11,
    )
    ours = policy_loss(config=config, **batch).loss
    (gradient,) = torch.autograd.grad(ours, logprobs)
    theirs = trainer._compute_loss(
        _trl_trainer(config, logprobs), SimpleNamespace(), _trl_inputs(batch)
    )
    (their_gradient,) = torch.autograd.grad(theirs, logprobs)
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-6)
    assert torch.allclose(gradient, their_gradient, atol=1e-6)


def _trl_inputs(batch: dict[str, Any]) -> dict[str, Any]:
    empty = torch.zeros(5, 0, dtype=torch.long)
    return {
        "prompt_ids": empty,
        "prompt_mask": empty,
        "completion_ids": torch.zeros(5, 7, dtype=torch.long),
        "completion_mask": batch["mask"],
        "advantages": batch["advantages"],
        "old_per_token_logps": batch["old_logprobs"],
        "ref_per_token_logps": batch["reference_logprobs"],
        "num_items_in_batch": batch["mask"].sum(),
    }


def _trl_trainer(config: LossConfig, logprobs: Any) -> Any:
    """Return what TRL's loss reads of its trainer, with our tensors as the model's answer."""
    from collections import defaultdict

    high = 1 + config.clip_high if config.loss_type == "cispo" else config.clip_high
    return SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *a, **k: (
            logprobs,
            torch.zeros_like(logprobs),
            None,
        ),
        aux_loss_enabled=False,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        importance_sampling_level=config.ratio,
        beta=config.kl_weight,
        loss_type=config.loss_type,
        epsilon_low=config.clip_low,
        epsilon_high=high,
        use_vllm=False,
        model=SimpleNamespace(training=True),
        current_gradient_accumulation_steps=1,
        max_completion_length=config.max_tokens,
        _entropy_bonus_enabled=False,
        accelerator=SimpleNamespace(
            num_processes=1,
            gather=lambda value: value,
            reduce=lambda value, reduction: value,
        ),
        _metrics={"train": defaultdict(list)},
        args=SimpleNamespace(delta=None, use_bias_correction_kl=False, steps_per_generation=1),
    )


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"loss_type": "ppo"}, "loss_type must be one of"),
        ({"ratio": "word"}, "ratio must be one of"),
        ({"clip_low": 2.0}, "clip_low must lie"),
        ({"clip_high": -0.1}, "clip_high must not be negative"),
        ({"dual_clip": 1.1}, "must exceed"),
        ({"kl_weight": -1.0}, "kl_weight must not be negative"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
    ],
)
def test_bad_knobs_are_refused_at_once(knobs: dict[str, Any], words: str) -> None:
    with pytest.raises(BadConfig, match=words):
        LossConfig(**knobs)


def test_a_penalty_without_a_reference_is_refused() -> None:
    batch = random_batch(0)
    del batch["reference_logprobs"]
    with pytest.raises(BadConfig, match="reference_logprobs must be given"):
        policy_loss(config=LossConfig(), **batch)
