"""What any causal language model promises as an agent, whatever its architecture.

Random weights from configurations alone: GPT-2 (learnt positions, tied head, one matrix for
queries, keys and values), Qwen2 (grouped heads, biases) and Gemma 3 (sliding windows, scaled
embeddings). Gemma 2, which bends its logits, is scored in `test_local_model`.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from corecode_env.agents.local_model import TransformersAgent  # noqa: E402
from corecode_env.agents.lora import lora_team, whole_weights  # noqa: E402
from corecode_env.core.seams import Request  # noqa: E402
from tests.agents.tiny_models import EOS, TEMPLATE, byte_tokenizer  # noqa: E402

# peft asks transformers for an attribute by its old name.
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")

SIZES = {
    "vocab_size": 257,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
    "bos_token_id": None,
    "eos_token_id": EOS,
    "pad_token_id": None,
}
GPT2 = {
    "vocab_size": 257,
    "n_embd": 16,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 128,
    "initializer_range": 0.3,
    "bos_token_id": None,
    "eos_token_id": EOS,
}
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2Config", GPT2),
    "qwen2": ("Qwen2Config", SIZES),
    "gemma3": ("Gemma3TextConfig", {**SIZES, "head_dim": 4, "sliding_window": 8}),
}


@pytest.fixture(params=CONFIGS, scope="module")
def model(request: pytest.FixtureRequest) -> Any:
    import transformers

    name, sizes = CONFIGS[request.param]
    torch.manual_seed(0)
    config = getattr(transformers, name)(**sizes)
    make: Any = transformers.AutoModelForCausalLM
    return make.from_config(config, attn_implementation="eager")


def asked(number: int) -> Request:
    prompt = "ab" * (1 + number)
    said = ({"role": "user", "content": prompt},)
    return Request("coder_0", "coder", {"prompt": prompt}, said, "t", seed=number)


REQUESTS = [asked(number) for number in range(3)]


def agent(model: Any, **settings: Any) -> TransformersAgent:
    tokenizer = byte_tokenizer(template=TEMPLATE)
    return TransformersAgent(model, tokenizer, **{"max_new_tokens": 8, **settings})


@pytest.mark.parametrize("chat", [True, False])
def test_it_answers_by_what_it_says_of_its_answers(model: Any, chat: bool) -> None:
    policy = agent(model, chat=chat)
    replies = policy.act(REQUESTS)
    texts = [policy.tokenizer.decode(reply.prompt_ids) for reply in replies]
    assert all(text.startswith("<user>") is chat for text in texts)
    scores = policy.logprobs(
        [reply.prompt_ids or () for reply in replies],
        [reply.token_ids or () for reply in replies],
    )
    for row, reply in enumerate(replies):
        told = torch.tensor(reply.logprobs)
        found = scores.logprobs[row, : len(told)].detach()
        torch.testing.assert_close(found, told, atol=1e-4, rtol=1e-4)


def test_its_answers_know_no_company(model: Any) -> None:
    policy = agent(model)
    alone = [policy.act([request])[0].token_ids for request in REQUESTS]
    assert [reply.token_ids for reply in policy.act(REQUESTS)] == alone


def test_a_stop_text_ends_an_answer(model: Any) -> None:
    (free,) = agent(model).act(REQUESTS[:1])
    letter = next(char for char in free.text if char.isascii() and char.isprintable())
    (cut,) = agent(model, stop=(letter,)).act(REQUESTS[:1])
    assert (cut.text, cut.finish_reason) == (free.text.split(letter)[0], "stop")


def test_it_learns_and_comes_back_from_a_folder(model: Any, tmp_path: Path) -> None:
    policy = agent(model)
    (reply,) = policy.act(REQUESTS[:1])
    prompt, answer = [reply.prompt_ids or ()], [reply.token_ids or ()]
    torch.autograd.backward(-policy.logprobs(prompt, answer).logprobs.sum())
    optimiser = torch.optim.SGD(policy.trainable_parameters(), lr=1e-4)
    before = float(policy.logprobs(prompt, answer).logprobs.detach().sum())
    policy.freeze_reference()
    optimiser.step()
    optimiser.zero_grad()
    scores = policy.logprobs(prompt, answer).logprobs.detach()
    assert float(scores.sum()) > before
    assert float(policy.reference_logprobs(prompt, answer).logprobs.sum()) == pytest.approx(
        before
    )
    policy.save(tmp_path / "saved")
    again = TransformersAgent.from_pretrained(tmp_path / "saved", max_new_tokens=12)
    torch.testing.assert_close(
        again.logprobs(prompt, answer).logprobs.detach(), scores, atol=1e-5, rtol=1e-5
    )


def test_each_role_has_an_adapter_on_one_base(model: Any) -> None:
    pytest.importorskip("peft")
    base = (copy.deepcopy(model), byte_tokenizer())
    team = lora_team(base, rank=2, max_new_tokens=8)
    (reply,) = team["planner"].act(REQUESTS[:1])
    prompt, answer = [reply.prompt_ids or ()], [reply.token_ids or ()]
    with torch.no_grad():
        for weight in team["coder"].trainable_parameters():
            weight.add_(0.05)
    planner, coder = (
        float(team[role].logprobs(prompt, answer).logprobs.detach().sum())
        for role in ("planner", "coder")
    )
    plain = copy.deepcopy(model)
    plain.load_state_dict(dict(whole_weights(team["coder"])), strict=False)
    merged = agent(plain).logprobs(prompt, answer).logprobs.detach().sum()
    assert float(merged) == pytest.approx(coder, rel=1e-4)
    told = sum(reply.logprobs or ())
    assert planner == pytest.approx(told, abs=1e-3)
    assert abs(coder - told) > 1e-2
