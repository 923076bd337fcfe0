"""Names: how agents are called."""

from __future__ import annotations

import re


def role_of(agent: str) -> str:
    """Return the role that an agent plays: its name without the number.

    >>> role_of("coder_0"), role_of("planner")
    ('coder', 'planner')
    """
    return re.sub(r"_\d+$", "", agent)
