"""What the tiny pair promises: small, loadable without a network, taught half way."""

import json

import pytest

from corecode_env.agents.tiny import (
    FOLDER,
    LEVELS,
    MAX_NEW_TOKENS,
    MODELS,
    PROMPTS,
    tiny_policy,
)
from corecode_env.core.errors import BadConfig, UnknownName
from corecode_env.core.seams import Request
from corecode_env.core.task import Task
from corecode_env.environments import planner_coder_v0
from corecode_env.executor.testing import InstantExecutor
from corecode_env.tasks import load_tasks
from corecode_env.tasks.pipelines_steps import parse_plan

MEGABYTE = 10**6


def held_out(per_level: int) -> list[Task]:
    sets = [load_tasks(f"pipelines/{level}").split("test").head(per_level) for level in LEVELS]
    return [task for tasks in sets for task in tasks]


def asked(role: str, tasks: list[Task]) -> list[Request]:
    """Ask as the environment does; the Coder gets the reference plan."""
    env = planner_coder_v0.env(
        tasks=tasks,
        split="all",
        executor=InstantExecutor(),
        coder_sees="plan",
        prompts=PROMPTS,
    )
    requests = []
    for seed, task in enumerate(tasks):
        plan = [("planner_0", str(task.reference_plan))]
        env.reset(options={"task": task, "prefix": plan if role == "coder" else []})
        observation = env.observe(f"{role}_0")
        assert observation is not None
        requests.append(Request(f"{role}_0", role, observation, (), task.id, seed))
    return requests


def test_the_weights_fit_in_a_wheel() -> None:
    for folder in MODELS.values():
        assert (folder / "model.safetensors").stat().st_size <= 2 * MEGABYTE
        assert json.loads((folder / "config.json").read_text())["dtype"] == "float16"


def test_the_card_says_what_it_solves_and_under_which_licence() -> None:
    card = (FOLDER / "MODEL_CARD.md").read_text()
    assert all(word in card for word in ("Planner's plan", "reference plan", "no plan", "MIT"))


def test_the_coder_is_shown_the_plan_and_nothing_of_the_statement() -> None:
    (task,) = held_out(1)[:1]
    (request,) = asked("coder", [task])
    assert request.observation["prompt"] == f"{task.reference_plan}\n\nProgram:"


def test_the_planner_is_shown_the_statement() -> None:
    (task,) = held_out(1)[:1]
    (request,) = asked("planner", [task])
    assert request.observation["prompt"] == f"{task.statement}\n\nPlan:"


def test_every_answer_of_its_levels_has_room() -> None:
    pytest.importorskip("torch")
    planner, coder = (tiny_policy(role).tokenizer for role in ("planner", "coder"))
    for task in held_out(20):
        assert len(planner(task.reference_plan)["input_ids"]) < MAX_NEW_TOKENS
        assert len(coder(task.reference_program)["input_ids"]) < MAX_NEW_TOKENS


def test_nearly_all_of_its_likeliest_plans_are_plans() -> None:
    pytest.importorskip("torch")
    parsed = 0
    planner = tiny_policy("planner").with_sampling(temperature=0.0)
    replies = planner.act(asked("planner", held_out(20)))
    for reply in replies:
        try:
            parsed += bool(parse_plan(reply.text).steps)
        except (BadConfig, UnknownName):
            continue
    assert parsed > 0.9 * len(replies)


def test_the_coder_follows_nearly_all_reference_plans() -> None:
    pytest.importorskip("torch")
    tasks = held_out(20)
    replies = tiny_policy("coder").act(asked("coder", tasks))
    same = [r.text == t.reference_program for r, t in zip(replies, tasks, strict=True)]
    assert sum(same) >= 0.8 * len(tasks)
