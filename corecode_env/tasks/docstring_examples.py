"""Docstring examples: the calls that a statement shows, with their results.

Hand-written docstrings give examples in a dozen forms. Read here are those in which a
call of the function with literal arguments is followed by a literal result:

    f(1) == 2    f(1) => 2    f(1) ==> 2    f(1) -> 2    f(1) ➞ 2    f(1) = 2
    f(1) returns 2    f(1) should return 2    f(1) # => 2

and the form of an interpreter session: the call after the prompt, the result below it.

What cannot be read for certain is left out: an example is a gift, not a promise.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from corecode_env.tasks.python_source import literal, parse

_ARROW = re.compile(
    r"""\s*(?:\#\s*)?(?:={1,2}>|==|=|->|➞|→|returns|should\ return)\s*""", re.VERBOSE
)
_WORDS = {"true": "True", "false": "False", "none": "None"}
_OPEN, _CLOSE = "([{", ")]}"
_LONGEST = 2000  # characters of one call or result


@dataclass(frozen=True, slots=True)
class Example:
    """One example: an expression that calls the function, and the result shown for it."""

    expression: str
    result: str

    @property
    def test(self) -> str:
        """The example as an assert statement."""
        return f"assert {self.expression} == {self.result}\n"

    @property
    def key(self) -> str:
        """The expression without its layout, to recognise the same call elsewhere."""
        return ast.dump(parse(self.expression))


def examples(docstring: str, name: str) -> list[Example]:
    r"""Return the examples of calls of `name` in a docstring, each expression once.

    >>> [example.test for example in examples("f(1) => 2, and f('a') returns [].", "f")]
    ['assert f(1) == 2\n', "assert f('a') == []\n"]
    """
    found: dict[str, Example] = {}
    for call in re.finditer(rf"(?<![\w.]){re.escape(name)}\(", docstring):
        example = _example_at(docstring, call.start(), call.end() - 1)
        if example is not None:
            found.setdefault(example.key, example)
    return list(found.values())


def _example_at(text: str, start: int, bracket: int) -> Example | None:
    end = _closing(text, bracket)
    if end is None:
        return None
    line_start = text.rfind("\n", 0, start) + 1
    prompt = re.match(r"\s*>>> ?", text[line_start:start])
    if prompt is not None:
        start = line_start + prompt.end()
        line_end = _line_end(text, end)
        expression = text[start:line_end].split(" # ")[0].strip()
        if (example := _split_equation(expression)) is not None:
            return example
        result = _literal_at(text, line_end + 1)
    else:
        expression = text[start:end]
        arrow = _ARROW.match(text, end)
        result = _literal_at(text, arrow.end()) if arrow else None
    if result is None or not _literal_call(expression):
        return None
    return Example(ast.unparse(parse(expression)), result)


def _split_equation(expression: str) -> Example | None:
    """Read `>>> f(1) == 2`: an equation that the docstring claims to hold."""
    try:
        body = parse(expression).body
    except ValueError:
        return None
    match body:
        case [ast.Expr(value=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]))]:
            call, result = ast.unparse(left), ast.unparse(right)
            if _is_literal(result) and _literal_call(call):
                return Example(call, result)
    return None


def _is_literal(source: str) -> bool:
    try:
        literal(source)
    except ValueError:
        return False
    return True


def _literal_call(expression: str) -> bool:
    """Return whether every argument of every call in the expression is literal."""
    try:
        tree = parse(expression)
    except ValueError:
        return False
    calls = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    return len(tree.body) == 1 and all(id(n) in calls for n in names)


def _literal_at(text: str, start: int) -> str | None:
    """Return the literal that begins at a place, if nothing but a remark follows it."""
    start += len(text[start:]) - len(text[start:].lstrip(" \t"))
    if start >= len(text) or text[start] == "\n":
        return None
    if text[start] in _OPEN + "\"'":
        end = _closing(text, start)
    else:
        plain = re.compile(r"-?[\w.]*\w").match(text, start)
        end = plain.end() if plain else None
    if end is None:
        return None
    rest = text[end : _line_end(text, end)].strip()
    if (rest and rest[0] not in "#.,;(") or rest.startswith(".."):
        return None
    shown = _WORDS.get(text[start:end], text[start:end])
    if not _is_literal(shown):
        return None
    return ast.unparse(ast.parse(shown.strip(), mode="eval"))


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _closing(text: str, start: int) -> int | None:
    """Return the place after the bracket or quote that closes the one at `start`."""
    depth, quote = 0, ""
    for position in range(start, min(len(text), start + _LONGEST)):
        char = text[position]
        if quote:
            if char == quote and text[position - 1] != "\\":
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        if depth == 0 and not quote:
            return position + 1
    return None
