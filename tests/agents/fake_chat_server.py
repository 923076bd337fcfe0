"""A chat server on this machine that answers, and fails, as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Body = dict[str, Any]
Answer = tuple[int, Any, Mapping[str, str]]
"""Status, body (an object for JSON, or bytes), headers."""


def said(text: Any, reason: str = "stop", prompt: int = 5, completion: int = 2) -> Answer:
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    choice = {
        "index": 0,
        "finish_reason": reason,
        "message": {"role": "assistant", "content": text},
    }
    completed = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}
    return 200, {**completed, "choices": [choice], "usage": usage}, {}


def refused(status: int, code: str = "", **headers: str) -> Answer:
    error = {"message": f"status {status}", "type": "error", "code": code or None}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"error": error}, named


class FakeChatServer:
    """Serves `answer(number of the call, body)` on a free port; remembers what it was sent.

    The body has the call's `path` too; that of a call without any has nothing else.
    """

    def __init__(self, answer: Callable[[int, Body], Answer]) -> None:
        self.answer = answer
        self.bodies: list[Body] = []
        self.keys: list[str | None] = []
        self.released = threading.Event()
        """Stalled calls wait for it."""
        self._lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                fake._serve(self)

            def do_GET(self) -> None:
                fake._serve(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        sent = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        body = {**json.loads(sent or b"{}"), "path": handler.path}
        with self._lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.keys.append(handler.headers.get("authorization"))
        status, content, headers = self.answer(number, body)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        try:
            handler.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                handler.send_header(name, value)
            handler.send_header("content-length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # whoever asked has gone

    def __enter__(self) -> FakeChatServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
