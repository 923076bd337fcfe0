"""What adapters promise: one base, a policy for each role, and no role in another's way."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from corecode_env.agents.local_model import TransformersAgent  # noqa: E402
from corecode_env.agents.lora import lora_team  # noqa: E402
from corecode_env.core.errors import BadConfig  # noqa: E402
from corecode_env.core.seams import Reply, Request  # noqa: E402
from tests.agents.tiny_models import byte_tokenizer, tiny_llama  # noqa: E402

# peft asks transformers for an attribute by its old name.
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")

REQUESTS = [
    Request("coder_0", "coder", {"prompt": "ab" * n}, (), "t", seed=n) for n in range(1, 5)
]


def team(**settings: Any) -> dict[str, TransformersAgent]:
    base = (tiny_llama(), byte_tokenizer())
    return lora_team(base, rank=2, **{"max_new_tokens": 8, **settings})


def scores(agent: TransformersAgent, replies: list[Reply], name: str = "logprobs") -> Any:
    prompts = [reply.prompt_ids for reply in replies]
    return getattr(agent, name)(prompts, [reply.token_ids for reply in replies]).logprobs


def ascend(agent: TransformersAgent, replies: list[Reply]) -> None:
    optimiser = torch.optim.Adam(agent.trainable_parameters(), lr=0.01)
    for _ in range(3):
        optimiser.zero_grad()
        (-scores(agent, replies).mean()).backward()
        optimiser.step()


def test_a_new_adapter_changes_nothing() -> None:
    plain = TransformersAgent(tiny_llama(), byte_tokenizer(), max_new_tokens=8)
    for agent in team().values():
        assert [r.text for r in agent.act(REQUESTS)] == [r.text for r in plain.act(REQUESTS)]


def test_agents_share_the_base_and_train_their_own_adapter() -> None:
    both = team()
    planner, coder = both["planner"], both["coder"]
    assert planner.model is coder.model
    ours, theirs = (set(map(id, agent.trainable_parameters())) for agent in both.values())
    assert ours and theirs and not ours & theirs
    trained = sum(p.numel() for p in planner.trainable_parameters())
    assert trained < sum(p.numel() for p in planner.model.parameters()) / 4


@pytest.mark.parametrize("checkpointing", [False, True])
def test_training_one_leaves_the_other_and_the_reference_as_they_were(
    checkpointing: bool,
) -> None:
    both = team(gradient_checkpointing=checkpointing)
    for learner, other in (("planner", "coder"), ("coder", "planner")):
        learns, rests = both[learner], both[other]
        replies = learns.act(REQUESTS)
        before = scores(learns, replies).detach()
        resting = scores(rests, replies).detach()
        base = scores(learns, replies, "reference_logprobs")
        ascend(learns, replies)
        assert scores(learns, replies).sum() > before.sum() + 0.1
        torch.testing.assert_close(scores(rests, replies).detach(), resting)
        torch.testing.assert_close(scores(learns, replies, "reference_logprobs"), base)


def test_the_reference_between_forward_and_backward_takes_no_gradient_away() -> None:
    both = team()
    planner = both["planner"]
    replies = planner.act(REQUESTS)
    loss = -scores(planner, replies).mean()
    scores(planner, replies, "reference_logprobs")
    loss.backward()
    assert any(p.grad is not None and p.grad.any() for p in planner.trainable_parameters())
    assert all(p.requires_grad for a in both.values() for p in a.trainable_parameters())


def test_agents_of_one_base_may_answer_at_the_same_time() -> None:
    both = team()
    for agent in both.values():
        ascend(agent, agent.act(REQUESTS[: 1 + (agent.adapter == "coder")]))
    expected = {role: agent.act(REQUESTS) for role, agent in both.items()}
    assert expected["planner"] != expected["coder"]
    found: dict[str, list[list[Reply]]] = {role: [] for role in both}

    def answer(role: str) -> None:
        found[role].extend(both[role].act(REQUESTS) for _ in range(5))

    threads = [threading.Thread(target=answer, args=(role,)) for role in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {role: [expected[role]] * 5 for role in both}


def test_an_adapter_is_saved_alone_and_comes_back(tmp_path: Path) -> None:
    TransformersAgent(tiny_llama(), byte_tokenizer(), max_new_tokens=8).save(tmp_path / "base")
    both = lora_team(tmp_path / "base", rank=2, max_new_tokens=8)
    coder = both["coder"]
    ascend(coder, coder.act(REQUESTS))
    expected = coder.act(REQUESTS)
    coder.save(tmp_path / "coder")
    assert (tmp_path / "coder" / "adapter_config.json").is_file()
    assert not list(tmp_path.glob("coder/model*"))
    again = lora_team(tmp_path / "base", rank=2, max_new_tokens=8)["coder"]
    assert again.act(REQUESTS) != expected
    again.load(tmp_path / "coder")
    assert again.act(REQUESTS) == expected
    alone = TransformersAgent.from_pretrained(tmp_path / "coder", max_new_tokens=8)
    assert alone.act(REQUESTS) == expected
    assert [p for p in alone.trainable_parameters() if p.requires_grad]


@pytest.mark.parametrize("roles", [(), ("coder", "coder"), "coder"])
def test_roles_that_are_no_names_are_refused(roles: Any) -> None:
    with pytest.raises(BadConfig, match="roles must be different names"):
        lora_team((tiny_llama(), byte_tokenizer()), roles)


def test_an_adapter_that_is_not_there_is_refused(tmp_path: Path) -> None:
    model = team()["coder"].model
    with pytest.raises(BadConfig, match=r"one of \['coder', 'planner'\], got 'critic'"):
        TransformersAgent(model, byte_tokenizer(), adapter="critic")
    with pytest.raises(BadConfig, match="must hold an adapter"):
        team()["coder"].load(tmp_path)
