"""What a seat view promises: one agent's game, with the others played by partners."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

import corecode_env
from corecode_env.core.errors import BadConfig, EpisodeError, ExecutorError, UnknownName
from corecode_env.core.messages import extract_program
from corecode_env.core.seams import Reply, Request
from corecode_env.core.task import Task
from corecode_env.environments import Role, SeatEnv, Team, TeamEnv, planner_coder_v0
from corecode_env.environments.seat_env import reference_answer


class Recording:
    """An agent that notes what it is asked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.requests: list[Request] = []

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        self.requests += requests
        return [Reply(self.text) for _ in requests]


def seat_of(seat: str | None, tasks: list[Task], executor: Any, **options: Any) -> SeatEnv:
    env = corecode_env.make(
        "planner_coder_v0", api="seat", seat=seat, tasks=tasks, executor=executor, **options
    )
    assert isinstance(env, SeatEnv)
    return env


def test_the_coder_sits_after_the_reference_planner(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env = seat_of("coder_0", tasks, executor)
    observation, info = env.reset(seed=1)
    assert observation["plan"] == "1. add up the list"
    assert info["active_agent"] == "coder_0"
    observation, reward, terminated, truncated, info = env.step(say.right)
    assert (terminated, truncated) == (True, False)
    assert reward == pytest.approx(1.3)


def test_the_planner_is_paid_for_the_reference_coders_program(
    tasks: list[Task], executor: Any
) -> None:
    env = seat_of("planner_0", tasks, executor)
    env.reset(seed=1)
    _, reward, terminated, _, info = env.step("a plan")
    assert terminated
    assert reward == pytest.approx(1.1)
    assert info["reward_terms"] == pytest.approx({"accuracy": 1.0, "error_free": 0.1})


def test_partners_are_asked_with_the_request_of_their_turn(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    coder = Recording(say.wrong)
    env = seat_of("planner_0", tasks, executor, partners={"coder_0": coder}, max_cycles=2)
    env.reset(seed=1)
    env.step("plan one")
    observation, *_ = env.step("plan two")
    assert [request.observation["plan"] for request in coder.requests] == [
        "plan one",
        "plan two",
    ]
    first, second = coder.requests
    assert (first.agent, first.role) == ("coder_0", "coder")
    assert first.task is env.engine.task
    assert first.seed != second.seed
    assert observation["program"].startswith("def solve")


def test_what_is_paid_before_the_first_action_comes_with_the_first_step(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    def every_turn(turn: Any, episode: Any) -> float:
        return 1.0

    env = seat_of("coder_0", tasks, executor, rewards=[every_turn], max_cycles=2)
    env.reset(seed=1)
    _, reward, _, _, info = env.step(say.wrong)
    # The planner's first turn, the seat's, and the planner's second.
    assert reward == pytest.approx(3.0)
    assert info["reward_terms"] == {"every_turn": 3.0}
    assert env.step(say.right)[1] == pytest.approx(1.0)


def test_a_failed_sandbox_truncates_the_seat(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env = seat_of("coder_0", tasks, executor)
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(say.breaks)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["reward_valid"] is False


def test_a_step_after_the_end_is_an_error(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env = seat_of("coder_0", tasks, executor)
    env.reset(seed=1)
    env.step(say.right)
    with pytest.raises(EpisodeError, match="call reset"):
        env.step(say.right)


def debugger_seat(coder: str, executor: Any, say: SimpleNamespace) -> SeatEnv:
    roles = (Role("coder", acts="program"), Role("debugger", acts="program", template="solo"))
    env = TeamEnv(Team(roles), tasks=[say.task()], executor=executor)
    return SeatEnv(env, "debugger_0", {"coder_0": lambda observation: coder})


def test_a_seat_that_never_gets_a_turn_is_an_error(
    executor: Any, say: SimpleNamespace
) -> None:
    with pytest.raises(EpisodeError, match="its partners ended before"):
        debugger_seat(say.right, executor, say).reset(seed=0)
    with pytest.raises(ExecutorError, match="reset again"):
        debugger_seat(say.breaks, executor, say).reset(seed=0)
    observation, _ = debugger_seat(say.wrong, executor, say).reset(seed=0)
    assert "0 of 1 passed" in observation["feedback"]


def test_a_text_is_wanted(tasks: list[Task], executor: Any) -> None:
    env = seat_of("coder_0", tasks, executor)
    env.reset(seed=1)
    with pytest.raises(TypeError, match="must be a string"):
        env.step(3)  # type: ignore[arg-type]


def test_a_seat_must_be_named_in_a_team_and_be_free(tasks: list[Task], executor: Any) -> None:
    with pytest.raises(BadConfig, match="pass seat='coder_0'"):
        seat_of(None, tasks, executor)
    with pytest.raises(UnknownName, match="did you mean 'coder_0'"):
        seat_of("coder_1", tasks, executor)
    with pytest.raises(UnknownName, match="did you mean 'planner_0'"):
        seat_of("coder_0", tasks, executor, partners={"planer_0": Recording("p")})
    with pytest.raises(BadConfig, match="leave it out"):
        seat_of("coder_0", tasks, executor, partners={"coder_0": Recording("p")})
    with pytest.raises(BadConfig, match="must be an object with act"):
        seat_of("coder_0", tasks, executor, partners={"planner_0": 3})


# ---------------------------------------------------------------------------- the reference
def test_the_reference_hands_in_the_tasks_own_plan_and_program(say: SimpleNamespace) -> None:
    task = say.task()
    assert reference_answer(task, Role("planner", acts="plan")) == task.reference_plan
    answer = reference_answer(task, Role("coder", acts="program"))
    assert extract_program(answer).program == task.reference_program


def test_a_program_that_holds_fences_is_handed_in_whole(say: SimpleNamespace) -> None:
    program = 'def solve(xs):\n    """\n```\nx\n```\n"""\n    return sum(xs)\n'
    coder = Role("coder", acts="program")
    answer = reference_answer(say.task(reference_program=program), coder)
    assert extract_program(answer).program == program


def test_without_a_reference_program_the_way_out_is_named(
    executor: Any, say: SimpleNamespace
) -> None:
    task = say.task(reference_program=None, reference_plan=None)
    env = SeatEnv(planner_coder_v0.env(tasks=[task], executor=executor), "planner_0")
    env.reset(seed=0)
    with pytest.raises(EpisodeError, match="pass partners="):
        env.step("a plan")
    coder = SeatEnv(planner_coder_v0.env(tasks=[task], executor=executor), "coder_0")
    assert "No plan" in coder.reset(seed=0)[0]["plan"]
