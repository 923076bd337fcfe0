"""Program text: what can be said of a program without running it.

    text of a program  ->  numbers, None where the text is no Python

Programs are strangers' text: it is parsed, never compiled or run.
"""

from __future__ import annotations

import io
import tokenize
import warnings
from importlib import import_module
from typing import Any, Final

from corecode_env.core.errors import MissingExtra

LONGEST: Final = 100_000
"""Characters above which a program is not parsed: it is no program that a person reads."""

_LAYOUT: Final = frozenset(
    {
        tokenize.ENCODING,
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)


def code_tokens(program: str) -> int | None:
    """Return how many tokens Python's own lexer finds; layout and comments do not count.

    >>> code_tokens("x = 1  # one"), code_tokens("(")
    (3, None)
    """
    if len(program) > LONGEST:
        return None
    try:
        found = [
            token.type for token in tokenize.generate_tokens(io.StringIO(program).readline)
        ]
    except (tokenize.TokenError, SyntaxError, UnicodeError):
        return None
    return None if tokenize.ERRORTOKEN in found else sum(kind not in _LAYOUT for kind in found)


def cyclomatic_complexity(program: str) -> int | None:
    """Return McCabe's complexity of the whole text: functions, methods and top level, summed.

    Each of them counts 1 and 1 more for every branch, as radon counts branches.

    Raises:
        MissingExtra: If radon is not installed.
    """
    try:
        visitors = import_module("radon.visitors")
    except ImportError as error:
        raise MissingExtra("radon", "metrics") from error
    if len(program) > LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            # What the parser thinks of a stranger's escapes is no news to our user.
            warnings.simplefilter("ignore")
            visitor = visitors.ComplexityVisitor.from_code(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    # radon's own total counts a class besides its methods, and leaves closures out.
    inside = sum(_of_function(block) for block in visitor.functions)
    return int(visitor.complexity + inside + sum(_of_class(c) for c in visitor.classes))


def _of_function(block: Any) -> int:
    return int(block.complexity) + sum(_of_function(inner) for inner in block.closures)


def _of_class(block: Any) -> int:
    methods = sum(_of_function(method) for method in block.methods)
    return methods + sum(_of_class(inner) for inner in block.inner_classes)
