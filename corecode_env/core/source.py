"""Source: parsing program text that somebody else wrote."""

from __future__ import annotations

import ast
import warnings


def parse_quietly(source: str) -> ast.Module:
    r"""Parse Python source without warning about it.

    Data sets and models write `"\d"` where they mean `r"\d"`. Python only warns, on
    standard error or, where warnings are errors, with a SyntaxError: neither helps a user,
    who cannot mend a published data set.

    Raises:
        SyntaxError: If it is no Python; also ValueError, RecursionError and MemoryError, as
            `ast.parse` does.

    >>> len(parse_quietly("x = '\\d'").body)
    1
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
