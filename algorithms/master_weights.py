"""Master weights: what a model of half precision is really trained in.

    gradients (bfloat16)  ->  MasterWeights (float32)  ->  weights (bfloat16)

bfloat16 keeps eight bits of a number: a weight of 0.02 moves by 0.0001 or not at all, and an
update of AdamW at the learning rates of GRPO is far smaller. So the optimiser works on copies
in float32, and the model gets them rounded (arXiv:1710.03740, section 3.1). Weights that are
float32 already are their own copies.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence

from corecode_env.core.errors import MissingExtra

try:
    import torch
    from torch import Tensor
    from torch.nn import Parameter
except ImportError as error:
    raise MissingExtra("torch", "train") from error


class MasterWeights:
    """The weights that an optimiser changes on behalf of a model's own.

    Attributes:
        parameters: Those weights, in the order of the model's.
    """

    def __init__(self, live: Sequence[Parameter]) -> None:
        """Copy what is less precise than float32."""
        self.live = list(live)
        self.parameters = [
            Parameter(p.detach().float()) if p.dtype in (torch.bfloat16, torch.float16) else p
            for p in self.live
        ]
        self._pairs = [
            (p, kept)
            for p, kept in zip(self.live, self.parameters, strict=True)
            if kept is not p
        ]

    def take_gradients(self) -> None:
        """Add the model's gradients to those of the copies, and clear them.

        After each backward pass, so that nothing is summed in half precision.
        """
        for weight, kept in self._pairs:
            if weight.grad is not None:
                gradient = weight.grad.float()
                kept.grad = gradient if kept.grad is None else kept.grad + gradient
                weight.grad = None

    def write_back(self) -> None:
        """Round the copies into the model."""
        with torch.no_grad():
            for weight, kept in self._pairs:
                weight.copy_(kept)

    def state(self) -> list[Tensor]:
        """Return the copies, for `load_state`."""
        return [kept.detach() for _, kept in self._pairs]

    def load_state(self, state: Sequence[Tensor]) -> None:
        """Go on from copies that `state` returned."""
        with torch.no_grad():
            for (_, kept), value in zip(self._pairs, state, strict=True):
                kept.copy_(value)
        self.write_back()
