"""Session: the parent's side of the conversation with a program under call tests.

    name, arguments  ->  CallSession.call  ->  CallReply: what came back, still encoded

The parent never blocks on a program: both pipes are polled under a deadline, and a program
that does not read, does not answer, answers half, too much or nonsense is only another
kind of reply. After any reply but `value` and `raised` the session is over.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from corecode_env.executor.inside.wire import (
    HEADER,
    MAX_FRAME,
    Codec,
    Garbled,
    pack,
    unpack,
)

ReplyKind = Literal["value", "raised", "oversized", "gone", "garbled", "timeout"]

_NOTE = 300


Wait = Callable[[Mapping[int, int], float], Mapping[int, int]]
"""From the events wanted of descriptors, and a time (`time.monotonic`) until which to wait
for one of them, to the events that came; empty if none did, or none will."""


def wait_for(wanted: Mapping[int, int], until: float) -> Mapping[int, int]:
    """Wait for descriptors and for nothing else."""
    poll = select.poll()
    for descriptor, events in wanted.items():
        poll.register(descriptor, events)
    left = until - time.monotonic()
    return dict(poll.poll(left * 1000)) if left > 0 else {}


@dataclass(frozen=True, slots=True)
class CallReply:
    """What came of one call.

    `value`: the call returned. `raised`: it raised, and the program goes on. `oversized`:
    a reply came that is too long to be right. `gone`: the program is dead or closed its
    pipe; the kernel's wait status says more. `garbled`: it wrote what is no reply.
    `timeout`: the deadline passed.
    """

    kind: ReplyKind
    value: Any = None
    """The result, encoded: for `compare_value`."""
    error: str = ""
    """Class of what was raised: a builtin one, or the nearest builtin base."""
    note: str = ""
    """One line for people; holds text of the program."""


class CallSession:
    """One conversation with one program. Owns neither descriptor."""

    def __init__(
        self,
        requests_fd: int,
        replies_fd: int,
        *,
        mutates_arguments: bool = False,
        reply_bytes: int = MAX_FRAME,
        wait: Wait | None = None,
    ) -> None:
        """Take the parent's ends of the program's two pipes.

        Args:
            requests_fd: Where requests are written; becomes non-blocking.
            replies_fd: Where replies are read; becomes non-blocking.
            mutates_arguments: Whether a call that returns None is judged by what it
                made of its first argument.
            reply_bytes: Longest reply that is read at all (`compare.longest_reply`).
            wait: Waits for the two pipes; the executor's also drains what the program
                prints and watches its clocks.
        """
        self.requests_fd, self.replies_fd = requests_fd, replies_fd
        self.mutates_arguments = mutates_arguments
        self.reply_bytes = reply_bytes
        self.over: CallReply | None = None
        """The reply that ended the session; every later call gets it again."""
        self._wait = wait or wait_for
        self._codec = Codec()
        os.set_blocking(requests_fd, False)
        os.set_blocking(replies_fd, False)

    def call(
        self,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        deadline: float,
        max_bytes: int = MAX_FRAME,
    ) -> CallReply:
        """Call a function of the program and wait for its reply.

        Args:
            name: Name of the function or class.
            args: Plain values.
            kwargs: Plain values by name.
            deadline: When to stop waiting, on the clock of `time.monotonic`.
            max_bytes: Longest reply that can be right (`compare.reply_cap`).

        Raises:
            NotPlain: If an argument is not plain.
        """
        if self.over is not None:
            return self.over
        request: dict[str, Any] = {
            "op": "call",
            "plain": True,
            "function": name,
            "args": [self._codec.encode(argument) for argument in args],
            "kwargs": {"$dict": [[key, self._codec.encode(v)] for key, v in kwargs.items()]},
        }
        if self.mutates_arguments:
            request["changed"] = "first"
        if self.reply_bytes != MAX_FRAME:
            request["longest"] = self.reply_bytes
        reply = self._exchange(pack(request), deadline, max_bytes)
        if reply.kind not in ("value", "raised"):
            self.over = reply
        return reply

    def _exchange(self, frame: bytes, deadline: float, max_bytes: int) -> CallReply:
        try:
            if self._readable():
                return CallReply("garbled", note="wrote a reply before it was asked")
            body = self._send_and_receive(frame, deadline, max_bytes)
            return body if isinstance(body, CallReply) else _understand(unpack(body))
        except Garbled as error:
            return CallReply("garbled", note=str(error))
        except OSError as error:
            return CallReply("gone", note=f"pipe closed: {error.strerror}")

    def _readable(self) -> bool:
        poll = select.poll()
        poll.register(self.replies_fd, select.POLLIN)
        return any(events & select.POLLIN for _, events in poll.poll(0))

    def _send_and_receive(
        self, frame: bytes, deadline: float, max_bytes: int
    ) -> bytes | CallReply:
        """Write the request and read the reply's body, whichever the pipes allow."""
        pending, received = memoryview(frame), bytearray()
        wanted = {self.replies_fd: select.POLLIN, self.requests_fd: select.POLLOUT}
        while True:
            if not (ready := self._wait(wanted, deadline)):
                return CallReply("timeout", note="no reply before the deadline")
            if pending and self.requests_fd in ready:
                pending = pending[_write_some(self.requests_fd, pending) :]
                if not pending:
                    del wanted[self.requests_fd]
            if self.replies_fd in ready:
                part = os.read(self.replies_fd, 2**16)
                if not part:
                    return CallReply("gone", note="the program ended")
                received += part
                if pending:
                    return CallReply("garbled", note="replied before it read the request")
                if reply := _finished(received, max_bytes, self.reply_bytes):
                    return reply


def _write_some(fd: int, data: memoryview) -> int:
    # poll may promise room for less than a whole buffer: write what fits.
    try:
        return os.write(fd, data[: 2**16])
    except BlockingIOError:
        return 0


def _finished(received: bytearray, max_bytes: int, longest: int) -> bytes | CallReply | None:
    """Return the body of a whole frame, what is wrong with it, or None to read on."""
    if len(received) < HEADER.size:
        return None
    (length,) = HEADER.unpack_from(received)
    if length > longest:
        return CallReply("garbled", note=f"a reply must be at most {longest} bytes")
    if length > max_bytes:
        return CallReply("oversized", note="the result is much longer than expected")
    if len(received) < HEADER.size + length:
        return None
    if len(received) > HEADER.size + length:
        return CallReply("garbled", note="wrote more than one reply")
    return bytes(received[HEADER.size :])


def _understand(message: Any) -> CallReply:
    if not isinstance(message, dict):
        raise Garbled("a reply must be an object")
    if "raised" in message:
        error = _builtin_base(message["raised"], message.get("classes"))
        shown, text = _shown(message), message.get("message")
        note = f"{shown}: {text}" if isinstance(text, str) and text else shown
        return CallReply("raised", error=error, note=" ".join(note.split())[:_NOTE])
    if "ok" not in message:
        raise Garbled("a reply must hold a value or an exception")
    return CallReply("value", message["ok"])


def _classes(found: Any) -> dict[int, tuple[str, list[Any]]]:
    """Return the program's exception classes in a reply: number -> name, bases."""
    classes: dict[int, tuple[str, list[Any]]] = {}
    for entry in found if isinstance(found, list) else []:
        if not (isinstance(entry, list) and len(entry) == 3):
            raise Garbled("an exception class must have a number, a name and bases")
        number, name, bases = entry
        if not (isinstance(number, int) and isinstance(name, str) and isinstance(bases, list)):
            raise Garbled("an exception class must have a number, a name and bases")
        classes[number] = (name, bases)
    return classes


def _builtin_base(reference: Any, found: Any) -> str:
    """Return the name of the builtin class that an exception is, or derives from."""
    classes = _classes(found)
    for _ in range(len(classes) + 1):
        if isinstance(reference, str):
            return reference[:100]
        if not isinstance(reference, int) or reference not in classes:
            break
        bases = classes[reference][1]
        reference = bases[0] if bases else "Exception"
    return "Exception"


def _shown(message: dict[str, Any]) -> str:
    reference = message["raised"]
    if isinstance(reference, int):
        classes = _classes(message.get("classes"))
        return classes[reference][0][:100] if reference in classes else "Exception"
    if isinstance(reference, list) and reference:
        return str(reference[-1])[:100]
    return str(reference)[:100]
