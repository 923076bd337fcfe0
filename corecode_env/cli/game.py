"""The game that a command plays: its options, and what they come to.

--env, --prompts, --coder-sees, --rounds, --chat, --temperature, ...  ->  Game
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

import click

from corecode_env.agents import make_agent
from corecode_env.agents.tiny import PROMPTS
from corecode_env.cli.options import by_role
from corecode_env.core.seams import Agent, Executor
from corecode_env.core.task import Task
from corecode_env.environments.registration import ENVIRONMENTS, make, normal_id
from corecode_env.tasks import TaskSet

GAMES: Final = tuple(name for name in ENVIRONMENTS if name != "planner_coder_discrete_v0")
"""Environments that are played in text, as the agents of the command line do."""
TINY: Final = "tiny"
"""Stands for the models that come with the package, by role, and for their prompts."""
CHAT: Final[Mapping[str, Any]] = MappingProxyType(
    {"auto": "auto", "template": True, "plain": False}
)
"""How a local model is asked; see `TransformersAgent`."""

Command = TypeVar("Command", bound=Callable[..., Any])
_KEPT: Final = "corecode_env.cli.game"


def prompt_files(files: Mapping[str, str]) -> dict[str, Path] | None:
    """Return the prompt files by role, None if there are none; `tiny`: the tiny models'."""
    return {
        role: PROMPTS[role] if file == TINY and role in PROMPTS else Path(file)
        for role, file in files.items()
    } or None


@dataclass(frozen=True, slots=True)
class Game:
    """An environment to be played, and how agents are made for it."""

    env: str
    rounds: int
    prompts: Mapping[str, str] = field(default_factory=dict)
    coder_sees: str | None = None
    local: Mapping[str, Any] = field(default_factory=dict)
    """Settings of local models; see `TransformersAgent.from_pretrained`."""
    made: dict[str, Agent] = field(default_factory=dict)
    """Agents by name: a model that plays two roles is loaded once."""

    def maker(self, tasks: Sequence[Task] | TaskSet, executor: Executor) -> Callable[[], Any]:
        """Return what makes the environment."""
        options: dict[str, Any] = {"prompts": prompt_files(self.prompts)}
        if self.coder_sees is not None:
            options["coder_sees"] = self.coder_sees
        return partial(
            make,
            self.env,
            tasks=tasks,
            split="all",
            executor=executor,
            max_cycles=self.rounds,
            **options,
        )

    def players(self, names: Mapping[str, str]) -> dict[str, Agent]:
        """Return agents by who they play."""
        for name in names.values():
            if name not in self.made:
                self.made[name] = make_agent(name, **self.local)
        return {who: self.made[name] for who, name in names.items()}

    def elsewhere(self, env: str, roles: Collection[str]) -> Game:
        """Return the same players in another environment, with the prompts of its roles."""
        kept = {role: file for role, file in self.prompts.items() if role in roles}
        return Game(env, self.rounds, kept, None, self.local, self.made)

    def settings(self) -> dict[str, Any]:
        """Return, as JSON values, what makes two evaluations the same."""
        own = {
            "prompts": dict(self.prompts),
            "coder_sees": self.coder_sees,
            "local": dict(self.local),
        }
        asked = {name: value for name, value in own.items() if value}
        return {"env": normal_id(self.env), "rounds": self.rounds, **asked}


# ------------------------------------------------------------------------------- options
def game(rounds_help: str) -> Callable[[Command], Command]:
    """Add the options of a game; the command finds it with `asked_game()`.

    Args:
        rounds_help: What `--rounds` means to the command.
    """

    def add(command: Command) -> Command:
        for option in reversed(_options(rounds_help)):
            command = option(command)
        return command

    return add


def asked_game() -> Game:
    """Return the game that the running command was asked for."""
    kept = click.get_current_context().meta[_KEPT]
    local = {n: kept[n] for n in ("temperature", "max_new_tokens", "dtype", "device")}
    local["chat"] = None if kept["chat"] is None else CHAT[kept["chat"]]
    return Game(
        kept["env"],
        kept["rounds"],
        kept["prompts"],
        kept["coder_sees"],
        {name: value for name, value in local.items() if value is not None},
    )


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    context.meta.setdefault(_KEPT, {})[parameter.name] = value
    return value


def _keep_env(context: click.Context, parameter: click.Parameter, value: str) -> None:
    if normal_id(value) not in GAMES:
        raise click.BadParameter(
            f"must be played in text, got {value!r}, whose actions are numbers; play it from "
            "Python"
        )
    _keep(context, parameter, value)


def _keep_files(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> None:
    _keep(context, parameter, by_role(context, parameter, given))


def _options(rounds_help: str) -> list[Callable[[Command], Command]]:
    hidden = partial(click.option, expose_value=False, callback=_keep)
    return [
        click.option(
            "--env",
            default="planner_coder_v0",
            show_default=True,
            expose_value=False,
            callback=_keep_env,
            help=f"Environment: {', '.join(GAMES)}.",
        ),
        hidden(
            "--rounds",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help=rounds_help,
        ),
        click.option(
            "--prompts",
            multiple=True,
            expose_value=False,
            callback=_keep_files,
            metavar="ROLE=FILE",
            help="Prompt file of a role, in place of the package's, or `tiny`: that of the "
            "tiny models; repeat for more.",
        ),
        hidden(
            "--coder-sees",
            type=click.Choice(("both", "plan")),
            help="Whether a Coder sees the task too, or the plan alone. [default: both]",
        ),
        hidden(
            "--temperature",
            type=click.FloatRange(min=0.0),
            help="Of local models; 0: always the likeliest token. [default: 1]",
        ),
        hidden(
            "--max-new-tokens",
            type=click.IntRange(min=1),
            help="Longest answer of local models, in tokens. [default: 512; tiny: 48]",
        ),
        hidden(
            "--chat",
            type=click.Choice(tuple(CHAT)),
            help="Ask local models by their chat template, or with the plain prompt. "
            "[default: auto, the template if there is one]",
        ),
        hidden(
            "--dtype",
            type=click.Choice(("float32", "bfloat16", "float16")),
            help="Weights of local models. [default: float32]",
        ),
        hidden("--device", help="Where local models run: cpu, cuda, ... [default: cpu]"),
    ]
