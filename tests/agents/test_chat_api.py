"""What agents over a chat server promise: answers, counts, patience, and clear refusals."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

openai = pytest.importorskip("openai")

from corecode_env.agents import OpenAIAgent, make_agent  # noqa: E402
from corecode_env.agents.chat_api import Usage  # noqa: E402
from corecode_env.core.errors import AgentError, BadConfig  # noqa: E402
from corecode_env.core.seams import Agent, Reply, Request  # noqa: E402
from corecode_env.core.task import CallTest, Function, Task  # noqa: E402
from corecode_env.environments import planner_coder_v0  # noqa: E402
from corecode_env.executor.testing import InstantExecutor  # noqa: E402
from corecode_env.rollout import collect, play  # noqa: E402
from tests.agents.fake_chat_server import (  # noqa: E402
    Answer,
    Body,
    FakeChatServer,
    refused,
    said,
)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)


def asked(prompt: str = "hi", seed: int = 0, **fields: Any) -> Request:
    messages = fields.pop("messages", ())
    return Request("coder_0", "coder", {"prompt": prompt}, messages, "t/1", seed=seed)


def agent_of(server: FakeChatServer, **settings: Any) -> OpenAIAgent:
    settings = {"first_delay": 0.01, "timeout": 10.0, **settings}
    return OpenAIAgent("m", base_url=server.url, **settings)


def echo(number: int, body: Body) -> Answer:
    return said(body["messages"][-1]["content"].upper())


@pytest.fixture
def server() -> Iterator[FakeChatServer]:
    with FakeChatServer(echo) as running:
        yield running


# ---------------------------------------------------------------------------- answering
def test_answers_come_in_the_order_of_the_requests(server: FakeChatServer) -> None:
    with agent_of(server) as agent:
        assert isinstance(agent, Agent)
        replies = agent.act([asked(f"word {n}") for n in range(20)])
    assert replies == [Reply(f"WORD {n}", finish_reason="stop") for n in range(20)]


def test_no_request_sends_nothing(server: FakeChatServer) -> None:
    with agent_of(server) as agent:
        assert agent.act([]) == []
    assert server.bodies == []


def test_what_is_sent_is_what_was_set(server: FakeChatServer) -> None:
    settings: dict[str, Any] = {
        "temperature": 0.2,
        "top_p": 0.9,
        "max_tokens": 7,
        "stop": ("END",),
        "extra_body": {"min_p": 0.1},
        "api_key": "secret",
    }
    with agent_of(server, **settings) as agent:
        agent.act([asked("hi", seed=12)])
        assert "secret" not in repr(agent)
    assert server.bodies == [
        {
            "path": "/v1/chat/completions",
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}],
            "temperature": 0.2,
            "top_p": 0.9,
            "max_tokens": 7,
            "stop": ["END"],
            "min_p": 0.1,
            "seed": 12,
        }
    ]
    assert server.keys == ["Bearer secret"]


def test_seeds_fit_into_31_bits_or_stay_here(server: FakeChatServer) -> None:
    with agent_of(server) as agent:
        agent.act([asked(seed=2**62 + 5)])
    with agent_of(server, send_seed=False, temperature=None) as agent:
        agent.act([asked(seed=5)])
    assert server.bodies[0]["seed"] == 5
    assert not {"seed", "temperature"} & server.bodies[1].keys()


def test_newer_models_know_the_limit_by_another_name(server: FakeChatServer) -> None:
    with agent_of(server, limit_field="max_completion_tokens") as agent:
        agent.act([asked()])
    assert server.bodies[0]["max_completion_tokens"] == 2048
    assert "max_tokens" not in server.bodies[0]


def test_a_system_prompt_takes_the_place_of_the_environments(server: FakeChatServer) -> None:
    messages = ({"role": "system", "content": "theirs"}, {"role": "user", "content": "u"})
    with agent_of(server) as plain, agent_of(server, system="ours") as own:
        plain.act([asked(messages=messages)])
        own.act([asked(messages=messages)])
        own.act([asked("bare")])
    first, second, third = (body["messages"] for body in server.bodies)
    assert first == list(messages)
    assert second == [{"role": "system", "content": "ours"}, messages[1]]
    assert third[0]["content"] == "ours" and third[1]["content"] == "bare"


def test_tokens_are_counted() -> None:
    with FakeChatServer(lambda n, body: said("x", prompt=10 + n, completion=n)) as server:
        with agent_of(server, concurrency=1) as agent:
            assert agent.usage == Usage()
            agent.act([asked() for _ in range(3)])
            expected = Usage(requests=3, prompt_tokens=33, completion_tokens=3)
            assert agent.usage == expected


def test_a_server_that_counts_nothing_is_fine() -> None:
    _, body, _ = said("x")
    del body["usage"]
    with FakeChatServer(lambda n, _: (200, body, {})) as server, agent_of(server) as agent:
        agent.act([asked()])
        assert agent.usage == Usage(requests=1)


def test_an_answer_without_text_is_empty_and_says_why() -> None:
    with FakeChatServer(lambda n, body: said(None, "content_filter")) as server:
        with agent_of(server) as agent:
            assert agent.act([asked()]) == [Reply("", finish_reason="content_filter")]


# ---------------------------------------------------------------------- many at one time
class Crowd:
    """Answers when `size` calls are there at one time, or after a while; knows the most."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size)
        self.lock = threading.Lock()
        self.now = self.most = 0

    def __call__(self, number: int, body: Body) -> Answer:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            self.barrier.wait(5.0)
        except threading.BrokenBarrierError:
            return refused(400)
        finally:
            with self.lock:
                self.now -= 1
        return said("x")


def test_as_many_calls_run_at_one_time_as_were_allowed_and_no_more() -> None:
    crowd = Crowd(3)
    with FakeChatServer(crowd) as server, agent_of(server, concurrency=3) as agent:
        assert len(agent.act([asked() for _ in range(12)])) == 12
    assert crowd.most == 3


def test_the_limit_holds_over_all_waiting_coroutines() -> None:
    crowd = Crowd(2)
    with FakeChatServer(crowd) as server, agent_of(server, concurrency=2) as agent:

        async def ask_all() -> list[list[Reply]]:
            return await asyncio.gather(*(agent.aact([asked()]) for _ in range(8)))

        assert len(asyncio.run(ask_all())) == 8
        # A second event loop finds nothing of the first one in its way.
        assert len(asyncio.run(ask_all())) == 8
    assert crowd.most == 2


# ---------------------------------------------------------------------------- failures
BROKEN: list[Answer] = [
    refused(408),
    refused(409),
    refused(429),
    refused(500),
    refused(503),
    (200, b'{"choices": [{"mess', {}),
    (200, b"<html>busy</html>", {"content-type": "text/html"}),
    (200, {"choices": []}, {}),
    (200, {"choices": [{"finish_reason": "stop"}]}, {}),
    (200, {"error": {"message": "overloaded"}}, {}),
    (200, [1, 2], {}),
    (502, b"", {}),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda b: f"{b[0]}-{str(b[1])[:24]}")
def test_what_may_pass_is_tried_again(broken: Answer) -> None:
    with FakeChatServer(lambda n, body: broken if n < 2 else said("x")) as server:
        with agent_of(server) as agent:
            assert agent.act([asked()]) == [Reply("x", finish_reason="stop")]
            assert agent.usage.retries == 2
    assert len(server.bodies) == 3
    assert server.bodies[0] == server.bodies[2]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_will_not_pass_is_said_at_once(status: int) -> None:
    with FakeChatServer(lambda n, body: refused(status)) as server:
        with agent_of(server) as agent:
            with pytest.raises(AgentError, match=f"'t/1'.* after 1 try: .*status {status}"):
                agent.act([asked()])
    assert len(server.bodies) == 1


def test_an_empty_account_is_not_asked_again() -> None:
    with FakeChatServer(lambda n, body: refused(429, "insufficient_quota")) as server:
        with agent_of(server) as agent, pytest.raises(AgentError, match="after 1 try"):
            agent.act([asked()])
    assert len(server.bodies) == 1


def test_patience_ends() -> None:
    with FakeChatServer(lambda n, body: refused(503)) as server:
        with agent_of(server, retries=2) as agent:
            with pytest.raises(AgentError, match="InternalServerError after 3 tries") as info:
                agent.act([asked()])
    assert isinstance(info.value.__cause__, openai.InternalServerError)
    assert len(server.bodies) == 3


def test_a_silent_server_is_left_and_asked_again() -> None:
    def answer(number: int, body: Body) -> Answer:
        if number == 0:
            silent.released.wait(30.0)
        return said("x")

    silent = FakeChatServer(answer)
    with silent, agent_of(silent, timeout=0.3) as agent:
        assert agent.act([asked()])[0].text == "x"
        assert agent.usage.retries == 1


def test_a_lost_connection_is_an_error_after_the_last_try() -> None:
    with FakeChatServer(echo) as server:
        agent = agent_of(server, retries=1)
    with agent, pytest.raises(AgentError, match="APIConnectionError after 2 tries"):
        agent.act([asked()])


def test_a_server_that_says_how_long_to_wait_is_believed() -> None:
    arrivals: list[float] = []

    def answer(number: int, body: Body) -> Answer:
        arrivals.append(time.monotonic())
        return refused(429, retry_after="0.4") if number == 0 else said("x")

    with FakeChatServer(answer) as server, agent_of(server, first_delay=0.0) as agent:
        agent.act([asked()])
    assert arrivals[1] - arrivals[0] >= 0.4


def test_no_wait_is_longer_than_the_longest() -> None:
    long = refused(429, retry_after="3600")
    with FakeChatServer(lambda n, body: long if n == 0 else said("x")) as server:
        with agent_of(server, longest_delay=0.05) as agent:
            assert agent.act([asked()])[0].text == "x"


def test_waits_grow_and_differ() -> None:
    with FakeChatServer(echo) as server, agent_of(server, first_delay=1.0) as agent:
        error = ValueError()
        for attempt in range(5):
            waits = [agent._delay(attempt, error) for _ in range(50)]
            assert 0.5 * 2**attempt <= min(waits) < max(waits) <= 2**attempt
        assert agent._delay(50, error) == 60.0


def test_a_cut_answer_is_kept_and_marked_or_refused_as_set() -> None:
    with FakeChatServer(lambda n, body: said("def f(", "length")) as server:
        with agent_of(server) as agent:
            assert agent.act([asked()]) == [Reply("def f(", finish_reason="length")]
        with agent_of(server, truncated="raise") as agent:
            with pytest.raises(AgentError, match="cut off; raise max_tokens"):
                agent.act([asked()])
    assert len(server.bodies) == 2, "a cut answer is no reason to ask again"


# ---------------------------------------------------------------------------- settings
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"retries": -1}, "retries must be at least 0"),
        ({"timeout": 0}, "timeout must be above 0"),
        ({"truncated": "drop"}, "truncated must be"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(settings: Any, message: str) -> None:
    with pytest.raises(BadConfig, match=message):
        OpenAIAgent("m", base_url="http://localhost:1/v1", **settings)


def test_a_missing_key_is_said_with_the_way_out() -> None:
    with pytest.raises(BadConfig, match="Set OPENAI_API_KEY"):
        OpenAIAgent("m")


def test_a_name_makes_one(server: FakeChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    agent = make_agent("openai:some/model:tag")
    assert isinstance(agent, OpenAIAgent)
    with agent:
        agent.act([asked()])
    assert server.bodies[0]["model"] == "some/model:tag"
    with pytest.raises(BadConfig, match="must name a model"):
        make_agent("openai:")


def test_a_closed_agent_answers_no_more(server: FakeChatServer) -> None:
    agent = agent_of(server)
    agent.close()
    agent.close()
    with pytest.raises(RuntimeError):
        agent.act([asked()])


# ---------------------------------------------------------------------------- playing
TASK = Task(
    id="t/1",
    statement="Add one.",
    interface=Function("f"),
    hidden_tests=(CallTest((1,), {}, 2),),
)


def test_it_plays_episodes_and_whole_trees(server: FakeChatServer) -> None:
    with agent_of(server) as agent:
        team = {"planner": agent, "coder": agent}
        env = planner_coder_v0.env(tasks=(TASK,), executor=InstantExecutor())
        episode = play(env, team, seed=1)
        env.close()
        assert [turn.finish_reason for turn in episode.turns] == ["stop", "stop"]
        samples = {"planner": 3, "coder": 2}
        trees = collect(
            lambda: planner_coder_v0.env(tasks=(TASK,), executor=InstantExecutor()),
            team,
            ["t/1", "t/1"],
            samples=samples,
            seed=2,
        )
        assert [len(tree.nodes) for tree in trees] == [9, 9]
        assert agent.usage.requests == 2 + 18
