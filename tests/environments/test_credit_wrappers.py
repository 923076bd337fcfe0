"""What credit wrappers promise: hand-worked pay, the same in every view, booked everywhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest

from corecode_env.core.episode import Episode
from corecode_env.core.errors import BadConfig, ExecutorError, RewardError, UnknownName
from corecode_env.core.seams import Request
from corecode_env.core.task import Task
from corecode_env.environments import (
    CounterfactualWrapper,
    CreditWrapper,
    DifferenceWrapper,
    SeatEnv,
    TurnParallelEnv,
    fork,
    planner_coder_v0,
    solo_coder_v0,
    wrap_inside,
)
from corecode_env.rewards import PerTurn, PotentialShaping, Split, shared, to_actor

Make = Callable[..., Any]
Sums = dict[str, float]

# What `corecode()` pays for a program: right 1.1 to the planner and 1.3 to the coder; one
# that passes the public test alone, 1 of 3, 1/3 + 0.1 each; a wrong one 0.1 each.
RIGHT, WRONG = 2.4, 0.2


@pytest.fixture
def make(tasks: list[Task], executor: Any) -> Make:
    def with_options(**options: Any) -> Any:
        return planner_coder_v0.env(tasks=tasks, executor=executor, **options)

    return with_options


def play_aec(env: Any, *texts: str, options: Any = None) -> Sums:
    """Play texts in order; check the books on the way; return what each agent got."""
    sums: Sums = defaultdict(float)
    left = list(texts)
    env.reset(seed=1, options=options)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        assert sum(info["reward_terms"].values()) == pytest.approx(reward)
        sums[agent] += reward
        env.step(None if terminated or truncated else left.pop(0))
    assert not left
    return dict(sums)


def play_parallel(env: Any, *texts: str) -> Sums:
    sums: Sums = defaultdict(float)
    left = list(texts)
    env.reset(seed=1)
    while env.agents:
        _, rewards, _, _, infos = env.step(dict.fromkeys(env.agents, left.pop(0)))
        for agent, reward in rewards.items():
            assert sum(infos[agent]["reward_terms"].values()) == pytest.approx(reward)
            sums[agent] += reward
    return dict(sums)


def play_seat(env: Any, *texts: str) -> float:
    """Play the planner's texts, partners the rest."""
    total, left = 0.0, list(texts)
    env.reset(seed=1)
    terminated = False
    while not terminated:
        _, reward, terminated, _, info = env.step(left.pop(0))
        assert sum(info["reward_terms"].values()) == pytest.approx(reward)
        total += reward
    return total


def by_plan(say: SimpleNamespace) -> Any:
    """Return a coder that is right if the plan is good."""
    return lambda seen: say.right if "good" in seen["plan"] else say.wrong


WRAPS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "plain": (CreditWrapper, (lambda step: dict.fromkeys(step.rewards, 0.25),)),
    "shared": (CreditWrapper, (shared,)),
    "split": (CreditWrapper, (Split({"planner": 1, "coder": 3}),)),
    "to_actor": (CreditWrapper, (to_actor,)),
    "per_turn": (CreditWrapper, (PerTurn(),)),
    "potential": (CreditWrapper, (PotentialShaping(lambda e: 5.0 + len(e.turns)),)),
    "difference": (DifferenceWrapper, ({"planner": "", "coder": ""},)),
}


def wrapped(name: str, env: Any, say: SimpleNamespace) -> Any:
    if name == "counterfactual":
        partners = {"planner": lambda seen: "good", "coder": by_plan(say)}
        return wrap_inside(
            env, CounterfactualWrapper, {"planner": "", "coder": ""}, partners=partners
        )
    wrap, arguments = WRAPS[name]
    return wrap_inside(env, wrap, *arguments)


# Two rounds: a wrong program (0.1 each), then a right one (1.1 and 1.3).
EXPECTED: dict[str, Sums] = {
    # four steps
    "plain": {"planner_0": 1.0, "coder_0": 1.0},
    "shared": {"planner_0": WRONG + RIGHT, "coder_0": WRONG + RIGHT},
    "split": {"planner_0": 0.65, "coder_0": 1.95},
    "to_actor": {"planner_0": 0.0, "coder_0": WRONG + RIGHT},
    # nothing passes at first, then everything
    "per_turn": {"planner_0": 0.0, "coder_0": 1.0},
    # 1.2 and 1.4 less the potential of the start
    "potential": {"planner_0": -3.8, "coder_0": -3.6},
    # Other plans under the same programs change nothing. Without the coder's programs there
    # are two wrong ones: 2.6 - 0.4.
    "difference": {"planner_0": 0.0, "coder_0": 2.2},
    # Without good plans the coder would be wrong twice: 2.6 - 0.4; with none of its own
    # programs too.
    "counterfactual": {"planner_0": 2.2, "coder_0": 2.2},
}
CREDITS = pytest.mark.parametrize("name", EXPECTED)


@CREDITS
def test_pay_in_the_aec_view(make: Make, say: SimpleNamespace, name: str) -> None:
    env = wrapped(name, make(max_cycles=2), say)
    paid = play_aec(env, "bad", say.wrong, "good", say.right)
    assert paid == pytest.approx(EXPECTED[name])


@CREDITS
def test_pay_in_the_parallel_view(make: Make, say: SimpleNamespace, name: str) -> None:
    env = wrapped(name, TurnParallelEnv(make(max_cycles=2)), say)
    paid = play_parallel(env, "bad", say.wrong, "good", say.right)
    assert paid == pytest.approx(EXPECTED[name])


@CREDITS
def test_pay_in_the_seat_view(make: Make, say: SimpleNamespace, name: str) -> None:
    seat = SeatEnv(make(max_cycles=2), "planner_0", {"coder_0": by_plan(say)})
    env = wrapped(name, seat, say)
    assert play_seat(env, "bad", "good") == pytest.approx(EXPECTED[name]["planner_0"])


@CREDITS
def test_pay_adds_up_turn_by_turn(make: Make, say: SimpleNamespace, name: str) -> None:
    env = wrapped(name, make(max_cycles=2), say)
    env.reset(seed=1)
    sums: Sums = defaultdict(float)
    for text in ("bad", say.wrong, "good", say.right):
        env.step(text)
        for agent, terms in env.turn_terms.items():
            assert sum(terms.values()) == pytest.approx(env.rewards[agent])
            sums[agent] += sum(terms.values())
    assert sums == pytest.approx(EXPECTED[name])


@CREDITS
def test_forks_are_paid_alike(make: Make, say: SimpleNamespace, name: str) -> None:
    env = wrapped(name, make(max_cycles=2), say)
    env.reset(seed=1)
    sums: Sums = defaultdict(float)
    for text in ("bad", say.wrong, "good", say.right):
        (env,) = fork(env, 1)
        env.step(text)
        for agent, reward in env.rewards.items():
            sums[agent] += reward
    assert sums == pytest.approx(EXPECTED[name])


@CREDITS
def test_nobody_is_paid_where_the_sandbox_failed(
    make: Make, say: SimpleNamespace, name: str
) -> None:
    env = wrapped(name, make(), say)
    env.reset(seed=1)
    env.step("good")
    env.step(say.breaks)
    assert env.rewards == env._cumulative_rewards == {"planner_0": 0.0, "coder_0": 0.0}


def test_terms_of_the_step_before_are_gone_where_the_sandbox_failed(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    options = {"tasks": tasks, "executor": executor, "max_cycles": 2}
    plain: Any = solo_coder_v0.parallel_env(**options)
    for env in (
        plain,
        wrap_inside(solo_coder_v0.parallel_env(**options), CreditWrapper, shared),
    ):
        env.reset(seed=1)
        _, rewards, _, _, infos = env.step({"coder_0": say.wrong})
        assert sum(infos["coder_0"]["reward_terms"].values()) == rewards["coder_0"] > 0
        _, rewards, _, _, infos = env.step({"coder_0": say.breaks})
        assert (rewards["coder_0"], infos["coder_0"]["reward_terms"]) == (0.0, {})


def test_what_a_rule_changes_stands_under_its_name(make: Make, say: SimpleNamespace) -> None:
    env = CreditWrapper(make(), shared)
    env.reset(seed=1)
    env.step("good")
    env.step(say.right)
    assert env.infos["planner_0"]["reward_terms"] == pytest.approx(
        {"accuracy": 1.0, "error_free": 0.1, "shared": 1.3}
    )


def test_rules_stack(make: Make, say: SimpleNamespace) -> None:
    env = CreditWrapper(CreditWrapper(make(), to_actor), Split())
    assert play_aec(env, "good", say.right) == pytest.approx(
        {"planner_0": RIGHT / 2, "coder_0": RIGHT / 2}
    )


def test_the_potential_of_stored_turns_is_the_constant(
    make: Make, say: SimpleNamespace
) -> None:
    env = CreditWrapper(make(max_cycles=2), PotentialShaping(lambda e: 5.0 + len(e.turns)))
    options = {"prefix": [("planner_0", "bad"), ("coder_0", say.wrong)]}
    paid = play_aec(env, "good", say.right, options=options)
    assert paid == pytest.approx({"planner_0": 1.1 - 7.0, "coder_0": 1.3 - 7.0})


# ---------------------------------------------------------------- played again otherwise
def test_a_difference_is_broken_off_where_the_others_said_no_more(
    make: Make, say: SimpleNamespace
) -> None:
    """The episode ended after a round; without the program it would have gone on."""
    env = DifferenceWrapper(make(max_cycles=2), {"coder": say.wrong})
    paid = play_aec(env, "good", say.right)
    assert paid == pytest.approx({"planner_0": 1.1, "coder_0": RIGHT - WRONG})


def test_stored_turns_stay_as_they_are(make: Make, say: SimpleNamespace) -> None:
    env = DifferenceWrapper(make(max_cycles=2), {"planner": "", "coder": say.wrong})
    options = {"prefix": [("planner_0", "good")]}
    paid = play_aec(env, say.right, options=options)
    assert paid == pytest.approx({"planner_0": 0.0, "coder_0": RIGHT - WRONG})


def test_an_agents_own_default_goes_before_its_roles(make: Make, say: SimpleNamespace) -> None:
    env = DifferenceWrapper(make(), {"coder_0": say.half, "coder": say.wrong})
    # 2.4 less what the half right program pays: twice 1/3 + 0.1
    assert play_aec(env, "good", say.right)["coder_0"] == pytest.approx(2.2 - 2 / 3)


def test_a_value_of_ones_own_may_be_compared(make: Make, say: SimpleNamespace) -> None:
    def rate(episode: Episode) -> float:
        return 0.0 if episode.judgement is None else episode.judgement.pass_rate

    env = DifferenceWrapper(make(), {"coder": say.half}, value=rate)
    assert play_aec(env, "good", say.right)["coder_0"] == pytest.approx(1 - 1 / 3)


def test_partners_see_the_default_and_are_asked_as_often_as_was_said(
    make: Make, say: SimpleNamespace
) -> None:
    class Partner:
        seen: list[Request] = []  # noqa: RUF012

        def act(self, requests: Sequence[Request]) -> list[str]:
            self.seen.extend(requests)
            return [say.right if len(self.seen) == 1 else say.wrong for _ in requests]

    partner = Partner()
    env = CounterfactualWrapper(make(), {"planner": "no plan"}, {"coder": partner}, samples=4)
    paid = play_aec(env, "good", say.right)
    # 2.4 less the mean of one right and three wrong programs
    assert paid["planner_0"] == pytest.approx(RIGHT - (RIGHT + 3 * WRONG) / 4)
    assert paid["coder_0"] == pytest.approx(1.3), "who has no default keeps its pay"
    assert [request.observation["plan"] for request in partner.seen] == ["no plan"] * 4
    assert len({request.seed for request in partner.seen}) == 4
    assert all(request.agent == "coder_0" for request in partner.seen)


def test_playing_again_leaves_the_episode_alone(make: Make, say: SimpleNamespace) -> None:
    plain: Any = make()
    credited: Any = DifferenceWrapper(make(), {"coder": ""})
    for env in (plain, credited):
        env.reset(seed=3)
        env.step("good")
        env.step(say.right)
    assert credited.unwrapped.episode == plain.unwrapped.episode
    assert credited.unwrapped.np_random.random() == plain.unwrapped.np_random.random()


def test_playing_again_is_not_shown(
    make: Make, say: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []
    for env in (make(render_mode="human"), make(render_mode="human")):
        game = env if not shown else DifferenceWrapper(env, {"planner": "", "coder": ""})
        game.reset(seed=3)
        game.step("good")
        game.step(say.right)
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != ""


def test_forks_share_the_partners(make: Make, say: SimpleNamespace) -> None:
    class Heavy:
        def act(self, requests: Sequence[Request]) -> list[str]:
            return [say.wrong for _ in requests]

        def __deepcopy__(self, memo: Any) -> Any:
            raise AssertionError("a partner must not be copied")

    env = CounterfactualWrapper(make(), {"planner": ""}, {"coder": Heavy()})
    env.reset(seed=1)
    env.step("good")
    (child,) = fork(env, 1)
    child.step(say.right)
    assert child.rewards["planner_0"] == pytest.approx(RIGHT - WRONG)


def test_a_sandbox_that_fails_on_playing_again_is_an_error(
    make: Make, say: SimpleNamespace
) -> None:
    env = DifferenceWrapper(make(), {"coder": say.breaks})
    env.reset(seed=1)
    env.step("good")
    with pytest.raises(ExecutorError, match="played again"):
        env.step(say.right)


# -------------------------------------------------------------------------------- views
def test_a_made_seat_is_wrapped_beneath_gymnasiums_wrappers(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env: Any = gymnasium.make(
        "corecode/PlannerCoder-v0",
        seat="coder_0",
        tasks=tasks,
        executor=executor,
        disable_env_checker=True,
    )
    wrap_inside(env, CreditWrapper, shared)
    env.reset(seed=1)
    _, reward, *_ = env.step(say.right)
    assert reward == pytest.approx(RIGHT)


def test_only_our_environments_can_be_wrapped_inside() -> None:
    with pytest.raises(BadConfig, match="an environment of this package"):
        wrap_inside(gymnasium.make("CartPole-v1"), CreditWrapper, shared)
    with pytest.raises(BadConfig, match="an environment of this package"):
        wrap_inside(3, CreditWrapper, shared)


# ------------------------------------------------------------------------------- misuse
# Without their types: what they are given here is wrong on purpose.
Credit: Any = CreditWrapper
Difference: Any = DifferenceWrapper
Counterfactual: Any = CounterfactualWrapper


@pytest.mark.parametrize(
    ("wrap", "error", "problem"),
    [
        (lambda env: Credit(env, lambda a, b: {}), RewardError, r"write fn\(step\)"),
        (lambda env: Credit(env, None), RewardError, "must be a function"),
        (lambda env: Difference(env, {}), RewardError, r"write \{'planner': ''\}"),
        (
            lambda env: Difference(env, {"planer": ""}),
            UnknownName,
            "did you mean 'planner'",
        ),
        (lambda env: Difference(env, {"coder": 3}), RewardError, "must be a text"),
        (
            lambda env: Difference(env, {"coder": ""}, value=lambda: 0.0),
            RewardError,
            r"write fn\(episode\) -> float",
        ),
        (
            lambda env: Counterfactual(env, {"planner": ""}, {}),
            BadConfig,
            "partners must name who plays coder_0.*add 'coder': an agent",
        ),
        (
            lambda env: Counterfactual(env, {"planner": ""}, {"codr": lambda o: ""}),
            UnknownName,
            "did you mean 'coder'",
        ),
        (
            lambda env: Counterfactual(env, {"planner": ""}, {"coder": 3}),
            BadConfig,
            "an agent must be",
        ),
        (
            lambda env: Counterfactual(
                env, {"planner": ""}, {"coder": lambda o: ""}, samples=0
            ),
            BadConfig,
            "samples must be a whole number",
        ),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(
    make: Make, wrap: Any, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        wrap(make())


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (lambda step: {"planner_0": 1.0}, "nothing for coder_0"),
        (lambda step: {**step.rewards, "codr_0": 1.0}, "did you mean 'coder_0'"),
        (lambda step: dict.fromkeys(step.rewards, float("nan")), "must be finite"),
        (Split({"coder_7": 1}), "shares must name agents or roles of the team"),
    ],
)
def test_what_only_shows_in_a_step_is_refused_there(
    make: Make, rule: Any, problem: str
) -> None:
    env = CreditWrapper(make(), rule)
    env.reset(seed=1)
    with pytest.raises(RewardError, match=problem):
        env.step("good")
