"""What local models promise: seeded answers that know no company, and scores that agree."""

# pyright: reportMissingImports=false

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from corecode_env.agents import make_agent  # noqa: E402
from corecode_env.agents.local_model import TransformersAgent  # noqa: E402
from corecode_env.agents.policy import TrainablePolicy  # noqa: E402
from corecode_env.agents.sampling import Sampling, draw  # noqa: E402
from corecode_env.agents.scoring import answer_scores, has_plain_head  # noqa: E402
from corecode_env.core.errors import BadConfig  # noqa: E402
from corecode_env.core.seams import Reply, Request  # noqa: E402
from tests.agents.tiny_models import (  # noqa: E402
    EOS,
    TEMPLATE,
    byte_tokenizer,
    tiny_llama,
)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def asked(prompt: str, seed: int = 0, agent: str = "coder_0") -> Request:
    return Request(agent, agent.split("_")[0], {"prompt": prompt}, (), "t", seed=seed)


def policy(model: Any = None, **settings: Any) -> TransformersAgent:
    settings = {"max_new_tokens": 12, **settings}
    tokenizer = settings.pop("tokenizer", None) or byte_tokenizer()
    return TransformersAgent(model or tiny_llama(), tokenizer, **settings)


def scores_of(agent: TrainablePolicy, replies: list[Reply], **options: Any) -> Any:
    return agent.logprobs(
        [r.prompt_ids or () for r in replies], [r.token_ids or () for r in replies], **options
    )


REQUESTS = [asked("ab" * (1 + n % 4) + "?" * (n % 3), seed=n) for n in range(8)]


# ---------------------------------------------------------------------------- answering
def test_it_is_a_trainable_policy() -> None:
    assert isinstance(policy(), TrainablePolicy)


def test_a_reply_carries_its_tokens_their_logprobs_and_its_prompt() -> None:
    agent = policy()
    (reply,) = agent.act([asked("hello", seed=3)])
    assert reply.prompt_ids == tuple(agent.tokenizer("hello")["input_ids"])
    assert reply.token_ids is not None and reply.logprobs is not None
    assert len(reply.token_ids) == len(reply.logprobs) == 12
    assert reply.text == agent.tokenizer.decode(reply.token_ids)
    assert reply.finish_reason == "length"
    assert all(value <= 0.0 for value in reply.logprobs)


@pytest.mark.parametrize("top", [{}, {"top_p": 0.8}, {"top_k": 20, "temperature": 0.7}])
def test_an_answer_does_not_depend_on_its_company(top: dict[str, Any]) -> None:
    agent = policy(**top)
    together = agent.act(REQUESTS)
    for request, reply in zip(REQUESTS, together, strict=True):
        (alone,) = agent.act([request])
        assert alone.token_ids == reply.token_ids
        assert alone.logprobs == pytest.approx(reply.logprobs, abs=1e-5)
    small = agent.act(REQUESTS[::-1])
    assert [r.token_ids for r in small[::-1]] == [r.token_ids for r in together]


def test_the_size_of_a_batch_changes_no_answer() -> None:
    whole, parts = policy().act(REQUESTS), policy(batch_size=3).act(REQUESTS)
    assert [r.token_ids for r in whole] == [r.token_ids for r in parts]


def test_equal_prompts_differ_by_their_seed_and_by_who_is_asked() -> None:
    requests = [asked("x", seed=n) for n in range(6)] + [asked("x", 0, "planner_0")]
    texts = {reply.token_ids for reply in policy().act(requests)}
    assert len(texts) == len(requests)


def test_the_likeliest_token_is_taken_at_temperature_0() -> None:
    agent = policy(temperature=0.0)
    first, second = agent.act([asked("x", seed=1), asked("x", seed=2)])
    assert first.token_ids == second.token_ids
    with torch.no_grad():
        logits = agent.model(torch.tensor([first.prompt_ids])).logits[0, -1]
    assert first.token_ids is not None and first.token_ids[0] == int(logits.argmax())


def with_bias(token: int, model: Any = None) -> Any:
    """A model that says one token almost always."""
    model = model or tiny_llama()
    model.lm_head = torch.nn.Linear(16, 257)
    torch.nn.init.zeros_(model.lm_head.weight)
    torch.nn.init.zeros_(model.lm_head.bias)
    with torch.no_grad():
        model.lm_head.bias[token] = 50.0
    return model


def test_the_end_token_ends_an_answer_and_is_counted() -> None:
    (reply,) = policy(with_bias(EOS)).act([asked("x")])
    assert (reply.text, reply.token_ids, reply.finish_reason) == ("", (EOS,), "stop")


def test_rows_that_end_early_leave_the_others_alone() -> None:
    """Some rows end at once, some never: the cache is cut down on the way."""
    model = tiny_llama()
    model.lm_head = torch.nn.Linear(16, 257)
    with torch.no_grad():
        model.lm_head.bias[EOS] = 4.0
    agent = policy(model, max_new_tokens=20)
    requests = [asked("abc"[: 1 + n % 3], seed=n) for n in range(16)]
    together = agent.act(requests)
    lengths = {len(reply.token_ids or ()) for reply in together}
    assert len(lengths) > 3, "the example must have rows of many lengths"
    for request, reply in zip(requests, together, strict=True):
        assert agent.act([request])[0].token_ids == reply.token_ids


def test_a_stop_text_ends_an_answer_and_is_cut_off() -> None:
    letter = byte_tokenizer()("z")["input_ids"][0]
    (reply,) = policy(with_bias(letter), stop=("zzz",)).act([asked("x")])
    assert (reply.text, reply.finish_reason) == ("", "stop")
    assert reply.token_ids == (letter,) * 3


def test_a_stop_text_never_stands_in_a_text() -> None:
    free = policy(max_new_tokens=40).act([asked("x", seed=n) for n in range(10)])
    stop = free[0].text[7:9]
    for reply in policy(max_new_tokens=40, stop=(stop,)).act(
        [asked("x", seed=n) for n in range(10)]
    ):
        assert stop not in reply.text
    (cut,) = policy(max_new_tokens=40, stop=(stop,)).act([asked("x", seed=0)])
    assert free[0].text.startswith(cut.text + stop)


def test_no_request_gets_no_answer() -> None:
    assert policy().act([]) == []


# ------------------------------------------------------------------------------ prompts
def test_a_chat_template_is_used_if_there_is_one() -> None:
    tokenizer = byte_tokenizer(template=TEMPLATE)
    messages = ({"role": "system", "content": "s"}, {"role": "user", "content": "u"})
    request = Request("coder_0", "coder", {"prompt": "plain"}, messages, "t")

    def prompt(**settings: Any) -> str:
        agent = policy(tokenizer=tokenizer, **settings)
        return str(tokenizer.decode(agent.encode(request)))

    assert prompt() == prompt(chat=True) == "<system>s<user>u<assistant>"
    assert prompt(chat=False) == "plain"
    bare = policy(tokenizer=tokenizer).encode(asked("hi"))
    assert tokenizer.decode(bare) == "<user>hi<assistant>"


def test_a_template_that_is_not_there_cannot_be_asked_for() -> None:
    with pytest.raises(BadConfig, match="no chat template"):
        policy(chat=True)


def test_a_prompt_that_does_not_fit_is_refused_with_the_way_out() -> None:
    agent = policy(tiny_llama(window=32))
    assert len(agent.encode(asked("a" * 20))) == 20
    with pytest.raises(BadConfig, match=r"at most 20 tokens, got 21 .*long_prompt='cut'"):
        agent.act([asked("a" * 21)])


def test_a_prompt_that_does_not_fit_loses_its_beginning_where_that_is_asked_for() -> None:
    agent = policy(tiny_llama(window=32), long_prompt="cut")
    ids = agent.encode(asked("b" * 7 + "a" * 20))
    assert agent.tokenizer.decode(ids) == "a" * 20
    assert len(agent.act([asked("b" * 27)])[0].token_ids or ()) == 12


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -1.0}, "temperature must be"),
        ({"top_p": 0.0}, "top_p must lie"),
        ({"top_k": -1}, "top_k must be"),
        ({"max_new_tokens": 0}, "max_new_tokens must be at least 1"),
        ({"max_new_tokens": 128}, "must leave room"),
        ({"stop": ("",)}, "stop must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"long_prompt": "drop"}, "long_prompt must be"),
        ({"adapter": "coder"}, "adapter must be one of"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_at_once(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadConfig, match=message):
        policy(**settings)


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(BadConfig, match="at least one token"):
        policy().act([asked("")])


# ------------------------------------------------------------------------------ drawing
def test_draws_follow_the_probabilities() -> None:
    probabilities = torch.tensor([0.1, 0.2, 0.7])
    uniforms = torch.arange(1000, dtype=torch.float64) / 1000
    ids, logprobs = draw(probabilities.log().expand(1000, 3), uniforms, Sampling())
    shares = torch.bincount(ids, minlength=3) / 1000
    assert shares.tolist() == pytest.approx([0.1, 0.2, 0.7], abs=2e-3)
    assert logprobs.exp().tolist() == pytest.approx(probabilities[ids].tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({"top_k": 1}, {1}),
        ({"top_k": 2}, {1, 3}),
        ({"top_k": 99}, {0, 1, 2, 3}),
        ({"top_p": 0.5}, {1, 3}),  # 0.4 alone does not hold half
        ({"top_p": 0.01}, {1}),
        ({"top_k": 3, "top_p": 0.7}, {1, 3}),  # 0.4 and 0.3 of 0.9 hold it
        ({"temperature": 0.0}, {1}),
    ],
)
def test_truncation_leaves_the_likeliest_tokens(
    settings: dict[str, Any], allowed: set[int]
) -> None:
    probabilities = torch.tensor([0.1, 0.4, 0.2, 0.3])
    uniforms = torch.linspace(0, 1, 501, dtype=torch.float64)[:-1]
    ids, logprobs = draw(probabilities.log().expand(500, 4), uniforms, Sampling(**settings))
    assert set(ids.tolist()) == allowed
    # Reported is the whole distribution's, whatever was left of it.
    assert logprobs.exp().tolist() == pytest.approx(probabilities[ids].tolist(), abs=1e-6)


def test_the_largest_random_number_draws_a_token_that_may_be_drawn() -> None:
    uniforms = torch.tensor([np.nextafter(1.0, 0.0)], dtype=torch.float64)
    for sampling in (Sampling(), Sampling(top_k=2), Sampling(top_p=0.6)):
        ids, _ = draw(torch.tensor([[0.0, -1.0, -80.0]]), uniforms, sampling)
        assert int(ids) in (0, 1)


# ------------------------------------------------------------------------------ scoring
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0.6},
        {"temperature": 0.0},
        {"top_p": 0.7, "top_k": 9},
        {"max_new_tokens": 110},  # longer than the room that the cache starts with
    ],
)
def test_a_policy_scores_its_answers_as_it_drew_them(settings: dict[str, Any]) -> None:
    agent = policy(**settings)
    replies = agent.act(REQUESTS)
    logprobs, mask = scores_of(agent, replies)
    for row, reply in enumerate(replies):
        length = len(reply.token_ids or ())
        assert logprobs[row, :length].tolist() == pytest.approx(reply.logprobs, abs=1e-5)
        assert mask[row].tolist() == [1.0] * length + [0.0] * (mask.shape[1] - length)
        assert not logprobs[row, length:].any()


def plain_scores(model: Any, prompt: Any, answer: Any) -> Any:
    """What a reader would write: all logits, one text."""
    logits = model(torch.tensor([[*prompt, *answer]])).logits[0].float()
    table = logits.log_softmax(-1)[len(prompt) - 1 : -1]
    return table.gather(-1, torch.tensor(answer).unsqueeze(-1)).squeeze(-1), table


PROMPTS = [[5, 6, 7], [9], [1, 2, 3, 4, 5, 6]]
ANSWERS = [[8, 9], [10, 11, 12, 13], [EOS]]


@pytest.mark.parametrize("logits_at_once", [1, 257 * 2, 2**24])
def test_pieces_give_what_all_logits_would(logits_at_once: int) -> None:
    model = policy().model
    scores = answer_scores(
        model, PROMPTS, ANSWERS, with_entropy=True, logits_at_once=logits_at_once
    )
    torch.autograd.backward(scores.logprobs.sum())
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    total = 0.0
    assert scores.entropy is not None
    for row, (prompt, answer) in enumerate(zip(PROMPTS, ANSWERS, strict=True)):
        expected, table = plain_scores(model, prompt, answer)
        total = total + expected.sum()
        length = len(answer)
        torch.testing.assert_close(scores.logprobs[row, :length], expected, atol=1e-5, rtol=0)
        entropy = -(table.exp() * table).sum(-1)
        torch.testing.assert_close(scores.entropy[row, :length], entropy, atol=1e-5, rtol=0)
    torch.autograd.backward(total)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(gradient, parameter.grad, atol=1e-4, rtol=1e-4)


def test_no_more_logits_are_held_than_were_allowed() -> None:
    model = policy().model
    made: list[int] = []
    kept: list[int] = []
    model.lm_head.register_forward_hook(lambda *call: made.append(call[-1].numel()))

    def keep(tensor: Any) -> Any:
        kept.append(tensor.numel())
        return tensor

    answers = [[7] * 50, [8] * 30]
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        total = answer_scores(
            model, [[1], [2]], answers, logits_at_once=257 * 8
        ).logprobs.sum()
    held_after_forward = max(kept)
    torch.autograd.backward(total)
    assert max(made) == 257 * 8 and len(made) == 2 * 10, "made once, and again for gradients"
    assert held_after_forward < 80 * 257, "the graph holds no logits, but weights and states"


@pytest.mark.parametrize("with_entropy", [False, True])
def test_the_gradient_holds_the_logits_of_one_piece_at_a_time(with_entropy: bool) -> None:
    model = policy().model
    pieces: list[Any] = []
    alive: list[int] = []

    def count(*call: Any) -> None:
        alive.append(sum(piece() is not None for piece in pieces))
        # What stands behind the tensor lives as long as the graph holds it.
        pieces.append(weakref.ref(call[-1].untyped_storage()))

    model.lm_head.register_forward_hook(count)
    scores = answer_scores(
        model,
        [[1], [2]],
        [[7] * 50, [8] * 30],
        logits_at_once=257 * 8,
        with_entropy=with_entropy,
    )
    torch.autograd.backward(scores.logprobs.sum())
    assert len(pieces) == 2 * 10
    assert max(alive) <= 1
    assert scores.entropy is None or not scores.entropy.requires_grad


def test_a_model_that_bends_its_logits_is_scored_by_its_own() -> None:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(0)
    config = Gemma2Config(
        vocab_size=257,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=64,
        initializer_range=0.3,
        final_logit_softcapping=2.0,
    )
    model = Gemma2ForCausalLM(config)
    assert not has_plain_head(model)
    assert has_plain_head(tiny_llama())
    agent = policy(model)
    replies = agent.act(REQUESTS[:3])
    logprobs, _ = scores_of(agent, replies)
    for row, reply in enumerate(replies):
        assert logprobs[row].tolist() == pytest.approx(reply.logprobs, abs=1e-5)


def test_answers_without_a_prompt_are_refused() -> None:
    with pytest.raises(BadConfig, match="its prompt, got 1 prompts for 2"):
        policy().logprobs([[1]], [[1], [2]])
    with pytest.raises(BadConfig, match="at least one token"):
        policy().logprobs([[1], []], [[1], [2]])


def test_empty_answers_score_nothing() -> None:
    scores = policy().logprobs([[1], [2]], [[], []], with_entropy=True)
    assert [float(part.sum()) for part in scores] == [0.0, 0.0, 0.0]


def test_layers_computed_twice_give_the_same_gradient() -> None:
    def gradient(**settings: Any) -> list[Any]:
        agent = policy(tiny_llama(attention_dropout=0.5), **settings)
        replies = agent.act(REQUESTS)
        scores_of(agent, replies).logprobs.sum().backward()
        return [parameter.grad for parameter in agent.trainable_parameters()]

    for ours, theirs in zip(gradient(gradient_checkpointing=True), gradient(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


# ----------------------------------------------------------------- references and learning
def ascend(agent: TransformersAgent, replies: list[Reply], steps: int = 3) -> None:
    optimiser = torch.optim.SGD(agent.trainable_parameters(), lr=0.1)
    for _ in range(steps):
        optimiser.zero_grad()
        (-scores_of(agent, replies).logprobs.mean()).backward()
        optimiser.step()


def reference(agent: TransformersAgent, replies: list[Reply]) -> Any:
    return agent.reference_logprobs(
        [r.prompt_ids or () for r in replies], [r.token_ids or () for r in replies]
    ).logprobs


def test_what_is_made_likelier_becomes_likelier_and_the_reference_stays() -> None:
    agent = policy()
    replies = agent.act(REQUESTS)
    before = scores_of(agent, replies).logprobs.detach()
    torch.testing.assert_close(reference(agent, replies), before)
    ascend(agent, replies)
    after = scores_of(agent, replies).logprobs.detach()
    assert after.sum() > before.sum()
    torch.testing.assert_close(reference(agent, replies), before)
    assert not reference(agent, replies).requires_grad


def test_a_reference_that_comes_too_late_is_refused() -> None:
    agent = policy()
    replies = agent.act(REQUESTS)
    ascend(agent, replies)
    with pytest.raises(BadConfig, match="call freeze_reference"):
        reference(agent, replies)


def test_a_reference_that_comes_late_is_read_from_its_source(tmp_path: Path) -> None:
    policy().save(tmp_path / "base")
    agent = TransformersAgent.from_pretrained(tmp_path / "base", max_new_tokens=12)
    replies = agent.act(REQUESTS)
    before = scores_of(agent, replies).logprobs.detach()
    ascend(agent, replies)
    torch.testing.assert_close(reference(agent, replies), before)


def test_loading_weights_keeps_the_reference() -> None:
    agent, trained = policy(), policy()
    replies = agent.act(REQUESTS)
    before = scores_of(agent, replies).logprobs.detach()
    ascend(trained, replies)
    agent.load_state_dict(trained.state_dict())
    torch.testing.assert_close(reference(agent, replies), before)
    assert scores_of(agent, replies).logprobs.sum() > before.sum()


def test_another_way_to_draw_shares_the_weights() -> None:
    agent = policy()
    cool = agent.with_sampling(temperature=0.0)
    assert cool.model is agent.model
    assert (agent.sampling.temperature, cool.sampling.temperature) == (1.0, 0.0)
    with pytest.raises(BadConfig, match="must leave room"):
        agent.with_sampling(max_new_tokens=1000)


# -------------------------------------------------------------------------------- files
def test_a_saved_policy_comes_back_the_same(tmp_path: Path) -> None:
    agent = policy(tokenizer=byte_tokenizer(template=TEMPLATE))
    agent.save(tmp_path / "saved")
    agent.save(tmp_path / "saved")  # over an older one
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    back = TransformersAgent.from_pretrained(tmp_path / "saved", max_new_tokens=12)
    assert back.act(REQUESTS) == agent.act(REQUESTS)
    other = policy(tiny_llama(seed=1), tokenizer=agent.tokenizer)
    assert other.act(REQUESTS) != agent.act(REQUESTS)
    other.load(tmp_path / "saved")
    assert other.act(REQUESTS) == agent.act(REQUESTS)


def test_a_save_that_fails_leaves_the_old_folder_whole(tmp_path: Path) -> None:
    agent = policy()
    agent.save(tmp_path / "saved")

    class NoDisk:
        def save_pretrained(self, folder: Path) -> None:
            raise OSError(28, "No space left on device")

    broken = agent.with_sampling()
    broken.tokenizer = NoDisk()
    with pytest.raises(OSError, match="No space"):
        broken.save(tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    back = TransformersAgent.from_pretrained(tmp_path / "saved", max_new_tokens=12)
    assert back.act(REQUESTS) == agent.act(REQUESTS)


def test_saving_over_the_source_keeps_the_reference(tmp_path: Path) -> None:
    policy().save(tmp_path / "base")
    agent = TransformersAgent.from_pretrained(tmp_path / "base", max_new_tokens=12)
    replies = agent.act(REQUESTS)
    before = scores_of(agent, replies).logprobs.detach()
    agent.save(tmp_path / "base")
    ascend(agent, replies)
    agent.save(tmp_path / "base")
    torch.testing.assert_close(reference(agent, replies), before)


def test_strange_weights_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="names that only one of them has"):
        policy().load_state_dict({"odd": torch.zeros(1)})
    with pytest.raises(BadConfig, match=r"without config\.json"):
        policy().load(tmp_path)
    with pytest.raises(BadConfig, match="no such folder"):
        TransformersAgent.from_pretrained(tmp_path / "nowhere")
    with pytest.raises(BadConfig, match="dtype must be"):
        TransformersAgent.from_pretrained(tmp_path, dtype="float3")


def test_half_precision_is_a_word_away(tmp_path: Path) -> None:
    policy().save(tmp_path / "base")
    agent = TransformersAgent.from_pretrained(
        tmp_path / "base", dtype="bfloat16", max_new_tokens=12
    )
    replies = agent.act(REQUESTS)
    logprobs, _ = scores_of(agent, replies)
    assert agent.model.dtype == torch.bfloat16
    assert logprobs.dtype == torch.float32
    for row, reply in enumerate(replies):
        assert logprobs[row].tolist() == pytest.approx(reply.logprobs, abs=0.1)


def test_a_name_makes_one(tmp_path: Path) -> None:
    policy().save(tmp_path / "base")
    with pytest.raises(BadConfig, match="must leave room"):
        make_agent(f"transformers:{tmp_path / 'base'}")  # 512 new tokens, a window of 128
    policy(tiny_llama(window=1024)).save(tmp_path / "wide")
    agent = make_agent(f"transformers:{tmp_path / 'wide'}")
    assert isinstance(agent, TransformersAgent)
