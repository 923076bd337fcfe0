"""What is wrong is refused, with the value and the way out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import pettingzoo
import pytest
from pettingzoo.env_registry.exceptions import VersionNotFound

import corecode_env
from corecode_env import environments
from corecode_env.core.errors import (
    BadConfig,
    EpisodeError,
    ExecutorError,
    SplitError,
    UnknownName,
)
from corecode_env.core.task import Task
from corecode_env.environments import planner_coder_v0, solo_coder_v0
from corecode_env.environments.team import Role, Team


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_cycles": 0}, BadConfig, "max_cycles must be a whole number of at least 1"),
        ({"executor": "local"}, BadConfig, r"judge\(task, program\), got 'local'"),
        ({"max_cycles": True}, BadConfig, "max_cycles"),
        ({"max_cycles": 1.5}, BadConfig, "got 1.5"),
        ({"max_chars": 10}, BadConfig, "at least 200"),
        ({"feedback": "all"}, BadConfig, "'none', 'verdict', 'public', got 'all'"),
        ({"stop": "never"}, BadConfig, "'public', 'all', got 'never'"),
        ({"coder_sees": "nothing"}, BadConfig, "'both', 'plan', got 'nothing'"),
        ({"render_mode": "rgb_array"}, BadConfig, "'ansi', 'human', got 'rgb_array'"),
        ({"split": "dev"}, BadConfig, "train, validation, test or all, got 'dev'"),
        ({"split": "validation"}, SplitError, "'validation'"),
        ({"tasks": 3}, BadConfig, "a TaskSet or a sequence of tasks, got int"),
        ({"tasks": ["a", "b"]}, BadConfig, "sequence of tasks"),
        ({"tasks": []}, (BadConfig, SplitError), "tasks"),
        ({"prompts": {"codr": "x.txt"}}, UnknownName, "did you mean 'coder'"),
        ({"prompts": {"coder": "/no/such/file"}}, BadConfig, "readable UTF-8 file"),
    ],
)
def test_arguments(
    options: dict[str, Any], error: Any, message: str, tasks: list[Task], executor: Any
) -> None:
    with pytest.raises(error, match=message):
        planner_coder_v0.env(**({"tasks": tasks, "executor": executor} | options))


@pytest.mark.parametrize("make", [planner_coder_v0.env, planner_coder_v0.parallel_env])
def test_unknown_arguments(make: Any, tasks: list[Task], executor: Any) -> None:
    with pytest.raises(TypeError, match="max_rounds"):
        make(tasks=tasks, executor=executor, max_rounds=3)
    with pytest.raises(TypeError, match="coder_sees"):
        solo_coder_v0.env(tasks=tasks, executor=executor, coder_sees="plan")  # type: ignore[call-arg]


def test_unknown_tasks(tasks: list[Task], executor: Any) -> None:
    env = solo_coder_v0.env(tasks=tasks, executor=executor)
    with pytest.raises(UnknownName, match="did you mean 'sums/1'"):
        env.reset(options={"task": "sum/1"})
    with pytest.raises(BadConfig, match="a task's id or a Task, got 5"):
        env.reset(options={"task": 5})


@pytest.mark.parametrize("seed", ["1", 1.5, [1]])
def test_seeds_that_are_no_whole_number(seed: Any, tasks: list[Task], executor: Any) -> None:
    with pytest.raises(BadConfig, match="seed must be a whole number"):
        solo_coder_v0.env(tasks=tasks, executor=executor).reset(seed=seed)


def test_unknown_reset_options_warn_and_are_ignored(tasks: list[Task], executor: Any) -> None:
    env = solo_coder_v0.env(tasks=tasks, executor=executor)
    with pytest.warns(UserWarning, match=r"among task, prefix, got \['tsak'\]") as caught:
        env.reset(seed=1, options={"tsak": "sums/1"})
    assert env.agents == ["coder_0"]
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ("text", "list of"),
        ([("planner_0",)], "turn 0"),
        ([("planner_0", 3)], "turn 0"),
        (["planner_0"], "turn 0"),
        ([("coder_0", "x")], "must be that of 'planner_0', got 'coder_0'"),
        ([("planner_0", "p"), ("coder_0", "x")], "leave the episode open"),
        ([("planner_0", "p"), ("coder_0", "x"), ("planner_0", "p")], "ends after 2 of 3"),
    ],
)
def test_prefixes(prefix: Any, message: str, tasks: list[Task], executor: Any) -> None:
    env = planner_coder_v0.raw_env(tasks=tasks, executor=executor)
    with pytest.raises(BadConfig, match=message):
        env.reset(seed=0, options={"prefix": prefix})
    assert env.agents == []
    env.reset(seed=0)
    assert env.agents == ["planner_0", "coder_0"]


def test_parallel_steps_without_the_active_agents_action(
    tasks: list[Task], executor: Any
) -> None:
    env = planner_coder_v0.parallel_env(tasks=tasks, executor=executor)
    with pytest.raises(EpisodeError, match="call reset"):
        env.step({"planner_0": "p"})
    env.reset(seed=0)
    with pytest.raises(EpisodeError, match="active agent's, 'planner_0', got \\['coder_0'\\]"):
        env.step({"coder_0": "x"})
    with pytest.raises(UnknownName, match="did you mean 'coder_0'"):
        env.step({"planner_0": "p", "coder_1": "x"})
    with pytest.raises(TypeError, match="'planner_0' must be a string, got int"):
        env.step({"planner_0": 3})  # type: ignore[dict-item]
    assert env.unwrapped.episode.turns == ()
    env.step({"planner_0": "p", "coder_0": 3})  # type: ignore[dict-item]
    assert env.active_agent == "coder_0"


@pytest.mark.parametrize("text", ["", "x" * 1_000_000, "\ud800", "\x00", "```python\n"])
@pytest.mark.parametrize("seat", ["planner_0", "coder_0"])
def test_strange_texts_are_played_like_any_other(
    text: str, seat: str, tasks: list[Task], executor: Any
) -> None:
    env = planner_coder_v0.env(tasks=tasks, executor=executor)
    env.reset(seed=0)
    for agent in ("planner_0", "coder_0"):
        env.step(text if agent == seat else "something")
        for name in env.agents:
            assert env.observe(name) in env.observation_space(name)
    assert env.unwrapped.judgement is not None  # type: ignore[attr-defined]
    assert env.unwrapped.judgement.verdict == "WA"  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------- names
def test_unknown_environments() -> None:
    with pytest.raises(UnknownName, match="did you mean 'planner_coder_v0'"):
        corecode_env.make("planer_coder_v0")
    with pytest.raises(BadConfig, match="'aec', 'parallel' or 'seat'"):
        corecode_env.make("solo_coder", api="gym")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "spelling",
    ["solo_coder", "solo_coder_v0", "solo_coder-v0", "corecode/solo_coder-v0"],
)
def test_ids_may_be_spelt_in_every_usual_way(
    spelling: str, tasks: list[Task], executor: Any
) -> None:
    env = corecode_env.make(spelling, tasks=tasks, executor=executor)
    assert str(env) == "solo_coder_v0"


def test_other_versions_name_the_one_there_is() -> None:
    with pytest.raises(UnknownName, match="use 'planner_coder_v0'"):
        corecode_env.make("planner_coder_v7")
    with pytest.raises(UnknownName, match="use 'planner_coder_v0'"):
        _ = environments.planner_coder_v7
    with pytest.raises(VersionNotFound, match="v0"):
        pettingzoo.make("aec", "corecode/planner_coder-v7")
    with pytest.raises(gymnasium.error.VersionNotFound, match="v0"):
        gymnasium.make("corecode/PlannerCoder-v7")


def test_other_names_of_the_room_are_plainly_missing() -> None:
    assert not hasattr(environments, "Teem")
    assert not hasattr(corecode_env, "nothing")


# --------------------------------------------------------------------------- teams and prompts
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "Coder", "acts": "program"}, "lower-case"),
        ({"name": "coder", "acts": "code"}, "'plan', 'program'"),
        ({"name": "coder", "acts": "program", "task_view": "hidden"}, "hidden"),
        ({"name": "critic", "acts": "text"}, "writes='critique'"),
        ({"name": "critic", "acts": "text", "writes": "plan"}, "field of its own"),
        ({"name": "critic", "acts": "text", "writes": ("a", "b")}, "one field of its own"),
        ({"name": "critic", "acts": "text", "writes": "Critique"}, "lower-case"),
        ({"name": "critic", "acts": "text", "writes": "prompt"}, "'prompt'; any name"),
        ({"name": "coder", "acts": "program", "writes": "notes"}, "left out"),
        ({"name": "coder", "acts": "program", "act": "run"}, r"apply\(text, scene\)"),
    ],
)
def test_roles(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadConfig, match=message):
        Role(**fields)


def test_teams() -> None:
    coder = Role("coder", acts="program")
    with pytest.raises(BadConfig, match="number=1"):
        Team((coder, coder))
    with pytest.raises(BadConfig, match="writes the program"):
        Team((Role("planner", acts="plan"),))
    with pytest.raises(BadConfig, match="writes='tests'"):
        Team((Role("coder", acts="program", sees=frozenset({"tests"})),))


def test_a_team_without_a_first_role(executor: Any, say: SimpleNamespace) -> None:
    team = Team((Role("coder", acts="program"),), lambda team, turns: None)
    env = environments.TeamEnv(team, tasks=[say.task()], executor=executor)
    with pytest.raises(BadConfig, match="first role"):
        env.reset(seed=0)


def test_a_rule_that_names_a_stranger(executor: Any, say: SimpleNamespace) -> None:
    stranger = Role("tester", acts="program")
    team = Team((Role("coder", acts="program"),), lambda team, turns: stranger)
    env = environments.TeamEnv(team, tasks=[say.task()], executor=executor)
    with pytest.raises(BadConfig, match="got 'tester_0'; the team has coder_0"):
        env.reset(seed=0)


def test_a_prefix_in_which_the_sandbox_fails(executor: Any, say: SimpleNamespace) -> None:
    env = solo_coder_v0.raw_env(tasks=[say.task()], executor=executor, max_cycles=2)
    with pytest.raises(ExecutorError, match="while the option prefix was played"):
        env.reset(seed=0, options={"prefix": [("coder_0", say.breaks)]})


@pytest.mark.parametrize(
    "ask",
    [
        lambda env: env.episode,
        lambda env: env.judgement,
        lambda env: env.state(),
        lambda env: env.observe("coder_0"),
        lambda env: env.messages("coder_0"),
        lambda env: env.request("coder_0"),
    ],
)
def test_questions_before_the_first_reset(
    ask: Any, executor: Any, say: SimpleNamespace
) -> None:
    with pytest.raises(EpisodeError, match="call reset"):
        ask(solo_coder_v0.raw_env(tasks=[say.task()], executor=executor))


@pytest.mark.parametrize(
    ("text", "message"),
    [("Solve $problm", "problem"), ("", "empty"), ("costs 5 $", "dollar")],
)
def test_prompt_files(
    text: str, message: str, tmp_path: Path, tasks: list[Task], executor: Any
) -> None:
    path = tmp_path / "coder.txt"
    path.write_text(text)
    with pytest.raises(BadConfig, match=message):
        solo_coder_v0.env(tasks=tasks, executor=executor, prompts={"coder": path})
