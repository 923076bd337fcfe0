"""Views: what each role, and the team as a whole, knows at this moment.

Brief, Board  ->  observation of a role, state of the team
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from gymnasium import spaces

from corecode_env.core.spaces import UnicodeText, clean_text
from corecode_env.environments.brief import Brief
from corecode_env.environments.team import Role
from corecode_env.environments.templates import Template

OBSERVED: Final = ("prompt", "statement", "plan", "program", "feedback", "role")
"""Text fields of every observation, beside `round` and `rounds_left`."""
KNOWN_TO_TEAM: Final = ("statement", "plan", "program", "feedback", "active_agent")
"""Text fields of every team's state, beside `round` and `rounds_left`."""


@dataclass(slots=True)
class Board:
    """What the team has said and learnt so far."""

    rounds: int
    texts: dict[str, str]
    """`plan`, `program`, `feedback` and the team's own fields."""
    round: int = 0
    """This round, from 0."""

    @property
    def rounds_left(self) -> int:
        """Rounds that follow this one."""
        return self.rounds - 1 - self.round


def empty_board(rounds: int, own_fields: Sequence[str]) -> Board:
    """Return the board of an episode that begins."""
    return Board(rounds, dict.fromkeys(("plan", "program", "feedback", *own_fields), ""))


def space_of(texts: Sequence[str], max_chars: int, rounds: int) -> spaces.Dict:
    """Return the space of some text fields and the two numbers of rounds."""
    fields: dict[str, spaces.Space[Any]] = {name: UnicodeText(max_chars) for name in texts}
    fields["round"] = spaces.Discrete(rounds)
    fields["rounds_left"] = spaces.Discrete(rounds)
    return spaces.Dict(fields)


def view_of(
    role: Role, brief: Brief, board: Board, template: Template, max_chars: int
) -> dict[str, Any]:
    """Return what a role observes, its finished prompt included."""
    full, sees = role.task_view == "statement", role.sees
    texts = board.texts
    if not sees.issuperset(texts):
        texts = {name: text if name in sees else "" for name, text in texts.items()}
    values = {
        "role": role.name,
        "problem": brief.statement.strip("\n") if full else "",
        "interface": brief.interface,
        "examples": "" if full else brief.examples,
        **texts,
        "program": texts["program"].rstrip("\n"),
        "round": str(board.round + 1),
        "rounds_left": str(board.rounds_left),
    }
    return {
        "prompt": clean_text(template.fill_within(values, max_chars), max_chars),
        "statement": brief.statement if full else brief.without_statement,
        **texts,
        "role": role.name,
        "round": board.round,
        "rounds_left": board.rounds_left,
    }


def state_of(brief: Brief, board: Board, active_agent: str) -> dict[str, Any]:
    """Return what the whole team knows; nothing of a hidden test."""
    return {
        "statement": brief.statement,
        **board.texts,
        "active_agent": active_agent,
        "round": board.round,
        "rounds_left": board.rounds_left,
    }
