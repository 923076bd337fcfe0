"""vLLM server: a policy that learns here, and a fast server that answers for it.

    Request  ->  prompt tokens  ->  server  ->  tokens with log-probabilities  ->  Reply
    policy   ->  whole weights  ->  server, whenever they have changed

Most of a training run is spent on answers, and vLLM draws them far faster than a training
process can. The client, and the way that weights travel (NCCL, from GPU to GPU), are TRL's
own: `trl.generation.vllm_client.VLLMClient`, of TRL 1.16 or later.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol
from weakref import finalize

from corecode_env.agents.local_model import TransformersAgent
from corecode_env.agents.lora import whole_weights
from corecode_env.agents.policy import Scores, Tokens
from corecode_env.core.errors import AgentError, BadConfig, MissingExtra
from corecode_env.core.seams import Reply, Request
from corecode_env.core.seeding import derive_seed

try:
    from torch import Tensor
    from torch.nn import Module, Parameter
except ImportError as error:
    raise MissingExtra("torch", "train") from error

LOGPROBS_MODE = "processed_logprobs"
"""The server must report them as it draws: after the temperature, `top_p` and `top_k`."""
START = (
    "VLLM_SERVER_DEV_MODE=1 vllm serve MODEL "
    """--weight-transfer-config '{"backend": "nccl"}' """
    f"--logprobs-mode {LOGPROBS_MODE} --max-logprobs -1"
)
"""How to start a server that can follow a policy."""
_AGAIN = (408, 429, 500, 502, 503, 504)
"""Statuses that another try may not meet."""


class ServerClient(Protocol):
    """What is needed of TRL's `VLLMClient`."""

    def get_server_info(self) -> Mapping[str, Any]:
        """Return the server's configuration."""
        ...

    def generate(self, prompts: list[list[int]], **options: Any) -> Mapping[str, Any]:
        """Return `completion_ids` and `logprobs`, one list for each prompt."""
        ...

    def init_communicator(self, device: Any = ...) -> None:
        """Join the group in which weights are sent."""
        ...

    def update_named_params(
        self, metadata: list[tuple[str, str, list[int]]], named_params: Iterator[Any]
    ) -> None:
        """Announce (name, type, shape) of each weight, and send them in this order."""
        ...

    def reset_prefix_cache(self) -> None:
        """Forget what older weights have read."""
        ...

    def close_communicator(self) -> None:
        """Leave the group."""
        ...


class VLLMAgent:
    """A trainable policy whose answers come from a vLLM server.

    It is a `TrainablePolicy`: scores, gradients and files are the policy's, `act` is the
    server's. The server is brought up to date before the first answer, and whenever the
    policy's weights have changed since; with `sync_every` above 1 it lags behind, and
    answers are older than the policy. Set the trainer's `importance_cap` then, and better
    always, since a server rounds differently even with equal weights.

    Each answer is asked for by a call of its own with its own seed, all of a batch at one
    time. A server draws them together as it likes, so that unlike `TransformersAgent` equal
    seeds do not promise equal answers.

    Args:
        policy: What learns; it sets prompt, temperature, `top_p`, `top_k`, stop texts and
            the longest answer.
        client: TRL's `VLLMClient` (see `connect`), or anything with its face. A server
            follows one policy; agents that share weights share one `VLLMAgent`.
        sync_every: How many changes of the weights (steps of a trainer) before the server
            gets them.
        concurrency: Calls at one time.
        device: Where weights are sent from; None: where the policy is.

    Raises:
        BadConfig: If a setting cannot work, or the server reports log-probabilities of
            another distribution than it draws from.
        AgentError: If the server does not say how it is set up.
    """

    def __init__(
        self,
        policy: TransformersAgent,
        client: ServerClient,
        *,
        sync_every: int = 1,
        concurrency: int = 64,
        device: str | None = None,
    ) -> None:
        """Look at how the server is set up; no weight is sent yet."""
        for name, value in (("sync_every", sync_every), ("concurrency", concurrency)):
            if value < 1:
                raise BadConfig(f"{name} must be at least 1, got {value}")
        self.policy, self.client = policy, client
        self.model: Module = policy.model
        self.tokenizer: Any = policy.tokenizer
        self.sync_every = sync_every
        self.device = device
        self.behind = 0
        """Changes of the weights that were seen since the server got them."""
        _require_mode(client)
        self._joined = False
        self._fresh = False
        self._seen = policy.count_changes()
        self._metadata: list[tuple[str, str, list[int]]] = []
        self._pool = ThreadPoolExecutor(concurrency, "corecode-vllm")
        self._finalizer = finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)

    @classmethod
    def connect(
        cls,
        policy: TransformersAgent,
        base_url: str = "http://localhost:8000",
        *,
        group_port: int = 51216,
        wait: float = 0.0,
        timeout: float = 600.0,
        retries: int = 4,
        first_delay: float = 1.0,
        concurrency: int = 64,
        **settings: Any,
    ) -> VLLMAgent:
        """Connect to a running server, with TRL's client.

        Answers are asked for again, after growing waits, where a lost connection, silence
        or a status of 408, 429 or 5xx may pass. Weights are sent once: half of a transfer
        cannot be repeated.

        Args:
            policy: What learns.
            base_url: Address of the server, without `/v1`.
            group_port: Free port here, for the group in which weights are sent.
            wait: How long the server may take to come up, in seconds.
            timeout: Longest silence of the server, in seconds.
            retries: Tries after the first one.
            first_delay: Wait before the second retry, in seconds; it doubles each time.
            concurrency: Calls at one time.
            settings: The other arguments of the class.

        Raises:
            MissingExtra: If `requests`, `vllm` or a TRL that knows them is not installed.
            AgentError: If no server answers.
            BadConfig: If a setting cannot work.
        """
        if timeout <= 0 or retries < 0 or first_delay < 0:
            raise BadConfig(
                "timeout must be above 0, retries and first_delay at least 0, got "
                f"{timeout}, {retries} and {first_delay}"
            )
        make = _client_class()
        try:
            client = make(base_url=base_url, group_port=group_port, connection_timeout=wait)
        except ImportError as error:
            raise MissingExtra("vllm", "vllm") from error
        except Exception as error:  # the client raises whatever it met
            raise AgentError(
                f"a vLLM server must answer at {base_url}, got {error}; start one with: "
                f"{START}"
            ) from error
        _make_impatient(client, timeout, retries, first_delay, concurrency)
        return cls(policy, client, concurrency=concurrency, **settings)

    # -------------------------------------------------------------------------- answering
    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request, by a server whose weights lag at most as `sync_every` says.

        Raises:
            AgentError: If the server does not take the weights, or gives no usable answer.
            BadConfig: If a prompt is too long for the model.
        """
        self._follow()
        prompts = [self.policy.encode(request) for request in requests]
        return list(self._pool.map(self._answer, requests, prompts))

    def sync_weights(self) -> None:
        """Send the policy's weights to the server now.

        Raises:
            AgentError: If that fails; the server then may hold a mixture of both.
        """
        self._fresh = False  # until all of them have arrived
        self._seen = self.policy.count_changes()
        try:
            if not self._joined:
                self.client.init_communicator(self.device or self.policy.model.device)
                self._joined = True
            if not self._metadata:
                self._metadata = [
                    (name, str(weight.dtype).removeprefix("torch."), list(weight.shape))
                    for name, weight in whole_weights(self.policy)
                ]
            self.client.update_named_params(self._metadata, whole_weights(self.policy))
            self.client.reset_prefix_cache()
        except Exception as error:  # the client raises whatever it met
            raise AgentError(
                f"the vLLM server must take the policy's weights, got {type(error).__name__}: "
                f"{error}; start it with: {START}"
            ) from error
        self._fresh, self.behind = True, 0

    def close(self) -> None:
        """Leave the group in which weights are sent; idempotent."""
        self._finalizer()
        if self._joined:
            self._joined = False
            self.client.close_communicator()

    def __enter__(self) -> VLLMAgent:
        """Return the agent."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    # --------------------------------------------------------------------------- training
    def logprobs(
        self, prompt_ids: Tokens, answer_ids: Tokens, *, with_entropy: bool = False
    ) -> Scores:
        """Score given answers as the policy does here, with gradients."""
        return self.policy.logprobs(prompt_ids, answer_ids, with_entropy=with_entropy)

    def reference_logprobs(self, prompt_ids: Tokens, answer_ids: Tokens) -> Scores:
        """Score given answers as the policy did before training, without gradients."""
        return self.policy.reference_logprobs(prompt_ids, answer_ids)

    def trainable_parameters(self) -> Iterator[Parameter]:
        """Iterate over the weights to train."""
        return self.policy.trainable_parameters()

    def state_dict(self) -> dict[str, Tensor]:
        """Return the trainable weights by name."""
        return self.policy.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take over weights that `state_dict` returned; the server gets them next."""
        self.policy.load_state_dict(state)
        self._fresh = False

    def save(self, folder: str | Path) -> None:
        """Write the policy."""
        self.policy.save(folder)

    def load(self, folder: str | Path) -> None:
        """Take over the weights of a folder; the server gets them next."""
        self.policy.load(folder)
        self._fresh = False

    def __repr__(self) -> str:
        """Show the policy."""
        return f"VLLMAgent({self.policy!r})"

    # ------------------------------------------------------------------------------ inside
    def _follow(self) -> None:
        """Send the weights, if the server is too far behind."""
        changes = self.policy.count_changes()
        if changes != self._seen:
            self._seen = changes
            self.behind += 1
        if not self._fresh or self.behind >= self.sync_every:
            self.sync_weights()

    def _answer(self, request: Request, prompt: tuple[int, ...]) -> Reply:
        how = self.policy.sampling
        own = {"seed": derive_seed(request.seed, "sample", request.agent)}
        try:
            found = self.client.generate(
                [list(prompt)],
                temperature=how.temperature,
                top_p=how.top_p,
                top_k=how.top_k,
                max_tokens=how.max_new_tokens,
                logprobs=0,
                generation_kwargs={**own, "stop": list(how.stop)} if how.stop else own,
            )
            ids, logprobs = _only_answer(found)
        except Exception as error:  # the client raises whatever it met
            raise AgentError(
                f"{request.agent} must get an answer of the vLLM server for task "
                f"{request.task_id!r}, got {type(error).__name__}: {error}"
            ) from error
        return self.policy.reply_of(prompt, ids, logprobs)


def _only_answer(found: Mapping[str, Any]) -> tuple[list[int], list[float]]:
    """Return the tokens of the one answer, and the log-probability of each."""
    if len(found["completion_ids"]) != 1:
        raise ValueError(f"{len(found['completion_ids'])} answers to one prompt")
    (ids,) = found["completion_ids"]
    (logprobs,) = found["logprobs"] or ([],)
    if not ids or len(ids) != len(logprobs) or any(place[0] is None for place in logprobs):
        raise ValueError(f"{len(logprobs)} log-probabilities of {len(ids)} tokens")
    return [int(token) for token in ids], [float(place[0]) for place in logprobs]


def _require_mode(client: ServerClient) -> None:
    """Refuse a server whose log-probabilities are not those that it draws by."""
    try:
        mode = client.get_server_info()["model_config"]["logprobs_mode"]
    except Exception as error:  # the client raises whatever it met
        raise AgentError(
            f"the vLLM server must say how it is set up, got {type(error).__name__}: "
            f"{error}; start it with: {START}"
        ) from error
    if mode != LOGPROBS_MODE:
        raise BadConfig(
            f"the vLLM server must run with --logprobs-mode {LOGPROBS_MODE}, got {mode!r}: "
            "ratios to the policy would be those of another distribution"
        )


def _client_class() -> Any:
    try:
        import requests  # noqa: F401  TRL's client needs it and only says so later
    except ImportError as error:
        raise MissingExtra("requests", "vllm") from error
    try:
        from trl.generation.vllm_client import VLLMClient
    except ImportError as error:
        raise MissingExtra("trl 1.16 or later", "vllm") from error
    if not hasattr(VLLMClient, "update_named_params"):
        raise MissingExtra("trl 1.16 or later", "vllm")
    return VLLMClient


def _make_impatient(
    client: Any, timeout: float, retries: int, first_delay: float, concurrency: int
) -> None:
    """Give the client's calls a time-out, and only those for answers further tries."""
    from requests.adapters import HTTPAdapter
    from urllib3.util.retry import Retry

    class Impatient(HTTPAdapter):
        """Waits for so long where TRL's client would wait for ever."""

        def send(self, *args: Any, **kwargs: Any) -> Any:
            return super().send(*args, **{**kwargs, "timeout": kwargs["timeout"] or timeout})

    again = Retry(
        total=retries,
        backoff_factor=first_delay,
        status_forcelist=_AGAIN,
        allowed_methods=None,
        raise_on_status=False,
    )
    # The longest prefix of an address wins.
    client.session.mount(client.base_url, Impatient(pool_maxsize=concurrency))
    answers = Impatient(max_retries=again, pool_maxsize=concurrency)
    client.session.mount(f"{client.base_url}/v1/completions", answers)
