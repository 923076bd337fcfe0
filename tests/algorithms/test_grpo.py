"""What the GRPO trainer promises: it learns what can be learnt, fairly and repeatably."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from corecode_env.algorithms.config import TeamGRPOConfig, from_record  # noqa: E402
from corecode_env.algorithms.grpo import TeamGRPOTrainer  # noqa: E402
from corecode_env.algorithms.reports import StepReport  # noqa: E402
from corecode_env.core.errors import (  # noqa: E402
    BadConfig,
    SplitError,
    TrainingError,
    UnknownName,
)
from corecode_env.core.seams import Reply, Request  # noqa: E402
from corecode_env.core.task import Task  # noqa: E402
from corecode_env.core.verdict import Verdict  # noqa: E402
from corecode_env.tasks import TaskSet  # noqa: E402
from tests.algorithms.bigram import (  # noqa: E402
    TASKS,
    BigramPolicy,
    make_env,
    obeys,
    only_bb_passes,
    says,
)

FAST: dict[str, Any] = {
    "steps": 12,
    "tasks_per_step": 4,
    "learning_rate": 0.3,
    "weight_decay": 0.0,
    "eval_samples": 8,
    "grad_clip": 100.0,
    "loss": {"kl_weight": 0.0},
}


def config(**changes: Any) -> TeamGRPOConfig:
    return from_record(TeamGRPOConfig, {**FAST, **changes})


def trainer(policies: Mapping[str, Any], settings: TeamGRPOConfig, **options: Any) -> Any:
    options = {"make_env": make_env(), "tasks": TASKS, **options}
    return TeamGRPOTrainer(policies, config=settings, **options)


def untimed(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if not name.startswith("seconds")}


def weights(policy: BigramPolicy) -> Any:
    return policy.model.weight.detach().clone()


# ------------------------------------------------------------------------------- learning
def test_a_planner_learns_which_plan_leads_to_right_programs() -> None:
    run = trainer(
        {"planner": BigramPolicy()}, config(), frozen={"coder": obeys}, eval_tasks=TASKS
    )
    summary = run.train()
    assert summary.before["pass@1"] < 0.6
    assert summary.after["pass@1"] > 0.9
    assert summary.best["pass@1"] >= summary.after["pass@1"]


def test_a_coder_learns_to_obey_a_frozen_planner() -> None:
    run = trainer(
        {"coder": BigramPolicy()},
        config(stage="coder"),
        frozen={"planner": says("b")},
        eval_tasks=TASKS,
    )
    summary = run.train()
    assert summary.before["pass@1"] < 0.4
    assert summary.after["pass@1"] > 0.9


@pytest.mark.parametrize("shared", [False, True], ids=["two policies", "shared weights"])
def test_both_learn_together(shared: bool) -> None:
    planner = BigramPolicy()
    policies = {"planner": planner, "coder": planner if shared else BigramPolicy(seed=1)}
    settings = config(stage="joint", steps=25, samples={"planner": 5, "coder": 4})
    run = trainer(policies, settings, eval_tasks=TASKS)
    summary = run.train()
    assert summary.before["pass@1"] < 0.4
    assert summary.after["pass@1"] > 0.9
    assert len(run.learners) == (1 if shared else 2)


def test_only_the_learner_of_a_stage_changes() -> None:
    planner, coder = BigramPolicy(), BigramPolicy(seed=1)
    trainer({"planner": planner, "coder": coder}, config(stage="planner", steps=3)).train()
    assert not torch.equal(weights(planner), planner.first)
    assert torch.equal(weights(coder), coder.first)


def test_alternating_agents_take_turns() -> None:
    planner, coder = BigramPolicy(), BigramPolicy(seed=1)
    seen: list[tuple[bool, bool]] = []
    last = [planner.first, coder.first]

    def watch(report: StepReport) -> None:
        now = [weights(planner), weights(coder)]
        moved = [not torch.equal(a, b) for a, b in zip(now, last, strict=True)]
        seen.append((moved[0], moved[1]))
        last[:] = now

    settings = config(
        stage="alternate", alternate_every=2, steps=6, samples={"planner": 5, "coder": 4}
    )
    trainer({"planner": planner, "coder": coder}, settings, callbacks=[watch]).train()
    assert seen == [(True, False)] * 2 + [(False, True)] * 2 + [(True, False)] * 2


def test_stored_plans_are_used_instead_of_asking_a_planner() -> None:
    def never(observation: Mapping[str, Any]) -> str:
        raise AssertionError("a stored plan must not be made again")

    plans = {task.id: [("planner_0", "b")] for task in TASKS}
    coder = BigramPolicy()
    run = trainer(
        {"coder": coder}, config(stage="coder"), frozen={"planner": never}, prefixes=plans
    )
    run.train()
    assert torch.softmax(weights(coder)[1], -1)[1] > 0.8


def test_an_advantage_rule_can_be_replaced() -> None:
    def prefers_c(tree: Any, agent: str) -> Any:
        said = [tree.nodes[i].turn.action for i in tree.indices(agent)]
        return torch.tensor([1.0 if text == "c" else -1.0 for text in said]).numpy()

    planner = BigramPolicy()
    rules = {"planner": prefers_c}
    trainer(
        {"planner": planner}, config(), frozen={"coder": obeys}, advantage_rules=rules
    ).train()
    assert torch.softmax(weights(planner)[0], -1)[2] > 0.8


def test_the_pull_towards_the_reference_holds_a_policy_back() -> None:
    def moved(kl_weight: float) -> float:
        planner = BigramPolicy()
        settings = config(loss={"kl_weight": kl_weight}, steps=20)
        trainer({"planner": planner}, settings, frozen={"coder": obeys}).train()
        return float((weights(planner) - planner.first).norm())

    assert moved(3.0) < 0.8 * moved(0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"mini_batches": 3},
        {"epochs": 2},
        {"old_logprobs": "sampler"},
        {"mini_batches": 2, "old_logprobs": "sampler"},
        {"importance_cap": 2.0},
        {"warmup_steps": 4},
        {"planner_reward": "environment"},
        {"advantages": {"scale": "none", "flat": "mask"}},
        {"loss": {"loss_type": "dr_grpo", "max_tokens": 1}},
        {"loss": {"loss_type": "gspo"}},
        {"loss": {"loss_type": "cispo"}},
        {"loss": {"loss_type": "dapo", "kl_weight": 0.0}},
    ],
    ids=str,
)
def test_every_way_to_learn_learns(changes: dict[str, Any]) -> None:
    planner = BigramPolicy()
    trainer({"planner": planner}, config(**changes), frozen={"coder": obeys}).train()
    assert torch.softmax(weights(planner)[0], -1)[1] > 0.8


# ------------------------------------------------------------------------- what is left out
def test_a_step_in_which_the_sandbox_failed_is_skipped() -> None:
    planner = BigramPolicy()
    reports: list[StepReport] = []
    run = trainer(
        {"planner": planner},
        config(steps=2),
        frozen={"coder": obeys},
        make_env=make_env(lambda task, program: Verdict.SE),
        callbacks=[reports.append],
    )
    summary = run.train()
    assert summary.skipped == 2
    assert torch.equal(weights(planner), planner.first)
    assert reports[0].metrics["sandbox_errors"] == reports[0].metrics["episodes"] == 40
    assert reports[0].metrics["planner_0/rows"] == 0


def test_a_step_in_which_all_answers_are_alike_moves_no_weight() -> None:
    planner = BigramPolicy()
    run = trainer(
        {"planner": planner},
        config(steps=2, weight_decay=0.5),
        frozen={"coder": obeys},
        make_env=make_env(lambda task, program: Verdict.WA),
    )
    assert run.train().skipped == 2
    assert torch.equal(weights(planner), planner.first)


@pytest.mark.parametrize(("truncated", "rows"), [("keep", 20), ("mask", 0)])
def test_answers_cut_for_their_length_are_kept_or_masked(truncated: str, rows: int) -> None:
    reports: list[StepReport] = []
    trainer(
        {"planner": BigramPolicy(finish_reason="length")},
        config(steps=1, truncated=truncated),
        frozen={"coder": obeys},
        callbacks=[reports.append],
    ).train()
    assert reports[0].metrics["planner_0/rows"] == rows
    assert reports[0].metrics["planner_0/truncated"] == 20


# ------------------------------------------------------------------------------ the same again
def test_equal_seeds_give_equal_metrics_bit_for_bit() -> None:
    def run(seed: int) -> list[dict[str, float]]:
        reports: list[StepReport] = []
        policies = {"planner": BigramPolicy(), "coder": BigramPolicy(seed=1)}
        settings = config(stage="joint", steps=4, mini_batches=2, seed=seed)
        trainer(policies, settings, callbacks=[reports.append], eval_tasks=TASKS).train()
        return [untimed(report.metrics) for report in reports]

    assert run(7) == run(7)
    assert run(7) != run(8)


def test_training_leaves_the_global_random_stream_alone() -> None:
    run = trainer({"planner": BigramPolicy()}, config(steps=1), frozen={"coder": obeys})
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    run.train()
    assert torch.equal(torch.rand(3), expected)


# -------------------------------------------------------------------------------- the outside
def test_callbacks_see_every_step_and_may_end_the_run() -> None:
    reports: list[StepReport] = []

    def stop_at_three(report: StepReport) -> bool:
        reports.append(report)
        return report.step == 3

    run = trainer(
        {"planner": BigramPolicy()},
        config(),
        frozen={"coder": obeys},
        callbacks=[stop_at_three],
        eval_tasks=TASKS,
    )
    summary = run.train()
    assert [report.step for report in reports] == [0, 1, 2, 3]
    assert len(reports[1].trees) == 4 and len(reports[0].evaluated) == len(TASKS)
    assert summary.step == 3 and summary.after["step"] == 3


def test_every_metric_stands_on_the_page_of_metrics() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text()
    explained = set(re.findall(r"`([\w/@]+)`", page))
    reports: list[StepReport] = []
    policies = {"planner": BigramPolicy(), "coder": BigramPolicy(seed=1)}
    settings = config(steps=1, importance_cap=2.0)
    trainer(policies, settings, callbacks=[reports.append], eval_tasks=TASKS).train()
    names = {name.removeprefix("planner_0/") for name in reports[-1].metrics}
    assert {"entropy", "sampler_gap"} <= names and "eval/pass@1" in names
    assert names <= explained


def test_a_loss_that_is_no_number_names_step_and_agent() -> None:
    class Broken(BigramPolicy):
        def logprobs(self, *args: Any, **options: Any) -> Any:
            scores = super().logprobs(*args, **options)
            return type(scores)(scores.logprobs * float("nan"), scores.mask)

    planner = Broken()
    run = trainer({"planner": planner}, config(), frozen={"coder": obeys})
    with pytest.raises(TrainingError, match=r"the loss of planner_0 .* nan in step 1"):
        run.train()
    assert torch.equal(weights(planner), planner.first)


def test_a_gradient_that_is_no_number_names_step_and_agent() -> None:
    planner = BigramPolicy()
    planner.model.weight.register_hook(lambda gradient: gradient * float("inf"))
    run = trainer({"planner": planner}, config(), frozen={"coder": obeys})
    with pytest.raises(TrainingError, match=r"the gradient of planner_0 .* in step 1"):
        run.train()
    assert torch.equal(weights(planner), planner.first)


def test_a_policy_that_reports_no_tokens_is_refused() -> None:
    class Mute(BigramPolicy):
        def act(self, requests: Sequence[Request]) -> list[Reply]:
            return [Reply(reply.text) for reply in super().act(requests)]

    run = trainer({"planner": Mute()}, config(), frozen={"coder": obeys})
    with pytest.raises(BadConfig, match="must reply with prompt_ids and token_ids"):
        run.train()


def test_a_team_that_cannot_learn_is_refused_at_once() -> None:
    policy = BigramPolicy()
    with pytest.raises(BadConfig, match="the stage 'planner' must have policies"):
        trainer({"coder": policy}, config(), frozen={"planner": says("b")})
    with pytest.raises(BadConfig, match="must name who plays 'coder_0'"):
        trainer({"planner": policy}, config())
    with pytest.raises(BadConfig, match="got both for"):
        trainer({"planner": policy}, config(), frozen={"planner": obeys, "coder": obeys})
    with pytest.raises(UnknownName, match="did you mean 'planner'"):
        trainer({"plannner": policy}, config(), frozen={"coder": obeys})
    with pytest.raises(BadConfig, match="a lone one teaches nothing"):
        trainer({"planner": policy}, config(samples={"planner": 1}), frozen={"coder": obeys})


def test_two_policies_over_the_same_weights_are_refused() -> None:
    planner, coder = BigramPolicy(), BigramPolicy()
    coder.model = planner.model
    with pytest.raises(BadConfig, match="policies that share weights must be one object"):
        trainer({"planner": planner, "coder": coder}, config(stage="joint"))


def test_tasks_that_are_meant_for_testing_are_refused() -> None:
    held_out = TaskSet(
        [Task("x", "", TASKS[0].interface, TASKS[0].tests, metadata={"split": "test"})]
    )
    with pytest.raises(SplitError, match="training tasks must belong to the split 'train'"):
        trainer({"planner": BigramPolicy()}, config(), frozen={"coder": obeys}, tasks=held_out)


def test_a_run_without_a_folder_writes_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    run = trainer({"planner": BigramPolicy()}, config(steps=1), frozen={"coder": obeys})
    run.train()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BadConfig, match="resume must have a run_dir"):
        run.train(resume=True)


def test_the_toy_game_is_what_it_says() -> None:
    assert only_bb_passes(TASKS[0], "bb") is Verdict.AC
    assert only_bb_passes(TASKS[0], "cc") is Verdict.WA
