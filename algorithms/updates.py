"""Updates: one policy, its optimiser, and how rows change its weights.

    rows by agent  ->  loss  ->  gradient  ->  weights, metrics

Agents that share a policy share its optimiser. Each agent's loss is the mean over its own
rows, and a policy descends the mean of its agents' losses: a Coder that writes M programs
for each plan does not outweigh the Planner.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from corecode_env.agents.policy import TrainablePolicy
from corecode_env.algorithms.batches import Row, micro_batches, mini_batches
from corecode_env.algorithms.config import TeamGRPOConfig
from corecode_env.algorithms.losses import policy_loss, truncated_importance_weights
from corecode_env.algorithms.master_weights import MasterWeights
from corecode_env.algorithms.processes import ALONE, Processes
from corecode_env.core.errors import BadConfig, MissingExtra, TrainingError

try:
    import torch
    from torch import Tensor
    from torch.nn.utils import clip_grad_norm_
    from torch.nn.utils.rnn import pad_sequence
except ImportError as error:
    raise MissingExtra("torch", "train") from error

Rows = Sequence[Row]


class Learner:
    """A policy that learns.

    Attributes:
        name: Its key in checkpoints: the agents that it plays.
        agents: Those agents.
        policy: The policy.
        parameters: What the optimiser changes: its trainable weights, or their float32
            copies (see `MasterWeights`).
        optimiser: AdamW over them.
    """

    def __init__(
        self,
        policy: TrainablePolicy,
        agents: Sequence[str],
        config: TeamGRPOConfig,
        processes: Processes = ALONE,
    ) -> None:
        """Make the optimiser.

        Raises:
            BadConfig: If the policy has nothing to train.
        """
        self.name = "+".join(agents)
        self.agents = tuple(agents)
        self.policy = policy
        self.config = config
        self.processes = processes
        self.weights = MasterWeights(list(policy.trainable_parameters()))
        self.parameters = self.weights.parameters
        if not self.parameters:
            raise BadConfig(f"the policy of {self.name} must have trainable parameters, got 0")
        self.optimiser = torch.optim.AdamW(
            self.parameters, lr=config.learning_rate, weight_decay=config.weight_decay
        )

    def has_signal(self, rows: Mapping[str, Rows]) -> bool:
        """Return whether the rows pull anywhere.

        Without any, AdamW would still move the weights: by momentum and by decay.
        """
        return any(self._pulls(row) for agent in self.agents for row in rows.get(agent, ()))

    def _pulls(self, row: Row) -> bool:
        """Return whether a row adds to the gradient; the others only count in its mean."""
        return row.advantage != 0.0 or self.config.loss.kl_weight > 0.0

    def state_dict(self) -> dict[str, Any]:
        """Return weights and optimiser, for `load_state_dict`."""
        return {
            "weights": self.policy.state_dict(),
            "masters": self.weights.state(),
            "optimiser": self.optimiser.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        if self.config.loss.kl_weight:
            # A reference that is copied when it is first needed must be the untrained one.
            self.policy.reference_logprobs([[0]], [[0]])
        self.policy.load_state_dict(state["weights"])
        self.weights.load_state(state["masters"])
        self.optimiser.load_state_dict(state["optimiser"])

    def checkpoint_bytes(self) -> int:
        """Return how much a checkpoint takes: the model, its weights, and two moments."""
        weights = _bytes(self.weights.live) + _bytes(self.weights.state())
        return _bytes(self.policy.model.parameters()) + weights + 2 * _bytes(self.parameters)

    def learn(self, rows: Mapping[str, Rows], step: int) -> dict[str, float]:
        """Change the weights by all rows of one step; return what happened.

        Raises:
            TrainingError: If a loss or a gradient is not finite.
        """
        config = self.config
        for group in self.optimiser.param_groups:
            group["lr"] = config.rate_at(step)
        agents = [agent for agent in self.agents if rows.get(agent)]
        old = {agent: self._old_logprobs(agent, rows[agent]) for agent in agents}
        seen = {agent: _Means() for agent in agents}
        for epoch in range(config.epochs):
            parts = {
                a: mini_batches(len(rows[a]), config.mini_batches, config.seed, a, step, epoch)
                for a in agents
            }
            for number in range(config.mini_batches):
                now = [agent for agent in agents if parts[agent][number]]
                self.optimiser.zero_grad(set_to_none=True)
                for agent in now:
                    part = parts[agent][number]
                    self._backward(
                        agent, rows[agent], part, old[agent], 1 / len(now), step, seen[agent]
                    )
                if now:
                    norm = self._descend(step)
                    for agent in now:
                        seen[agent].add("grad_norm", norm)
        everywhere = self.processes.gather(seen)
        return {
            f"{agent}/{name}": value
            for agent in agents
            for name, value in _Means.together([m[agent] for m in everywhere]).values().items()
        }

    def _backward(
        self,
        agent: str,
        rows: Rows,
        part: Sequence[int],
        old: list[Tensor] | None,
        share: float,
        step: int,
        seen: _Means,
    ) -> None:
        """Add `share` times the gradient of an agent's loss over the rows of one update."""
        config, policy = self.config, self.policy
        lengths = [len(row.answer_ids) for row in rows]
        all_tokens = sum(lengths[i] for i in part)
        update_loss = 0.0
        pulling = [i for i in part if self._pulls(rows[i])]
        micros = list(micro_batches(pulling, lengths, config.micro_batch))
        for micro in self.processes.share(micros):
            prompts = [rows[i].prompt_ids for i in micro]
            answers = [rows[i].answer_ids for i in micro]
            scores = policy.logprobs(prompts, answers, with_entropy=True)
            logprobs, mask = scores.logprobs, scores.mask
            # Of weights that have not moved yet, the old policy is this one.
            before = (
                logprobs.detach() if old is None else _padded([old[i] for i in micro], mask)
            )
            reference = weights = None
            if config.loss.kl_weight:
                reference = policy.reference_logprobs(prompts, answers).logprobs
            if config.importance_cap:
                sampled = _padded([_sampled(agent, rows[i]) for i in micro], mask)
                weights = truncated_importance_weights(
                    before, sampled, mask, config.importance_cap
                )
                for name, value in _lag(before, sampled, weights, mask, config).items():
                    seen.add(name, value, sum(lengths[i] for i in micro))
            parts = policy_loss(
                logprobs,
                before,
                torch.tensor([rows[i].advantage for i in micro]).to(logprobs),
                mask,
                config.loss,
                reference_logprobs=reference,
                weights=weights,
                batch_tokens=all_tokens,
            )
            tokens = sum(lengths[i] for i in micro)
            part_of_update = self._weight(len(micro) / len(part), tokens / all_tokens)
            loss = parts.loss * part_of_update
            _require_finite("the loss", agent, step, float(loss.detach()))
            (loss * share).backward()  # type: ignore[no-untyped-call, unused-ignore]
            self.weights.take_gradients()
            update_loss += float(loss.detach())
            seen.add("kl", float(parts.kl), tokens)
            seen.add("clipped", float(parts.clipped), tokens)
            seen.add("ratio", float(parts.ratio), tokens)
            if scores.entropy is not None:
                entropy = (scores.entropy.detach() * mask).sum() / tokens
                seen.add("entropy", float(entropy), tokens)
        # Each process adds its part of one loss.
        seen.sums["loss"] += update_loss
        seen.weights["loss"] += float(self.processes.first)

    def _weight(self, of_rows: float, of_tokens: float) -> float:
        """Return what a micro-batch's loss counts in its update.

        So weighted, the sum over micro-batches is the loss of all rows at once.
        """
        match self.config.loss.loss_type:
            case "bnpo":
                return of_tokens
            case "dapo" | "cispo":
                return 1.0  # divided by the tokens of the whole update already
            case _:
                return of_rows

    def _old_logprobs(self, agent: str, rows: Rows) -> list[Tensor] | None:
        """Return each answer's log-probabilities before the first update.

        None: there is one update only, so that they are those of its own forward pass.
        """
        config = self.config
        if config.old_logprobs == "sampler":
            return [_sampled(agent, row) for row in rows]
        if config.epochs * config.mini_batches == 1:
            return None
        lengths = [len(row.answer_ids) for row in rows]
        pulling = [i for i, row in enumerate(rows) if self._pulls(row)]
        micros = list(micro_batches(pulling, lengths, config.micro_batch))
        mine: dict[int, Tensor] = {}
        with torch.no_grad():
            for micro in self.processes.share(micros):
                scores = self.policy.logprobs(
                    [rows[i].prompt_ids for i in micro], [rows[i].answer_ids for i in micro]
                )
                for place, i in enumerate(micro):
                    mine[i] = scores.logprobs[place, : lengths[i]].cpu()
        found = {i: row for part in self.processes.gather(mine) for i, row in part.items()}
        return [found.get(i, torch.empty(0)) for i in range(len(rows))]

    def _descend(self, step: int) -> float:
        """Clip the gradient, take the optimiser's step; return the norm before clipping."""
        self.processes.add_gradients(self.parameters)
        norm = float(clip_grad_norm_(self.parameters, self.config.grad_clip))
        _require_finite("the gradient", self.name, step, norm)
        self.optimiser.step()
        self.weights.write_back()
        return norm


class _Means:
    """Weighted means that grow."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = defaultdict(float)
        self.weights: dict[str, float] = defaultdict(float)

    def add(self, name: str, value: float, weight: float = 1.0) -> None:
        self.sums[name] += value * weight
        self.weights[name] += weight

    @classmethod
    def together(cls, several: Sequence[_Means]) -> _Means:
        """Return the means of what several have seen."""
        if len(several) == 1:
            return several[0]
        whole = cls()
        for means in several:
            for name, total in means.sums.items():
                whole.sums[name] += total
                whole.weights[name] += means.weights[name]
        return whole

    def values(self) -> dict[str, float]:
        return {name: total / self.weights[name] for name, total in self.sums.items()}


def _bytes(tensors: Iterable[Tensor]) -> int:
    return int(sum(tensor.numel() * tensor.element_size() for tensor in tensors))


def _sampled(agent: str, row: Row) -> Tensor:
    """Return the log-probabilities that the sampler reported."""
    if row.sampler_logprobs is None or len(row.sampler_logprobs) != len(row.answer_ids):
        raise BadConfig(
            f"the policy of {agent} must reply with one log-probability per token, got "
            f"{row.sampler_logprobs!r}; or use old_logprobs='recompute', importance_cap=0"
        )
    return torch.tensor(row.sampler_logprobs)


def _lag(
    old: Tensor, sampled: Tensor, weights: Tensor, mask: Tensor, config: TeamGRPOConfig
) -> dict[str, float]:
    """Return how far the sampler was from the policy; each a mean over tokens."""
    tokens = mask.sum()
    cut = (weights >= config.importance_cap).to(mask)
    return {
        "importance": float((weights * mask).sum() / tokens),
        "importance_cut": float((cut * mask).sum() / tokens),
        "sampler_gap": float(((old - sampled).abs() * mask).sum() / tokens),
    }


def _padded(rows: Sequence[Tensor], like: Tensor) -> Tensor:
    """Return (B, T) from rows of different lengths, 0 where they end."""
    padded = pad_sequence(list(rows), batch_first=True).to(like)
    return torch.nn.functional.pad(padded, (0, like.shape[1] - padded.shape[1]))


def _require_finite(what: str, agent: str, step: int, value: float) -> None:
    if not abs(value) < float("inf"):
        raise TrainingError(
            f"{what} of {agent} must be finite, got {value} in step {step + 1}: the weights "
            "are as they were before this update; start another run from the last "
            "checkpoint's model with a smaller learning_rate, or another dtype"
        )
