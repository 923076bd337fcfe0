"""Templates: prompt files, read once and filled at every turn.

A template is plain text with `$name` placeholders (`$$` is a dollar sign). A paragraph
whose placeholders are all empty is left out, so that one file serves the first round, where
nobody has said anything yet, and the later ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template as StringTemplate
from typing import Final

from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import unknown_name
from corecode_env.environments.team import Team

PLACEHOLDERS: Final = (
    "role",
    "problem",
    "interface",
    "examples",
    "plan",
    "program",
    "feedback",
    "round",
    "rounds_left",
)
"""What every role's template may name, beside its team's own fields. `problem` is the
statement, empty for a role that does not see it; such a role gets the public tests as
`examples`."""

# What a prompt may give up when it is too long, in this order of preference: a team's own
# fields, then these.
_SHORTENABLE: Final = ("feedback", "program", "plan", "examples", "problem")
_CUT_MARK: Final = "\n[...]"
_KEPT_AT_THE_END: Final = 200


class Template:
    """One prompt file, taken apart into paragraphs."""

    def __init__(self, text: str, source: str, known: tuple[str, ...] = PLACEHOLDERS) -> None:
        """Take a template apart.

        Args:
            text: The file's content.
            source: Where it stands, for messages.
            known: Placeholders that will be filled.

        Raises:
            BadConfig: If a placeholder is malformed or unknown, or the text is empty.
        """
        if not text.strip():
            raise BadConfig(f"the prompt template {source} must not be empty")
        self._known, self._source = known, source
        own = (name for name in known if name not in PLACEHOLDERS)
        self._shortenable = (*own, *_SHORTENABLE)
        paragraphs = re.split(r"\n[ \t]*\n+", text.strip("\n"))
        self._paragraphs: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        for pieces, names in map(self._parse, paragraphs):
            if not names and self._paragraphs and not self._paragraphs[-1][1]:
                before = self._paragraphs.pop()[0]
                pieces = ("\n\n".join(["".join(before), "".join(pieces)]),)
            self._paragraphs.append((pieces, names))

    def _parse(self, paragraph: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the pieces (texts and names by turns) and the names among them."""
        pieces, position = [], 0
        for match in StringTemplate.pattern.finditer(paragraph):
            pieces.append(paragraph[position : match.start()])
            position = match.end()
            name = match.group("named") or match.group("braced")
            if match.group("escaped") is not None:
                pieces[-1] += "$"
                pieces.append("")
            elif name in self._known:
                pieces.append(name)
            else:
                raise BadConfig(
                    f"placeholders of the prompt template {self._source} must be among "
                    f"{', '.join(self._known)}, got {paragraph[match.start() :][:20]!r}; "
                    "write $$ for a dollar sign"
                )
        pieces.append(paragraph[position:])
        return tuple(pieces), tuple(name for name in pieces[1::2] if name)

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with its placeholders filled; empty paragraphs left out."""
        out = []
        for pieces, names in self._paragraphs:
            if not names:
                out.append(pieces[0] if len(pieces) == 1 else "".join(pieces))
                continue
            for name in names:
                if values[name]:
                    break
            else:
                continue
            filled = list(pieces)
            for place in range(1, len(filled), 2):
                if filled[place]:
                    filled[place] = values[filled[place]]
            out.append("".join(filled))
        return "\n\n".join(out)

    def fill_within(self, values: Mapping[str, str], max_chars: int) -> str:
        """Fill; if the text is too long, cut the ends of the long values, not its own end.

        What stands last in a prompt says how to answer, so it must not be lost.
        """
        text = self.fill(values)
        if len(text) <= max_chars:
            return text
        shorter = dict(values)
        for name in self._shortenable:
            excess = len(text) - max_chars + len(_CUT_MARK)
            # A value may stand in the text more than once; cutting too much does no harm.
            if len(shorter.get(name, "")) > len(_CUT_MARK):
                keep = max(len(shorter[name]) - excess, 0)
                shorter[name] = shorter[name][:keep] + _CUT_MARK
                text = self.fill(shorter)
                if len(text) <= max_chars:
                    return text
        # The template alone is too long: its end still matters more than its middle.
        tail = min(_KEPT_AT_THE_END, max_chars // 2)
        head = max_chars - tail - len(_CUT_MARK)
        return text[:head] + _CUT_MARK + text[len(text) - tail :]


@cache
def packaged(name: str, known: tuple[str, ...] = PLACEHOLDERS) -> Template | None:
    """Return a template that comes with the package, None if there is none of the name."""
    file = files("corecode_env.environments.prompts").joinpath(f"{name}.txt")
    return Template(file.read_text("utf-8"), f"{name}.txt", known) if file.is_file() else None


class Prompts:
    """The templates of a team: one a seat, and others for kinds of task that need them."""

    def __init__(self, team: Team, own: Mapping[str, Path] | None = None) -> None:
        """Read the templates.

        Args:
            team: The team.
            own: Files that replace a role's template, for every kind of task.

        Raises:
            UnknownName: If `own` names a role that the team lacks.
            BadConfig: If a file cannot be read or has an unknown placeholder.
        """
        self._known = known = (*PLACEHOLDERS, *team.fields)
        self._names = {role.agent: role.template or role.name for role in team.roles}
        roles = {role.name for role in team.roles}
        files: dict[str, Template] = {}
        for name, path in (own or {}).items():
            if name not in roles:
                raise unknown_name("a role of this team", name, sorted(roles))
            files[name] = _read(Path(path), known)
        self._found: dict[tuple[str, str], Template] = {}
        self._own: dict[str, Template] = {}
        for role in team.roles:
            if role.name in files:
                self._own[role.agent] = files[role.name]
            elif role.prompt:
                self._own[role.agent] = Template(role.prompt, f"of {role.agent!r}", known)
            elif packaged(name := self._names[role.agent], known) is None:
                raise BadConfig(
                    f"role {role.name!r} must have a prompt template, got none: the package "
                    f"brings no {name}.txt; write Role({role.name!r}, ..., prompt='...'), or "
                    f"pass prompts={{{role.name!r}: 'my_prompt.txt'}}"
                )

    def of(self, agent: str, kind: str) -> Template:
        """Return an agent's template for a kind of task."""
        found = self._found.get((agent, kind))
        if found is None:
            name, known = self._names[agent], self._known
            found = self._own.get(agent) or packaged(f"{name}_{kind}", known)
            found = found or packaged(name, known)
            assert found is not None, "the constructor saw it"
            self._found[agent, kind] = found
        return found


def _read(path: Path, known: tuple[str, ...]) -> Template:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(
            f"a prompt template must be a readable UTF-8 file, got {str(path)!r}: {error}"
        ) from error
    return Template(text, str(path), known)
