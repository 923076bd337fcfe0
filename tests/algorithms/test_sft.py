"""What the cold start promises: only right answers are taught, and only answers count."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")
pytest.importorskip("peft")

from corecode_env.agents.faulty import FaultyAgent  # noqa: E402
from corecode_env.agents.local_model import TransformersAgent  # noqa: E402
from corecode_env.agents.lora import lora_team  # noqa: E402
from corecode_env.agents.reference import ReferenceAgent  # noqa: E402
from corecode_env.algorithms.lessons import lessons_of, tokenise  # noqa: E402
from corecode_env.algorithms.sft import ColdStart, ColdStartConfig  # noqa: E402
from corecode_env.core.episode import Episode  # noqa: E402
from corecode_env.core.errors import BadConfig, SplitError, UnknownName  # noqa: E402
from corecode_env.core.seams import Agent, Request  # noqa: E402
from corecode_env.core.task import Task  # noqa: E402
from corecode_env.core.verdict import Verdict  # noqa: E402
from corecode_env.environments import planner_coder_v0  # noqa: E402
from corecode_env.executor.testing import InstantExecutor  # noqa: E402
from corecode_env.rollout import play  # noqa: E402
from corecode_env.tasks import load_tasks  # noqa: E402
from tests.agents.tiny_models import EOS, byte_tokenizer, tiny_llama  # noqa: E402

# peft asks transformers by a name that is about to go.
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
TASKS = load_tasks("pipelines/1").split("train").head(6)
FAST = ColdStartConfig(
    epochs=4, learning_rate=3e-2, batch_size=4, micro_batch=4, fenced=False, log_every=3
)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def only_the_reference_passes(task: Task, program: str) -> Verdict:
    return Verdict.AC if program.strip() == str(task.reference_program).strip() else Verdict.WA


def make_env(**options: Any) -> Any:
    options = {
        "tasks": TASKS,
        "executor": InstantExecutor(only_the_reference_passes),
        **options,
    }
    return planner_coder_v0.env(**options)


def policy(seed: int = 0) -> TransformersAgent:
    model = tiny_llama(seed, window=4096, spread=0.05)
    return TransformersAgent(model, byte_tokenizer(), max_new_tokens=160)


def played(planner: Agent, coder: Agent, **options: Any) -> list[Episode]:
    env = make_env(**options)
    return [
        play(env, {"planner": planner, "coder": coder}, seed=1, options={"task": task})
        for task in TASKS
    ]


def losses(found: list[tuple[str, dict[str, float]]], name: str) -> list[float]:
    return [line[f"{name}/loss"] for who, line in found if who == name]


def weights(agent: TransformersAgent) -> list[Any]:
    return [parameter.detach().clone() for parameter in agent.trainable_parameters()]


def moved(agent: TransformersAgent, before: list[Any]) -> bool:
    return not all(torch.equal(a, b) for a, b in zip(weights(agent), before, strict=True))


# ------------------------------------------------------------------------------ examples
def test_an_example_is_the_prompt_of_the_environment_and_what_was_said_there() -> None:
    reference = ReferenceAgent()
    (episode, *_) = episodes = played(reference, reference)
    lessons = lessons_of(episodes)
    assert set(lessons) == {"planner_0", "coder_0"}
    assert len(lessons["coder_0"]) == len(TASKS)
    first = lessons["coder_0"][0]
    assert first.answer == episode.turns[1].action
    env = make_env()
    env.reset(
        seed=1, options={"task": TASKS[0], "prefix": [("planner_0", TASKS[0].reference_plan)]}
    )
    asked: Request = env.unwrapped.request("coder_0")
    assert (first.request.messages, first.request.observation) == (
        asked.messages,
        asked.observation,
    )


def test_programs_may_be_taught_without_their_fences() -> None:
    reference = ReferenceAgent()
    episodes = played(reference, reference)
    assert "```" in lessons_of(episodes)["coder_0"][0].answer
    bare = lessons_of(episodes, fenced=False)
    assert bare["coder_0"][0].answer == TASKS[0].reference_program
    assert bare["planner_0"][0].answer == TASKS[0].reference_plan


def test_a_lesson_is_taught_once() -> None:
    reference = ReferenceAgent()
    episodes = played(reference, reference)
    assert lessons_of([*episodes, *episodes]) == lessons_of(episodes)


def test_what_failed_teaches_nothing() -> None:
    reference = ReferenceAgent()
    wrong = played(reference, FaultyAgent("off_by_one"))
    right = played(reference, reference)
    assert lessons_of(wrong) == {}
    assert lessons_of([replace(episode, valid=False) for episode in right]) == {}


def test_only_the_round_that_passed_teaches() -> None:
    class SecondTry:
        def act(self, requests: Any) -> list[str]:
            known = ReferenceAgent().act(requests)
            return [
                text if request.observation["round"] else "wrong"
                for request, text in zip(requests, known, strict=True)
            ]

    episodes = played(ReferenceAgent(), SecondTry(), max_cycles=2, stop="all")
    assert all(len(episode.turns) == 4 for episode in episodes)
    assert all(lesson.answer != "wrong" for lesson in lessons_of(episodes)["coder_0"])
    assert len(lessons_of(episodes)["coder_0"]) == len(TASKS)


def test_only_the_answer_and_its_end_count_in_the_loss() -> None:
    reference, learner = ReferenceAgent(), policy()
    (lesson, *_) = lessons_of(played(reference, reference))["planner_0"]
    (row,) = tokenise([lesson], learner).rows
    answer = [
        i for i, kept in zip(row["input_ids"], row["completion_mask"], strict=True) if kept
    ]
    assert answer[-1] == EOS
    assert learner.tokenizer.decode(answer[:-1]) == lesson.answer
    prompt = row["input_ids"][: -len(answer)]
    assert tuple(prompt) == learner.encode(lesson.request)


def test_an_answer_that_the_agent_could_not_say_is_left_out() -> None:
    reference, learner = ReferenceAgent(), policy().with_sampling(max_new_tokens=40)
    lessons = lessons_of(played(reference, reference))["coder_0"]
    found = tokenise(lessons, learner)
    assert found.too_long == len(lessons) and not found.rows


# ------------------------------------------------------------------------------ learning
def test_the_loss_falls_and_the_saved_policy_loads(tmp_path: Path) -> None:
    planner, coder = policy(), policy(1)
    found: list[tuple[str, dict[str, float]]] = []
    state = random.getstate()
    run = ColdStart(
        {"planner": planner, "coder": coder},
        make_env,
        TASKS,
        FAST,
        on_log=lambda name, line: found.append((name, dict(line))),
        run_dir=tmp_path,
    )
    summary = run.train()
    assert random.getstate() == state
    for name in ("planner_0", "coder_0"):
        fell = losses(found, name)
        assert fell[-1] < 0.8 * fell[0]
        lines = [
            json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()
        ]
        assert [line[f"{name}/loss"] for line in lines if f"{name}/loss" in line] == fell
    folder = tmp_path / "checkpoints" / f"step-{summary.step:06d}" / "coder_0"
    again = TransformersAgent.from_pretrained(folder, max_new_tokens=8)
    assert all(torch.equal(a, b) for a, b in zip(weights(again), weights(coder), strict=True))
    assert (tmp_path / "summary.json").exists()


def test_a_policy_answers_and_scores_as_before_once_it_is_taught() -> None:
    learner = policy()
    ColdStart({"planner": learner}, make_env, TASKS, replace(FAST, epochs=1)).train()
    assert not learner.model.training and "forward" not in vars(learner.model)
    assert learner.tokenizer.pad_token is None
    short = learner.with_sampling(max_new_tokens=4)
    reply = short.act([Request("planner_0", "planner", {"prompt": "x"}, (), "t")])[0]
    scores = short.logprobs([reply.prompt_ids or ()], [reply.token_ids or ()])
    assert scores.logprobs[0].tolist() == pytest.approx(list(reply.logprobs or ()), abs=1e-4)


def test_shared_weights_learn_both_roles() -> None:
    both = policy()
    found: list[str] = []
    run = ColdStart(
        {"planner": both, "coder": both},
        make_env,
        TASKS,
        replace(FAST, epochs=1),
        on_log=lambda name, line: found.append(name),
    )
    assert run.train().step == 3  # 12 examples, 4 at a time
    assert set(found) == {"planner_0+coder_0"}


def test_each_adapter_of_a_base_learns_its_own_role() -> None:
    base = tiny_llama(window=4096)
    team = lora_team((base, byte_tokenizer()), rank=2, max_new_tokens=160)
    frozen = [p.detach().clone() for p in base.parameters() if not p.requires_grad]
    before = {role: weights(agent) for role, agent in team.items()}
    ColdStart({"coder": team["coder"]}, make_env, TASKS, replace(FAST, epochs=1)).train()
    assert moved(team["coder"], before["coder"])
    assert not moved(team["planner"], before["planner"])
    ColdStart({"planner": team["planner"]}, make_env, TASKS, replace(FAST, epochs=1)).train()
    assert moved(team["planner"], before["planner"])
    still = [p for p in base.parameters() if not p.requires_grad]
    assert all(torch.equal(a, b) for a, b in zip(frozen, still, strict=True))


def test_before_and_after_are_played_with_the_same_seeds() -> None:
    learner = policy()
    run = ColdStart(
        {"planner": learner},
        make_env,
        TASKS,
        replace(FAST, epochs=1),
        frozen={"coder": ReferenceAgent()},
        eval_tasks=TASKS.head(1),
    )
    summary = run.train()
    assert summary.before is not None and summary.after is not None
    assert (summary.before["step"], summary.after["step"]) == (0, summary.step)
    # Whatever the plan says, this Coder knows the program.
    assert summary.before["pass@1"] == summary.after["pass@1"] == 1.0


# ------------------------------------------------------------------------------- refusals
def test_tasks_for_testing_are_refused() -> None:
    tasks = load_tasks("pipelines/1")
    with pytest.raises(SplitError, match="split 'train'"):
        ColdStart({"coder": policy()}, make_env, tasks.split("test").head(2), FAST)


def test_episodes_of_other_tasks_are_refused() -> None:
    reference = ReferenceAgent()
    episodes = played(reference, reference)
    with pytest.raises(SplitError, match=TASKS[2].id):
        ColdStart({"coder": policy()}, make_env, TASKS.head(2), FAST, episodes=episodes)


def test_nothing_to_learn_is_an_error() -> None:
    wrong = played(ReferenceAgent(), FaultyAgent("off_by_one"))
    run = ColdStart({"coder": policy()}, make_env, TASKS, FAST, episodes=wrong)
    with pytest.raises(BadConfig, match="coder_0 must have examples"):
        run.train()


def test_a_role_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'coder'"):
        ColdStart({"codr": policy()}, make_env, TASKS, FAST)


def test_an_update_is_made_of_whole_forward_passes() -> None:
    with pytest.raises(BadConfig, match="multiple of micro_batch"):
        ColdStartConfig(batch_size=12, micro_batch=8)
