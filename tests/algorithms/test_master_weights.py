"""What master weights promise: a model of half precision learns from small updates."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from corecode_env.algorithms.batches import Row  # noqa: E402
from corecode_env.algorithms.config import TeamGRPOConfig, from_record  # noqa: E402
from corecode_env.algorithms.master_weights import MasterWeights  # noqa: E402
from corecode_env.algorithms.updates import Learner  # noqa: E402
from tests.algorithms.bigram import BigramPolicy  # noqa: E402


def parameter(values: list[float], dtype: Any) -> Any:
    return torch.nn.Parameter(torch.tensor(values, dtype=dtype))


def test_small_updates_add_up() -> None:
    live = parameter([1.0], torch.bfloat16)
    alone = parameter([1.0], torch.bfloat16)
    masters = MasterWeights([live])
    optimisers = [
        torch.optim.SGD(masters.parameters, lr=1e-3),
        torch.optim.SGD([alone], lr=1e-3),
    ]
    for _ in range(100):
        for weight in (live, alone):
            weight.grad = torch.tensor([1.0], dtype=torch.bfloat16)
        masters.take_gradients()
        for optimiser in optimisers:
            optimiser.step()
            optimiser.zero_grad()
        masters.write_back()
    assert float(alone.detach()) == 1.0, (
        "0.001 is less than half of what bfloat16 can tell from 1"
    )
    assert float(live.detach()) == pytest.approx(0.9, abs=0.004)


def test_gradients_of_several_passes_are_summed_in_float32() -> None:
    live = parameter([0.0], torch.bfloat16)
    masters = MasterWeights([live])
    for _ in range(512):
        live.grad = torch.tensor([1.0], dtype=torch.bfloat16)
        masters.take_gradients()
    assert live.grad is None
    summed = masters.parameters[0].grad
    assert summed is not None
    assert summed.tolist() == [512.0]  # bfloat16 would stay at 256


def test_float32_weights_are_their_own() -> None:
    live = parameter([1.0], torch.float32)
    masters = MasterWeights([live])
    assert masters.parameters[0] is live and masters.state() == []


def test_a_state_restores_what_the_model_cannot_hold() -> None:
    masters = MasterWeights([parameter([1.0], torch.bfloat16)])
    with torch.no_grad():
        masters.parameters[0].add_(1e-4)
    other = MasterWeights([parameter([5.0], torch.bfloat16)])
    other.load_state(masters.state())
    assert float(other.state()[0]) == float(masters.state()[0]) != 1.0
    assert float(other.live[0].detach()) == 1.0


def test_a_policy_in_bfloat16_learns_and_resumes() -> None:
    rows = {"coder_0": [Row((1,), (2,), (-1.0,), 1.0), Row((1,), (0,), (-1.0,), -1.0)]}
    # Of a weight of about 0.1, bfloat16 cannot tell a thousandth.
    settings = {"learning_rate": 1e-4, "loss": {"kl_weight": 0.0}}
    config = from_record(TeamGRPOConfig, settings)

    def learner() -> Learner:
        policy: Any = BigramPolicy(seed=3)
        policy.model.to(torch.bfloat16)
        return Learner(policy, ["coder_0"], config)

    straight, stopped = learner(), learner()
    first = next(straight.policy.model.parameters()).detach().clone()
    for step in range(40):
        straight.learn(rows, step)
    for step in range(20):
        stopped.learn(rows, step)
    resumed = learner()
    resumed.load_state_dict(stopped.state_dict())
    for step in range(20, 40):
        resumed.learn(rows, step)
    assert not torch.equal(straight.policy.model.weight, first)
    assert torch.equal(straight.policy.model.weight, resumed.policy.model.weight)
    assert torch.equal(straight.parameters[0], resumed.parameters[0])
