"""What text wrappers promise: they change what agents read, in every view, and no more."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.errors import BadConfig, UnknownName
from corecode_env.core.seams import Request
from corecode_env.core.task import Task
from corecode_env.environments import (
    History,
    PromptTemplate,
    RoleIndicator,
    SeatEnv,
    TextWrapper,
    Truncate,
    TurnParallelEnv,
    fork,
    planner_coder_v0,
    wrap_inside,
)
from corecode_env.environments.text_wrappers import CUT_MARK
from corecode_env.executor.testing import InstantExecutor
from corecode_env.rollout import collect, play

Make = Callable[..., Any]


@pytest.fixture
def make(tasks: list[Task], executor: Any) -> Make:
    def with_options(**options: Any) -> Any:
        options = {"tasks": tasks, "executor": executor, "max_cycles": 3, **options}
        return planner_coder_v0.env(**options)

    return with_options


class Words:
    """A tokenizer whose tokens are words with the space before them, and single marks."""

    def __init__(self) -> None:
        self.known: list[str] = []

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        parts = re.findall(r"\s*\w+|\s*[^\w\s]|\s+$", text)
        ids = []
        for part in parts:
            if part not in self.known:
                self.known.append(part)
            ids.append(self.known.index(part))
        return [-1, *ids] if add_special_tokens else ids

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.known[i] for i in ids)

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("a tokenizer must not be copied")


def bare(**options: Any) -> Truncate:
    executor = InstantExecutor()
    task = Task.from_json(
        {
            "id": "t",
            "statement": "s",
            "interface": {"kind": "stdio"},
            "hidden_tests": [{"kind": "stdio", "input": "", "output": ""}],
        }
    )
    return Truncate(planner_coder_v0.env(tasks=[task], executor=executor), **options)


# ----------------------------------------------------------------------------- truncate
@pytest.mark.parametrize(
    ("keep", "cut"),
    [("start", "abcdefghij"), ("end", "qrstuvwxyz"), ("ends", f"a{CUT_MARK}yz")],
)
def test_a_long_text_is_cut_where_it_is_said(keep: Any, cut: str) -> None:
    limit = 10
    assert bare(max_chars=limit, keep=keep).cut("abcdefghijklmnopqrstuvwxyz") == cut
    assert len(cut) == limit


@given(st.text(max_size=60), st.integers(1, 40), st.sampled_from(["ends", "start", "end"]))
def test_no_text_is_longer_than_the_limit_and_short_ones_stay(
    text: str, limit: int, keep: Any
) -> None:
    cut = CUTS[keep, limit].cut(text)
    assert len(cut) == min(len(text), limit)
    if len(text) <= limit:
        assert cut == text


CUTS = {
    (keep, limit): bare(max_chars=limit, keep=keep)
    for keep in ("ends", "start", "end")
    for limit in range(1, 41)
}


@pytest.mark.parametrize("keep", ["ends", "start", "end"])
@pytest.mark.parametrize("limit", [1, 4, 7, 8, 20])
def test_tokens_are_counted_without_special_ones(keep: Any, limit: int) -> None:
    tokenizer = Words()
    wrapper = bare(max_tokens=limit, tokenizer=tokenizer, keep=keep)
    text = " ".join(f"word{i}" for i in range(30)) + "."
    cut = wrapper.cut(text)
    assert 0 < len(tokenizer.encode(cut, add_special_tokens=False)) <= limit
    if keep != "start":
        assert cut.endswith(".")
    if keep != "end" and limit > 7:
        assert cut.startswith("word0")
    whole = "as it is"
    assert bare(max_tokens=3, tokenizer=tokenizer).cut(whole) == whole


def test_tokens_that_count_more_together_than_apart_are_cut_further() -> None:
    class Joined:
        """Two letters are a token, but so is each letter of an odd text."""

        def encode(self, text: str) -> list[int]:
            step = 1 if len(text) % 2 else 2
            return [len(text[i : i + step]) for i in range(0, len(text), step)]

        def decode(self, ids: Sequence[int]) -> str:
            return "x" * max(sum(ids) - 1, 0)

    cut = bare(max_tokens=5, tokenizer=Joined(), keep="start").cut("x" * 40)
    assert cut and len(Joined().encode(cut)) <= 5


def test_only_the_named_fields_are_cut(make: Make) -> None:
    env: Any = Truncate(make(), max_chars=30, fields=["statement"])
    env.reset(seed=1)
    inner = env.unwrapped.observe("planner_0")
    seen = env.observe("planner_0")
    assert len(seen["statement"]) == 30 < len(inner["statement"])
    assert {**seen, "statement": ""} == {**inner, "statement": ""}


def test_forks_share_the_tokenizer(make: Make) -> None:
    env = Truncate(make(), max_tokens=12, tokenizer=Words())
    env.reset(seed=1)
    (child,) = fork(env, 1)
    assert child.observe("planner_0") == env.observe("planner_0")


# ------------------------------------------------------------------------------ history
def played(env: Any, *texts: str) -> Any:
    env.reset(seed=1)
    for text in texts:
        env.step(text)
    return env


def test_history_shows_an_agent_its_own_earlier_answers(
    make: Make, say: SimpleNamespace
) -> None:
    env = played(History(make()), "first plan", say.wrong, "second plan", say.wrong)
    inner = env.unwrapped.observe("planner_0")["prompt"]
    assert env.observe("planner_0")["prompt"] == (
        "Earlier in this episode:\n\n[round 1, planner_0]\nfirst plan\n\n"
        f"[round 2, planner_0]\nsecond plan\n\nNow:\n\n{inner}"
    )


def test_history_begins_empty(make: Make) -> None:
    env = played(History(make()))
    assert env.observe("planner_0") == env.unwrapped.observe("planner_0")


def test_history_of_all_shows_the_last_turns_of_everybody(
    make: Make, say: SimpleNamespace
) -> None:
    texts = ("first plan", say.wrong, "second plan", say.wrong)
    env = played(History(make(), turns=3, whose="all"), *texts)
    prompt = env.observe("planner_0")["prompt"]
    assert "first plan" not in prompt.partition("Now:")[0]
    assert re.findall(r"\[round (\d), (\w+)\]", prompt) == [
        ("1", "coder_0"),
        ("2", "planner_0"),
        ("2", "coder_0"),
    ]


def test_history_gives_way_to_the_prompt(make: Make, say: SimpleNamespace) -> None:
    plain = make()
    length = len(played(plain, "p" * 300, say.wrong).observe("planner_0")["prompt"])
    long = "p" * 300
    env = played(History(make(max_chars=length)), long, say.wrong, "short", say.wrong)
    inner = env.unwrapped.observe("planner_0")["prompt"]
    prompt = env.observe("planner_0")["prompt"]
    assert prompt.endswith(inner) and len(prompt) <= length
    assert "[round 2, planner_0]\nshort" in prompt and "[round 1" not in prompt


# --------------------------------------------------------------------------- the prompt
def test_a_template_writes_the_prompt_anew(make: Make, say: SimpleNamespace) -> None:
    text = "Round $round of $role.\n\n$statement\n\nThe plan:\n$plan\n\nIt costs $$1."
    env = played(PromptTemplate(make(), {"coder": text}), "add up")
    statement = env.observe("coder_0")["statement"]
    assert env.observe("coder_0")["prompt"] == (
        f"Round 1 of coder.\n\n{statement}\n\nThe plan:\nadd up\n\nIt costs $1."
    )
    assert env.observe("planner_0") == env.unwrapped.observe("planner_0")


def test_paragraphs_without_anything_to_say_are_left_out(make: Make) -> None:
    env = played(PromptTemplate(make(), "Do it.\n\nLast time: $feedback"))
    assert env.observe("planner_0")["prompt"] == "Do it."


def test_an_agents_own_template_goes_before_its_roles(make: Make) -> None:
    env = played(PromptTemplate(make(), {"planner": "as a role", "planner_0": "own"}))
    assert env.observe("planner_0")["prompt"] == "own"


def test_a_template_may_hold_what_stood_there(make: Make) -> None:
    env = played(PromptTemplate(make(), "Think first.\n\n$prompt"))
    inner = env.unwrapped.observe("planner_0")["prompt"]
    assert env.observe("planner_0")["prompt"] == f"Think first.\n\n{inner}"


def test_each_agent_is_told_who_it_is(make: Make) -> None:
    env = played(RoleIndicator(make()))
    for agent, role in (("planner_0", "planner"), ("coder_0", "coder")):
        inner = env.unwrapped.observe(agent)["prompt"]
        assert env.observe(agent)["prompt"] == (
            f"You are {agent}, the {role} of the team: planner_0, coder_0.\n\n{inner}"
        )


def test_the_line_stays_where_the_prompt_is_full(make: Make) -> None:
    plain = played(make())
    length = len(plain.observe("planner_0")["prompt"])
    env = played(RoleIndicator(make(max_chars=length), "I am $role."))
    prompt = env.observe("planner_0")["prompt"]
    assert len(prompt) == length
    assert prompt.startswith(f"I am planner.\n\n{CUT_MARK}")
    assert prompt[-50:] == plain.observe("planner_0")["prompt"][-50:]


# -------------------------------------------------------------------------------- views
class Shout(TextWrapper):
    def observation(self, agent: str, seen: dict[str, Any]) -> dict[str, Any]:
        return {**seen, "prompt": seen["prompt"].upper() + "!"}


WRAPS: dict[str, tuple[Any, dict[str, Any]]] = {
    "truncate": (Truncate, {"max_chars": 100}),
    "history": (History, {}),
    "template": (PromptTemplate, {"template": "$statement\n\n$plan"}),
    "indicator": (RoleIndicator, {}),
    "own": (Shout, {}),
}


@pytest.mark.parametrize("name", WRAPS)
def test_all_views_and_rollouts_show_the_same(
    make: Make, say: SimpleNamespace, name: str
) -> None:
    wrap, options = WRAPS[name]
    aec = wrap(make(), **options)
    parallel: Any = wrap_inside(TurnParallelEnv(make()), wrap, **options)
    seat = wrap_inside(
        SeatEnv(make(), "planner_0", {"coder_0": lambda seen: say.wrong}), wrap, **options
    )
    aec.reset(seed=1)
    observations, _ = parallel.reset(seed=1)
    shown, _ = seat.reset(seed=1)
    for plan in ("first", "second"):
        seen = aec.observe("planner_0")
        assert seen in aec.observation_space("planner_0")
        assert seen == observations["planner_0"] == shown
        for text in (plan, say.wrong):
            assert aec.last()[0] == aec.observe(aec.agent_selection)
            aec.step(text)
            observations, *_ = parallel.step({parallel.active_agent: text})
        shown, *_ = seat.step(plan)
    assert aec.observe("planner_0") != aec.unwrapped.observe("planner_0")


@pytest.mark.parametrize("name", WRAPS)
def test_agents_are_asked_with_the_wrapped_prompt(
    make: Make, say: SimpleNamespace, name: str
) -> None:
    wrap, options = WRAPS[name]
    asked: list[Request] = []

    class Listens:
        def act(self, requests: Sequence[Request]) -> list[str]:
            asked.extend(requests)
            return [say.wrong] * len(requests)

    play(wrap(make(), **options), {"planner": Listens(), "coder": Listens()}, seed=1)
    players = {"planner": Listens(), "coder": Listens()}
    list(collect(lambda: wrap(make(), **options), players, ["sums/0"], samples={}, seed=0))
    assert len(asked) == 12
    for request in asked:
        assert request.messages[-1]["content"] == request.observation["prompt"]
    assert any(
        request.observation["prompt"] != other.observation["prompt"]
        for request, other in zip(asked, plain_requests(make, say), strict=False)
    )


def test_partners_of_a_seat_are_asked_with_the_wrapped_prompt(
    make: Make, say: SimpleNamespace
) -> None:
    asked: list[Request] = []

    class Listens:
        def act(self, requests: Sequence[Request]) -> list[str]:
            asked.extend(requests)
            return [say.right] * len(requests)

    seat = wrap_inside(SeatEnv(make(), "planner_0", {"coder_0": Listens()}), Shout)
    seat.reset(seed=1)
    seat.step("a plan")
    (request,) = asked
    assert request.messages[-1]["content"] == request.observation["prompt"]
    assert request.observation["prompt"].endswith("!")


def plain_requests(make: Make, say: SimpleNamespace) -> list[Request]:
    found: list[Request] = []

    class Listens:
        def act(self, requests: Sequence[Request]) -> list[str]:
            found.extend(requests)
            return [say.wrong] * len(requests)

    play(make(), {"planner": Listens(), "coder": Listens()}, seed=1)
    return found


def test_text_wrappers_stack_from_the_inside_out(make: Make) -> None:
    env = played(Truncate(RoleIndicator(Shout(make())), max_chars=60))
    prompt = env.observe("planner_0")["prompt"]
    assert prompt.startswith("You are planner_0") and prompt.endswith("!")
    assert len(prompt) == 60


def test_rewards_and_the_episode_do_not_change(make: Make, say: SimpleNamespace) -> None:
    texts = ("plan", say.wrong, "plan", say.right)
    plain, wrapped = played(make(), *texts), played(Shout(make()), *texts)
    assert wrapped.rewards == plain.rewards
    assert wrapped.unwrapped.episode == plain.unwrapped.episode


# ------------------------------------------------------------------------------- misuse
# Without their types: what they are given here is wrong on purpose.
Cut: Any = Truncate
Past: Any = History
Written: Any = PromptTemplate


@pytest.mark.parametrize(
    ("wrap", "problem"),
    [
        (lambda env: Cut(env), "one of max_chars and max_tokens must be given"),
        (
            lambda env: Cut(env, max_chars=1, max_tokens=1, tokenizer=Words()),
            "one of max_chars and max_tokens must be given",
        ),
        (lambda env: Cut(env, max_tokens=5), "tokenizer must be given with max_tokens"),
        (
            lambda env: Cut(env, max_chars=5, tokenizer=Words()),
            "tokenizer must be given with max_tokens",
        ),
        (lambda env: Cut(env, max_chars=0), "max_chars must be a whole number"),
        (lambda env: Cut(env, max_chars=5, keep="middle"), "'ends', 'start', 'end'"),
        (lambda env: Cut(env, max_chars=5, fields="prompt"), "must be a list of names"),
        (
            lambda env: Cut(env, max_chars=5, fields=["promt"]),
            "did you mean 'prompt'",
        ),
        (lambda env: Cut(env, max_chars=5, fields=["round"]), "changes texts"),
        (lambda env: Past(env, turns=0), "turns must be a whole number"),
        (lambda env: Past(env, whose="mine"), "'own', 'all'"),
        (lambda env: Written(env, {}), "must be a text, or texts by agent"),
        (lambda env: Written(env, 3), "must be a text, or texts by agent"),
        (lambda env: Written(env, {"coder": 3}), "template of 'coder_0' must be"),
        (lambda env: Written(env, "$statemnt"), "must be among feedback, plan"),
        (lambda env: Written(env, "  "), "must not be empty"),
        (lambda env: RoleIndicator(env, "I am $name"), "must be among agent, role, team"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(
    make: Make, wrap: Any, problem: str
) -> None:
    with pytest.raises(BadConfig, match=problem):
        wrap(make())


def test_a_template_for_nobody_is_refused(make: Make) -> None:
    with pytest.raises(UnknownName, match="did you mean 'coder'"):
        PromptTemplate(make(), {"codr": "x"})


@pytest.mark.parametrize(
    ("shown", "problem"),
    [
        ({"prompt": "x"}, "must return a dict with the fields feedback, plan"),
        (None, "must return a dict with the fields"),
    ],
)
def test_a_wrapper_that_returns_something_else_is_an_error(
    make: Make, shown: Any, problem: str
) -> None:
    class Bad(TextWrapper):
        def observation(self, agent: str, seen: dict[str, Any]) -> dict[str, Any]:
            return shown  # type: ignore[no-any-return]

    with pytest.raises(BadConfig, match=problem):
        played(Bad(make())).observe("planner_0")


def test_a_field_that_is_no_text_is_an_error(make: Make) -> None:
    class Bad(TextWrapper):
        def observation(self, agent: str, seen: dict[str, Any]) -> dict[str, Any]:
            return {**seen, "plan": 3}

    with pytest.raises(BadConfig, match=r"field 'plan' that Bad\.observation returns must be"):
        played(Bad(make())).observe("planner_0")


def test_a_wrapper_must_say_what_it_does(make: Make) -> None:
    with pytest.raises(NotImplementedError, match=r"observation\(self, agent, seen\)"):
        played(TextWrapper(make())).observe("planner_0")


def test_what_a_wrapper_makes_too_long_is_cut_to_the_space(make: Make) -> None:
    class Long(TextWrapper):
        def observation(self, agent: str, seen: dict[str, Any]) -> dict[str, Any]:
            return {**seen, "prompt": "x" * 10**6}

    env = played(Long(make()))
    assert env.observe("planner_0") in env.observation_space("planner_0")
