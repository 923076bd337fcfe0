"""Training file: what `corecode train` reads, checked before a model is loaded.

TOML, --set  ->  TrainingFile  ->  policies, environment, tasks
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from corecode_env.agents import make_agent
from corecode_env.agents.tiny import MODELS
from corecode_env.algorithms.config import TeamGRPOConfig, from_record, to_record
from corecode_env.algorithms.run_folder import TRAINING
from corecode_env.algorithms.sft import COLD_START, ColdStartConfig
from corecode_env.cli.game import CHAT, TINY, prompt_files
from corecode_env.cli.sources import open_tasks
from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import unknown_name
from corecode_env.core.seams import Agent, Executor
from corecode_env.environments.registration import make
from corecode_env.rewards import Rewards, all_pass, corecode, corecode_efficiency, pass_rate
from corecode_env.tasks import TaskSet

if TYPE_CHECKING:
    from corecode_env.agents.local_model import TransformersAgent

Split = Literal["train", "validation", "test", "all"]
REWARDS: Final[Mapping[str, Callable[[], Rewards]]] = MappingProxyType(
    {
        "corecode": corecode,
        "corecode_efficiency": corecode_efficiency,
        "pass_rate": pass_rate,
        "all_pass": all_pass,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentTable:
    """The game that is trained on; its page says what each argument means."""

    id: str = "planner_coder_v0"
    rewards: Literal["corecode", "corecode_efficiency", "pass_rate", "all_pass"] = "corecode"
    max_cycles: int = 1
    coder_sees: str | None = None
    feedback: str = "public"
    stop: str = "public"
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Files that replace prompts, by role; `tiny`: those of the tiny model."""
    max_chars: int = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class TasksTable:
    """Which tasks."""

    source: str = "pipelines/1"
    """Name of a set, or path of a file."""
    split: Split = "train"
    limit: int | None = None
    """Only the first ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyTable:
    """A local model that learns; see `TransformersAgent`."""

    model: str
    """Folder, hub id, or `tiny`."""
    max_new_tokens: int = 512
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    stop: tuple[str, ...] = ()
    chat: Literal["auto", "template", "plain"] = "auto"
    batch_size: int = 64
    long_prompt: Literal["error", "cut"] = "error"
    gradient_checkpointing: bool = False
    dtype: str = "float32"
    device: str = "cpu"

    def source(self, role: str) -> str | Path:
        """Return where the model of a role lies."""
        return MODELS[role] if self.model == TINY and role in MODELS else self.model

    def settings(self) -> dict[str, Any]:
        """Return the arguments of `from_pretrained`, but for the model."""
        names = PolicyTable.__dataclass_fields__.keys() - {"model"}
        return {n: getattr(self, n) for n in names} | {"chat": CHAT[self.chat]}


@dataclass(frozen=True, kw_only=True, slots=True)
class LoraTable(PolicyTable):
    """One frozen base with an adapter for each role; see `lora_team`."""

    roles: tuple[str, ...] = ("planner", "coder")
    rank: int = 16
    alpha: float = 32.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ColdStartTable(ColdStartConfig):
    """How examples are learnt, and where they come from."""

    episodes: tuple[str, ...] = ()
    """Files of recorded episodes; empty: the reference agent plays the tasks."""


SETTINGS: Final[Mapping[str, str]] = {"grpo": TRAINING, "cold_start": COLD_START}
"""The table with an algorithm's own settings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingFile:
    """All that a run is made from; one table of the file for each field but the first."""

    algorithm: Literal["grpo", "cold_start"] = "grpo"
    environment: EnvironmentTable = field(default_factory=EnvironmentTable)
    tasks: TasksTable = field(default_factory=TasksTable)
    evaluation: TasksTable | None = None
    """What is evaluated on; left out: nothing is."""
    policies: Mapping[str, PolicyTable] = field(default_factory=dict)
    """Models that may learn, by role."""
    shared: Mapping[str, str] = field(default_factory=dict)
    """Roles that another one's policy plays too: `coder = "planner"`."""
    lora: LoraTable | None = None
    frozen: Mapping[str, str] = field(default_factory=dict)
    """Who else plays, by role: `reference`, `transformers:FOLDER`, ..."""
    training: TeamGRPOConfig = field(default_factory=TeamGRPOConfig)
    cold_start: ColdStartTable = field(default_factory=ColdStartTable)

    def __post_init__(self) -> None:
        """Refuse roles that two tables cast."""
        roles = [*self.policies, *self.shared, *(self.lora.roles if self.lora else ())]
        if twice := sorted({role for role in roles if roles.count(role) > 1}):
            raise BadConfig(f"a role must have one policy, got several for {twice}")
        for role, other in self.shared.items():
            if other not in roles or other in self.shared:
                owners = [name for name in roles if name not in self.shared]
                raise unknown_name(f"a policy that [shared] {role} could use", other, owners)

    def tasks_to_train_on(self) -> TaskSet:
        """Load what is learnt from.

        Raises:
            SplitError: If a task is meant for testing.
        """
        return chosen_tasks(self.tasks).require_trainable()

    def tasks_to_evaluate_on(self) -> TaskSet | None:
        """Load what is played to measure; None: nothing is."""
        return None if self.evaluation is None else chosen_tasks(self.evaluation)

    def make_policies(self, device: str | None = None) -> dict[str, TransformersAgent]:
        """Load the models.

        Args:
            device: Where they go, in place of what the file says.
        """
        from corecode_env.agents.local_model import TransformersAgent

        moved: dict[str, Any] = {} if device is None else {"device": device}
        made = {
            role: TransformersAgent.from_pretrained(
                table.source(role), **table.settings() | moved
            )
            for role, table in self.policies.items()
        }
        if self.lora is not None:
            from corecode_env.agents.lora import lora_team

            lora, settings = self.lora, self.lora.settings() | moved
            made |= lora_team(
                lora.source(lora.roles[0]),
                lora.roles,
                rank=lora.rank,
                alpha=lora.alpha,
                **settings,
            )
        return made | {role: made[other] for role, other in self.shared.items()}

    def make_frozen(self) -> dict[str, Agent]:
        """Make the agents that do not learn."""
        return {role: make_agent(name) for role, name in self.frozen.items()}

    def env_maker(self, tasks: TaskSet, executor: Executor) -> Callable[[], Any]:
        """Return what makes the environment."""
        table = self.environment
        options: dict[str, Any] = to_record(table)
        del options["id"]
        if table.coder_sees is None:
            del options["coder_sees"]
        options["rewards"] = REWARDS[table.rewards]()
        options["prompts"] = prompt_files(table.prompts)
        return partial(make, table.id, tasks=tasks, split="all", executor=executor, **options)

    def tables(self) -> dict[str, Any]:
        """Return the content of config.toml but for the algorithm's own table."""
        record = to_record(self)
        for table in SETTINGS.values():
            del record[table]
        return record


def read_training_file(path: Path, changes: Sequence[str]) -> TrainingFile:
    """Read a training file.

    Args:
        path: The file.
        changes: `table.key=value`, with the value as TOML has it, or plain text.

    Raises:
        BadConfig: If it is no TOML, or a value cannot work.
        UnknownName: If a key is none, with the nearest one.
    """
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} must be TOML, got: {error}") from error
    for change in changes:
        _apply(record, change)
    file = from_record(TrainingFile, record)
    wanted = SETTINGS[file.algorithm]
    for table in SETTINGS.values():
        if table in record and table != wanted:
            raise BadConfig(
                f"algorithm = {file.algorithm!r} must be set up in [{wanted}], got a table "
                f"[{table}]; leave it out, or choose the algorithm that it belongs to"
            )
    return file


def _apply(record: dict[str, Any], change: str) -> None:
    name, equals, text = change.partition("=")
    *tables, key = name.strip().split(".")
    if not equals or not key:
        raise BadConfig(f"--set must be given table.key=value, got {change!r}")
    for table in tables:
        record = record.setdefault(table, {})
        if not isinstance(record, dict):
            raise BadConfig(f"--set {name}: {table!r} must be a table, got {record!r}")
    try:
        record[key] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        record[key] = text.strip()


def chosen_tasks(table: TasksTable) -> TaskSet:
    """Return the tasks that a table names."""
    tasks = open_tasks(table.source)
    tasks = tasks if table.split == "all" else tasks.split(table.split)
    return tasks if table.limit is None else tasks.head(table.limit)
