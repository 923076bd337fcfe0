"""Names: how agents are called."""

from __future__ import annotations

import re
from functools import lru_cache


# Asked for several times a turn, about a handful of names.
@lru_cache(maxsize=1024)
def role_of(agent: str) -> str:
    """Return the role that an agent plays: its name without the number.

    >>> role_of("coder_0"), role_of("planner")
    ('coder', 'planner')
    """
    return re.sub(r"_\d+$", "", agent)
