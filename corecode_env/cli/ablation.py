"""Ablation runs: each arm trained and measured for each seed, in folders of their own.

    training file, arms, seeds  ->  OUT/ARM/seed-N/{training,evaluation,alone}  ->  ArmRuns

What is finished is not run again; what was interrupted goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from corecode_env.algorithms.config import STAGE_SAMPLES, TeamGRPOConfig
from corecode_env.algorithms.grpo import TeamGRPOTrainer
from corecode_env.algorithms.run_folder import RunFolder
from corecode_env.cli.demo_game import NoPlan
from corecode_env.cli.training_file import PolicyTable, TrainingFile
from corecode_env.core.errors import BadConfig
from corecode_env.core.seams import Agent, Executor
from corecode_env.environments.registration import make
from corecode_env.evaluation.ablation import ArmRuns
from corecode_env.evaluation.run import evaluate
from corecode_env.evaluation.samples import Sample
from corecode_env.tasks import TaskSet

if TYPE_CHECKING:
    from corecode_env.agents.local_model import TransformersAgent

NO_RL: Final = "no_rl"
ONE_MODEL: Final = "one_model"
NO_PLAN: Final = "no_plan"
RESULT: Final = "result.json"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Ablation:
    """All that the arms have in common."""

    file: TrainingFile
    tasks: TaskSet
    held_out: TaskSet
    executor: Executor
    out: Path
    samples: int
    """Programs per held-out task."""
    alone: str = NO_PLAN
    """How a Coder works alone: in the same environment with an empty plan, or in another."""
    one_model: str | None = None
    """Model of the arm `one_model`; None: the Planner's."""

    def __post_init__(self) -> None:
        """Refuse a file that says nothing about one of the roles.

        Raises:
            BadConfig: If it does not.
        """
        roles = {"planner", "coder"}
        known = {*self.file.policies, *(self.file.lora.roles if self.file.lora else ())}
        if known != roles or self.file.shared or self.file.frozen:
            raise BadConfig(
                "an ablation must have a policy for planner and one for coder, got some for "
                f"{sorted(known)}, [shared] {dict(self.file.shared)} and [frozen] "
                f"{dict(self.file.frozen)}; the arms say who learns and who shares"
            )

    def run(self, arm: str, seed: int, say: Say) -> tuple[int, list[Sample], list[Sample]]:
        """Train and measure one arm with one seed, as far as that was not done.

        Returns:
            The number of programs learnt from, what the team played, and what the Coder
            played alone.
        """
        folder = self.out / arm / f"seed-{seed}"
        result = folder / RESULT
        finished = result.exists()
        policies: dict[str, TransformersAgent] = {}
        if finished:
            programs = int(json.loads(result.read_text())["programs"])
        else:
            policies = self._cast(arm).make_policies()
            say(f"{arm}, seed {seed}: training" if arm != NO_RL else f"{arm}, seed {seed}")
            programs = 0 if arm == NO_RL else self._train(arm, seed, policies, folder)
        # A finished evaluation is read from its folder, and asks nobody.
        measure = partial(self._measure, seed=seed, arm=arm)
        players = {role: policies.get(role, NoPlan()) for role in ("planner", "coder")}
        team = measure(players, self.file.environment.id, folder / "evaluation")
        if self.alone == NO_PLAN:
            players["planner"] = NoPlan()
            env = self.file.environment.id
        else:
            env, players = self.alone, {"coder": players["coder"]}
        alone = measure(players, env, folder / f"alone-{self.alone}")
        if not finished:
            result.write_text(json.dumps({"programs": programs}) + "\n")
        return programs, team, alone

    def _train(
        self, arm: str, seed: int, policies: Mapping[str, TransformersAgent], folder: Path
    ) -> int:
        """Train an arm; return how many programs it learnt from."""
        run_dir = folder / "training"
        trainer = TeamGRPOTrainer(
            policies,
            self.file.env_maker(self.tasks, self.executor),
            self.tasks,
            arm_config(self.file.training, arm, seed),
            run_dir=run_dir,
            about=self._cast(arm).tables(),
        )
        trainer.train(resume=(run_dir / "config.toml").exists())
        return sum(int(line.get("episodes", 0)) for line in RunFolder(run_dir).metrics())

    def _measure(
        self, players: Mapping[str, Agent], env: str, out: Path, *, seed: int, arm: str
    ) -> list[Sample]:
        make_env: Callable[[], Any] = self.file.env_maker(self.held_out, self.executor)
        if env != self.file.environment.id:
            make_env = partial(
                make, env, tasks=self.held_out, split="all", executor=self.executor
            )
        first = next(iter(players))
        return evaluate(
            make_env,
            players,
            self.held_out,
            samples={first: self.samples},
            seed=seed,
            out=out,
            settings={"arm": arm, "env": env},
        )

    def _cast(self, arm: str) -> TrainingFile:
        """Return the file with the policies of an arm."""
        if arm != ONE_MODEL:
            return self.file
        file, shared = self.file, {"coder": "planner"}
        if file.lora is not None:
            lora = replace(file.lora, roles=("planner",))
            lora = lora if self.one_model is None else replace(lora, model=self.one_model)
            return replace(file, lora=lora, shared=shared)
        table: PolicyTable = file.policies["planner"]
        table = table if self.one_model is None else replace(table, model=self.one_model)
        return replace(file, policies={"planner": table}, shared=shared)


def arm_config(config: TeamGRPOConfig, arm: str, seed: int) -> TeamGRPOConfig:
    """Return how an arm is trained: all alike but for who learns.

    Both learn in the way that the file says, `alternate` or `joint`; where it says something
    else, `joint`.
    """
    both = config.stage if config.stage in ("alternate", "joint") else "joint"
    samples = config.samples or STAGE_SAMPLES["joint"]
    alike = replace(config, seed=seed, samples=samples)
    match arm:
        case "planner_rl":
            return replace(alike, stage="planner")
        case "coder_rl":
            return replace(alike, stage="coder")
        case _:
            return replace(alike, stage=both)


def run_arms(
    ablation: Ablation, arms: Sequence[str], seeds: Sequence[int], say: Say
) -> dict[str, ArmRuns]:
    """Run every arm with every seed; return what each came to."""
    found: dict[str, ArmRuns] = {}
    for arm in arms:
        runs = [ablation.run(arm, seed, say) for seed in seeds]
        programs, team, alone = zip(*runs, strict=True)
        found[arm] = ArmRuns(programs, team, alone)
    return found
