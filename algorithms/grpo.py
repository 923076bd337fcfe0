"""GRPO for teams: play, compare siblings, learn, and again.

    policies, environment, tasks  ->  TeamGRPOTrainer.train()  ->  RunSummary

CoRe-Code (arXiv:2605.24812) trains a Planner and a Coder one after the other, both paid by
what the judge says of the Coder's programs. A step is one pass through `_step`: a batch of
tasks grows into trees of plans and programs (`rollout.collect`), each answer is compared
with its siblings (`advantages`, `group_rules`), and each learner takes its updates
(`updates`, `losses`).

Everything random in a step derives from the seed and the step's number, so that a run that
is resumed at any checkpoint goes on, on a CPU, exactly as if nothing had happened.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from corecode_env.agents.policy import TrainablePolicy
from corecode_env.algorithms.advantages import (
    AdvantageRule,
    by_group,
    group_advantages,
)
from corecode_env.algorithms.batches import Row, advantages_of, rows_of
from corecode_env.algorithms.cast import Cast, by_name
from corecode_env.algorithms.checkpoints import Checkpoint, Checkpoints
from corecode_env.algorithms.config import TeamGRPOConfig, to_record
from corecode_env.algorithms.group_rules import turn_rewards
from corecode_env.algorithms.processes import Processes, joined
from corecode_env.algorithms.randomness import own_randomness
from corecode_env.algorithms.reports import Callback, Progress, RunSummary, StepReport
from corecode_env.algorithms.run_folder import TRAINING, RunFolder
from corecode_env.algorithms.step_metrics import (
    answers,
    eval_metrics,
    evaluation_of,
    flat_groups,
    outcome,
)
from corecode_env.algorithms.updates import Learner
from corecode_env.core.errors import BadConfig, MissingExtra
from corecode_env.core.names import role_of
from corecode_env.core.seams import Agent
from corecode_env.core.seeding import derive_seed
from corecode_env.core.task import Task
from corecode_env.core.tree import Tree
from corecode_env.rollout.collect import Environment, collect
from corecode_env.tasks.taskset import TaskSampler, TaskSet

try:
    import torch
except ImportError as error:
    raise MissingExtra("torch", "train") from error

LOG: Final = logging.getLogger(__name__)
WEIGHTS: Final = "learners.pt"
Prefixes = Mapping[str, Sequence[tuple[str, str]]]


class TeamGRPOTrainer:
    """Trains the agents of a team with GRPO.

    Args:
        policies: Who can learn, by agent (`coder_0`) or role (`coder`). The same object under
            two keys: shared weights.
        make_env: Makes the environment. Give it an executor of its own (`executor=...`),
            or each step starts a new one.
        tasks: What is trained on; all of the split `train`.
        config: The knobs.
        frozen: Who else plays.
        advantage_rules: By agent or role, in place of the default: siblings compared by
            what the environment paid, plans by `PlannerReward`.
        eval_tasks: What is evaluated on; None: nothing is.
        callbacks: Called after each step.
        run_dir: Where everything is written; None: nowhere.
        prefixes: Stored turns to start from, by task id, such as plans made earlier.
        processes: With whom the work is shared; None: with those that `accelerate launch`
            started, if it did. Files are written, and callbacks called, by the first.
        about: Further tables for config.toml: how policies and environment were made.

    Raises:
        BadConfig: If the arguments do not fit each other.
        SplitError: If a task is meant for testing.
    """

    def __init__(
        self,
        policies: Mapping[str, TrainablePolicy],
        make_env: Callable[[], Environment],
        tasks: TaskSet,
        config: TeamGRPOConfig,
        *,
        frozen: Mapping[str, Agent] | None = None,
        advantage_rules: Mapping[str, AdvantageRule] | None = None,
        eval_tasks: Sequence[Task] | None = None,
        callbacks: Sequence[Callback] = (),
        run_dir: str | Path | None = None,
        prefixes: Prefixes | None = None,
        processes: Processes | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Cast the team and check that it can learn."""
        self.config, self.make_env = config, make_env
        self.tasks, self.eval_tasks = tasks.require_trainable(), eval_tasks
        self.callbacks, self.prefixes = tuple(callbacks), dict(prefixes or {})
        self.about = dict(about or {})
        self.processes = joined() if processes is None else processes
        self.folder = None if run_dir is None else RunFolder(run_dir)
        env = make_env()
        agents = tuple(env.possible_agents)
        env.close()  # type: ignore[no-untyped-call]
        self.cast = Cast(agents, policies, frozen or {}, config)
        rules = dict(advantage_rules or {})
        self.cast.check_names(rules)
        self.samples = self.cast.samples(rules)
        self.rules = {a: by_name(rules, a) or self._default_rule(a) for a in agents}
        self.learners = self._make_learners()
        self.sampler = TaskSampler(self.tasks, derive_seed(config.seed, "tasks"))
        self.progress = Progress()

    # ------------------------------------------------------------------------- the loop
    def train(self, *, resume: bool = False) -> RunSummary:
        """Run all steps that are left, and return what they came to.

        Args:
            resume: Go on from the last whole checkpoint of the run folder; without one,
                from the start.

        Raises:
            BadConfig: If the run folder cannot be used.
            TrainingError: If a loss or a gradient is not finite.
        """
        self._open(resume)
        progress, stop = self.progress, False
        try:
            if progress.before is None and self.eval_tasks is not None:
                evaluated = self._evaluate()
                progress.before = progress.after
                stop = self._tell(self._record({}, (), evaluated))
            while progress.step < self.config.steps and not stop:
                started = time.monotonic()
                with own_randomness(self.config.seed, progress.step):
                    trees, metrics = self._step(progress.step)
                progress.step += 1
                evaluated = self._evaluate() if self._evaluation_is_due() else ()
                progress.seconds += time.monotonic() - started
                report = self._record(metrics, trees, evaluated)
                self._checkpoint_if_due()
                stop = self._tell(report)
            return self._finish()
        finally:
            if self.folder is not None:
                self.folder.close()

    def _step(self, step: int) -> tuple[tuple[Tree, ...], dict[str, float]]:
        """Play a batch of tasks and learn from it."""
        config, started = self.config, time.monotonic()
        self.cast.start_watches()
        tasks = [self.sampler.next() for _ in range(config.tasks_per_step)]
        trees = self._play(tasks, self.samples, derive_seed(config.seed, "play", step))
        played = time.monotonic()
        metrics = outcome(trees) | {"learning_rate": config.rate_at(step)}
        rows: dict[str, list[Row]] = {}
        for agent in self.cast.learners(step):
            advantages = advantages_of(trees, agent, self.rules[agent])
            keep = config.truncated == "keep"
            rows[agent] = rows_of(
                trees, agent, advantages, keep_truncated=keep, stored=self.prefixes
            )
            metrics |= answers(trees, agent) | {
                f"{agent}/rows": len(rows[agent]),
                f"{agent}/flat_groups": flat_groups(trees, advantages, agent),
            }
        pulled = [learner for learner in self.learners if learner.has_signal(rows)]
        for learner in pulled:
            metrics |= learner.learn(rows, step)
        if not pulled:
            self.progress.skipped += 1
            LOG.info("step %d: nothing to learn from, weights unchanged", step + 1)
        metrics |= {
            "skipped": float(not pulled),
            "seconds/play": played - started,
            "seconds/generate": self.cast.seconds(),
            "seconds/learn": time.monotonic() - played,
        }
        return trees, metrics

    def _play(
        self, tasks: Sequence[Task], samples: Mapping[str, int], seed: int
    ) -> tuple[Tree, ...]:
        """Return the trees of some tasks, in the order of the tasks.

        Each process plays its share; what a task's answers are drawn from does not depend
        on who plays it.
        """
        places = self.processes.share(range(len(tasks)))
        grown = collect(
            self.make_env,
            self.cast.players,
            [tasks[place] for place in places],
            indices=places,
            samples=samples,
            seed=seed,
            max_in_flight=self.config.max_in_flight,
            prefixes=self.prefixes,
        )
        everywhere = self.processes.gather(list(grown))
        trees = (tree for part in everywhere for tree in part)
        return tuple(sorted(trees, key=lambda tree: tree.index))

    # ----------------------------------------------------------------------- evaluation
    def _evaluation_is_due(self) -> bool:
        if self.eval_tasks is None:
            return False
        every, step = self.config.eval_every, self.progress.step
        return step == self.config.steps or (every > 0 and step % every == 0)

    def _evaluate(self) -> tuple[Tree, ...]:
        """Play the evaluation tasks, always with the same seeds; remember how it went."""
        assert self.eval_tasks is not None, "nobody asks for it without tasks"
        samples = {self.cast.agents[0]: self.config.eval_samples}
        with own_randomness(self.config.seed, "evaluation"):
            seed = derive_seed(self.config.seed, "evaluation")
            trees = self._play(self.eval_tasks, samples, seed)
        progress = self.progress
        progress.after = evaluation_of(trees, progress.step)
        if progress.best is None or progress.after["pass@1"] > progress.best["pass@1"]:
            progress.best = progress.after
        return trees

    # --------------------------------------------------------------- what a run leaves
    def _open(self, resume: bool) -> None:
        """Make the run folder ready, and load the last checkpoint if it is asked for."""
        if self.folder is None:
            if resume:
                raise BadConfig("resume must have a run_dir to go on with, got run_dir=None")
            return
        tables = {**self.about, TRAINING: to_record(self.config)}
        needed = self._checkpoint_bytes() * (self.config.keep_last + 2)
        folder, checkpoints = self.folder, self._checkpoints(self.folder)

        def latest() -> Checkpoint | None:
            folder.open(tables, resume=resume, bytes_needed=needed)
            checkpoints.clear_unfinished()
            return checkpoints.latest()

        checkpoint = self.processes.decide(latest)
        if checkpoint is not None:
            self._load(checkpoint)
        if self.processes.first:
            folder.go_on_after(self.progress.step if checkpoint is not None else -1)

    def _record(
        self, metrics: dict[str, float], trees: tuple[Tree, ...], evaluated: tuple[Tree, ...]
    ) -> StepReport:
        """Write down a step."""
        step, after = self.progress.step, self.progress.after
        line = {"step": step, **metrics}
        if evaluated and after is not None:
            line |= eval_metrics(after)
        if self.folder is not None and self.processes.first:
            self.folder.add_metrics(line)
            if self.config.record_episodes:
                for name, grown in (("step", trees), ("evaluation", evaluated)):
                    self.folder.add_trees(f"{name}-{step:06d}", grown)
        return StepReport(step, line, trees, evaluated)

    def _tell(self, report: StepReport) -> bool:
        """Tell the callbacks; return whether one of them wants to stop."""
        return self.processes.decide(
            lambda: any([callback(report) is True for callback in self.callbacks])
        )

    def _finish(self) -> RunSummary:
        """Evaluate and save the last weights, if that was not done, and sum up."""
        progress, folder = self.progress, self.folder
        if progress.after is not None and progress.after["step"] != progress.step:
            self._record({}, (), self._evaluate())
        writes = self.processes.first
        if folder is not None and writes:
            latest = self._checkpoints(folder).latest()
            if progress.step and (latest is None or latest.step != progress.step):
                self._save(folder)
        run_dir = None if folder is None else folder.path
        summary = RunSummary(**asdict(progress), seed=self.config.seed, run_dir=run_dir)
        if folder is not None and writes:
            folder.write_summary(summary.to_json())
        return summary

    def _checkpoint_if_due(self) -> None:
        every, progress = self.config.checkpoint_every, self.progress
        is_best = progress.best is not None and progress.best["step"] == progress.step
        due = is_best or (every > 0 and progress.step % every == 0)
        if self.folder is not None and due and self.processes.first:
            self._save(self.folder)

    def _checkpoints(self, folder: RunFolder) -> Checkpoints:
        return Checkpoints(folder.checkpoints, self.config.keep_last)

    def _save(self, folder: RunFolder) -> None:
        """Write a checkpoint of weights, optimisers, task order and progress."""

        def fill(path: Path) -> None:
            states = {learner.name: learner.state_dict() for learner in self.learners}
            torch.save(states, path / WEIGHTS)
            for learner in self.learners:
                learner.policy.save(path / learner.name)

        best = None if self.progress.best is None else int(self.progress.best["step"])
        state = {"progress": asdict(self.progress), "tasks": self.sampler.state_dict()}
        self._checkpoints(folder).write(self.progress.step, state, fill, best=best)

    def _load(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        states = torch.load(checkpoint.path / WEIGHTS, map_location="cpu", weights_only=True)
        for learner in self.learners:
            learner.load_state_dict(states[learner.name])
        self.sampler.load_state_dict(checkpoint.state["tasks"])
        self.progress = Progress(**checkpoint.state["progress"])

    def _checkpoint_bytes(self) -> int:
        return sum(learner.checkpoint_bytes() for learner in self.learners)

    # ------------------------------------------------------------------------- casting
    def _default_rule(self, agent: str) -> AdvantageRule:
        """Compare siblings by what they were worth."""
        config = self.config
        by_programs = role_of(agent) == "planner" and config.planner_reward == "programs"
        reward = config.planner if by_programs else turn_rewards
        return by_group(reward, partial(group_advantages, **to_record(config.advantages)))

    def _make_learners(self) -> list[Learner]:
        """Return one learner for each policy that learns."""
        agents = [agent for turn in self.cast.learning for agent in turn]
        by_policy: dict[int, list[str]] = {}
        for agent in agents:
            by_policy.setdefault(id(self.cast.policies[agent]), []).append(agent)
        learners = [
            Learner(self.cast.policies[played[0]], played, self.config, self.processes)
            for played in by_policy.values()
        ]
        owners: dict[int, str] = {}
        for learner in learners:
            for parameter in learner.parameters:
                if owners.setdefault(id(parameter), learner.name) != learner.name:
                    raise BadConfig(
                        f"policies that share weights must be one object, got two for "
                        f"{owners[id(parameter)]} and {learner.name}; pass the same object"
                    )
        return learners
