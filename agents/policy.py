"""Policies: agents whose weights can be trained.

Only the Protocol stands here, so that it can be imported without torch.

Shapes: B answers, T tokens of the longest of them.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from corecode_env.core.seams import Reply, Request

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module, Parameter

Tokens = Sequence[Sequence[int]]
"""Token ids of B texts, each of its own length."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What a policy thinks of given answers.

    Unpacks as `logprobs, mask`, or as `logprobs, mask, entropy` where the entropy was asked
    for.
    """

    logprobs: Tensor
    """(B, T), float32, in nats; 0 on padding."""
    mask: Tensor
    """(B, T), float32: 1 on tokens of the answer, 0 on padding."""
    entropy: Tensor | None = None
    """(B, T), float32, of the distribution that each token was drawn from, in nats; carries
    no gradient."""

    def __iter__(self) -> Iterator[Tensor]:
        """Iterate over the parts that are there."""
        yield self.logprobs
        yield self.mask
        if self.entropy is not None:
            yield self.entropy


@runtime_checkable
class TrainablePolicy(Protocol):
    """An agent that a trainer can improve.

    One distribution goes through all of it: softmax(logits / temperature) over the whole
    vocabulary (temperature 1 where the agent decodes greedily). `Reply.logprobs`,
    `logprobs` and `reference_logprobs` all speak of this one, so that the ratio between a
    policy and itself is 1; `top_p`, `top_k` and stop strings only choose what is drawn.
    """

    model: Module
    tokenizer: Any

    def act(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Answer every request; replies carry `prompt_ids`, `token_ids` and `logprobs`."""
        ...

    def logprobs(
        self, prompt_ids: Tokens, answer_ids: Tokens, *, with_entropy: bool = False
    ) -> Scores:
        """Score given answers to given prompts, with gradients."""
        ...

    def reference_logprobs(self, prompt_ids: Tokens, answer_ids: Tokens) -> Scores:
        """Score them as the policy would have done before any training, without gradients."""
        ...

    def trainable_parameters(self) -> Iterator[Parameter]:
        """Iterate over what an optimiser may change."""
        ...

    def state_dict(self) -> dict[str, Tensor]:
        """Return the trainable weights by name."""
        ...

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take over weights that `state_dict` returned."""
        ...

    def save(self, folder: str | Path) -> None:
        """Write the policy as a folder that can be loaded again; whole or not at all."""
        ...

    def load(self, folder: str | Path) -> None:
        """Take over the weights of a folder that `save` wrote."""
        ...
