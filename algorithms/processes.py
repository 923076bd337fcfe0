"""Processes: one run on several devices, one process for each.

    accelerate launch --num_processes 4  ->  joined()  ->  Processes

Every process plays its share of a step's tasks, then all of them get all trees. From there
on each computes the same rows, weights and sums of tokens, sends its share of the
micro-batches through the model, and adds the others' gradients to its own. So an update is
that of one process on the same trees, up to the order in which numbers are added.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from corecode_env.core.errors import BadConfig, MissingExtra

try:
    import torch
    import torch.distributed as dist
    from torch import Tensor
    from torch.nn import Parameter
except ImportError as error:
    raise MissingExtra("torch", "train") from error

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of one run, seen from one of them."""

    rank: int = 0
    """Which of them this is."""
    number: int = 1
    """How many there are."""
    device: str = "cpu"
    """Where this one computes: `cpu`, `cuda:1`, ..."""

    @property
    def first(self) -> bool:
        """Whether this one writes files and tells people how it goes."""
        return self.rank == 0

    def share(self, things: Sequence[T]) -> list[T]:
        """Return this process's part of what all have to do."""
        return list(things[self.rank :: self.number])

    def gather(self, mine: T) -> list[T]:
        """Return what every process has, in the order of their ranks."""
        if self.number == 1:
            return [mine]
        found: list[Any] = [None] * self.number
        dist.all_gather_object(found, mine)
        return found

    def decide(self, ask: Callable[[], T]) -> T:
        """Return, everywhere, what the first process finds out; raise what it raises.

        Args:
            ask: Called in the first process only.
        """
        if self.number == 1:
            return ask()
        told: list[Any] = [None, None]
        if self.first:
            try:
                told = [ask(), None]
            except Exception as error:
                told = [None, error]
        dist.broadcast_object_list(told, src=0)
        answer, problem = told
        if problem is not None:
            raise problem
        result: T = answer
        return result

    def add_gradients(self, parameters: Sequence[Parameter]) -> None:
        """Give every process the sum of all gradients.

        What has a gradient nowhere gets none: an optimiser leaves it alone.
        """
        if self.number == 1 or not parameters:
            return
        there = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int32)
        there = there.to(parameters[0].device)
        dist.all_reduce(there, op=dist.ReduceOp.MAX)
        waiting = []
        for parameter, anywhere in zip(parameters, there.tolist(), strict=True):
            if anywhere:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                gradient: Tensor = parameter.grad
                waiting.append(dist.all_reduce(gradient, async_op=True))
        for work in waiting:
            work.wait()


ALONE: Final = Processes()
"""One process, on whatever device its policies were loaded to."""


def joined() -> Processes:
    """Join the processes that `accelerate launch` or `torchrun` started, if they did.

    On CPUs, start them with `torchrun` and ACCELERATE_USE_CPU=true.

    Raises:
        MissingExtra: If they did, and accelerate is not installed.
        BadConfig: If the processes cannot find each other.
    """
    wanted = int(os.environ.get("WORLD_SIZE", "1"))
    if wanted == 1:
        return ALONE
    try:
        from accelerate import PartialState
        from accelerate.utils import parse_flag_from_env
    except ImportError as error:
        raise MissingExtra("accelerate", "train") from error
    state = PartialState(cpu=parse_flag_from_env("ACCELERATE_USE_CPU"))
    if state.num_processes != wanted:
        raise BadConfig(
            f"{wanted} processes must share one run, got {state.num_processes}: accelerate "
            "found no device for each; set ACCELERATE_USE_CPU=true to share it on CPUs"
        )
    return Processes(state.process_index, state.num_processes, str(state.device))
