"""Teams: who plays, in which order, what each sees and what its words mean.

A team is data. The engine plays it: it asks the team whose turn is next, shows that role
what it may see, and treats its text as the role says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from corecode_env.core.episode import Turn
from corecode_env.core.errors import BadConfig

Meaning = Literal["plan", "program"]
"""What an action is: a plan that others read, or a program that is judged."""
MEANINGS: Final = ("plan", "program")

Shown = Literal["statement", "interface"]
"""How much of the task a role sees: its statement, or only how a program is called, with
the public tests as examples."""
SHOWN: Final = ("statement", "interface")

SHARED_FIELDS: Final = frozenset({"plan", "program", "feedback"})
"""What the team has said and learnt so far."""

_ROLE_NAME: Final = re.compile(r"[a-z]+(_[a-z]+)*")


@dataclass(frozen=True, slots=True)
class Role:
    """One seat of a team.

    Attributes:
        name: Lower-case name, such as `coder`.
        acts: What its text means.
        sees: Which of `plan`, `program` and `feedback` it is shown.
        task_view: How much of the task it is shown.
        template: Name of its prompt template; its own name if empty.
        number: Number of the seat among those of one name.

    Raises:
        BadConfig: If a field has another value.
    """

    name: str
    acts: Meaning
    sees: frozenset[str] = SHARED_FIELDS
    task_view: Shown = "statement"
    template: str = ""
    number: int = 0

    def __post_init__(self) -> None:
        """Refuse a role that no prompt or adapter could address."""
        if not _ROLE_NAME.fullmatch(self.name):
            raise BadConfig(
                f"a role's name must be lower-case letters, got {self.name!r}: agents are "
                "named after it (coder_0); write for example 'reviewer'"
            )
        if self.acts not in MEANINGS:
            raise BadConfig(f"acts must be one of {MEANINGS}, got {self.acts!r}")
        if self.task_view not in SHOWN:
            raise BadConfig(f"task_view must be one of {SHOWN}, got {self.task_view!r}")
        if unknown := set(self.sees) - SHARED_FIELDS:
            raise BadConfig(
                f"sees must name only {sorted(SHARED_FIELDS)}, got {sorted(unknown)}"
            )

    @property
    def agent(self) -> str:
        """Name of the agent in this seat, such as `coder_0`."""
        return f"{self.name}_{self.number}"


TurnRule = Callable[["Team", Sequence[Turn]], Role | None]
"""Whose turn is next, given the turns of this round so far; None: the round is over."""


def in_order(team: Team, turns: Sequence[Turn]) -> Role | None:
    """Let every role act once a round, in the order of the list."""
    return team.roles[len(turns)] if len(turns) < len(team.roles) else None


@dataclass(frozen=True, slots=True)
class Team:
    """An ordered list of roles and a rule for whose turn is next.

    Attributes:
        roles: The seats, in turn order.
        rule: Picks the next role of a round; the first role of a round is picked with no
            turns given, and there must be one.

    Raises:
        BadConfig: If there is no role, two have the same agent name, or nobody writes a
            program.
    """

    roles: tuple[Role, ...]
    rule: TurnRule = field(default=in_order)

    def __post_init__(self) -> None:
        """Refuse a team that could not play."""
        if len(set(self.agents)) < len(self.roles):
            raise BadConfig(
                f"a team's agents must have distinct names, got {list(self.agents)}; give "
                "the second of a kind number=1"
            )
        if not any(role.acts == "program" for role in self.roles):
            raise BadConfig(
                f"a team must have a role that writes the program, got {list(self.agents)}; "
                "add Role('coder', acts='program')"
            )

    @property
    def agents(self) -> tuple[str, ...]:
        """All agent names, in turn order."""
        return tuple(role.agent for role in self.roles)
