"""A vLLM server on this machine: a tiny model behind the routes that TRL's client calls."""

from __future__ import annotations

import queue
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.agents.fake_chat_server import Answer, Body, FakeChatServer, refused
from tests.agents.tiny_models import EOS, byte_tokenizer, tiny_llama

STUB = str(Path(__file__).parent / "stub_vllm")


@contextmanager
def vllm_is_there() -> Iterator[None]:
    """Let TRL find a vLLM meanwhile; it looks when its modules are imported."""
    _forget()
    sys.path.insert(0, STUB)
    try:
        yield
    finally:
        sys.path.remove(STUB)
        _forget()


def _forget() -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == "vllm" or name.startswith("trl.generation"):
            del sys.modules[name]


class FakeVLLM:
    """Answers by a model of its own, which takes the weights that it is sent.

    Args:
        seed: Seed of its first weights.
        window: Longest prompt and answer of its model, in tokens.
        mode: What it says its log-probabilities are.
        disturb: Called with the number of a call for an answer and what the server would
            say; returns what it does say. None: nothing goes wrong.
    """

    def __init__(
        self,
        seed: int = 1,
        *,
        window: int = 128,
        mode: str = "processed_logprobs",
        disturb: Callable[[int, Answer], Answer] | None = None,
    ) -> None:
        from corecode_env.agents.sampling import Generator

        self.model = tiny_llama(seed, window=window).eval()
        self.generator = Generator(self.model, byte_tokenizer().decode, frozenset({EOS}))
        self.mode = mode
        self.disturb = disturb
        self.asked = 0
        self.resets = 0
        self.updates: list[list[str]] = []
        """Names of the weights of each update."""
        self.updating = False

    def server(self) -> FakeChatServer:
        return FakeChatServer(self.answer)

    def answer(self, number: int, body: Body) -> Answer:
        route = body["path"].split("?")[0]
        match route:
            case "/health" | "/init_weight_transfer_engine":
                return 200, {}, {}
            case "/v1/models":
                return 200, {"data": [{"id": "tiny"}]}, {}
            case "/server_info":
                known = {"logprobs_mode": self.mode}
                engine = {"backend": "nccl"}
                config = {"model_config": known, "weight_transfer_config": engine}
                return 200, {"vllm_config": config}, {}
            case "/get_world_size":
                return 200, {"world_size": 1}, {}
            case "/start_weight_update" | "/finish_weight_update":
                self.updating = route == "/start_weight_update"
                return 200, {}, {}
            case "/update_weights":
                return self._update(body["update_info"])
            case "/reset_prefix_cache":
                self.resets += 1
                return 200, {"success": True}, {}
            case "/v1/completions":
                self.asked += 1
                said = self._complete(body)
                return said if self.disturb is None else self.disturb(self.asked, said)
        return refused(404)

    def _update(self, info: dict[str, Any]) -> Answer:
        import torch

        assert self.updating, "vLLM wants to be told first"
        sent: queue.Queue[tuple[str, Any]]
        sent = import_module("vllm.distributed.weight_transfer.nccl_engine").SENT
        own = dict(self.model.named_parameters())
        for name, dtype, shape in zip(
            info["names"], info["dtype_names"], info["shapes"], strict=True
        ):
            arrived, weight = sent.get(timeout=10)
            assert arrived == name and list(weight.shape) == shape
            assert str(weight.dtype) == f"torch.{dtype}"
            with torch.no_grad():
                own[name].copy_(weight)
        self.updates.append(info["names"])
        return 200, {}, {}

    def _complete(self, body: Body) -> Answer:
        import numpy as np
        import torch

        from corecode_env.agents.sampling import Sampling

        how = Sampling(
            max_new_tokens=body["max_tokens"],
            temperature=body["temperature"],
            stop=tuple(body.get("stop", ())),
        )
        randoms = np.random.default_rng(body["seed"]).random((1, how.max_new_tokens))
        with torch.no_grad():
            (sample,) = self.generator.generate(body["prompt"], randoms, how)
        choice = {
            "prompt_token_ids": body["prompt"][0],
            "token_ids": sample.ids,
            "logprobs": {
                "tokens": [f"token_id:{token}" for token in sample.ids],
                "token_logprobs": sample.logprobs,
                "top_logprobs": [None] * len(sample.ids),
            },
        }
        return 200, {"choices": [choice]}, {}
