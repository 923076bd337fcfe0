"""Sampling: a whole batch of answers, token by token, each from its own random numbers.

prompts, random numbers  ->  Sample for each

`transformers`' own `generate` draws a batch from one generator, so that an answer depends on
who else is asked. Here each row has its own numbers, and batch mates only move its
probabilities by rounding.

Shapes: B rows, V tokens in the vocabulary, L tokens of prompt and answer so far.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corecode_env.agents.growing_cache import growing_cache
from corecode_env.core.errors import BadConfig, MissingExtra

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtra("torch", "train") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How answers are drawn."""

    max_new_tokens: int = 512
    temperature: float = 1.0
    """Divides the logits; 0: the likeliest token every time."""
    top_p: float = 1.0
    """Draw from the likeliest tokens that hold this share of the probability."""
    top_k: int = 0
    """Draw from this many likeliest tokens; 0: from all."""
    stop: tuple[str, ...] = ()
    """Texts that end an answer; they are cut off its text, but not off its tokens."""

    def __post_init__(self) -> None:
        """Refuse values that could only fail in the middle of a batch."""
        if self.max_new_tokens < 1:
            raise BadConfig(f"max_new_tokens must be at least 1, got {self.max_new_tokens}")
        if not 0.0 <= self.temperature < float("inf"):
            raise BadConfig(
                f"temperature must be 0 (always the likeliest) or more, got {self.temperature}"
            )
        if not 0.0 < self.top_p <= 1.0:
            raise BadConfig(f"top_p must lie in (0, 1], got {self.top_p}")
        if self.top_k < 0:
            raise BadConfig(f"top_k must be 0 (all) or more, got {self.top_k}")
        if isinstance(self.stop, str) or "" in self.stop:
            raise BadConfig(f"stop must be a tuple of texts, none empty, got {self.stop!r}")

    @property
    def scale(self) -> float:
        """What divides the logits in log-probabilities: the temperature, 1 if it is 0."""
        return self.temperature or 1.0


@dataclass(slots=True)
class Sample:
    """One answer under way."""

    ids: list[int] = field(default_factory=list)
    """Its tokens, with the one that ended it."""
    logprobs: list[float] = field(default_factory=list)
    text: str | None = None
    """What it says; None while it is drawn."""
    finish_reason: str | None = None
    """`stop` or `length`; None while it is drawn."""


def draw(logits: Tensor, uniforms: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Draw one token for each row.

    Args:
        logits: (B, V) as the model gives them, before the temperature.
        uniforms: (B,) float64 in [0, 1): the only randomness.
        sampling: How to draw.

    Returns:
        Tokens (B,), and their log-probabilities (B,) under softmax(logits / temperature)
        over the whole vocabulary, whatever `top_p` and `top_k` left of it.
    """
    scaled = logits.float() / sampling.scale
    if sampling.temperature == 0.0:
        ids = scaled.argmax(-1)
    elif sampling.top_k == 0 and sampling.top_p == 1.0:
        ids = _inverse_cdf(scaled.double().softmax(-1), uniforms)
    else:
        size = scaled.shape[-1]
        values, order = scaled.topk(min(sampling.top_k or size, size))
        probabilities = values.double().softmax(-1)
        before = probabilities.cumsum(-1) - probabilities
        kept = probabilities.where(before < sampling.top_p, 0.0)
        ids = order.gather(-1, _inverse_cdf(kept, uniforms).unsqueeze(-1)).squeeze(-1)
    chosen = scaled.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    return ids, chosen - scaled.logsumexp(-1)


def _inverse_cdf(weights: Tensor, uniforms: Tensor) -> Tensor:
    """Return the index where each row's running sum passes its share of the whole."""
    sums = weights.cumsum(-1)
    total = sums[:, -1]
    # Rounding may carry the product up to the total, behind the last index.
    goal = torch.minimum(uniforms * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(sums, goal.unsqueeze(-1), right=True).squeeze(-1)


class Generator:
    """Draws answers from one causal language model.

    Args:
        model: A `transformers` model with a head over the vocabulary.
        decode: Turns tokens to text, without special tokens.
        eos: Tokens that end an answer.
    """

    def __init__(
        self, model: Any, decode: Callable[[Sequence[int]], str], eos: frozenset[int]
    ) -> None:
        """Look at what the model's `forward` takes."""
        self.model = model
        self.decode = decode
        self.eos = eos
        self.takes = frozenset(inspect.signature(model.forward).parameters)

    def generate(
        self, prompts: Sequence[Sequence[int]], randoms: NDArray[np.float64], how: Sampling
    ) -> list[Sample]:
        """Draw one answer to each prompt.

        Args:
            prompts: B prompts, none of them empty.
            randoms: (B, max_new_tokens) in [0, 1).
            how: How to draw.
        """
        device = self.model.device
        cache = growing_cache()
        logits, mask = self._read(prompts, cache)
        samples = [Sample() for _ in prompts]
        alive = list(range(len(samples)))  # which sample each row of the batch is
        numbers = torch.from_numpy(randoms).to(device)
        for step in range(how.max_new_tokens):
            ids, logprobs = draw(logits, numbers[alive, step], how)
            for row, token, logprob in zip(
                alive, ids.tolist(), logprobs.tolist(), strict=True
            ):
                self._extend(samples[row], token, logprob, how)
            going = [p for p, row in enumerate(alive) if samples[row].finish_reason is None]
            if not going:
                break
            # Dropping rows copies the cache: not for each single one.
            if len(going) <= 0.75 * len(alive):
                keep = torch.tensor(going, device=device)
                cache.batch_select_indices(keep)
                ids = ids[keep]
                mask = None if mask is None else mask[keep]
                alive = [alive[place] for place in going]
            if mask is not None:
                mask = torch.cat([mask, mask.new_ones(len(alive), 1)], dim=1)
            logits = self._forward(ids.unsqueeze(-1), mask, cache)
        for sample in samples:
            if sample.text is None:
                sample.text = self.decode(sample.ids)
        return samples

    def sample_of(
        self, ids: Sequence[int], logprobs: Sequence[float], how: Sampling
    ) -> Sample:
        """Return a whole answer that was drawn elsewhere, under the same rules.

        One that neither the end token nor a stop text has ended was cut.
        """
        sample = Sample(list(ids), list(logprobs), finish_reason="stop")
        ended = bool(ids) and ids[-1] in self.eos
        if not ended and not (how.stop and self._stopped(sample, how.stop)):
            sample.finish_reason = "length"
        if sample.text is None:
            sample.text = self.decode(sample.ids)
        return sample

    def _read(
        self, prompts: Sequence[Sequence[int]], cache: Any
    ) -> tuple[Tensor, Tensor | None]:
        """Fill the cache with the prompts, equal ones read once; return logits and mask.

        The mask is None if all are of one length: attention without it is faster.
        """
        device = self.model.device
        distinct = list(dict.fromkeys(tuple(prompt) for prompt in prompts))
        longest = max(map(len, distinct))
        padded = torch.zeros(len(distinct), longest, dtype=torch.long)
        mask = torch.zeros_like(padded)
        for row, prompt in enumerate(distinct):
            padded[row, longest - len(prompt) :] = torch.tensor(prompt)
            mask[row, longest - len(prompt) :] = 1
        some = None if bool(mask.all()) else mask.to(device)
        logits = self._forward(padded.to(device), some, cache)
        places = {prompt: place for place, prompt in enumerate(distinct)}
        rows = torch.tensor([places[tuple(prompt)] for prompt in prompts], device=device)
        cache.batch_select_indices(rows)
        return logits[rows], None if some is None else some[rows]

    def _forward(self, ids: Tensor, mask: Tensor | None, cache: Any) -> Tensor:
        """Return the logits (B, V) behind the last token, and extend the cache."""
        options: dict[str, Any] = {"use_cache": True}
        # Older releases of transformers know the cache by its other name.
        options["cache" if "cache" in self.takes else "past_key_values"] = cache
        if mask is not None:
            options["attention_mask"] = mask
            if "position_ids" in self.takes:
                places = (mask.cumsum(-1) - 1).clamp(min=0)
                options["position_ids"] = places[:, -ids.shape[1] :]
        if "logits_to_keep" in self.takes:
            options["logits_to_keep"] = 1
        logits: Tensor = self.model(input_ids=ids, **options).logits
        return logits[:, -1]

    def _extend(self, sample: Sample, token: int, logprob: float, how: Sampling) -> None:
        """Append a token, and note whether it is the last one."""
        if sample.finish_reason is not None:
            return
        sample.ids.append(token)
        sample.logprobs.append(logprob)
        if token in self.eos:
            sample.finish_reason = "stop"
        elif how.stop and self._stopped(sample, how.stop):
            sample.finish_reason = "stop"
        elif len(sample.ids) == how.max_new_tokens:
            sample.finish_reason = "length"

    def _stopped(self, sample: Sample, stops: Sequence[str]) -> bool:
        """Return whether a stop text has just been completed; if so, set the text."""
        # A token adds a byte or more, so a stop text that ends here is at most this long.
        reach = max(len(stop.encode()) for stop in stops) + 4
        tail = self.decode(sample.ids[-reach:])
        if not any(stop in tail for stop in stops):
            return False
        text = self.decode(sample.ids)
        cuts = [text.find(stop) for stop in stops if stop in text]
        if cuts:
            sample.text = text[: min(cuts)]
        return bool(cuts)
