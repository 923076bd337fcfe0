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
from corecode_env.core.task import Task
from corecode_env.environments.acts import Act

Meaning = Literal["plan", "program", "text"]
"""What an action is: a plan that others read, a program that is judged, or any text that
the team gives a name."""
MEANINGS: Final = ("plan", "program", "text")

Shown = Literal["statement", "interface"]
"""How much of the task a role sees: its statement, or only how a program is called, with
the public tests as examples."""
SHOWN: Final = ("statement", "interface")

SHARED_FIELDS: Final = frozenset({"plan", "program", "feedback"})
"""What every team has said and learnt so far."""

TAKEN_FIELDS: Final = frozenset(
    {
        *("prompt", "statement", "problem", "interface", "examples", "role", "round"),
        *("rounds_left", "active_agent", "observation", "action_mask"),
    }
)
"""Names in observations and templates that no field of a team's own may have."""

_NAME: Final = re.compile(r"[a-z]+(_[a-z]+)*")


@dataclass(frozen=True, slots=True)
class Role:
    """One seat of a team.

    Attributes:
        name: Lower-case name, such as `coder`.
        acts: What its text is.
        sees: Which of `plan`, `program`, `feedback` and the team's own fields it is shown.
        task_view: How much of the task it is shown.
        template: Name of its prompt template; its own name if empty.
        number: Number of the seat among those of one name.
        writes: Field of the team's own that a text goes to, such as `critique`; or the
            fields that `act` may write, which may be shared ones.
        act: What the text does, in place of what `acts` alone would mean.
        prompt: Text of its prompt template, in place of a file.
        reference: What a perfect player would say on a task, for the reference agent; None
            from it: nobody knows. Left out: the task's own plan or program.

    Raises:
        BadConfig: If a field has another value.
    """

    name: str
    acts: Meaning
    sees: frozenset[str] = SHARED_FIELDS
    task_view: Shown = "statement"
    template: str = ""
    number: int = 0
    writes: str | tuple[str, ...] = ""
    act: Act | None = None
    prompt: str = ""
    reference: Callable[[Task], str | None] | None = None

    def __post_init__(self) -> None:
        """Refuse a role that no prompt or adapter could address."""
        if not _NAME.fullmatch(self.name):
            raise BadConfig(
                f"a role's name must be lower-case letters, got {self.name!r}: agents are "
                "named after it (coder_0); write for example 'reviewer'"
            )
        if self.acts not in MEANINGS:
            raise BadConfig(f"acts must be one of {MEANINGS}, got {self.acts!r}")
        if self.task_view not in SHOWN:
            raise BadConfig(f"task_view must be one of {SHOWN}, got {self.task_view!r}")
        for name in self.fields:
            if not _NAME.fullmatch(name) or name in TAKEN_FIELDS:
                raise BadConfig(
                    f"writes must name fields in lower-case letters, got {name!r}; any name "
                    f"will do but {', '.join(sorted(TAKEN_FIELDS))}"
                )
        if self.act is None:
            self._check_plain()
        elif not isinstance(self.act, Act):
            raise BadConfig(f"act must have apply(text, scene), got {self.act!r}")

    def _check_plain(self) -> None:
        """Refuse a role without an act that writes what it cannot."""
        own = [name for name in self.fields if name not in SHARED_FIELDS]
        if self.acts == "text" and (len(self.fields) != 1 or not own):
            raise BadConfig(
                f"a role that acts by text must write one field of its own, got "
                f"writes={self.writes!r}; write for example writes='critique'"
            )
        if self.acts != "text" and self.writes:
            raise BadConfig(
                f"writes must be left out where acts is {self.acts!r}, got {self.writes!r}; "
                "use acts='text', or pass an act"
            )

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the board that its text may change, beside program and feedback."""
        if self.act is None and self.acts == "plan":
            return ("plan",)
        writes = (self.writes,) if isinstance(self.writes, str) else self.writes
        return tuple(filter(None, writes))

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
        BadConfig: If there is no role, two have the same agent name, nobody writes a
            program, or one is to see a field that nobody writes.
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
        known = SHARED_FIELDS | set(self.fields)
        for role in self.roles:
            if unknown := set(role.sees) - known:
                raise BadConfig(
                    f"{role.agent} must see only what the team has, {sorted(known)}, got "
                    f"{sorted(unknown)}; let a role write it: Role(..., acts='text', "
                    f"writes={min(unknown)!r})"
                )

    @property
    def fields(self) -> tuple[str, ...]:
        """The team's own fields, beside plan, program and feedback, in order of writing."""
        written = (name for role in self.roles for name in role.fields)
        return tuple(dict.fromkeys(name for name in written if name not in SHARED_FIELDS))

    @property
    def agents(self) -> tuple[str, ...]:
        """All agent names, in turn order."""
        return tuple(role.agent for role in self.roles)
