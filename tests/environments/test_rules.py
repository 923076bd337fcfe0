"""What the rules of play promise: turns, rounds, ends, what each agent sees."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from corecode_env.core.errors import EpisodeError
from corecode_env.core.task import Task
from corecode_env.environments import planner_coder_v0, solo_coder_v0
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.team import Role, Team

Play = Callable[..., TeamEnv]


@pytest.fixture
def play(tasks: list[Task], executor: Any) -> Play:
    """Return an environment after some turns."""

    def with_turns(*turns: str, seed: int = 0, **options: Any) -> TeamEnv:
        env = planner_coder_v0.raw_env(tasks=tasks, executor=executor, **options)
        env.reset(seed=seed)
        for turn in turns:
            env.step(turn)
        return env

    return with_turns


def is_over(env: TeamEnv) -> bool:
    return all(env.terminations.values()) and not any(env.truncations.values())


# ------------------------------------------------------------------------------- what is seen
def test_an_observation_is_a_dict_of_texts_and_round_numbers(play: Play) -> None:
    observation = play().observe("planner_0")
    assert set(observation) == {
        "prompt",
        "statement",
        "plan",
        "program",
        "feedback",
        "role",
        "round",
        "rounds_left",
    }
    assert "observation" not in observation
    assert "action_mask" not in observation


def test_the_coder_reads_the_plan_of_this_round(play: Play) -> None:
    env = play("first add, then answer")
    observation = env.observe("coder_0")
    assert observation["plan"] == "first add, then answer"
    assert "first add, then answer" in observation["prompt"]
    assert observation["role"] == "coder"


def test_a_coder_that_sees_the_plan_only_gets_signature_and_examples(play: Play) -> None:
    env = play("add up", coder_sees="plan")
    planner, coder = env.observe("planner_0"), env.observe("coder_0")
    assert env.task.statement == planner["statement"]
    assert env.task.statement not in str(coder)
    for text in (coder["statement"], coder["prompt"]):
        assert "def solve(xs):" in text
        assert "solve([1, 2]) == 3" in text
    assert "add up" in coder["prompt"]


def test_messages_are_the_prompt_as_chat(play: Play) -> None:
    env = play()
    prompt = env.observe("planner_0")["prompt"]
    assert env.messages("planner_0") == ({"role": "user", "content": prompt},)


def test_later_rounds_show_program_and_feedback_to_both(
    play: Play, say: SimpleNamespace
) -> None:
    env = play("a plan", say.wrong, max_cycles=2)
    for agent in env.agents:
        observation = env.observe(agent)
        assert observation["program"] == "def solve(xs):\n    return None\n"
        assert "Public tests: 0 of 1 passed." in observation["feedback"]
        assert observation["feedback"] in observation["prompt"]
        assert (observation["round"], observation["rounds_left"]) == (1, 0)


def test_observations_are_new_objects_at_every_call(play: Play) -> None:
    env = play()
    first = env.observe("planner_0")
    first["prompt"] = "spoilt"
    assert env.observe("planner_0")["prompt"] != "spoilt"


def test_the_state_holds_what_the_team_knows(play: Play, say: SimpleNamespace) -> None:
    env = play("a plan", say.wrong, max_cycles=2)
    state = env.state()
    assert state["plan"] == "a plan"
    assert state["active_agent"] == "planner_0"
    assert env.state_space.contains(state)


@pytest.mark.parametrize("kind", ["repair", "io_prediction", "code", "optimize"])
@pytest.mark.parametrize("module", [planner_coder_v0, solo_coder_v0])
def test_every_kind_of_task_reads_as_what_it_is(
    kind: str, module: Any, executor: Any, say: SimpleNamespace
) -> None:
    env = module.raw_env(tasks=[say.task(kind=kind)], executor=executor)
    env.reset(seed=0)
    for agent in env.agents:
        prompt = env.observe(agent)["prompt"]
        opening = {
            "repair": ("You find faults", "You mend programs"),
            "io_prediction": ("You read programs", "You work out values"),
        }.get(kind, ("You plan algorithms", "You write programs"))
        assert prompt.startswith(opening)
        assert "$" not in prompt


# --------------------------------------------------------------------------- feedback and end
@pytest.mark.parametrize(
    ("feedback", "said", "unsaid"),
    [
        ("none", [], ["Public tests", "wrong answer", "solve([1, 2])"]),
        ("verdict", ["0 of 1", "Test 1: wrong answer."], ["solve([1, 2])", "What happened"]),
        ("public", ["0 of 1", "wrong answer", "solve([1, 2]) == 3", "What happened"], []),
    ],
)
def test_feedback_says_as_much_as_it_was_told_to(
    feedback: str, said: list[str], unsaid: list[str], play: Play, say: SimpleNamespace
) -> None:
    text = play("p", say.wrong, feedback=feedback).observe("coder_0")["feedback"]
    assert all(part in text for part in said)
    assert not any(part in text for part in unsaid)


def test_feedback_names_no_address_and_no_path(play: Play, say: SimpleNamespace) -> None:
    text = play("p", say.wrong).observe("coder_0")["feedback"]
    assert 'got <x object at 0x...>, File "main.py"' in text


@pytest.mark.parametrize(
    ("stop", "program", "over"),
    [
        ("public", "right", True),
        ("public", "half", True),
        ("public", "wrong", False),
        ("all", "right", True),
        ("all", "half", False),
        ("all", "wrong", False),
    ],
)
def test_an_episode_ends_early_when_its_rule_is_met(
    stop: str, program: str, over: bool, play: Play, say: SimpleNamespace
) -> None:
    env = play("p", getattr(say, program), stop=stop, max_cycles=3)
    assert is_over(env) is over


def test_without_public_tests_all_rounds_are_played(
    executor: Any, say: SimpleNamespace
) -> None:
    task = say.task(public_tests=())
    env = planner_coder_v0.raw_env(tasks=[task], executor=executor, max_cycles=2)
    env.reset(seed=0)
    for turn in ("p", say.right):
        env.step(turn)
    assert not is_over(env)
    assert env.observe("coder_0")["feedback"] == "There are no public tests to report on."
    for turn in ("p", say.right):
        env.step(turn)
    assert is_over(env)


def test_a_scored_task_is_played_to_the_last_round(
    executor: Any, say: SimpleNamespace
) -> None:
    env = planner_coder_v0.raw_env(
        tasks=[say.task(kind="optimize")], executor=executor, max_cycles=2
    )
    env.reset(seed=0)
    for turn in ("p", say.right):
        env.step(turn)
    assert not is_over(env)


def test_running_out_of_rounds_terminates(play: Play, say: SimpleNamespace) -> None:
    assert is_over(play("p", say.wrong))


def test_a_failed_sandbox_truncates_everybody_without_reward(
    play: Play, say: SimpleNamespace
) -> None:
    env = play("p", say.wrong, "p", say.breaks, max_cycles=3)
    assert all(env.truncations.values())
    assert not any(env.terminations.values())
    for agent in env.agents:
        assert env.infos[agent]["reward_valid"] is False
        assert env.infos[agent]["reward_terms"] == {}
        assert env.rewards[agent] == env._cumulative_rewards[agent] == 0.0
    assert not env.episode.valid
    assert env.episode.turns[-1].reward_terms == {}
    assert "sandbox" not in env.observe("coder_0")["feedback"]


def test_no_reward_term_is_called_for_a_failed_sandbox(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    called = []

    def counting(turn: Any, episode: Any) -> float:
        called.append(turn.agent)
        return 1.0

    env = solo_coder_v0.raw_env(tasks=tasks, executor=executor, rewards=[counting])
    env.reset(seed=0)
    env.step(say.breaks)
    assert called == []


# -------------------------------------------------------------------------------- submissions
@pytest.mark.parametrize(
    ("action", "program"),
    [
        ("text\n```python\nx = 1\n```\nmore", "x = 1\n"),
        ("x = 1", "x = 1"),
        ("", ""),
        ("```\n[1, 2]\n```", "[1, 2]\n"),
    ],
)
def test_the_program_is_taken_out_of_the_action(
    action: str, program: str, play: Play, executor: Any
) -> None:
    env = play("p", action)
    assert executor.jobs[-1][1] == program
    assert env.episode.turns[-1].submission is not None
    assert env.episode.turns[-1].submission.program == program


@pytest.mark.parametrize("action", ["[1, 2]", "```\n[1, 2]\n```", "```python\n[1, 2]\n```"])
def test_a_predicted_value_may_be_fenced_or_bare(
    action: str, executor: Any, say: SimpleNamespace
) -> None:
    task = say.task(kind="io_prediction", reference_program="[1, 2]")
    env = solo_coder_v0.raw_env(tasks=[task], executor=executor)
    env.reset(seed=0)
    env.step(action)
    assert env.judgement is not None
    assert env.judgement.passed


def test_long_actions_are_cut_and_the_infos_say_so(play: Play) -> None:
    env = play("p" * 1_000_000, max_chars=300)
    assert env.episode.turns[0].action == "p" * 300
    assert env.infos["planner_0"]["action_cut"] is True
    assert env.infos["coder_0"]["action_cut"] is False


def test_lone_surrogates_are_replaced(play: Play) -> None:
    env = play("plan \ud800 end")
    assert env.episode.turns[0].action == "plan \ufffd end"
    assert env.observation_space("coder_0").contains(env.observe("coder_0"))


def test_long_texts_never_push_out_how_to_answer(executor: Any, say: SimpleNamespace) -> None:
    task = say.task(statement="long " * 2_000, id="t/long")
    env = planner_coder_v0.raw_env(
        tasks=[task], executor=executor, max_chars=1_000, max_cycles=2
    )
    env.reset(seed=0)
    for turn in ("plan " * 500, "x" * 5_000):
        env.step(turn)
    for agent in env.agents:
        observation = env.observe(agent)
        assert env.observation_space(agent).contains(observation)
        assert "Answer with" in observation["prompt"]


# ------------------------------------------------------------------------------ step by step
@pytest.mark.parametrize("action", [3, b"bytes", ["text"], None, 1.5])
def test_a_step_without_text_is_an_error_and_changes_nothing(action: Any, play: Play) -> None:
    env = play("a plan")
    before = (env.agent_selection, env.episode, env.state(), dict(env.rewards))
    with pytest.raises(TypeError, match=r"'coder_0' must be a string"):
        env.step(action)
    assert (env.agent_selection, env.episode, env.state(), dict(env.rewards)) == before


def test_a_step_whose_judge_fails_changes_nothing(play: Play, executor: Any) -> None:
    env = play("a plan")
    before = (env.agent_selection, env.episode, env.state())
    executor.judge = None
    with pytest.raises(TypeError):
        env.step("x")
    assert (env.agent_selection, env.episode, env.state()) == before


def test_a_step_before_reset_or_after_the_end_is_an_error(
    play: Play, say: SimpleNamespace, tasks: list[Task], executor: Any
) -> None:
    fresh = planner_coder_v0.raw_env(tasks=tasks, executor=executor)
    with pytest.raises(EpisodeError, match="call reset"):
        fresh.step("x")
    with pytest.raises(EpisodeError, match="call reset"):
        _ = fresh.episode
    env = play("p", say.right)
    env.step(None)
    env.step(None)
    assert env.agents == []
    with pytest.raises(EpisodeError, match="call reset"):
        env.step("x")


def test_an_agent_that_is_done_takes_no_text(play: Play, say: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match="dead"):
        play("p", say.right).step("more")


def test_spaces_are_the_same_objects_at_every_call(play: Play) -> None:
    env = play()
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)


# --------------------------------------------------------------------------- tasks and seeds
def test_the_option_task_takes_an_id_or_a_task(play: Play, say: SimpleNamespace) -> None:
    env = play()
    env.reset(options={"task": "sums/5"})
    assert env.task.id == "sums/5"
    own = say.task(99)
    env.reset(options={"task": own})
    assert env.task is own


def test_a_seed_fixes_the_task_and_those_of_later_episodes(play: Play) -> None:
    def ids(seed: int) -> list[str]:
        env = play(seed=seed)
        found = [env.task.id]
        for _ in range(6):
            env.reset()
            found.append(env.task.id)
        return found

    assert ids(4) == ids(4)
    assert len({tuple(ids(seed)) for seed in range(5)}) == 5
    assert len(set(ids(4))) > 1


def test_the_episode_names_the_seed_that_was_given(play: Play) -> None:
    env = play(seed=11)
    assert env.episode.seed == 11
    env.reset()
    assert env.episode.seed is None


def test_tasks_of_other_splits_are_found_by_id_only(
    executor: Any, say: SimpleNamespace
) -> None:
    tasks = [say.task(n, metadata={"split": "test" if n == 3 else "train"}) for n in range(4)]
    env = solo_coder_v0.raw_env(tasks=tasks, executor=executor)
    drawn = set()
    for seed in range(40):
        env.reset(seed=seed)
        drawn.add(env.task.id)
    assert drawn == {"sums/0", "sums/1", "sums/2"}
    env.reset(options={"task": "sums/3"})
    assert env.task.id == "sums/3"


# ------------------------------------------------------------------------------------- prefix
def test_a_prefix_starts_the_episode_from_stored_turns(
    play: Play, say: SimpleNamespace
) -> None:
    env = play(max_cycles=3)
    env.reset(
        options={
            "task": "sums/1",
            "prefix": [("planner_0", "one"), ("coder_0", say.wrong), ("planner_0", "two")],
        }
    )
    assert env.agent_selection == "coder_0"
    assert env.observe("coder_0")["plan"] == "two"
    assert [turn.agent for turn in env.episode.turns] == ["planner_0", "coder_0", "planner_0"]
    assert env.judgement is not None
    assert set(env.rewards.values()) == set(env._cumulative_rewards.values()) == {0.0}
    assert all(not info["reward_terms"] for info in env.infos.values())
    env.step(say.right)
    assert env._cumulative_rewards["coder_0"] == pytest.approx(1.3)


def test_a_prefix_plays_as_the_turns_themselves_did(play: Play, say: SimpleNamespace) -> None:
    turns = [("planner_0", "one"), ("coder_0", say.wrong)]
    whole = play(*[text for _, text in turns], max_cycles=2, seed=3)
    stored = play(max_cycles=2, seed=3)
    stored.reset(seed=3, options={"prefix": turns})
    assert stored.episode == whole.episode
    assert stored.observe("planner_0") == whole.observe("planner_0")


# --------------------------------------------------------------------------------- own teams
def test_a_rule_decides_whose_turn_is_next(executor: Any, say: SimpleNamespace) -> None:
    """A third agent speaks only where the second one failed."""

    def when_needed(team: Team, turns: Any) -> Role | None:
        return team.roles[len(turns)] if len(turns) < 3 else None

    roles = (
        Role("planner", acts="plan"),
        Role("coder", acts="program"),
        Role("debugger", acts="program", template="solo"),
    )
    env = TeamEnv(
        Team(roles, when_needed), tasks=[say.task()], executor=executor, max_cycles=2
    )
    env.reset(seed=0)
    spoke = []
    for turn in ("p", say.wrong, say.wrong, "p", say.right):
        spoke.append(env.agent_selection)
        env.step(turn)
    assert spoke == ["planner_0", "coder_0", "debugger_0", "planner_0", "coder_0"]
    assert is_over(env)
    assert [turn.round for turn in env.episode.turns] == [0, 0, 0, 1, 1]
