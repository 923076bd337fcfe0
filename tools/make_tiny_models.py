"""Make the tiny models that come with the package: tokenizer, a Planner, a Coder, their card.

    python tools/make_tiny_models.py [--out FOLDER] [--seed 0]

The Coder learns programs from plans until it obeys nearly every plan. The Planner learns plans
from statements and stops as soon as the two together solve a given share of the validation
tasks: what it lacks is left for reinforcement learning to find. Both learn from training
tasks of `pipelines`. Needs the extra `train`; takes some minutes on one core.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from corecode_env.agents.local_model import TransformersAgent
from corecode_env.agents.tiny import FOLDER, LEVELS, MAX_NEW_TOKENS, tiny_pair
from corecode_env.cli.demo_game import Game, demo_tasks, make_env, solved
from corecode_env.executor import LocalExecutor
from corecode_env.tasks import TaskSet
from corecode_env.tasks.pipelines import generate
from corecode_env.tasks.splits import split_by_number

VOCABULARY: Final = 768
END, PAD = "<|end|>", "<|pad|>"
FIRST_SEED: Final = 100_000
"""Tasks from here on: the sets that `load_tasks` gives stay fresh for later training."""
TASKS_PER_LEVEL: Final = 2500
CHECKED_PER_LEVEL, TESTED_PER_LEVEL = 100, 100
LEARNING_RATE, WARM_UP = 2e-3, 50
CODER_STEPS, CODER_BATCH, CODER_MIX = 450, 32, (1, 2, 3)
# Level 3 has most to learn. Were it learnt last, nothing of it would succeed when the Planner
# stops, and reinforcement learning would find no example to reinforce.
PLANNER_STEPS, PLANNER_BATCH, PLANNER_MIX = 600, 24, (1, 2, 6)
FIRST_CHECK, CHECK_EVERY = 200, 10
SMOOTHING: Final = 0.1
"""Share of probability that the Planner learns to spread over all tokens: a Planner that is
sure of its mistakes would make the same one in each of several plans."""

Row = tuple[list[int], list[int]]
"""Token ids of a prompt and of its answer."""


def tasks_of(split: str, per_level: int) -> TaskSet:
    """Make tasks of one split, the levels by turns."""
    seeds = (s for s in range(FIRST_SEED, 10 * FIRST_SEED) if split_by_number(s) == split)
    chosen = [next(seeds) for _ in range(per_level)]
    return TaskSet([generate(level, seed) for seed in chosen for level in LEVELS], split)


def lessons(tasks: TaskSet, executor: LocalExecutor) -> tuple[list[str], ...]:
    """Return prompts and answers of the Planner, then those of the Coder.

    The prompts are the environment's own.
    """
    told: tuple[list[str], ...] = ([], [], [], [])
    env = make_env(tasks, executor)
    for task in tasks:
        plan, program = str(task.reference_plan), str(task.reference_program)
        env.reset(seed=0, options={"task": task, "prefix": [("planner_0", plan)]})
        planner, coder = env.unwrapped.episode.turns[0].observation, env.observe("coder_0")
        for texts, text in zip(
            told, (planner["prompt"], plan, coder["prompt"], program), strict=True
        ):
            texts.append(text)
    return told


def make_tokenizer(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """Learn a byte-level BPE whose tokens may span several words.

    So a line of a plan or a program is two or three tokens long, and sampling one is fast.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token=PAD, padding_side="left"
    )


def id_of(tokenizer: PreTrainedTokenizerFast, token: str) -> int:
    """Return the id of a special token."""
    found = tokenizer.convert_tokens_to_ids(token)
    assert isinstance(found, int), "one token has one id"
    return found


def make_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Make the untrained network."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=352,
            num_hidden_layers=4,
            num_attention_heads=4,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=id_of(tokenizer, END),
            pad_token_id=id_of(tokenizer, PAD),
        )
    )


def rows(
    prompts: Sequence[str], answers: Sequence[str], tokenizer: PreTrainedTokenizerFast
) -> list[Row]:
    """Return the token ids of prompts and of answers with their end."""
    given, wanted = tokenizer(list(prompts)), tokenizer(list(answers))
    end = id_of(tokenizer, END)
    pairs = zip(given["input_ids"], wanted["input_ids"], strict=True)
    return [(prompt, [*answer, end]) for prompt, answer in pairs]


def loss_of(
    model: LlamaForCausalLM, batch: Sequence[Row], pad: int, smoothing: float
) -> torch.Tensor:
    """Return the mean cross-entropy of the answers' tokens, with label smoothing, in nats."""
    longest = max(len(prompt) + len(answer) for prompt, answer in batch)
    ids = torch.full((len(batch), longest), pad)
    wanted = torch.full((len(batch), longest), -100)
    for row, (prompt, answer) in enumerate(batch):
        end = len(prompt) + len(answer)
        ids[row, :end] = torch.tensor(prompt + answer)
        wanted[row, len(prompt) : end] = torch.tensor(answer)
    # Padding stands on the right: no real token looks at it, and no mask is needed.
    hidden = model.model(input_ids=ids).last_hidden_state[:, :-1]
    wanted = wanted[:, 1:]
    logits = model.lm_head(hidden[wanted != -100])
    return torch.nn.functional.cross_entropy(
        logits, wanted[wanted != -100], label_smoothing=smoothing
    )


class Student:
    """A model that learns answers by heart: AdamW on batches of rows.

    Args:
        tokenizer: Its tokenizer.
        lessons: Prompts and answers, the levels by turns.
        mix: How often each level is drawn.
        batch: Rows in a step.
        smoothing: Share of probability to spread over all tokens.
        seed: Seed of the weights and of the order.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        lessons: tuple[Sequence[str], Sequence[str]],
        mix: Sequence[int],
        batch: int,
        smoothing: float,
        seed: int,
    ) -> None:
        """Make an untrained network."""
        torch.manual_seed(seed)
        self.tokenizer, self.model = tokenizer, make_model(tokenizer)
        all_rows = rows(*lessons, tokenizer)
        self.rows = [all_rows[place :: len(LEVELS)] for place in range(len(LEVELS))]
        self.mix, self.batch, self.smoothing = mix, batch, smoothing
        self.rng = random.Random(seed)
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), LEARNING_RATE, weight_decay=0.01
        )

    def learn(self, step: int, share: float) -> float:
        """Take one step at a share of the learning rate; return the loss, in nats a token."""
        rate = LEARNING_RATE * share * min(1.0, step / WARM_UP)
        self.optimiser.param_groups[0]["lr"] = rate
        levels = self.rng.choices(self.rows, self.mix, k=self.batch)
        batch = [self.rng.choice(level) for level in levels]
        loss = loss_of(self.model, batch, id_of(self.tokenizer, PAD), self.smoothing)
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        return float(loss.item())

    def policy(self) -> TransformersAgent:
        """Return the model as an agent."""
        return TransformersAgent(self.model, self.tokenizer, max_new_tokens=MAX_NEW_TOKENS)


class Pair(NamedTuple):
    """What the warm start made."""

    planner: Student
    coder: Student
    planner_steps: int


def warm_start(seed: int, enough: float, executor: LocalExecutor) -> Pair:
    """Train the Coder, then the Planner until both solve enough validation tasks.

    Raises:
        RuntimeError: If that does not come about.
    """
    tasks = tasks_of("train", TASKS_PER_LEVEL)
    asked, plans, told, programs = lessons(tasks, executor)
    tokenizer = make_tokenizer([*asked, *plans, *told, *programs])
    coder = Student(tokenizer, (told, programs), CODER_MIX, CODER_BATCH, 0.0, seed)
    loss = math.nan
    for step in range(1, CODER_STEPS + 1):
        loss = coder.learn(step, (1 + math.cos(math.pi * step / CODER_STEPS)) / 2)
    print(f"Coder: loss {loss:.3f} after {CODER_STEPS} steps", flush=True)
    game = Game(tasks_of("validation", CHECKED_PER_LEVEL), executor)
    asks = (asked, plans)
    planner = Student(tokenizer, asks, PLANNER_MIX, PLANNER_BATCH, SMOOTHING, seed)
    share = 0.0
    for step in range(1, PLANNER_STEPS + 1):
        loss = planner.learn(step, 1.0)
        if step >= FIRST_CHECK and step % CHECK_EVERY == 0:
            share = solved(game.play(planner.policy(), coder.policy(), seed))
            print(f"Planner: step {step}, loss {loss:.3f}, {share:.2f} solved", flush=True)
            if share >= enough:
                return Pair(planner, coder, step)
    raise RuntimeError(f"{share:.2f} solved after {PLANNER_STEPS} steps, not {enough}")


def main() -> None:
    """Make the models, measure them on held-out tasks, and write everything down."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--enough", type=float, default=0.3, help="share to stop at")
    given = parser.parse_args()
    torch.set_num_threads(1)  # so that sums are always added in the same order
    began = time.process_time()
    with LocalExecutor() as executor:
        pair = warm_start(given.seed, given.enough, executor)
        seconds = time.process_time() - began
        for role, student in (("planner", pair.planner), ("coder", pair.coder)):
            student.model.half().save_pretrained(given.out / role)
            student.tokenizer.save_pretrained(given.out / role)
        policies = tiny_pair(given.out)
        game = Game(demo_tasks("test", TESTED_PER_LEVEL), executor)
        measured = game.by_plan(policies["planner"], policies["coder"], 0)
    card = (Path(__file__).parent / "tiny_model_card.md").read_text("utf-8")
    table = "\n".join(
        f"| {name} | {solved(played):.2f} |" for name, played in measured.items()
    )
    facts = {
        "parameters": f"{sum(p.numel() for p in pair.coder.model.parameters()):,}",
        "tokens": len(pair.coder.tokenizer),
        "coder_steps": CODER_STEPS,
        "planner_steps": pair.planner_steps,
        "smoothing": SMOOTHING,
        "seconds": round(seconds),
        "tasks": TASKS_PER_LEVEL,
        "tested": TESTED_PER_LEVEL * len(LEVELS),
        "table": table,
        "seed": given.seed,
        "enough": given.enough,
    }
    (given.out / "MODEL_CARD.md").write_text(card.format(**facts), "utf-8")
    for file in given.out.glob("*/*"):
        if file.is_file():
            file.chmod(0o644)  # safetensors writes files that only their owner can read
    print(table)


if __name__ == "__main__":
    main()
