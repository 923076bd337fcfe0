"""What updates promise: the same gradient however the rows are cut, and fair shares."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from corecode_env.algorithms.batches import Row  # noqa: E402
from corecode_env.algorithms.config import TeamGRPOConfig, from_record  # noqa: E402
from corecode_env.algorithms.losses import LOSS_TYPES  # noqa: E402
from corecode_env.algorithms.updates import Learner  # noqa: E402
from corecode_env.core.errors import BadConfig  # noqa: E402
from tests.algorithms.bigram import BigramPolicy  # noqa: E402

ROWS = [
    Row((0,), (1, 1, 2), (-1.0, -1.2, -0.9), 1.0),
    Row((0,), (2,), (-1.1,), -0.5),
    Row((1,), (0, 1), (-1.0, -1.3), 0.25),
    Row((2,), (0, 0, 0, 1), (-1.0, -1.0, -1.1, -1.2), -1.0),
    Row((0,), (1,), (-1.4,), 0.75),
]
CODER_ROWS = [Row((1,), (2, 0), (-1.0, -1.0), value) for value in (1.0, -2.0, 0.5)]


def gradient(rows: dict[str, list[Row]], **changes: Any) -> Any:
    """Return the gradient of one update, by a learner that does not move."""
    changes.setdefault("loss", {"kl_weight": 0.1})
    settings = {"learning_rate": 1e-12, "weight_decay": 0.0, "grad_clip": 1e9, **changes}
    policy = BigramPolicy()
    policy.first = policy.first + 0.3
    learner = Learner(policy, tuple(rows), from_record(TeamGRPOConfig, settings))
    learner.learn(rows, step=0)
    assert policy.model.weight.grad is not None
    return policy.model.weight.grad.clone()


@pytest.mark.parametrize("old", ["recompute", "sampler"])
@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_the_size_of_micro_batches_changes_no_gradient(loss_type: str, old: str) -> None:
    changes: dict[str, Any] = {
        "loss": {"loss_type": loss_type, "kl_weight": 0.1, "max_tokens": 4},
        "old_logprobs": old,
    }
    whole = gradient({"planner_0": ROWS}, micro_batch=8, **changes)
    assert whole.abs().max() > 1e-3
    for size in (1, 2, 3):
        cut = gradient({"planner_0": ROWS}, micro_batch=size, **changes)
        torch.testing.assert_close(cut, whole, rtol=1e-5, atol=1e-7)


def test_the_token_mean_of_one_update_is_the_hand_worked_one() -> None:
    policy = BigramPolicy()
    rows = {"planner_0": ROWS}
    tokens = sum(len(row.answer_ids) for row in ROWS)
    total: Any = sum(
        row.advantage * policy.logprobs([row.prompt_ids], [row.answer_ids]).logprobs.sum()
        for row in ROWS
    )
    (-total / tokens).backward()
    plain = gradient(rows, micro_batch=2, loss={"kl_weight": 0.0, "loss_type": "bnpo"})
    torch.testing.assert_close(plain, policy.model.weight.grad, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_rows_that_pull_nowhere_are_counted_and_not_computed(loss_type: str) -> None:
    scored: list[int] = []

    class Counting(BigramPolicy):
        def logprobs(self, prompt_ids: Any, answer_ids: Any, **options: Any) -> Any:
            scored.append(len(answer_ids))
            return super().logprobs(prompt_ids, answer_ids, **options)

    flat = [Row((0,), (1, 2), (-1.0, -1.0), 0.0)] * 4
    loss = {"loss_type": loss_type, "kl_weight": 0.0, "max_tokens": 4}
    settings = {"learning_rate": 1e-12, "weight_decay": 0.0, "grad_clip": 1e9, "loss": loss}
    policy = Counting()
    learner = Learner(policy, ("a_0",), from_record(TeamGRPOConfig, settings))
    learner.learn({"a_0": [*flat, *ROWS]}, step=0)
    assert sum(scored) == len(ROWS)
    alone = gradient({"a_0": ROWS}, loss=loss)
    by_rows = loss_type in ("grpo", "gspo", "dr_grpo")
    tokens = sum(len(row.answer_ids) for row in ROWS)
    share = len(ROWS) / (len(ROWS) + 4) if by_rows else tokens / (tokens + 8)
    torch.testing.assert_close(policy.model.weight.grad, alone * share, rtol=1e-5, atol=1e-7)


def test_agents_that_share_weights_have_equal_say_whatever_the_number_of_their_rows() -> None:
    planner = gradient({"planner_0": ROWS})
    coder = gradient({"coder_0": CODER_ROWS})
    once = gradient({"planner_0": ROWS, "coder_0": CODER_ROWS})
    torch.testing.assert_close(once, (planner + coder) / 2)
    many = gradient({"planner_0": ROWS, "coder_0": CODER_ROWS * 7})
    torch.testing.assert_close(many, once, rtol=1e-5, atol=1e-7)


def test_a_clipped_gradient_is_reported_as_it_was_before() -> None:
    policy = BigramPolicy()
    settings = {"grad_clip": 1e-3, "loss": {"kl_weight": 0.0}}
    learner = Learner(policy, ("planner_0",), from_record(TeamGRPOConfig, settings))
    metrics = learner.learn({"planner_0": ROWS}, step=0)
    assert policy.model.weight.grad is not None
    assert float(policy.model.weight.grad.norm()) == pytest.approx(1e-3, rel=1e-2)
    assert metrics["planner_0/grad_norm"] > 0.05


def test_the_ratio_is_one_before_weights_move_and_not_after() -> None:
    settings: dict[str, Any] = {"learning_rate": 0.5, "loss": {"kl_weight": 0.0}}
    once = Learner(BigramPolicy(), ("a_0",), from_record(TeamGRPOConfig, settings))
    assert once.learn({"a_0": ROWS}, step=0)["a_0/ratio"] == pytest.approx(1.0, abs=1e-6)
    settings["epochs"] = 2
    twice = Learner(BigramPolicy(), ("a_0",), from_record(TeamGRPOConfig, settings))
    metrics = twice.learn({"a_0": ROWS}, step=0)
    assert metrics["a_0/ratio"] != pytest.approx(1.0, abs=1e-3)
    assert metrics["a_0/clipped"] > 0.0


def sampled_as(gap: float) -> list[Row]:
    """Return the rows as a sampler reports them that finds each token likelier by `gap`."""
    policy, rows = BigramPolicy(), []
    for row in ROWS:
        said = policy.logprobs([row.prompt_ids], [row.answer_ids]).logprobs[0].detach() + gap
        rows.append(Row(row.prompt_ids, row.answer_ids, tuple(said.tolist()), row.advantage))
    return rows


def test_a_sampler_that_lags_weighs_each_token_by_how_much_likelier_it_has_become() -> None:
    plain = {"kl_weight": 0.0}
    unweighted = gradient({"a_0": ROWS}, loss=plain)
    for gap, weight in ((0.0, 1.0), (0.5, math.exp(-0.5)), (-0.5, math.exp(0.5)), (-2.0, 3.0)):
        rows = {"a_0": sampled_as(gap)}
        weighted = gradient(rows, loss=plain, importance_cap=3.0, micro_batch=2)
        torch.testing.assert_close(weighted, weight * unweighted, rtol=1e-5, atol=1e-6)


def test_how_far_the_sampler_lags_is_reported() -> None:
    def seen(gap: float) -> dict[str, float]:
        settings = {"importance_cap": 3.0, "micro_batch": 2, "loss": {"kl_weight": 0.0}}
        learner = Learner(BigramPolicy(), ("a_0",), from_record(TeamGRPOConfig, settings))
        found = learner.learn({"a_0": sampled_as(gap)}, step=0)
        names = ("importance", "importance_cut", "sampler_gap")
        return {name: found[f"a_0/{name}"] for name in names}

    near = {"importance": 1.0, "importance_cut": 0.0, "sampler_gap": 0.0}
    assert seen(0.0) == pytest.approx(near, abs=1e-6)
    far = {"importance": 3.0, "importance_cut": 1.0, "sampler_gap": 2.0}
    assert seen(-2.0) == pytest.approx(far, abs=1e-6)
    between = {"importance": math.exp(-0.5), "importance_cut": 0.0, "sampler_gap": 0.5}
    assert seen(0.5) == pytest.approx(between, abs=1e-6)


def test_a_weight_that_is_always_one_is_refused() -> None:
    with pytest.raises(
        BadConfig, match="importance_cap must be 0 with old_logprobs='sampler'"
    ):
        from_record(TeamGRPOConfig, {"importance_cap": 2.0, "old_logprobs": "sampler"})


def test_a_sampler_without_log_probabilities_is_refused_where_they_are_needed() -> None:
    rows = {"planner_0": [Row((0,), (1, 2), None, 1.0)]}
    for changes in ({"old_logprobs": "sampler"}, {"importance_cap": 2.0}):
        with pytest.raises(BadConfig, match="one log-probability per token, got None"):
            gradient(rows, **changes)


def test_a_policy_with_nothing_to_train_is_refused() -> None:
    policy = BigramPolicy()
    policy.trainable_parameters = lambda: iter(())  # type: ignore[method-assign]
    with pytest.raises(BadConfig, match="must have trainable parameters, got 0"):
        Learner(policy, ("planner_0",), TeamGRPOConfig())
