"""Feeds the parent with replies that a coverage-guided fuzzer makes up.

Not a test: `test_proof_fuzzing.py` starts it. Whatever raises anything but `Garbled` ends it
with a traceback; so does a reply that is accepted.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def make_look(fuzzer: Any) -> Callable[[bytes], None]:
    """Return what takes a frame apart as the parent does, and its body by itself."""
    with fuzzer.instrument_imports():
        from corecode_env.core.task import Checker
        from corecode_env.executor.compare import compare_value
        from corecode_env.executor.inside.wire import MAX_FRAME, Garbled, unpack
        from corecode_env.executor.session import _finished, _understand

    expected = {"no": ["random", "reply", 2**70]}

    def look(data: bytes) -> None:
        whole = _finished(bytearray(data), 1000, MAX_FRAME)
        for body in (data, whole if isinstance(whole, bytes) else b""):
            try:
                reply = _understand(unpack(body))
            except Garbled:
                continue
            accepted = reply.kind == "value" and (
                compare_value(reply.value, expected, Checker()).accepted
            )
            if accepted:
                raise AssertionError(f"accepted: {body!r}")

    return look


if __name__ == "__main__":
    atheris = importlib.import_module("atheris")
    atheris.Setup(sys.argv, make_look(atheris))
    atheris.Fuzz()
