"""Local models: any causal language model of `transformers`, as an agent and a policy.

    Request  ->  prompt tokens  ->  sampled tokens with log-probabilities  ->  Reply

Log-probabilities, here and in replies, are those of softmax(logits / temperature) over the
whole vocabulary (temperature 1 where it is 0). `top_p` and `top_k` choose from it what is
drawn, and do not change what is reported, so that a policy's ratio to itself is always 1.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

import numpy as np

from corecode_env.agents.model_files import load_model, read_weights, write_folder
from corecode_env.agents.model_setup import (
    checkpoint_layers,
    disable_dropout,
    end_tokens,
    same_requires_grad,
    window_of,
)
from corecode_env.agents.policy import Scores, Tokens
from corecode_env.agents.sampling import Generator, Sample, Sampling
from corecode_env.agents.scoring import answer_scores, has_plain_head
from corecode_env.core.errors import BadConfig, MissingExtra
from corecode_env.core.seams import Reply, Request
from corecode_env.core.seeding import generator

try:
    import torch
    from torch import Tensor
    from torch.nn import Module, Parameter
except ImportError as error:
    raise MissingExtra("torch", "train") from error

LongPrompt = Literal["error", "cut"]

_LOCKS: Final[WeakKeyDictionary[Module, RLock]] = WeakKeyDictionary()
"""One for each base model: agents that share one take turns with its active adapter."""


class TransformersAgent:
    """A causal language model that answers requests, and can be trained.

    Dropout is switched off: a policy that scores its own answer differently each time
    cannot be compared with itself. Agents may share one base model, each with an adapter of
    its own (see `lora_team`); run `backward` before the next agent of the base is used.

    Args:
        model: A `transformers` causal language model, or a `peft` model around one.
        tokenizer: Its tokenizer.
        adapter: Name of this agent's adapter on a `peft` model; None: the active one.
        chat: `"auto"`: the tokenizer's chat template if it has one, else the plain prompt;
            True: the template; False: the plain prompt.
        max_new_tokens: Longest answer, in tokens.
        temperature: Divides the logits; 0: always the likeliest token.
        top_p: Draw from the likeliest tokens that hold this share of the probability.
        top_k: Draw from this many likeliest tokens; 0: from all.
        stop: Texts that end an answer, and are cut off it.
        batch_size: Answers that are drawn at one time.
        long_prompt: What becomes of a prompt that leaves no room for `max_new_tokens` in
            the model's window: `"error"`, or `"cut"` its beginning off.
        gradient_checkpointing: Keep no activations of the layers; compute them twice.

    Raises:
        BadConfig: If a setting cannot work with this model.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        adapter: str | None = None,
        chat: Literal["auto"] | bool = "auto",
        max_new_tokens: int = 512,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        stop: Sequence[str] = (),
        batch_size: int = 64,
        long_prompt: LongPrompt = "error",
        gradient_checkpointing: bool = False,
    ) -> None:
        """Check the settings against the model."""
        adapters = getattr(model, "peft_config", {})
        if adapter is not None and adapter not in adapters:
            raise BadConfig(
                f"adapter must be one of {sorted(adapters)}, got {adapter!r}; make agents "
                "that share a base with lora_team(...)"
            )
        if chat is True and not tokenizer.chat_template:
            raise BadConfig(
                "chat must be 'auto' or False, got True: this tokenizer has no chat template"
            )
        if long_prompt not in ("error", "cut"):
            raise BadConfig(f"long_prompt must be 'error' or 'cut', got {long_prompt!r}")
        if batch_size < 1:
            raise BadConfig(f"batch_size must be at least 1, got {batch_size}")
        self.model = model
        self.tokenizer = tokenizer
        self.adapter = adapter or (model.active_adapter if adapters else None)
        self.chat = bool(tokenizer.chat_template) if chat == "auto" else chat
        self.sampling = Sampling(
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
            stop=tuple(stop) if not isinstance(stop, str) else (stop,),
        )
        self.batch_size = batch_size
        self.long_prompt = long_prompt
        self._lm = model.get_base_model() if adapters else model
        self._window = window_of(self._lm)
        self._room()
        self._generator = Generator(self._lm, self._decode, end_tokens(self._lm, tokenizer))
        self._lock = _LOCKS.setdefault(self._lm, RLock())
        self._source: tuple[str | Path, str, str, bool] | None = None
        self._reference: Any = None
        if self.adapter is not None:
            for parameter in self.trainable_parameters():
                parameter.requires_grad_()  # peft trains the active adapter only
        disable_dropout(model)
        model.train(gradient_checkpointing)  # transformers checkpoints in training mode only
        if gradient_checkpointing:
            checkpoint_layers(self._lm)
        self._plain_head = has_plain_head(self._lm)
        self._changes = self.count_changes()

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        *,
        dtype: str = "float32",
        device: str = "cpu",
        trust_remote_code: bool = False,
        **settings: Any,
    ) -> TransformersAgent:
        """Load a model and its tokenizer.

        Args:
            source: Folder or hub id of a model, or folder of an adapter that `save` wrote.
            dtype: Type of the weights: `float32`, `bfloat16`, ...
            device: Where they go: `cpu`, `cuda`, ...
            trust_remote_code: Run code that the source brings along. It is not sandboxed.
            settings: The other arguments of the class.
        """
        model, tokenizer = load_model(source, dtype, device, trust_remote_code)
        agent = cls(model, tokenizer, **settings)
        agent._source = (source, dtype, device, trust_remote_code)
        return agent

    # -------------------------------------------------------------------------- answering
    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request; equal requests get equal answers in any company.

        Raises:
            BadConfig: If a prompt is too long for the model, and `long_prompt` is `error`.
        """
        prompts = [self.encode(request) for request in requests]
        replies: dict[int, Reply] = {}
        # Prompts of one length side by side need no padding.
        order = sorted(range(len(prompts)), key=lambda place: (len(prompts[place]), place))
        with self._active(), torch.no_grad(), self._answering():
            for start in range(0, len(order), self.batch_size):
                batch = order[start : start + self.batch_size]
                randoms = np.stack([self._randoms(requests[place]) for place in batch])
                asked = [prompts[place] for place in batch]
                samples = self._generator.generate(asked, randoms, self.sampling)
                for place, sample in zip(batch, samples, strict=True):
                    replies[place] = _reply(prompts[place], sample)
        return [replies[place] for place in range(len(requests))]

    def encode(self, request: Request) -> tuple[int, ...]:
        """Return the tokens of a request's prompt, as the model will see them."""
        prompt = str(request.observation["prompt"])
        if self.chat:
            messages = [dict(message) for message in request.messages]
            text = self.tokenizer.apply_chat_template(
                messages or [{"role": "user", "content": prompt}],
                add_generation_prompt=True,
                tokenize=False,
            )
            ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        else:
            ids = self.tokenizer(prompt)["input_ids"]
        room = self._room()
        if room is not None and len(ids) > room:
            if self.long_prompt == "error":
                raise BadConfig(
                    f"a prompt must have at most {room} tokens, got {len(ids)} for "
                    f"{request.agent} on task {request.task_id!r}: the model's window is "
                    f"{self._window}, {self.sampling.max_new_tokens} of them are for the "
                    "answer; use long_prompt='cut', fewer max_new_tokens, or shorter tasks"
                )
            ids = ids[-room:]
        if not ids:
            raise BadConfig(
                f"a prompt must have at least one token, got none for {request.agent} on task "
                f"{request.task_id!r}"
            )
        return tuple(ids)

    def reply_of(
        self, prompt_ids: Sequence[int], token_ids: Sequence[int], logprobs: Sequence[float]
    ) -> Reply:
        """Return the reply that says some tokens, which somebody else has drawn."""
        sample = self._generator.sample_of(token_ids, logprobs, self.sampling)
        return _reply(prompt_ids, sample)

    def with_sampling(self, **changes: Any) -> TransformersAgent:
        """Return an agent over the same weights that draws in another way.

        Args:
            changes: Fields of `Sampling`, such as `temperature=0.2`.
        """
        other = copy.copy(self)
        other.sampling = replace(self.sampling, **changes)
        other._room()
        return other

    # --------------------------------------------------------------------------- training
    def logprobs(
        self, prompt_ids: Tokens, answer_ids: Tokens, *, with_entropy: bool = False
    ) -> Scores:
        """Score given answers, with gradients.

        All rows go through the model at one time; the logits do not (see `scoring`).
        """
        with self._active():
            return self._scores(self._lm, prompt_ids, answer_ids, with_entropy=with_entropy)

    def reference_logprobs(self, prompt_ids: Tokens, answer_ids: Tokens) -> Scores:
        """Score given answers as the model did before training, without gradients.

        With an adapter: the base without it. Else: a frozen copy, made when it is first
        needed.

        Raises:
            BadConfig: If it is first needed when the weights have changed already, and
                nobody knows where they came from.
        """
        if self.adapter is None:
            self.freeze_reference()
            with torch.no_grad():
                return self._scores(self._reference, prompt_ids, answer_ids)
        with self._active(), torch.no_grad(), same_requires_grad(self.model):
            with self.model.disable_adapter():
                return self._scores(self._lm, prompt_ids, answer_ids)

    def freeze_reference(self) -> None:
        """Make the frozen copy of the reference now, if there is none and one is needed."""
        if self.adapter is not None or self._reference is not None:
            return
        if self.count_changes() == self._changes:
            frozen = copy.deepcopy(self._lm)
        elif self._source is not None:
            frozen, _ = load_model(*self._source)
        else:
            raise BadConfig(
                "the reference must be the policy before training, got weights that have "
                "changed already; call freeze_reference() first, or load the policy with "
                "from_pretrained"
            )
        disable_dropout(frozen)
        self._reference = frozen.requires_grad_(False).eval()

    def trainable_parameters(self) -> Iterator[Parameter]:
        """Iterate over the weights to train: those of the adapter, if there is one."""
        for _, parameter in self._trainable():
            yield parameter

    def state_dict(self) -> dict[str, Tensor]:
        """Return the trainable weights by name; they are the live ones, not copies."""
        return {name: parameter.detach() for name, parameter in self._trainable()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take over weights that `state_dict` returned.

        Raises:
            BadConfig: If they are those of another model or adapter.
        """
        if self._source is None:
            self.freeze_reference()  # afterwards it would be too late
        own = dict(self._trainable())
        if own.keys() != state.keys():
            odd = sorted(own.keys() ^ state.keys())
            raise BadConfig(
                f"the state must hold the weights of this policy, got {len(odd)} names that "
                f"only one of them has, such as {odd[0]!r}; load it into the same model"
            )
        with torch.no_grad():
            for name, parameter in own.items():
                parameter.copy_(state[name])

    # ------------------------------------------------------------------------------ files
    def save(self, folder: str | Path) -> None:
        """Write model (or adapter) and tokenizer; the folder appears whole, or not at all."""
        if self._source and Path(folder).resolve() == Path(self._source[0]).resolve():
            self.freeze_reference()  # what it would be read from is about to go
        write_folder(folder, self.model, self.tokenizer, self.adapter)

    def load(self, folder: str | Path) -> None:
        """Take over the weights of a folder that `save` wrote."""
        with self._active():
            state = read_weights(folder, self.model, self.adapter)
            self.load_state_dict({name: state[name] for name, _ in self._trainable()})

    # ------------------------------------------------------------------------------ inside
    def _scores(
        self, model: Any, prompt_ids: Tokens, answer_ids: Tokens, *, with_entropy: bool = False
    ) -> Scores:
        return answer_scores(
            model,
            prompt_ids,
            answer_ids,
            scale=self.sampling.scale,
            with_entropy=with_entropy,
            plain_head=self._plain_head,
        )

    def _decode(self, ids: Sequence[int]) -> str:
        return str(
            self.tokenizer.decode(
                list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        )

    def _randoms(self, request: Request) -> np.ndarray[Any, np.dtype[np.float64]]:
        stream = generator(request.seed, "sample", request.agent)
        return stream.random(self.sampling.max_new_tokens)

    def _room(self) -> int | None:
        """Return how long a prompt may be, None if there is no limit."""
        if self._window is None:
            return None
        room = self._window - self.sampling.max_new_tokens
        if room < 1:
            raise BadConfig(
                f"max_new_tokens must leave room for a prompt in the model's window of "
                f"{self._window} tokens, got {self.sampling.max_new_tokens}"
            )
        return room

    def _trainable(self) -> Iterator[tuple[str, Parameter]]:
        for name, parameter in self.model.named_parameters():
            if self.adapter is None:
                if parameter.requires_grad:
                    yield name, parameter
            elif self.adapter in name.split("."):
                yield name, parameter

    def count_changes(self) -> int:
        """Count writes to the weights; torch keeps the number on each tensor."""
        return sum(parameter._version for parameter in self._lm.parameters())

    @contextmanager
    def _active(self) -> Iterator[None]:
        """Hold the base model, with this agent's adapter on it."""
        with self._lock:
            if self.adapter is not None and self.model.active_adapter != self.adapter:
                # peft freezes all others: an optimiser may hold them.
                with same_requires_grad(self.model):
                    self.model.set_adapter(self.adapter)
            yield

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Leave training mode for a while."""
        training = self.model.training
        self.model.eval()
        try:
            yield
        finally:
            self.model.train(training)

    def __repr__(self) -> str:
        """Show what matters."""
        adapter = f", adapter={self.adapter!r}" if self.adapter else ""
        model = str(self._source[0]) if self._source else type(self._lm).__name__
        return f"TransformersAgent({model!r}{adapter})"


def _reply(prompt_ids: Sequence[int], sample: Sample) -> Reply:
    return Reply(
        text=sample.text or "",
        token_ids=tuple(sample.ids),
        logprobs=tuple(sample.logprobs),
        prompt_ids=tuple(prompt_ids),
        finish_reason=sample.finish_reason,
    )
