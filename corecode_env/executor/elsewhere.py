"""Elsewhere: what there is of the executor on systems other than Linux: a plain refusal."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from corecode_env.core.errors import IsolationRefused


class LocalExecutor:
    """Refuses to run programs: the sandbox is made of features of the Linux kernel."""

    def __init__(self, *ignored: Any, **also_ignored: Any) -> None:
        """Say what to do instead.

        Raises:
            IsolationRefused: Always.
        """
        refuse()


def refuse() -> NoReturn:
    """Raise the error that names the way out."""
    raise IsolationRefused(
        f"LocalExecutor must run on Linux, got {sys.platform!r}: its sandbox is made of Linux "
        "kernel features, and no weaker one is offered here; run it in a Linux container or "
        "virtual machine (on Windows: WSL 2), or pass another executor"
    )
