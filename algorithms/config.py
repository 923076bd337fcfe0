"""Config: every knob of a GRPO run, checked before anything is loaded.

    TOML or keyword arguments  ->  TeamGRPOConfig  ->  TOML

Defaults are those of CoRe-Code's published runs where they name one (`LossConfig` has the
loss's own); what is ours is off by default.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from corecode_env.algorithms.advantages import FLATS, SCALES, Flat, Scale
from corecode_env.algorithms.group_rules import PlannerReward
from corecode_env.algorithms.losses import LossConfig
from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import unknown_name

Stage = Literal["planner", "coder", "alternate", "joint"]
STAGES: Final = ("planner", "coder", "alternate", "joint")
OLD_LOGPROBS: Final = ("recompute", "sampler")
TRUNCATED: Final = ("keep", "mask")
PLANNER_REWARDS: Final = ("programs", "environment")
STAGE_SAMPLES: Final[Mapping[str, Mapping[str, int]]] = {
    "planner": {"planner": 5, "coder": 2},
    "coder": {"planner": 1, "coder": 5},
    "alternate": {"planner": 5, "coder": 2},
    "joint": {"planner": 5, "coder": 2},
}
"""Answers per question where the config says nothing."""
NONE: Final = "none"
"""How a TOML file, which has no word for it, says None."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AdvantageConfig:
    """Knobs of `group_advantages`."""

    scale: Scale = "std"
    """`std`: divide by the group's deviation; `none`: only centre."""
    eps: float = 1e-6
    """Added to the deviation, in units of reward."""
    floor: float = 0.0
    """Least deviation that is divided by, in units of reward."""
    ddof: int = 0
    """0: population deviation; 1: sample deviation."""
    flat: Flat = "zero"
    """A group of equal rewards has advantages of 0 (`zero`) or is left out (`mask`)."""

    def __post_init__(self) -> None:
        """Refuse values that could only fail once programs were judged."""
        one_of("advantages.scale", self.scale, SCALES)
        one_of("advantages.flat", self.flat, FLATS)
        at_least("advantages.eps", self.eps, 0.0)
        at_least("advantages.floor", self.floor, 0.0)
        one_of("advantages.ddof", self.ddof, (0, 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class TeamGRPOConfig:
    """Knobs of `TeamGRPOTrainer`."""

    stage: Stage = "planner"
    """Who learns: `planner` (the Coder is frozen), `coder` (the Planner is), `alternate`
    (one after the other) or `joint` (everybody at once)."""
    alternate_every: int = 10
    """Steps after which the learner changes, in the stage `alternate`."""
    steps: int = 100
    """Steps of the run: one batch of tasks is played and learnt from in each."""
    tasks_per_step: int = 16
    samples: Mapping[str, int] = field(default_factory=dict)
    """Answers per question, by agent or role; empty: `STAGE_SAMPLES`."""
    max_in_flight: int = 64
    """Episodes under way at one time."""
    seed: int = 0

    learning_rate: float = 1e-6
    """Of AdamW; constant between warm-up and decay."""
    weight_decay: float = 1e-2
    warmup_steps: int = 0
    """Steps over which the learning rate rises linearly."""
    decay_steps: int = 0
    """Last steps of the run, over which the learning rate falls linearly."""
    grad_clip: float = 1.0
    """Largest norm of a gradient."""
    epochs: int = 1
    """How often a batch is learnt from."""
    mini_batches: int = 1
    """Updates of the weights in one epoch."""
    micro_batch: int = 8
    """Answers in one forward pass; changes memory and speed, not the result."""
    old_logprobs: Literal["recompute", "sampler"] = "recompute"
    """Where the ratio's denominator comes from: computed before the first update, or
    reported by who sampled."""
    importance_cap: float = 0.0
    """Cap of the weight min(p_old / p_sampler, cap), for samplers whose weights lag; 0: no
    such weight."""
    truncated: Literal["keep", "mask"] = "keep"
    """Whether an answer that was cut for its length is learnt from."""

    loss: LossConfig = field(default_factory=LossConfig)
    advantages: AdvantageConfig = field(default_factory=AdvantageConfig)
    planner_reward: Literal["programs", "environment"] = "programs"
    """What a plan is worth: `programs` (the rule below, over all programs written from it)
    or `environment` (the mean of what the environment paid)."""
    planner: PlannerReward = field(default_factory=PlannerReward)

    eval_every: int = 0
    """Steps between evaluations; 0: only before and after."""
    eval_samples: int = 1
    """Episodes per task in an evaluation."""
    checkpoint_every: int = 10
    """Steps between checkpoints; 0: only the best and the last."""
    keep_last: int = 2
    """Checkpoints that are kept besides the best."""
    record_episodes: bool = True
    """Whether every episode goes to the run folder."""

    def __post_init__(self) -> None:
        """Refuse values that could only fail later, deep in a run."""
        one_of("stage", self.stage, STAGES)
        one_of("old_logprobs", self.old_logprobs, OLD_LOGPROBS)
        one_of("truncated", self.truncated, TRUNCATED)
        one_of("planner_reward", self.planner_reward, PLANNER_REWARDS)
        for name in ("alternate_every", "tasks_per_step", "max_in_flight", "epochs"):
            at_least(name, getattr(self, name), 1)
        for name in ("mini_batches", "micro_batch", "eval_samples", "keep_last"):
            at_least(name, getattr(self, name), 1)
        for name in ("steps", "warmup_steps", "decay_steps", "eval_every", "checkpoint_every"):
            at_least(name, getattr(self, name), 0)
        at_least("weight_decay", self.weight_decay, 0.0)
        at_least("importance_cap", self.importance_cap, 0.0)
        if self.importance_cap and self.old_logprobs == "sampler":
            raise BadConfig(
                "importance_cap must be 0 with old_logprobs='sampler', got "
                f"{self.importance_cap}: the weight min(p_old / p_sampler, cap) is then 1 for "
                "every token; use old_logprobs='recompute'"
            )
        above("learning_rate", self.learning_rate)
        above("grad_clip", self.grad_clip)
        for agent, number in self.samples.items():
            at_least(f"samples.{agent}", number, 1)

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        share = 1.0
        if step < self.warmup_steps:
            share = (step + 1) / self.warmup_steps
        if self.steps - step < self.decay_steps:
            share = min(share, (self.steps - step) / self.decay_steps)
        return self.learning_rate * share


def one_of(name: str, value: object, known: tuple[object, ...]) -> None:
    """Refuse a setting that is none of those that are known."""
    if value not in known:
        raise BadConfig(f"{name} must be one of {known}, got {value!r}")


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a setting that is less than the least, or not finite."""
    if not least <= value < float("inf"):
        raise BadConfig(f"{name} must be a finite number of at least {least}, got {value!r}")


def above(name: str, value: float) -> None:
    """Refuse a setting that is not positive, or not finite."""
    if not 0.0 < value < float("inf"):
        raise BadConfig(f"{name} must be a finite number above 0, got {value!r}")


# -------------------------------------------------------------------------- from records
C = TypeVar("C")


def from_record(kind: type[C], record: Mapping[str, Any], where: str = "") -> C:
    """Build a config from a table as TOML has it.

    Args:
        kind: A dataclass, whose fields may be dataclasses again.
        record: Its values by field.
        where: Name of the table in the file, for messages.

    Raises:
        UnknownName: If a key is no field, with the nearest one.
        BadConfig: If a value has another type, or cannot work.
    """
    hints = get_type_hints(kind)
    names = [part.name for part in dataclasses.fields(kind)]  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in record.items():
        if key not in names:
            raise unknown_name(f"a setting of [{where}]" if where else "a setting", key, names)
        values[key] = _value(hints[key], value, f"{where}.{key}".lstrip("."))
    missing = [
        part.name
        for part in dataclasses.fields(kind)  # type: ignore[arg-type]
        if part.default is part.default_factory is dataclasses.MISSING
        and part.name not in values
    ]
    if missing:
        raise BadConfig(f"[{where}] must say {missing[0]!r}, got {sorted(record)}")
    try:
        return kind(**values)
    except BadConfig:
        raise
    except ValueError as error:
        raise BadConfig(f"[{where}]: {error}") from error


def _value(hint: Any, value: Any, where: str) -> Any:
    """Return a value as a field's type wants it."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise BadConfig(f"{where} must be a table, got {value!r}; write [{where}]")
        return from_record(hint, value, where)
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value == NONE or value is None:
            return None
        (hint,) = (part for part in parts if part is not type(None))
        return _value(hint, value, where)
    if origin is Literal:
        one_of(where, value, parts)
        return value
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise BadConfig(f"{where} must be a table, got {value!r}")
        return {key: _value(parts[1], item, f"{where}.{key}") for key, item in value.items()}
    if origin in (list, tuple):
        if not isinstance(value, list | tuple):
            raise BadConfig(f"{where} must be a list, got {value!r}")
        return origin(_value(parts[0], item, where) for item in value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not hint:
        name = getattr(hint, "__name__", hint)
        raise BadConfig(f"{where} must be of type {name}, got {value!r}")
    return value


def to_record(config: Any) -> dict[str, Any]:
    """Return a config as a table that `from_record` reads back."""
    fields = dataclasses.fields(config)
    return {part.name: _plain(getattr(config, part.name)) for part in fields}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_record(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def to_toml(record: Mapping[str, Any], where: str = "") -> str:
    """Return a table, and those inside it, as TOML.

    >>> print(to_toml({"a": 1, "b": {"c": "x"}}), end="")
    a = 1
    <BLANKLINE>
    [b]
    c = "x"
    """
    tables = {key: value for key, value in record.items() if isinstance(value, Mapping)}
    lines = [f"{_key(k)} = {_literal(v)}" for k, v in record.items() if k not in tables]
    text = "".join(line + "\n" for line in lines)
    for key, table in tables.items():
        path = f"{where}.{_key(key)}".lstrip(".")
        text += f"\n[{path}]\n{to_toml(table, path)}"
    return text


def _key(name: str) -> str:
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isascii() and bare.isalnum() else json.dumps(name)


def _literal(value: Any) -> str:
    match value:
        case None:
            return json.dumps(NONE)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value)
        case list() | tuple():
            return "[" + ", ".join(_literal(item) for item in value) + "]"
    raise BadConfig(f"a config must hold text, numbers, lists and tables, got {value!r}")
