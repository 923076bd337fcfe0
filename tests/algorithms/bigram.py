"""A policy that fits on one screen, and a game whose optimum is known.

The policy says each letter given the one before it (a table of logits), starting from the
last letter of what it is asked. In the game a plan of one letter leads to a program of two:
the plan, if it is right, is "b", and the program, if it obeys, repeats the plan's letter and
ends. Only the program "bb" passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from corecode_env.agents.policy import Scores, Tokens  # noqa: E402
from corecode_env.core.seams import Reply, Request  # noqa: E402
from corecode_env.core.task import CallTest, Function, Task  # noqa: E402
from corecode_env.core.verdict import Verdict  # noqa: E402
from corecode_env.environments import planner_coder_v0  # noqa: E402
from corecode_env.executor.testing import InstantExecutor  # noqa: E402
from corecode_env.tasks import TaskSet  # noqa: E402

LETTERS = "abc"
TASKS = TaskSet(
    (
        Task(
            id=f"toy/{n}",
            statement="Say b.",
            interface=Function("f"),
            public_tests=(CallTest((), {}, 0),),
        )
        for n in range(8)
    ),
    "toy",
)


class BigramPolicy:
    """A table of logits as a policy; see `TrainablePolicy`.

    Args:
        seed: Seed of the first weights.
        finish_reason: What it says of why an answer ended.
    """

    tokenizer = None

    def __init__(self, seed: int = 0, finish_reason: str = "stop") -> None:
        source = torch.Generator().manual_seed(seed)
        self.finish_reason = finish_reason
        self.model = torch.nn.Embedding(len(LETTERS), len(LETTERS))
        with torch.no_grad():
            self.model.weight.normal_(0.0, 0.1, generator=source)
        self.first = self.model.weight.detach().clone()

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Reply:
        source = torch.Generator().manual_seed(request.seed)
        last = LETTERS.index(str(request.observation["plan"])[:1] or "a")
        prompt = (last,)
        answer: list[int] = []
        logprobs: list[float] = []
        for _ in range(1 if request.role == "planner" else 2):
            chances = torch.log_softmax(self.model.weight[last].detach(), -1)
            last = int(torch.multinomial(chances.exp(), 1, generator=source))
            answer.append(last)
            logprobs.append(float(chances[last]))
        text = "".join(LETTERS[i] for i in answer)
        return Reply(text, tuple(answer), tuple(logprobs), prompt, self.finish_reason)

    def _score(self, weight: Any, prompts: Tokens, answers: Tokens) -> Scores:
        size = max(map(len, answers))
        before, chosen = torch.zeros(2, len(answers), size, dtype=torch.long)
        mask = torch.zeros(len(answers), size)
        for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
            before[row, : len(answer)] = torch.tensor([prompt[-1], *answer[:-1]])
            chosen[row, : len(answer)] = torch.tensor(answer)
            mask[row, : len(answer)] = 1.0
        chances = torch.log_softmax(weight[before], -1)
        picked = chances.gather(-1, chosen.unsqueeze(-1)).squeeze(-1) * mask
        entropy = -(chances.exp() * chances).sum(-1) * mask
        return Scores(picked, mask, entropy)

    def logprobs(
        self, prompt_ids: Tokens, answer_ids: Tokens, *, with_entropy: bool = False
    ) -> Scores:
        return self._score(self.model.weight, prompt_ids, answer_ids)

    def reference_logprobs(self, prompt_ids: Tokens, answer_ids: Tokens) -> Scores:
        return self._score(self.first, prompt_ids, answer_ids)

    def trainable_parameters(self) -> Iterator[Any]:
        yield from self.model.parameters()

    def state_dict(self) -> dict[str, Any]:
        return dict(self.model.state_dict())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state)

    def save(self, folder: str | Path) -> None:
        Path(folder).mkdir(parents=True)
        torch.save(self.state_dict(), Path(folder) / "weights.pt")

    def load(self, folder: str | Path) -> None:
        self.load_state_dict(torch.load(Path(folder) / "weights.pt", weights_only=True))


def only_bb_passes(task: Task, program: str) -> Verdict:
    return Verdict.AC if program == "bb" else Verdict.WA


def make_env(rule: Any = only_bb_passes, **options: Any) -> Any:
    options = {"tasks": TASKS, "executor": InstantExecutor(rule), **options}
    return lambda: planner_coder_v0.env(**options)


def says(text: str) -> Any:
    return lambda observation: text


def obeys(observation: Mapping[str, Any]) -> str:
    return str(observation["plan"]) * 2
