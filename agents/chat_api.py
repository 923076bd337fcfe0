"""Chat API: a language model behind any server that speaks OpenAI's protocol.

    Request  ->  POST /chat/completions, again where it helps  ->  Reply

Calls run in threads of this agent, so that it works under any event loop, or under none.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from types import TracebackType
from typing import Any, Final, Literal

from corecode_env.core.errors import AgentError, BadConfig, MissingExtra
from corecode_env.core.seams import Reply, Request

_PASSING: Final = frozenset({408, 409, 429})
"""Statuses below 500 that another try may not meet."""
_SEEDS: Final = 2**31
"""What every server takes as a seed lies below."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an agent has used since it was made."""

    requests: int = 0
    """Answers that arrived."""
    retries: int = 0
    """Calls that failed and were made again."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class OpenAIAgent:
    """Asks a chat model over the network, many requests at one time.

    A call that meets a full, failing or silent server (status 408, 409, 429 or 5xx, a lost
    connection, no byte for `timeout` seconds, an answer that is none) is made again, each
    time after a longer wait; a server that says how long to wait is believed. Any other
    refusal (a bad request, a wrong key, an empty account) is an error at once.

    Args:
        model: Name of the model, as the server knows it.
        base_url: Address of the server, with its `/v1`; None: that of `OPENAI_BASE_URL`, or
            OpenAI's.
        api_key: None: that of `OPENAI_API_KEY`; a server given by `base_url` may need none.
        system: System prompt, in place of the environment's if that has one.
        max_tokens: Longest answer, in tokens.
        limit_field: What the server calls that limit.
        temperature: None leaves it to the server; so does None for `top_p`.
        top_p: Draw from the likeliest tokens that hold this share of the probability.
        stop: Texts that end an answer.
        send_seed: Send each request's seed (below 2**31). Few servers promise anything.
        concurrency: Calls at one time.
        timeout: Longest silence of the server, in seconds.
        retries: Tries after the first one.
        first_delay: Wait before the first retry, in seconds; it doubles each time, and each
            wait is cut at random by up to a half, so that many clients do not come back
            together.
        longest_delay: Longest wait, in seconds, also where the server asks for more.
        truncated: What to do with an answer that hit the limit: `"keep"` it (its
            `finish_reason` is `length`), or `"raise"`.
        extra_body: Further fields of the call, such as a server's own.

    Raises:
        BadConfig: If a setting cannot work, or there is no key.
        MissingExtra: If the `openai` library is not installed.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        system: str | None = None,
        max_tokens: int = 2048,
        limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens",
        temperature: float | None = 1.0,
        top_p: float | None = None,
        stop: Sequence[str] = (),
        send_seed: bool = True,
        concurrency: int = 16,
        timeout: float = 120.0,
        retries: int = 6,
        first_delay: float = 0.5,
        longest_delay: float = 60.0,
        truncated: Literal["keep", "raise"] = "keep",
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        """Check the settings; nothing is sent yet."""
        for name, value, least in (
            ("max_tokens", max_tokens, 1),
            ("concurrency", concurrency, 1),
            ("retries", retries, 0),
            ("first_delay", first_delay, 0),
            ("longest_delay", longest_delay, 0),
        ):
            if value < least:
                raise BadConfig(f"{name} must be at least {least}, got {value}")
        if timeout <= 0:
            raise BadConfig(f"timeout must be above 0 seconds, got {timeout}")
        if truncated not in ("keep", "raise"):
            raise BadConfig(f"truncated must be 'keep' or 'raise', got {truncated!r}")
        self.model = model
        self.system = system
        self.retries = retries
        self.first_delay = first_delay
        self.longest_delay = longest_delay
        self.truncated = truncated
        self.send_seed = send_seed
        self._options: dict[str, Any] = {"model": model, limit_field: max_tokens}
        optional = {
            "temperature": temperature,
            "top_p": top_p,
            "stop": [stop] if isinstance(stop, str) else list(stop) or None,
            "extra_body": dict(extra_body) if extra_body else None,
        }
        self._options.update({k: v for k, v in optional.items() if v is not None})
        self._client = _client(base_url, api_key, timeout)
        self._pool = ThreadPoolExecutor(concurrency, "corecode-chat")
        self._jitter = random.Random()
        self._lock = threading.Lock()
        self._usage = Usage()
        self._finalizer = weakref.finalize(self, _release, self._client, self._pool)

    @property
    def usage(self) -> Usage:
        """What has been used so far."""
        with self._lock:
            return self._usage

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request.

        Raises:
            AgentError: If the server gives no usable answer to one of them.
        """
        return list(self._pool.map(self._answer, requests))

    async def aact(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request without blocking the event loop."""
        loop = asyncio.get_running_loop()
        calls = (loop.run_in_executor(self._pool, self._answer, r) for r in requests)
        return list(await asyncio.gather(*calls))

    def close(self) -> None:
        """Drop what waits, and close all connections; idempotent."""
        self._finalizer()

    def __enter__(self) -> OpenAIAgent:
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

    def __repr__(self) -> str:
        """Show the model; never the key."""
        return f"OpenAIAgent({self.model!r})"

    # ------------------------------------------------------------------------------ inside
    def _answer(self, request: Request) -> Reply:
        call = {**self._options, "messages": self._messages(request)}
        if self.send_seed:
            call["seed"] = request.seed % _SEEDS
        for attempt in range(self.retries + 1):
            try:
                return self._reply(self._client.chat.completions.create(**call), request)
            except (_openai().OpenAIError, _NoAnswer, json.JSONDecodeError) as error:
                if attempt == self.retries or not _may_pass(error):
                    raise self._failed(request, error, attempt + 1) from error
                self._count(retries=1)
                time.sleep(self._delay(attempt, error))
        raise AssertionError("the last attempt returns or raises")

    def _messages(self, request: Request) -> list[dict[str, str]]:
        prompt = {"role": "user", "content": str(request.observation["prompt"])}
        messages = [dict(message) for message in request.messages] or [prompt]
        if self.system is None:
            return messages
        others = [message for message in messages if message["role"] != "system"]
        return [{"role": "system", "content": self.system}, *others]

    def _reply(self, completion: Any, request: Request) -> Reply:
        # The library does not check what a server sends, and hands on whatever it was.
        choices = getattr(completion, "choices", None)
        first = choices[0] if choices else None
        message = getattr(first, "message", None)
        text = getattr(message, "content", None)
        if first is None or message is None or not isinstance(text, str | None):
            raise _NoAnswer(f"no chat completion: {str(completion)[:200]!r}")
        usage = getattr(completion, "usage", None)
        self._count(
            requests=1,
            prompt_tokens=getattr(usage, "prompt_tokens", None) or 0,
            completion_tokens=getattr(usage, "completion_tokens", None) or 0,
        )
        reason = first.finish_reason
        if reason == "length" and self.truncated == "raise":
            raise AgentError(
                f"{request.agent} must finish its answer, got one of {self.model!r} on task "
                f"{request.task_id!r} that was cut off; raise max_tokens, or accept such "
                "answers with truncated='keep'"
            )
        # Refusals and filtered answers have no text: the program is then empty.
        return Reply(text or "", finish_reason=reason)

    def _count(self, **more: int) -> None:
        with self._lock:
            old = self._usage
            self._usage = replace(old, **{k: getattr(old, k) + v for k, v in more.items()})

    def _delay(self, attempt: int, error: Exception) -> float:
        wait = self.first_delay * 2.0**attempt * (1.0 - 0.5 * self._jitter.random())
        response = getattr(error, "response", None)
        try:
            asked = float(response.headers["retry-after"]) if response is not None else 0.0
        except (KeyError, ValueError):  # not said, or said as a date
            asked = 0.0
        return min(max(wait, asked), self.longest_delay)

    def _failed(self, request: Request, error: Exception, tries: int) -> AgentError:
        times = "1 try" if tries == 1 else f"{tries} tries"
        return AgentError(
            f"{request.agent} must get an answer of {self.model!r} for task "
            f"{request.task_id!r}, got {type(error).__name__} after {times}: {error}; check "
            "the server, the key and the model's name, or raise retries or timeout"
        )


class _NoAnswer(Exception):
    """A response of status 200 that holds no answer."""


def _may_pass(error: Exception) -> bool:
    """Return whether another try may meet a better fate."""
    if getattr(error, "code", None) == "insufficient_quota":
        return False
    status = getattr(error, "status_code", None)
    if isinstance(error, _openai().APIStatusError):
        return status in _PASSING or (isinstance(status, int) and status >= 500)
    return True


def _openai() -> Any:
    """Return the library, which is loaded when it is first needed."""
    try:
        return import_module("openai")
    except ImportError as error:
        raise MissingExtra("openai", "openai") from error


def _client(base_url: str | None, api_key: str | None, timeout: float) -> Any:
    openai = _openai()
    if api_key is None and base_url is not None and not os.environ.get("OPENAI_API_KEY"):
        api_key = "none"  # the library wants one, most servers of one's own do not
    try:
        return openai.OpenAI(
            api_key=api_key, base_url=base_url, timeout=timeout, max_retries=0
        )
    except openai.OpenAIError as error:
        raise BadConfig(
            f"the server needs a key, got none: {error} Set OPENAI_API_KEY, or pass "
            "base_url for a server that needs none"
        ) from error


def _release(client: Any, pool: ThreadPoolExecutor) -> None:
    pool.shutdown(wait=False, cancel_futures=True)
    client.close()
