"""What the numeric companion promises: the game of planner_coder_v0, chosen by index.

Its programs are judged as any are and pay what they pay there; a pair that learns tables must
agree upon what a plan stands for.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env

import corecode_env
from corecode_env.agents import ReferenceAgent
from corecode_env.core.errors import BadConfig, EpisodeError
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement, Verdict
from corecode_env.environments import fork, planner_coder_v0
from corecode_env.environments import planner_coder_discrete_v0 as discrete
from corecode_env.executor import LocalExecutor
from corecode_env.executor.testing import InstantExecutor
from corecode_env.rollout import play

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="The old environment creation API")
    suite: Any = import_module("pettingzoo.test")

UNKNOWN_OPTION = "reset options must be among task, prefix"
# PettingZoo gives these for every Dict, its own board games' included.
DICTS = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box",
)


def numbered(make_task: Any, count: int) -> list[Task]:
    """Return tasks whose references are all different."""
    return [
        make_task(
            number,
            reference_program=f"def solve(xs):\n    return {number}\n",
            reference_plan=f"1. return {number}",
        )
        for number in range(count)
    ]


@pytest.fixture
def few(say: Any) -> list[Task]:
    return numbered(say.task, 8)


@pytest.fixture
def judge() -> InstantExecutor:
    return InstantExecutor()


@pytest.fixture
def made(few: list[Task], judge: InstantExecutor) -> Any:
    return partial(discrete.env, tasks=few, executor=judge)


# ----------------------------------------------------------------------------- the suites
@pytest.mark.filterwarnings(*(f"ignore:{text}" for text in DICTS))
@pytest.mark.parametrize("max_cycles", [1, 3])
def test_it_passes_pettingzoos_suites_without_a_warning_that_matters(
    few: list[Task], judge: InstantExecutor, max_cycles: int
) -> None:
    options: dict[str, Any] = {"tasks": few, "executor": judge, "max_cycles": max_cycles}
    env, parallel = partial(discrete.env, **options), partial(discrete.parallel_env, **options)
    with pytest.warns(UserWarning, match=UNKNOWN_OPTION) as seen:
        suite.api_test(env(), num_cycles=50)
        suite.api_test(discrete.raw_env(**options), num_cycles=50)
        suite.parallel_api_test(parallel(), num_cycles=50)
    assert all(str(w.message).startswith((UNKNOWN_OPTION, *DICTS)) for w in seen)
    suite.seed_test(env, num_cycles=10)
    suite.parallel_seed_test(parallel, num_cycles=10)
    # This one chooses without a look at the mask, which only one round forgives.
    suite.state_test(env(max_cycles=1), parallel(max_cycles=1))
    suite.render_test(env)


@pytest.mark.parametrize("seat", ["planner_0", "coder_0"])
def test_every_seat_is_a_gymnasium_environment_of_flat_numbers(
    few: list[Task], judge: InstantExecutor, seat: str
) -> None:
    env = gymnasium.make(
        "corecode/PlannerCoderDiscrete-v0", seat=seat, tasks=few, executor=judge, max_cycles=2
    )
    check_env(env.unwrapped)
    flat: Any = gymnasium.wrappers.FlattenObservation(env)
    observation, info = flat.reset(seed=1)
    assert isinstance(flat.observation_space, gymnasium.spaces.Box)
    assert observation in flat.observation_space
    assert info["action_mask"].tolist() == [1] * 6
    assert isinstance(flat.action_space, gymnasium.spaces.Discrete)


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_pettingzoo_makes_it_by_name(
    api: Any, few: list[Task], judge: InstantExecutor
) -> None:
    env = pettingzoo.make(
        api, "corecode/planner_coder_discrete-v0", tasks=few, executor=judge, max_cycles=2
    )
    env.reset(seed=0)
    assert str(env.unwrapped) == "planner_coder_discrete_v0"


def test_gymnasium_vectorises_it(few: list[Task], judge: InstantExecutor) -> None:
    envs = gymnasium.make_vec(
        "corecode/PlannerCoderDiscrete-v0", 3, seat="coder_0", tasks=few, executor=judge
    )
    observations, infos = envs.reset(seed=0)
    assert observations in envs.observation_space
    assert infos["action_mask"].shape == (3, 6)
    # After the reference Planner the plan's number is that of the right program.
    layout = envs.get_attr("engine")[0].layout  # type: ignore[attr-defined]
    plans = observations["observation"][:, layout["plan"]].argmax(axis=1)
    _, rewards, terminated, _, _ = envs.step(plans)
    assert rewards.tolist() == pytest.approx([1.3] * 3)
    assert terminated.all()
    envs.close()


# ------------------------------------------------------------------------------- the game
def test_the_coder_sees_the_plans_index_but_not_the_task(made: Any) -> None:
    env = made()
    layout = env.unwrapped.layout
    for number in range(2):
        env.reset(options={"task": f"sums/{number}"})
        planner = env.observe("planner_0")["observation"]
        assert np.flatnonzero(planner[layout["task"]]).tolist() == [number]
        assert not planner[layout["plan"]].any()
        env.step(3)
        coder = env.observe("coder_0")["observation"]
        assert not coder[layout["task"]].any()
        assert np.flatnonzero(coder[layout["plan"]]).tolist() == [3]
        assert coder[layout["role"]].tolist() == [0.0, 1.0]
        env.state()
        assert np.flatnonzero(env.state()[layout["task"]]).tolist() == [number]
    both = made(coder_sees="both")
    both.reset(options={"task": "sums/1"})
    both.step(0)
    seen = both.observe("coder_0")["observation"][layout["task"]]
    assert np.flatnonzero(seen).tolist() == [1]


def test_what_the_coder_observes_is_the_same_on_every_task(made: Any) -> None:
    env, seen = made(), []
    for number in range(4):
        env.reset(options={"task": f"sums/{number}"})
        env.step(5)
        seen.append(env.observe("coder_0")["observation"].tolist())
    assert seen == seen[:1] * 4


def test_it_pays_what_the_text_game_pays_for_the_same_words() -> None:
    with LocalExecutor(workers=1, min_isolation="L0") as executor:
        numbers: Any = discrete.env(executor=executor, n_tasks=2, distractors=2)
        menus = numbers.unwrapped.menus
        words: Any = planner_coder_v0.env(
            tasks=menus.tasks, split="all", executor=executor, coder_sees="plan"
        )
        for task in menus.tasks:
            for program in range(4):
                numbers.reset(options={"task": task})
                words.reset(options={"task": task})
                for index in (0, program):
                    agent = numbers.agent_selection
                    numbers.step(index)
                    words.step(menus.text(agent.rpartition("_")[0], index))
                assert numbers.rewards == words.rewards
                for agent in numbers.agents:
                    mine, other = numbers.infos[agent], words.infos[agent]
                    assert {**other, "action_mask": None} == {**mine, "action_mask": None}
        assert numbers.unwrapped.judgement == words.unwrapped.judgement


def test_a_program_is_judged_once_a_task(made: Any, judge: InstantExecutor) -> None:
    env = made()
    for _ in range(3):
        for number in range(2):
            env.reset(options={"task": f"sums/{number}"})
            env.step(0)
            env.step(1)
    assert [task.id for task, _ in judge.jobs] == ["sums/0", "sums/1"]


def test_a_failing_sandbox_truncates_and_is_asked_again(few: list[Task]) -> None:
    broken = InstantExecutor(lambda task, program: Verdict.SE)
    env: Any = discrete.env(tasks=few, executor=broken)
    for _ in range(2):
        env.reset(seed=0)
        env.step(0)
        env.step(0)
        assert all(env.truncations.values())
        assert env.rewards == {"planner_0": 0.0, "coder_0": 0.0}
        assert env.observe("coder_0") in env.observation_space("coder_0")
    assert len(broken.jobs) == 2


def test_a_program_cannot_be_chosen_twice_in_an_episode(made: Any) -> None:
    env = made(max_cycles=3)
    env.reset(options={"task": "sums/0"})
    env.step(0)
    env.step(4)
    assert env.observe("coder_0")["action_mask"].tolist() == [1, 1, 1, 1, 0, 1]
    assert env.infos["coder_0"]["action_mask"].tolist() == [1, 1, 1, 1, 0, 1]
    assert env.observe("planner_0")["action_mask"].tolist() == [1] * 6
    env.step(0)
    before = env.observe("coder_0")["observation"]
    with pytest.raises(EpisodeError, match="action_mask allows, got 4: this program was"):
        env.step(4)
    assert np.array_equal(env.observe("coder_0")["observation"], before)
    env.step(0)
    assert env.unwrapped.judgement.passed


@pytest.mark.parametrize(("feedback", "passed"), [("none", 0.0), ("verdict", 0.5)])
def test_only_public_tests_show_and_only_where_feedback_may(
    few: list[Task], feedback: Any, passed: float, say: Any
) -> None:
    def rule(task: Task, program: str) -> Judgement:
        verdicts = [Verdict.AC, Verdict.WA, Verdict.AC, Verdict.AC]
        results = [
            corecode_env.core.verdict.TestResult(verdict, public=place < 2)
            for place, verdict in enumerate(verdicts)
        ]
        return Judgement(task.id, tuple(results), "L0")

    env: Any = discrete.env(
        tasks=few, executor=InstantExecutor(rule), feedback=feedback, max_cycles=2
    )
    env.reset(seed=0)
    env.step(0)
    env.step(0)
    shown = env.observe("planner_0")["observation"][env.unwrapped.layout["passed"]]
    assert shown.tolist() == [passed]


# --------------------------------------------------------- agents of text, forks, records
def test_the_reference_agent_plays_it_and_episodes_are_of_text(made: Any) -> None:
    env = made()
    players = {"planner": ReferenceAgent(), "coder": ReferenceAgent()}
    episode = play(env, players, seed=2)
    assert episode.returns == pytest.approx({"planner_0": 1.1, "coder_0": 1.3})
    assert episode.turns[0].action == episode.task.reference_plan  # type: ignore[union-attr]
    # Stored turns start an episode, as in any environment.
    first = episode.turns[0]
    env.reset(options={"task": episode.task_id, "prefix": [(first.agent, first.action)]})
    assert env.agent_selection == "coder_0"
    with pytest.raises(EpisodeError, match="must be an entry of its menu, got 'other'"):
        env.reset(options={"prefix": [("planner_0", "other")]})


def test_a_seats_partner_may_answer_with_an_index(few: list[Task], judge: Any) -> None:
    seen: list[Any] = []

    def partner(observation: Any) -> Any:
        seen.append(observation)
        return 2

    env: Any = corecode_env.make(
        "planner_coder_discrete_v0",
        api="seat",
        seat="coder_0",
        partners={"planner_0": partner},
        tasks=few,
        executor=judge,
    )
    observation, _ = env.reset(seed=0)
    assert np.flatnonzero(observation["observation"][env.engine.layout["plan"]]) == [2]
    assert seen[0]["action_mask"].tolist() == [1] * 6


def test_forks_go_on_with_the_same_choices(made: Any) -> None:
    env = made(max_cycles=2)
    env.reset(seed=0)
    env.step(1)
    (child,) = fork(env, 1)
    env.step(5)
    assert child.unwrapped.menus is env.unwrapped.menus
    child.step(4)
    assert child.observe("coder_0")["action_mask"].tolist() == [1, 1, 1, 1, 0, 1]
    assert env.observe("coder_0")["action_mask"].tolist() == [1, 1, 1, 1, 1, 0]


# --------------------------------------------------------------------------------- misuse
@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (6, EpisodeError, "must be an index below 6, got 6"),
        (-1, EpisodeError, "must be an index below 6, got -1"),
        (True, TypeError, "must be an index, got bool"),
        (1.0, TypeError, "must be an index, got float"),
        ("my own plan", EpisodeError, "must be an entry of its menu, got 'my own plan'"),
    ],
)
def test_a_wrong_action_says_what_is_right(
    made: Any, action: Any, error: type[Exception], message: str
) -> None:
    env = made()
    env.reset(seed=0)
    with pytest.raises(error, match=message):
        env.step(action)
    env.step(np.int64(0))
    assert env.agent_selection == "coder_0"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_tasks": 1}, "n_tasks must be a whole number of at least 2, got 1"),
        ({"distractors": -1}, "distractors must be a whole number of at least 0, got -1"),
        ({"n_tasks": 7}, "tasks must hold 9 with different reference plans"),
        ({"plans": ["one"]}, "plans must be at least 2 texts"),
        ({"plans": "one two"}, "plans must be at least 2 texts"),
        ({"programs": ["a", "b", "a"]}, "programs must be different texts"),
        ({"programs": ["x" * 200, "y"], "max_chars": 200}, "max_chars must be at least"),
        ({"max_cycles": 7}, "max_cycles must be at most 6, got 7"),
        ({"coder_sees": "task"}, "coder_sees must be one of 'both', 'plan'"),
    ],
)
def test_wrong_arguments_are_refused(made: Any, options: Any, message: str) -> None:
    with pytest.raises(BadConfig, match=message):
        made(**options)


def test_a_task_outside_the_game_is_refused(made: Any, say: Any) -> None:
    env = made()
    with pytest.raises(BadConfig, match=r"must be one of \['sums/0', .*got 'sums/9'"):
        env.reset(options={"task": say.task(9)})


def test_given_menus_replace_the_tasks_own(made: Any) -> None:
    env = made(n_tasks=2, plans=["left", "right"], programs=["a", "b", "c"])
    assert env.action_space("planner_0").n == 2
    assert env.action_space("coder_0").n == 3
    env.reset(seed=0)
    env.step("right")
    env.step("```python\nc\n```")
    plan, program = env.unwrapped.episode.turns
    assert plan.action == "right"
    assert program.submission.program == "c\n"


# ------------------------------------------------------------------------------- learners
def test_a_table_learns_the_coders_seat_beside_the_reference_planner(
    few: list[Task], judge: Any
) -> None:
    env: Any = corecode_env.make(
        "planner_coder_discrete_v0", api="seat", seat="coder_0", tasks=few, executor=judge
    )
    plan = env.engine.layout["plan"]
    table = np.full((6, 6), 1.3)
    for episode in range(200):
        observation, _ = env.reset(seed=episode)
        seen = observation["observation"][plan].argmax()
        action = table[seen].argmax()
        _, reward, *_ = env.step(action)
        table[seen, action] += 0.5 * (reward - table[seen, action])
    assert table[:4].argmax(axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "seed", ["0", *(pytest.param(str(seed), marks=pytest.mark.slow) for seed in (1, 2, 3, 4))]
)
def test_independent_q_learners_agree_on_a_code_in_under_a_minute(
    seed: str, tmp_path: Path
) -> None:
    example = Path(__file__).parents[2] / "examples" / "09_independent_q.py"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, str(example), "2000", seed],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        timeout=300,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "4 of 4 tasks passed after 2000 episodes" in done.stdout
    # CPU time, so that a busy machine does not count.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 60
