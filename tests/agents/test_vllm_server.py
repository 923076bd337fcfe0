"""What answers of a vLLM server promise: the policy's own distribution, or an error.

TRL's own client speaks to a server of this process; what is not there is vLLM itself and
NCCL, which need a GPU. A queue carries the weights instead.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl", minversion="1.16")
pytest.importorskip("requests")

from corecode_env.agents.lora import lora_team, whole_weights  # noqa: E402
from corecode_env.agents.policy import TrainablePolicy  # noqa: E402
from corecode_env.agents.vllm_server import VLLMAgent  # noqa: E402
from corecode_env.core.errors import AgentError, BadConfig, MissingExtra  # noqa: E402
from corecode_env.core.seams import Reply  # noqa: E402
from tests.agents.fake_chat_server import Answer, refused  # noqa: E402
from tests.agents.fake_vllm_server import FakeVLLM, vllm_is_there  # noqa: E402
from tests.agents.test_local_model import REQUESTS, asked, policy, scores_of  # noqa: E402
from tests.agents.tiny_models import byte_tokenizer, tiny_llama  # noqa: E402

# peft asks transformers for an attribute by its old name.
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")


@pytest.fixture
def fake() -> Iterator[FakeVLLM]:
    with vllm_is_there():
        yield FakeVLLM()


def connect(url: str, learner: Any = None, **settings: Any) -> VLLMAgent:
    quick = {"timeout": 5.0, "retries": 2, "first_delay": 0.0, "device": "cuda", **settings}
    return VLLMAgent.connect(learner or policy(), url.removesuffix("/v1"), **quick)


def change(learner: Any) -> None:
    """As an optimiser does."""
    with torch.no_grad():
        for parameter in learner.trainable_parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))


def differences(served: FakeVLLM, learner: Any) -> float:
    own = dict(served.model.named_parameters())
    return max(
        float((own[name] - w).detach().abs().max()) for name, w in whole_weights(learner)
    )


# ---------------------------------------------------------------------------- answering
def test_answers_are_drawn_by_the_policys_weights_and_settings(fake: FakeVLLM) -> None:
    learner = policy(temperature=0.7, stop=("\n",))
    with fake.server() as server, connect(server.url, learner) as agent:
        assert isinstance(agent, TrainablePolicy)
        replies = agent.act(REQUESTS)
    assert differences(fake, learner) == 0.0
    assert [r.prompt_ids for r in replies] == [learner.encode(r) for r in REQUESTS]
    logprobs, mask = scores_of(agent, replies)
    told = [torch.tensor(reply.logprobs) for reply in replies]
    padded = torch.nn.utils.rnn.pad_sequence(told, batch_first=True)
    torch.testing.assert_close(logprobs.detach() * mask, padded, atol=1e-5, rtol=1e-5)
    calls = [body for body in server.bodies if body["path"] == "/v1/completions"]
    assert {call["temperature"] for call in calls} == {0.7}
    assert {tuple(call["stop"]) for call in calls} == {("\n",)}
    assert len({call["seed"] for call in calls}) == len(REQUESTS)


def test_an_answer_that_was_cut_says_so(fake: FakeVLLM) -> None:
    with fake.server() as server, connect(server.url) as agent:
        replies = agent.act(REQUESTS)
    ends = {
        reply.token_ids[-1] == 0: reply.finish_reason for reply in replies if reply.token_ids
    }
    assert ends[False] == "length" and ends.get(True, "stop") == "stop"


def test_stop_texts_are_cut_off_the_answer_and_not_off_its_tokens() -> None:
    learner = policy(stop=("!",))
    ids = learner.tokenizer("done! and")["input_ids"]
    reply = learner.reply_of((1,), ids, [-1.0] * len(ids))
    assert (reply.text, reply.finish_reason, reply.token_ids) == ("done", "stop", tuple(ids))


# --------------------------------------------------------------------------- weights
def test_the_server_gets_the_weights_when_they_have_changed_and_only_then(
    fake: FakeVLLM,
) -> None:
    learner = policy()
    with fake.server() as server, connect(server.url, learner) as agent:
        agent.act(REQUESTS[:1])
        agent.act(REQUESTS[:1])
        assert len(fake.updates) == fake.resets == 1
        change(learner)
        agent.act(REQUESTS[:1])
        assert len(fake.updates) == fake.resets == 2
        assert differences(fake, learner) == 0.0
    assert sorted(fake.updates[0]) == sorted(dict(tiny_llama().named_parameters()))


def test_a_server_may_lag_by_some_steps_but_not_behind_a_checkpoint(fake: FakeVLLM) -> None:
    learner = policy()
    learner.freeze_reference()
    with fake.server() as server, connect(server.url, learner, sync_every=3) as agent:
        agent.act(REQUESTS[:1])
        seen = []
        for _ in range(3):
            change(learner)
            agent.act(REQUESTS[:1])
            seen.append((agent.behind, differences(fake, learner) > 0.0))
        assert seen == [(1, True), (2, True), (0, False)]
        agent.load_state_dict({n: w + 1.0 for n, w in agent.state_dict().items()})
        assert differences(fake, learner) > 0.0
        agent.act(REQUESTS[:1])
        assert differences(fake, learner) == 0.0


def test_an_adapter_arrives_as_part_of_the_whole_model(fake: FakeVLLM) -> None:
    pytest.importorskip("peft")
    team = lora_team((tiny_llama(), byte_tokenizer()), rank=2, max_new_tokens=8)
    for learner in team.values():
        change(learner)
    before = {name: w.clone() for name, w in team["coder"].model.named_parameters()}
    with fake.server() as server, connect(server.url, team["coder"]) as agent:
        replies = agent.act(REQUESTS)
    logprobs, mask = scores_of(agent, replies)
    told = torch.tensor(
        [reply.logprobs for reply in replies if len(reply.logprobs or ()) == 8]
    )
    whole = mask.sum(-1) == 8
    torch.testing.assert_close(logprobs[whole].detach(), told, atol=1e-4, rtol=1e-4)
    assert sorted(fake.updates[0]) == sorted(dict(tiny_llama().named_parameters()))
    # Merging and taking apart again would have left rounding behind.
    assert all(torch.equal(w, before[n]) for n, w in team["coder"].model.named_parameters())


# ------------------------------------------------------------------------------ failures
def broken(how: str, number: int, said: Answer) -> Answer:
    status, body, headers = said
    (choice,) = body["choices"]
    match how:
        case "no answer":
            return status, {"choices": []}, headers
        case "two answers":
            return status, {"choices": [choice, choice]}, headers
        case "no log-probabilities":
            return status, {"choices": [{**choice, "logprobs": None}]}, headers
        case "too few log-probabilities":
            short = {name: part[:-1] for name, part in choice["logprobs"].items()}
            return status, {"choices": [{**choice, "logprobs": short}]}, headers
        case "an empty answer":
            none: dict[str, Any] = {name: [] for name in choice["logprobs"]}
            return status, {"choices": [{**choice, "token_ids": [], "logprobs": none}]}, {}
        case "no JSON":
            return status, b"<html>", headers
        case "a refusal":
            return refused(400)
        case "a failure":
            return refused(503)
    raise AssertionError(how)


@pytest.mark.parametrize(
    ("how", "shown"),
    [
        ("no answer", "IndexError"),
        ("two answers", "2 answers to one prompt"),
        ("no log-probabilities", "0 log-probabilities of"),
        ("too few log-probabilities", "log-probabilities of"),
        ("an empty answer", "0 log-probabilities of 0 tokens"),
        ("no JSON", "JSONDecodeError"),
        ("a refusal", "Request failed: 400"),
        ("a failure", "Request failed: 503"),
    ],
)
def test_no_answer_at_all_is_better_than_half_of_one(
    fake: FakeVLLM, how: str, shown: str
) -> None:
    fake.disturb = lambda number, said: broken(how, number, said)
    with fake.server() as server, connect(server.url) as agent:
        with pytest.raises(AgentError, match=shown) as caught:
            agent.act(REQUESTS[:1])
    assert "coder_0 must get an answer of the vLLM server for task 't'" in str(caught.value)
    assert fake.asked == (3 if how == "a failure" else 1)  # what cannot pass is asked once


def test_a_server_that_fails_for_a_moment_is_asked_again(fake: FakeVLLM) -> None:
    fake.disturb = lambda number, said: refused(503) if number == 1 else said
    with fake.server() as server, connect(server.url) as agent:
        (reply,) = agent.act(REQUESTS[:1])
    assert isinstance(reply, Reply) and fake.asked == 2


def test_a_server_that_says_nothing_is_given_up(fake: FakeVLLM) -> None:
    with fake.server() as server:

        def stall(number: int, said: Answer) -> Answer:
            server.released.wait(10)
            return said

        fake.disturb = stall
        with connect(server.url, timeout=0.2, retries=1) as agent:
            with pytest.raises(AgentError, match="timed out"):
                agent.act(REQUESTS[:1])
        server.released.set()


def test_a_server_that_refuses_weights_stops_the_run_and_is_tried_again_later(
    fake: FakeVLLM,
) -> None:
    whole, refusals = fake.answer, [refused(500)]

    def answer(number: int, body: dict[str, Any]) -> Answer:
        if body["path"] == "/start_weight_update" and refusals:
            return refusals.pop()
        return whole(number, body)

    fake.answer = answer  # type: ignore[method-assign]
    with fake.server() as server, connect(server.url) as agent:
        with pytest.raises(AgentError, match=r"must take the policy's weights.*500"):
            agent.act(REQUESTS[:1])
        assert fake.asked == 0
        assert len(agent.act(REQUESTS[:1])) == 1
        assert len(fake.updates) == 1


def test_without_a_server_the_error_says_how_to_start_one(fake: FakeVLLM) -> None:
    with pytest.raises(AgentError, match="--weight-transfer-config"):
        connect("http://127.0.0.1:9/v1")


def test_log_probabilities_of_another_distribution_are_refused(fake: FakeVLLM) -> None:
    fake.mode = "raw_logprobs"
    with fake.server() as server:
        with pytest.raises(BadConfig, match="logprobs-mode processed_logprobs, got 'raw_log"):
            connect(server.url)


def test_without_vllm_the_extra_is_named() -> None:
    with FakeVLLM().server() as server, pytest.raises(MissingExtra, match=r"\[vllm\]"):
        connect(server.url)


def test_weights_from_a_cpu_say_what_they_need(fake: FakeVLLM) -> None:
    with fake.server() as server, connect(server.url, device=None) as agent:
        with pytest.raises(AgentError, match="CUDA"):
            agent.act([asked("x")])


@pytest.mark.parametrize("wrong", [{"sync_every": 0}, {"concurrency": 0}, {"timeout": 0.0}])
def test_settings_that_cannot_work_are_refused(fake: FakeVLLM, wrong: dict[str, Any]) -> None:
    with fake.server() as server, pytest.raises(BadConfig, match=next(iter(wrong))):
        connect(server.url, **wrong)
