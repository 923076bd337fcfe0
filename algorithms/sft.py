"""Cold start: teach agents by example, before they learn from reward.

    tasks (or recorded episodes), policies  ->  ColdStart.train()  ->  RunSummary

What is taught (`lessons`) comes from episodes that passed every test, played here by the
reference agent or recorded earlier by anybody. TRL's `SFTTrainer` does the rest; only answers
count in its loss.

AlgoForge (OpenReview KwqbtKeaRl, the earlier version of CoRe-Code) starts both agents this
way, each from a set of its own. CoRe-Code starts its training from the instruct model.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import copy
import logging
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from corecode_env.agents.local_model import TransformersAgent
from corecode_env.agents.model_setup import same_requires_grad
from corecode_env.agents.reference import ReferenceAgent
from corecode_env.algorithms.checkpoints import Checkpoints
from corecode_env.algorithms.config import above, at_least, to_record
from corecode_env.algorithms.lessons import Lesson, lessons_of, only_of, tokenise
from corecode_env.algorithms.randomness import own_randomness
from corecode_env.algorithms.reports import RunSummary
from corecode_env.algorithms.run_folder import RunFolder
from corecode_env.algorithms.step_metrics import eval_metrics, evaluation_of
from corecode_env.core.episode import Episode
from corecode_env.core.errors import BadConfig, MissingExtra
from corecode_env.core.names import role_of
from corecode_env.core.registry import unknown_name
from corecode_env.core.seams import Agent
from corecode_env.core.seeding import derive_seed
from corecode_env.core.task import Task
from corecode_env.rollout.collect import Environment, collect
from corecode_env.tasks.taskset import TaskSet

try:
    import torch
except ImportError as error:
    raise MissingExtra("torch", "train") from error

LOG: Final = logging.getLogger(__name__)
COLD_START: Final = "cold_start"
"""The table of config.toml that holds these settings."""
OnLog = Callable[[str, Mapping[str, float]], None]
"""Told, for each line of metrics, which agents learn and how it goes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ColdStartConfig:
    """Knobs of `ColdStart`."""

    epochs: int = 1
    """How often every example is seen."""
    learning_rate: float = 1e-5
    """Of AdamW; falls linearly to 0 after the warm-up."""
    weight_decay: float = 0.0
    warmup_steps: int = 0
    """Updates over which the learning rate rises linearly."""
    grad_clip: float = 1.0
    """Largest norm of a gradient."""
    batch_size: int = 32
    """Examples in one update of the weights; a multiple of `micro_batch`, or less than it."""
    micro_batch: int = 8
    """Examples in one forward pass; changes memory and speed, not the result."""
    log_every: int = 1
    """Updates between lines of metrics."""
    fenced: bool = True
    """Whether programs are taught as they were said, fences included, or bare: a model that
    is too small for words around its programs is better off without."""
    eval_samples: int = 1
    """Episodes per task in an evaluation."""
    max_in_flight: int = 64
    """Episodes under way at one time."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse values that could only fail later."""
        for name in ("epochs", "batch_size", "micro_batch", "log_every", "eval_samples"):
            at_least(name, getattr(self, name), 1)
        at_least("max_in_flight", self.max_in_flight, 1)
        at_least("warmup_steps", self.warmup_steps, 0)
        at_least("weight_decay", self.weight_decay, 0.0)
        above("learning_rate", self.learning_rate)
        above("grad_clip", self.grad_clip)
        if self.batch_size > self.micro_batch and self.batch_size % self.micro_batch:
            raise BadConfig(
                f"batch_size must be a multiple of micro_batch, got {self.batch_size} and "
                f"{self.micro_batch}: an update is made of whole forward passes"
            )


class ColdStart:
    """Trains the agents of a team on examples, one policy after the other.

    Args:
        policies: Who learns, by agent (`coder_0`) or role (`coder`). The same object under
            two keys learns from the examples of both.
        make_env: Makes the environment whose prompts are learnt.
        tasks: What is taught; all of the split `train`.
        config: The knobs.
        episodes: Recorded episodes to learn from; None: those that the reference agent
            plays on `tasks`, with its plans and programs.
        frozen: Who else plays in an evaluation.
        eval_tasks: What is played before and after; None: nothing is.
        on_log: Called with each line of metrics.
        run_dir: Where everything is written; None: nowhere.
        about: Further tables for config.toml.

    Raises:
        BadConfig: If the arguments do not fit each other.
        SplitError: If a task is meant for testing, or an episode is not of these tasks.
    """

    def __init__(
        self,
        policies: Mapping[str, TransformersAgent],
        make_env: Callable[[], Environment],
        tasks: TaskSet,
        config: ColdStartConfig,
        *,
        episodes: Iterable[Episode] | None = None,
        frozen: Mapping[str, Agent] | None = None,
        eval_tasks: Sequence[Task] | None = None,
        on_log: OnLog | None = None,
        run_dir: str | Path | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Check that there is something to learn, and who learns it."""
        _require_trl()
        self.config, self.make_env = config, make_env
        self.tasks, self.eval_tasks = tasks.require_trainable(), eval_tasks
        self.episodes = None if episodes is None else only_of(episodes, self.tasks)
        self.players: dict[str, Agent] = {**(frozen or {}), **policies}
        self.on_log, self.about = on_log, dict(about or {})
        self.folder = None if run_dir is None else RunFolder(run_dir)
        env = make_env()
        self.agents = tuple(env.possible_agents)
        env.close()  # type: ignore[no-untyped-call]
        known = sorted({*self.agents, *map(role_of, self.agents)})
        for name in policies:
            if name not in known:
                raise unknown_name("an agent or role here", name, known)
        self.learners: dict[str, tuple[TransformersAgent, list[str]]] = {}
        for agent in self.agents:
            policy = policies.get(agent, policies.get(role_of(agent)))
            if policy is not None:
                self.learners.setdefault(str(id(policy)), (policy, []))[1].append(agent)

    def train(self) -> RunSummary:
        """Teach every policy, and return what it came to.

        Raises:
            BadConfig: If nobody has an example, or the run folder cannot be used.
        """
        started = time.monotonic()
        if self.folder is not None:
            tables = {**self.about, COLD_START: to_record(self.config)}
            self.folder.open(tables, resume=False)
            self.folder.go_on_after(-1)
        try:
            before = self._evaluate(0)
            episodes = self._reference() if self.episodes is None else self.episodes
            lessons = lessons_of(episodes, fenced=self.config.fenced)
            steps = 0
            for policy, agents in self.learners.values():
                steps = max(steps, self._teach(policy, agents, lessons))
            after = self._evaluate(steps)
            seconds = time.monotonic() - started
            return self._finish(before, after, steps, seconds)
        finally:
            if self.folder is not None:
                self.folder.close()

    # ------------------------------------------------------------------------- examples
    def _reference(self) -> Iterator[Episode]:
        """Play every task once as somebody who knows the answer."""
        players = {agent: ReferenceAgent() for agent in self.agents}
        for tree in self._play(players, self.tasks, samples=1, purpose="reference"):
            yield from tree.episodes()

    def _play(
        self,
        players: Mapping[str, Agent],
        tasks: Sequence[Task],
        *,
        samples: int,
        purpose: str,
    ) -> list[Any]:
        grown = collect(
            self.make_env,
            players,
            tasks,
            samples={self.agents[0]: samples},
            seed=derive_seed(self.config.seed, purpose),
            max_in_flight=self.config.max_in_flight,
        )
        return sorted(grown, key=lambda tree: tree.index)

    def _rows(
        self,
        policy: TransformersAgent,
        agents: Sequence[str],
        lessons: Mapping[str, list[Lesson]],
    ) -> list[dict[str, list[int]]]:
        """Return the examples of the agents that a policy plays."""
        mine = [lesson for agent in agents for lesson in lessons.get(agent, ())]
        found = tokenise(mine, policy)
        if not found.rows:
            raise BadConfig(
                f"{' and '.join(agents)} must have examples to learn from, got {len(mine)} "
                f"from episodes that passed, {found.too_long} of them with answers longer "
                f"than max_new_tokens = {policy.sampling.max_new_tokens}; bring other "
                "episodes, or let the policy say more"
            )
        if found.too_long:
            LOG.warning(
                "%s: %d of %d examples left out: longer than max_new_tokens = %d",
                "+".join(agents), found.too_long, len(mine), policy.sampling.max_new_tokens,
            )  # fmt: skip
        return found.rows

    # ------------------------------------------------------------------------- learning
    def _teach(
        self,
        policy: TransformersAgent,
        agents: Sequence[str],
        lessons: Mapping[str, list[Lesson]],
    ) -> int:
        """Train one policy; return the number of updates."""
        name, rows = "+".join(agents), self._rows(policy, agents, lessons)

        def note(step: int, record: Mapping[str, float]) -> None:
            line = {"step": step, **{f"{name}/{key}": value for key, value in record.items()}}
            if self.folder is not None:
                self.folder.add_metrics(line)
            if self.on_log is not None:
                self.on_log(name, line)

        with (
            tempfile.TemporaryDirectory(prefix="corecode-sft-") as scratch,
            _undisturbed(policy),
            own_randomness(self.config.seed, COLD_START, name),
        ):
            trainer = _sft_trainer(policy, rows, self.config, scratch, note)
            trainer.train()
        return int(trainer.state.global_step)

    # ----------------------------------------------------------------- what a run leaves
    def _evaluate(self, step: int) -> dict[str, float] | None:
        """Play the evaluation tasks, always with the same seeds."""
        if self.eval_tasks is None:
            return None
        with own_randomness(self.config.seed, "evaluation"):
            trees = self._play(
                self.players,
                self.eval_tasks,
                samples=self.config.eval_samples,
                purpose="evaluation",
            )
        found = evaluation_of(trees, step)
        if self.folder is not None:
            self.folder.add_metrics({"step": step, **eval_metrics(found)})
            self.folder.add_trees(f"evaluation-{step:06d}", trees)
        return found

    def _finish(
        self,
        before: dict[str, float] | None,
        after: dict[str, float] | None,
        steps: int,
        seconds: float,
    ) -> RunSummary:
        """Save the policies and sum up."""
        known = [found for found in (before, after) if found is not None]
        best = max(known, key=lambda found: found["pass@1"], default=None)
        folder = self.folder
        summary = RunSummary(
            before=before,
            best=best,
            after=after,
            step=steps,
            skipped=0,
            seconds=seconds,
            seed=self.config.seed,
            run_dir=None if folder is None else folder.path,
        )
        if folder is not None:

            def fill(path: Path) -> None:
                for policy, agents in self.learners.values():
                    policy.save(path / "+".join(agents))

            Checkpoints(folder.checkpoints, keep_last=1).write(steps, summary.to_json(), fill)
            folder.write_summary(summary.to_json())
        return summary


# --------------------------------------------------------------------------------- TRL
def _require_trl() -> None:
    try:
        import trl  # noqa: F401
    except ImportError as error:
        raise MissingExtra("trl", "train") from error


def _sft_trainer(
    policy: TransformersAgent,
    rows: list[dict[str, list[int]]],
    config: ColdStartConfig,
    scratch: str,
    note: Callable[[int, Mapping[str, float]], None],
) -> Any:
    """Return TRL's trainer over the trainable weights of a policy."""
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    class Notes(TrainerCallback):  # type: ignore[misc, unused-ignore]
        def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            logs: Mapping[str, float] = more["logs"]
            if "loss" in logs:
                note(int(state.global_step), {name: float(v) for name, v in logs.items()})

    size = min(config.micro_batch, config.batch_size)
    # The name up to transformers 5.2x, which warn where the other one is there.
    names = ("activation_checkpointing", "gradient_checkpointing")
    checkpointing = next(name for name in names if name in SFTConfig.__dataclass_fields__)
    settings: dict[str, Any] = {checkpointing: False}
    arguments = SFTConfig(
        output_dir=scratch,
        num_train_epochs=config.epochs,
        per_device_train_batch_size=size,
        gradient_accumulation_steps=config.batch_size // size,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
        warmup_steps=config.warmup_steps,
        max_grad_norm=config.grad_clip,
        seed=derive_seed(config.seed, COLD_START) % 2**32,
        logging_steps=config.log_every,
        completion_only_loss=True,
        max_length=None,
        # The policy has been set up already, in its own precision.
        **settings,
        bf16=False,
        use_cpu=policy.model.device.type == "cpu",
        # What is to be kept goes to the run folder, once, as policies.
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    optimiser = torch.optim.AdamW(
        list(policy.trainable_parameters()),
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
    )
    with _no_progress_bars():
        trainer = SFTTrainer(
            model=policy.model,
            args=arguments,
            train_dataset=Dataset.from_list(rows),
            # TRL gives a tokenizer a padding token, which the policy's own need not have.
            processing_class=copy.deepcopy(policy.tokenizer),
            optimizers=(optimiser, None),
            callbacks=[Notes()],
        )
    trainer.remove_callback(PrinterCallback)  # which writes to standard output
    return trainer


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Keep `datasets` from drawing a bar for what takes a moment."""
    import datasets

    hidden = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if not hidden:
            datasets.enable_progress_bars()


@contextmanager
def _undisturbed(policy: TransformersAgent) -> Iterator[None]:
    """Let a trainer change the weights of a policy, and nothing else of it.

    Trainers switch modes, wrap the model's `forward` and seed every generator there is.
    """
    model = policy.model
    inner = model.get_base_model() if policy.adapter is not None else model
    forward, training = vars(inner).get("forward"), model.training
    states = random.getstate(), np.random.get_state()
    with same_requires_grad(model):
        if policy.adapter is not None:
            model.set_adapter(policy.adapter)
        try:
            yield
        finally:
            vars(inner).pop("forward", None)
            if forward is not None:
                inner.forward = forward
            model.train(training)
            random.setstate(states[0])
            np.random.set_state(states[1])
