"""What the built-in agents promise: one text for each request, in order, by the request."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import pytest

from corecode_env.agents import (
    AGENTS,
    FunctionAgent,
    HumanAgent,
    RandomAgent,
    ReferenceAgent,
    ScriptedAgent,
    as_agent,
    make_agent,
)
from corecode_env.core.errors import BadConfig, EpisodeError, UnknownName
from corecode_env.core.messages import extract_program, fenced
from corecode_env.core.seams import Agent
from corecode_env.core.task import Task
from tests.agents.examples import BARE, COUNTER, DOUBLE, ECHO_SUM, LITERAL, request


# --------------------------------------------------------------------- reference
@pytest.mark.parametrize("task", [DOUBLE, COUNTER, ECHO_SUM, LITERAL], ids=lambda t: str(t.id))
def test_the_reference_agent_hands_in_the_reference(task: Task) -> None:
    (answer,) = ReferenceAgent().act([request(task)])
    assert extract_program(answer).program.strip() == str(task.reference_program).strip()


def test_the_reference_planner_gives_the_reference_plan() -> None:
    assert ReferenceAgent().act([request(DOUBLE, "planner")]) == [DOUBLE.reference_plan]


def test_a_task_without_a_plan_gets_one_read_off_its_program() -> None:
    task = Task(
        id="t",
        statement="",
        interface=DOUBLE.interface,
        hidden_tests=DOUBLE.hidden_tests,
        reference_program=DOUBLE.reference_program,
    )
    (plan,) = ReferenceAgent().act([request(task, "planner")])
    assert plan.splitlines() == [
        "Inputs and outputs: double takes xs.",
        "1. out = []",
        "2. loop: for each x in xs",
        "3.   branch: if x > 0",
        "4.     out.append(2 * x)",
        "5.   branch: otherwise",
        "6.     out.append(x + x)",
        "7. return out",
    ]


def test_every_kind_of_task_has_some_plan() -> None:
    for task in (COUNTER, ECHO_SUM, LITERAL):
        (plan,) = ReferenceAgent().act([request(task, "planner")])
        assert plan.startswith("Inputs and outputs:")
        assert "1. " in plan


@pytest.mark.parametrize("role", ["planner", "coder"])
def test_a_task_without_a_reference_is_an_error_with_its_name(role: str) -> None:
    with pytest.raises(BadConfig, match="'bare'"):
        ReferenceAgent().act([request(BARE, role)])


def test_a_request_without_its_task_is_an_error_with_its_name() -> None:
    with pytest.raises(BadConfig, match="'unknown'"):
        ReferenceAgent().act([request(None)])


def test_a_program_that_holds_fences_is_still_found_whole() -> None:
    program = 'text = """\n```\ncode\n````\n"""\n'
    assert extract_program(fenced(program)).program == program


# ---------------------------------------------------------------------- scripted
def test_one_text_is_said_every_time() -> None:
    assert ScriptedAgent("hello").act([request(DOUBLE), request(BARE)]) == ["hello", "hello"]


def test_a_list_is_said_round_by_round_and_its_last_repeated() -> None:
    agent = ScriptedAgent(["a", "b"])
    rounds = [request(DOUBLE, observation={"round": i}) for i in (2, 0, 1)]
    assert agent.act(rounds) == ["b", "a", "b"]


def test_a_function_gets_the_request() -> None:
    agent = ScriptedAgent(lambda asked: f"{asked.role} on {asked.task_id}")
    assert agent.act([request(DOUBLE, "planner")]) == ["planner on double"]


@pytest.mark.parametrize("script", [[], [1], ["a", None]])
def test_a_script_of_anything_else_is_refused(script: Any) -> None:
    with pytest.raises(BadConfig, match="a script must be"):
        ScriptedAgent(script)


# ------------------------------------------------------------------------ random
def test_random_text_depends_on_the_seed_alone() -> None:
    agent = RandomAgent()
    requests = [request(DOUBLE, seed=seed) for seed in range(20)]
    answers = agent.act(requests)
    assert agent.act(requests[::-1]) == answers[::-1]
    assert len(set(answers)) > 15


def test_random_text_is_fenced_about_half_the_time() -> None:
    answers = RandomAgent(max_pieces=0).act([request(DOUBLE, seed=s) for s in range(100)])
    assert 30 < sum(answer.startswith("```") for answer in answers) < 70


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(BadConfig, match="max_pieces"):
        RandomAgent(max_pieces=-1)


# ------------------------------------------------------------------------- human
def test_a_person_sees_the_prompt_and_ends_with_a_dot() -> None:
    screen = io.StringIO()
    agent = HumanAgent(io.StringIO("print(1)\n.5\n.\nnext answer\n.\n"), screen)
    assert agent.act([request(ECHO_SUM), request(DOUBLE)]) == [
        "print(1)\n.5\n",
        "next answer\n",
    ]
    assert "You are coder_0 on task sum." in screen.getvalue()
    assert "Do it." in screen.getvalue()


def test_the_end_of_input_ends_an_answer_that_was_begun() -> None:
    assert HumanAgent(io.StringIO("last"), io.StringIO()).act([request(DOUBLE)]) == ["last"]


def test_the_end_of_input_before_any_line_is_an_error() -> None:
    with pytest.raises(EpisodeError, match="end of input"):
        HumanAgent(io.StringIO(""), io.StringIO()).act([request(DOUBLE)])


def test_an_empty_answer_is_one_dot() -> None:
    assert HumanAgent(io.StringIO(".\n"), io.StringIO()).act([request(DOUBLE)]) == [""]


# ----------------------------------------------------------------- making agents
def test_an_agent_stays_itself() -> None:
    agent = ReferenceAgent()
    assert as_agent(agent) is agent


def test_a_function_from_observation_to_text_is_an_agent() -> None:
    def shout(observation: Mapping[str, Any]) -> str:
        return str(observation["prompt"]).upper()

    agent = as_agent(shout)
    assert isinstance(agent, FunctionAgent)
    assert agent.act([request(DOUBLE), request(BARE)]) == ["DO IT.", "DO IT."]


@pytest.mark.parametrize(
    "thing", [None, "reference", 3, ReferenceAgent, lambda: "x", lambda a, b: "x"]
)
def test_anything_else_is_refused_with_the_two_forms(thing: Any) -> None:
    with pytest.raises(BadConfig, match=r"an agent must be an object with act\(requests\)"):
        as_agent(thing)


@pytest.mark.parametrize("name", list(AGENTS))
def test_every_name_makes_an_agent(name: str) -> None:
    assert isinstance(make_agent(name), Agent)


def test_an_unknown_agent_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'faulty:off_by_one'"):
        make_agent("faulty:of_by_one")


@pytest.mark.parametrize("name", [n for n in AGENTS if n not in ("human",)])
def test_no_agent_minds_an_empty_batch(name: str) -> None:
    assert list(make_agent(name).act([])) == []
