"""Weights from trainer to server through a queue of this process, in place of NCCL.

What it sends arrives where `SENT` is read: in the fake server, which is a thread.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SENT: queue.Queue[tuple[str, Any]] = queue.Queue()


class Group:
    """What TRL's client takes apart when it leaves."""

    store: object = None
    socket: object = None


@dataclass
class Endpoint:
    """The trainer's place in the group."""

    init_info: dict[str, Any]
    group: Group = field(default_factory=Group)


@dataclass
class NCCLTrainerSendWeightsArgs:
    """As TRL fills it."""

    group: Endpoint
    packed: bool


class NCCLWeightTransferEngine:
    """The two calls that TRL's client makes."""

    @staticmethod
    def trainer_init(init_info: dict[str, Any]) -> Endpoint:
        return Endpoint(init_info)

    @staticmethod
    def trainer_send_weights(
        iterator: Iterator[tuple[str, Any]], trainer_args: NCCLTrainerSendWeightsArgs
    ) -> None:
        for name, weight in iterator:
            SENT.put((name, weight.clone()))
