"""What training with a vLLM server promises: it follows, and where it lags that is weighed."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl", minversion="1.16")
pytest.importorskip("requests")

from corecode_env.agents.local_model import TransformersAgent  # noqa: E402
from corecode_env.agents.vllm_server import VLLMAgent  # noqa: E402
from corecode_env.algorithms.config import TeamGRPOConfig, from_record  # noqa: E402
from corecode_env.algorithms.grpo import TeamGRPOTrainer  # noqa: E402
from corecode_env.core.calling import as_agent  # noqa: E402
from corecode_env.core.tree import Tree  # noqa: E402
from tests.agents.fake_vllm_server import FakeVLLM, vllm_is_there  # noqa: E402
from tests.agents.tiny_models import byte_tokenizer, tiny_llama  # noqa: E402
from tests.algorithms.bigram import TASKS, make_env  # noqa: E402

WINDOW = 4096


def every_second_is_better(tree: Tree, agent: str) -> Any:
    return np.array([(-1.0) ** place for place in range(len(tree.indices(agent)))])


def gaps(sync_every: int, told: Callable[[dict[str, float]], float]) -> list[float]:
    """Return what the metrics of three steps say of a server's lag."""
    seen: list[float] = []
    with vllm_is_there(), FakeVLLM(window=WINDOW).server() as server:
        learner = TransformersAgent(
            tiny_llama(window=WINDOW), byte_tokenizer(), max_new_tokens=6, temperature=0.8
        )
        url = server.url.removesuffix("/v1")
        settings: dict[str, Any] = {"sync_every": sync_every, "device": "cuda"}
        with VLLMAgent.connect(learner, url, **settings) as planner:
            run = TeamGRPOTrainer(
                {"planner": planner},
                make_env(),
                TASKS,
                from_record(
                    TeamGRPOConfig,
                    {
                        "steps": 3,
                        "tasks_per_step": 2,
                        "samples": {"planner": 2, "coder": 1},
                        "learning_rate": 0.01,
                        "importance_cap": 2.0,
                        "loss": {"kl_weight": 0.0},
                    },
                ),
                frozen={"coder": as_agent(lambda observation: "b")},
                advantage_rules={"planner": every_second_is_better},
                callbacks=[lambda report: seen.append(told(dict(report.metrics)))],
            )
            run.train()
    return seen


def test_a_server_that_follows_needs_no_weighing() -> None:
    assert gaps(1, lambda told: told["planner_0/sampler_gap"]) == pytest.approx(
        [0.0] * 3, abs=1e-4
    )


def test_the_lag_of_a_server_is_weighed_until_it_has_caught_up() -> None:
    first, behind, caught_up = gaps(2, lambda told: told["planner_0/sampler_gap"])
    assert first < 1e-4 and caught_up < 1e-4
    assert behind > 0.01
