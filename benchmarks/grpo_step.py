"""How fast is a step of GRPO, beside TRL's trainer on the same work?

    python benchmarks/grpo_step.py [--rounds 5] [--steps 4] [--tasks 8] [--samples 8]
        [--judge sandbox|length]

The tiny Coder writes programs from the reference plans of some `pipelines` tasks: the same
weights, prompts, answers per prompt, longest answer, sandbox and reward, one update over the
whole batch, no KL penalty. Rounds alternate between the two trainers; each begins with the
shipped weights, and its first step is not counted. With `--judge length` nothing is run: a
program passes if its length is even, which leaves the trainers themselves. Prints samples
per second and where the time of a step goes: medians, with quartiles in brackets.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from corecode_env.agents import ReferenceAgent
from corecode_env.agents.tiny import (
    LEVELS,
    MAX_NEW_TOKENS,
    PROMPTS,
    no_progress_bar,
    tiny_policy,
)
from corecode_env.core.messages import extract_program
from corecode_env.core.seams import Executor
from corecode_env.core.task import Task
from corecode_env.core.verdict import Verdict
from corecode_env.environments import planner_coder_v0
from corecode_env.executor import LocalExecutor
from corecode_env.executor.testing import InstantExecutor
from corecode_env.rewards import all_pass
from corecode_env.tasks import load_tasks
from corecode_env.tasks.taskset import TaskSet

PARTS = ("generation", "judging", "log-probs and update", "the rest")
RATE = 1e-6
"""Learning rate: so small that answers stay as long as they are."""


@dataclass(frozen=True)
class Work:
    """What both trainers do in a step."""

    tasks: TaskSet
    samples: int
    steps: int
    micro_batch: int
    """Answers in one forward and backward pass."""
    executor: Executor
    seed: int = 0

    @property
    def answers(self) -> int:
        """Return how many answers a step learns from."""
        return len(self.tasks) * self.samples


@dataclass
class Seen:
    """What one round of a trainer showed: for each counted step seconds by part."""

    whole: list[float]
    parts: dict[str, list[float]]
    tokens: list[float]


def by_length(task: Task, program: str) -> Verdict:
    """Judge a program by its length."""
    return Verdict.WA if len(program) % 2 else Verdict.AC


def make_env(work: Work) -> Any:
    """Return the environment in which a program is written from a plan."""
    return planner_coder_v0.env(
        tasks=work.tasks,
        rewards=all_pass(),
        executor=work.executor,
        coder_sees="plan",
        prompts=PROMPTS,
    )


def ours(work: Work) -> Seen:
    """Run our trainer for a round."""
    from corecode_env.algorithms.config import TeamGRPOConfig
    from corecode_env.algorithms.grpo import TeamGRPOTrainer
    from corecode_env.algorithms.losses import LossConfig
    from corecode_env.algorithms.reports import StepReport

    seen, ends = Seen([], defaultdict(list), []), [0.0]

    def note(report: StepReport) -> None:
        ends.append(time.perf_counter())
        if report.step == 1:
            return
        found, whole = report.metrics, ends[-1] - ends[-2]
        generation, learning = found["seconds/generate"], found["seconds/learn"]
        judging = found["seconds/play"] - generation  # as far as it is waited for
        seen.whole.append(whole)
        seen.tokens.append(found["coder_0/tokens"])
        rest = whole - generation - judging - learning
        for name, value in zip(PARTS, (generation, judging, learning, rest), strict=True):
            seen.parts[name].append(value)

    config = TeamGRPOConfig(
        stage="coder",
        steps=work.steps + 1,
        tasks_per_step=len(work.tasks),
        samples={"planner": 1, "coder": work.samples},
        max_in_flight=work.answers,  # one half is judged while the other is generated
        seed=work.seed,
        learning_rate=RATE,
        micro_batch=work.micro_batch,
        loss=LossConfig(kl_weight=0.0, loss_type="bnpo"),
    )
    TeamGRPOTrainer(
        {"coder": tiny_policy("coder")},
        lambda: make_env(work),
        work.tasks,
        config,
        frozen={"planner": ReferenceAgent()},
        callbacks=[note],
    ).train()
    return seen


def prompts_of(work: Work) -> list[str]:
    """Return the Coder's prompt for each task, as the environment writes it."""
    env = make_env(work)
    prompts: list[str] = []
    for task in work.tasks:
        env.reset(seed=0, options={"task": task})
        env.step(task.reference_plan)
        prompts.append(str(env.observe("coder_0")["prompt"]))
    env.close()
    return prompts


def trl_config(work: Work, folder: str) -> Any:
    """Return settings under which TRL's trainer does the same work as ours."""
    from trl.trainer.grpo_config import GRPOConfig

    return GRPOConfig(
        output_dir=folder,
        max_steps=work.steps + 1,
        per_device_train_batch_size=work.micro_batch,
        gradient_accumulation_steps=work.answers // work.micro_batch,
        num_generations=work.samples,
        max_completion_length=MAX_NEW_TOKENS,
        temperature=1.0,
        learning_rate=RATE,
        lr_scheduler_type="constant",
        beta=0.0,
        loss_type="bnpo",
        epsilon_high=0.3,
        gradient_checkpointing=False,
        bf16=False,
        use_cpu=True,
        seed=work.seed,
        shuffle_dataset=False,
        disable_tqdm=True,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
    )


def trl(work: Work) -> Seen:
    """Run TRL's trainer for a round."""
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl.trainer.grpo_trainer import GRPOTrainer

    seen, ends = Seen([], defaultdict(list), []), [0.0]
    watches: dict[str, float] = defaultdict(float)
    tasks: dict[str, Task] = {task.id: task for task in work.tasks}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        try:
            return call()
        finally:
            watches[name] += time.perf_counter() - started

    def passed(completions: Sequence[str], task_id: Sequence[str], **_: Any) -> list[float]:
        programs = [extract_program(text).program for text in completions]
        jobs = [(tasks[name], p) for name, p in zip(task_id, programs, strict=True)]
        judged = timed("judging", lambda: list(work.executor.map(jobs)))
        return [float(judgement.passed) for judgement in judged]

    class Watched(GRPOTrainer):  # type: ignore[misc, unused-ignore]
        """Says how long it generates, and how long a whole step takes."""

        def _generate_single_turn(self, *args: Any, **options: Any) -> Any:
            generate: Any = super()._generate_single_turn
            found = timed(PARTS[0], lambda: generate(*args, **options))
            watches["tokens"] += sum(map(len, found[0]))
            return found

        def training_step(self, *args: Any, **options: Any) -> Any:
            step: Any = super().training_step
            return timed("step", lambda: step(*args, **options))

    class Note(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Looks at the watches after each step."""

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            ends.append(time.perf_counter())
            if state.global_step > 1:
                whole = ends[-1] - ends[-2]
                seen.whole.append(whole)
                seen.tokens.append(watches["tokens"] / work.answers)
                learning = whole - watches[PARTS[0]] - watches["judging"]
                inside = watches["step"] - watches[PARTS[0]] - watches["judging"]
                parts = (watches[PARTS[0]], watches["judging"], inside, learning - inside)
                for name, value in zip(PARTS, parts, strict=True):
                    seen.parts[name].append(value)
            watches.clear()

    reward: Any = passed
    policy = tiny_policy("coder")
    rows = {"prompt": prompts_of(work), "task_id": list(tasks)}
    with tempfile.TemporaryDirectory() as folder:
        trainer = Watched(
            policy.model,
            reward,
            trl_config(work, folder),
            train_dataset=Dataset.from_dict(rows),
            processing_class=policy.tokenizer,
            callbacks=[Note()],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return seen


def milliseconds(part: str, seen: Seen) -> list[float]:
    """Return how long a part of each step took."""
    return [1000 * seconds for seconds in seen.parts[part]]


def quartiles(values: Sequence[float], digits: int) -> str:
    """Return the median, and the quartiles in brackets."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def main() -> None:
    """Measure both in turns and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    for name, default in (("rounds", 5), ("steps", 4), ("tasks", 8), ("samples", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--judge", choices=("sandbox", "length"), default="sandbox")
    parser.add_argument("--micro-batch", type=int, default=16, help="answers in one pass")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    chosen = parser.parse_args()
    if chosen.tasks * chosen.samples % chosen.micro_batch:
        parser.error("--micro-batch must divide --tasks times --samples: TRL wants it so")
    if chosen.rounds < 2:
        parser.error("--rounds must be at least 2: quartiles need two values")

    import torch
    import transformers
    from trl import __version__ as trl_version

    torch.set_num_threads(chosen.threads)
    transformers.logging.set_verbosity_error()
    tasks = load_tasks(f"pipelines/{LEVELS[-1]}").split("train").head(chosen.tasks)
    trainers: dict[str, Callable[[Work], Seen]] = {"corecode-env": ours, "TRL": trl}
    found: dict[str, list[Seen]] = {name: [] for name in trainers}
    judge = LocalExecutor() if chosen.judge == "sandbox" else InstantExecutor(by_length)
    with closing(judge) as executor, no_progress_bar():
        work = Work(tasks, chosen.samples, chosen.steps, chosen.micro_batch, executor)
        for number in range(chosen.rounds):
            for name, run in trainers.items():
                found[name].append(run(replace(work, seed=number)))
    print(
        f"torch {torch.__version__}, TRL {trl_version}, {chosen.threads} threads of "
        f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}, "
        f"judged by {chosen.judge}\n"
        f"{len(tasks)} prompts x {chosen.samples} answers of at most {MAX_NEW_TOKENS} tokens, "
        f"{chosen.micro_batch} in one pass; {chosen.rounds} rounds of {chosen.steps} counted "
        "steps\n"
    )
    print(f"| | {' | '.join(trainers)} |")
    print("|---" * (len(trainers) + 1) + "|")

    def row(title: str, values: Callable[[Seen], Sequence[float]], digits: int) -> None:
        cells = [
            quartiles([value for seen in rounds for value in values(seen)], digits)
            for rounds in found.values()
        ]
        print(f"| {title} | {' | '.join(cells)} |")

    row("samples per second", lambda seen: [work.answers / s for s in seen.whole], 1)
    row("tokens per answer", lambda seen: seen.tokens, 1)
    row("milliseconds per step", lambda seen: [1000 * s for s in seen.whole], 0)
    for part in PARTS:
        row(f"... {part}", partial(milliseconds, part), 0)
    pairs = zip(*found.values(), strict=True)
    ratios = [statistics.median(b.whole) / statistics.median(a.whole) for a, b in pairs]
    print(f"\nTRL's time over ours, by round: {quartiles(ratios, 2)}")


if __name__ == "__main__":
    main()
