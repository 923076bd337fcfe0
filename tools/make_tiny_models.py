"""Make the tiny model that comes with the package: tokenizer, weights, model card.

    python tools/make_tiny_models.py [--out FOLDER] [--seed 0]

It learns plans from statements and programs from plans, from training tasks of `pipelines`,
and stops as soon as it solves a given share of the validation tasks: what it lacks is left
for reinforcement learning to find. Needs the extra `train`; takes some minutes on one core.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from corecode_env.agents.local_model import TransformersAgent
from corecode_env.agents.tiny import FOLDER, LEVELS, MAX_NEW_TOKENS, tiny_policy
from corecode_env.cli.demo_game import Game, demo_tasks, make_env, solved
from corecode_env.executor import LocalExecutor
from corecode_env.tasks import TaskSet
from corecode_env.tasks.pipelines import generate
from corecode_env.tasks.splits import split_by_number

VOCABULARY: Final = 1024
END, PAD = "<|end|>", "<|pad|>"
FIRST_SEED: Final = 100_000
"""Tasks from here on: the sets that `load_tasks` gives stay fresh for later training."""
TASKS_PER_LEVEL: Final = 2500
# The Coder's part is larger: it shall obey plans before the Planner writes good ones.
PLANS_PER_BATCH, PROGRAMS_PER_BATCH = 6, 18
LEARNING_RATE, WARM_UP, MAX_STEPS = 2e-3, 50, 1500
FIRST_CHECK, CHECK_EVERY, CHECKED_PER_LEVEL = 350, 25, 40
TESTED_PER_LEVEL: Final = 100

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
    """Learn a byte-level BPE."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
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


def loss_of(model: LlamaForCausalLM, batch: Sequence[Row], pad: int) -> torch.Tensor:
    """Return the mean negative log-likelihood of the answers' tokens, in nats."""
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
    return torch.nn.functional.cross_entropy(logits, wanted[wanted != -100])


def warm_start(seed: int, enough: float, executor: LocalExecutor) -> tuple[Any, Any, int]:
    """Train until enough validation tasks are solved; return model, tokenizer, steps.

    Raises:
        RuntimeError: If that does not come about.
    """
    torch.manual_seed(seed)
    rng = random.Random(seed)
    tasks, held_out = (
        tasks_of("train", TASKS_PER_LEVEL),
        tasks_of("validation", CHECKED_PER_LEVEL),
    )
    asked, plans, told, programs = lessons(tasks, executor)
    tokenizer = make_tokenizer([*asked, *plans, *told, *programs])
    model = make_model(tokenizer)
    sides = rows(asked, plans, tokenizer), rows(told, programs, tokenizer)
    optimiser = torch.optim.AdamW(model.parameters(), LEARNING_RATE, weight_decay=0.01)
    game = Game(held_out, executor)
    share = 0.0
    for step in range(1, MAX_STEPS + 1):
        optimiser.param_groups[0]["lr"] = LEARNING_RATE * min(1.0, step / WARM_UP)
        batch = [
            *rng.sample(sides[0], PLANS_PER_BATCH),
            *rng.sample(sides[1], PROGRAMS_PER_BATCH),
        ]
        loss = loss_of(model, batch, id_of(tokenizer, PAD))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step >= FIRST_CHECK and step % CHECK_EVERY == 0:
            policy = TransformersAgent(model, tokenizer, max_new_tokens=MAX_NEW_TOKENS)
            share = solved(game.play(policy, policy, seed))
            print(f"step {step}: loss {loss.item():.3f}, {share:.2f} solved", flush=True)
            if share >= enough:
                return model, tokenizer, step
    raise RuntimeError(f"{share:.2f} solved after {MAX_STEPS} steps; {enough} was asked for")


def main() -> None:
    """Make the model, measure it on held-out tasks, and write everything down."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--enough", type=float, default=0.28, help="share to stop at")
    given = parser.parse_args()
    torch.set_num_threads(1)  # so that sums are always added in the same order
    began = time.process_time()
    with LocalExecutor() as executor:
        model, tokenizer, steps = warm_start(given.seed, given.enough, executor)
        seconds = time.process_time() - began
        model.half().save_pretrained(given.out)
        tokenizer.save_pretrained(given.out)
        policy = tiny_policy(given.out)
        measured = Game(demo_tasks("test", TESTED_PER_LEVEL), executor).by_plan(policy, 0)
    card = (Path(__file__).parent / "tiny_model_card.md").read_text("utf-8")
    table = "\n".join(
        f"| {name} | {solved(played):.2f} |" for name, played in measured.items()
    )
    facts = {
        "parameters": f"{sum(p.numel() for p in model.parameters()):,}",
        "tokens": len(tokenizer),
        "steps": steps,
        "seconds": round(seconds),
        "tasks": TASKS_PER_LEVEL,
        "tested": TESTED_PER_LEVEL * len(LEVELS),
        "table": table,
        "seed": given.seed,
        "enough": given.enough,
    }
    (given.out / "MODEL_CARD.md").write_text(card.format(**facts), "utf-8")
    for file in given.out.iterdir():
        if file.is_file():
            file.chmod(0o644)  # safetensors writes files that only their owner can read
    print(table)


if __name__ == "__main__":
    main()
