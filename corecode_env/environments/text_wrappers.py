r"""Text wrappers: change what agents read, and nothing else.

    class Polite(TextWrapper):
        def observation(self, agent, seen):
            return {**seen, "prompt": seen["prompt"] + "\nThank you."}

They wrap the game; `wrap_inside` puts them beneath a parallel or a seat view. Observations
stay inside the environment's own spaces: what is longer than `max_chars` is cut. Rollouts
build an agent's messages from the wrapped prompt.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, cast

from gymnasium import spaces
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import BaseWrapper

from corecode_env.core.errors import BadConfig
from corecode_env.core.names import by_agent, role_of
from corecode_env.core.registry import unknown_name
from corecode_env.core.spaces import UnicodeText, clean_text
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.options import one_of, whole_number
from corecode_env.environments.templates import Template

Game = AECEnv[str, dict[str, Any], str | None]
Seen = dict[str, Any]
CUT_MARK: Final = "\n[...]\n"
"""Stands where a text was cut in its middle."""


class TextWrapper(BaseWrapper[str, dict[str, Any], str | None]):
    """Changes what agents observe, in one method."""

    def observation(self, agent: str, seen: Seen) -> Seen:
        """Return what an agent sees in place of `seen`.

        Args:
            agent: Who looks.
            seen: What the environment shows; a copy, which may be changed.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define observation(self, agent, seen) -> dict"
        )

    def observe(self, agent: str) -> Seen:
        """Return what an agent sees.

        Raises:
            BadConfig: If `observation` gives other fields than the space has, or no text
                where one belongs.
        """
        shown = self.observation(agent, dict(super().observe(agent) or {}))
        space = cast(spaces.Dict, self.observation_space(agent))
        if not isinstance(shown, dict) or shown.keys() != space.keys():
            raise BadConfig(
                f"{type(self).__name__}.observation must return a dict with the fields "
                f"{', '.join(space)}, got {shown!r}"
            )
        for name, part in space.items():
            if not isinstance(part, UnicodeText):
                continue
            if not isinstance(shown[name], str):
                raise BadConfig(
                    f"the field {name!r} that {type(self).__name__}.observation returns must "
                    f"be a text, got {shown[name]!r}"
                )
            shown[name] = clean_text(shown[name], part.max_chars)
        return shown

    def limit_of(self, agent: str, field: str = "prompt") -> int:
        """Return the greatest length of a text field, in characters.

        Raises:
            BadConfig: If an agent's observations have no such text.
        """
        space = cast(spaces.Dict, self.observation_space(agent))
        texts = [name for name, part in space.items() if isinstance(part, UnicodeText)]
        if field not in texts:
            problem = unknown_name("a text field of observations", field, texts)
            raise BadConfig(f"{type(self).__name__} changes texts: {problem}")
        return cast(UnicodeText, space[field]).max_chars


# ----------------------------------------------------------------------------- truncate
class Tokenizer(Protocol):
    """What `Truncate` needs of a tokenizer: `transformers` and `tiktoken` have it."""

    def encode(self, text: str) -> Sequence[int]:
        """Return the tokens of a text."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens."""
        ...


Keep = Literal["ends", "start", "end"]
KEEPS: Final = ("ends", "start", "end")


class Truncate(TextWrapper):
    """Cuts texts to so many characters or tokens.

    `keep="ends"` cuts the middle and marks the place: what a prompt ends with says how to
    answer, and what it begins with what the problem is.
    """

    def __init__(
        self,
        env: Game,
        *,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        tokenizer: Tokenizer | None = None,
        fields: Sequence[str] = ("prompt",),
        keep: Keep = "ends",
    ) -> None:
        """Wrap an environment.

        Args:
            env: A `TeamEnv`, wrapped or not.
            max_chars: Greatest length in characters; or
            max_tokens: greatest length in tokens, as the tokenizer counts them without
                special tokens.
            tokenizer: Counts tokens; shared by forks.
            fields: Which texts are cut.
            keep: What of a text is kept: `ends`, `start` or `end`.

        Raises:
            BadConfig: If not just one of the lengths is given, tokens without a tokenizer,
                or a field is no text.
        """
        super().__init__(env)
        if (max_chars is None) == (max_tokens is None):
            raise BadConfig(
                f"one of max_chars and max_tokens must be given, got {max_chars!r} and "
                f"{max_tokens!r}; write Truncate(env, max_chars=4000)"
            )
        if (tokenizer is None) != (max_tokens is None):
            raise BadConfig(
                f"a tokenizer must be given with max_tokens and only then, got {tokenizer!r}; "
                "write Truncate(env, max_tokens=1000, tokenizer=tokenizer)"
            )
        if isinstance(fields, str):
            raise BadConfig(f"fields must be a list of names, got {fields!r}; [{fields!r}]")
        self.keep: Keep = one_of("keep", keep, KEEPS)
        self.tokenizer = tokenizer
        self.fields = tuple(fields)
        for agent in env.possible_agents:
            for field in self.fields:
                self.limit_of(agent, field)
        if tokenizer is None:
            self.limit = whole_number("max_chars", max_chars, 1)
            self._measure: Callable[[str], int] = len
            self._slice: Callable[[str, int, int], str] = _characters
        else:
            self.limit = whole_number("max_tokens", max_tokens, 1)
            tokens = _Tokens(tokenizer)
            self._measure, self._slice = tokens.count, tokens.cut

    def shared_parts(self) -> tuple[object, ...]:
        """Return what forks share: the tokenizer."""
        return () if self.tokenizer is None else (self.tokenizer,)

    def observation(self, agent: str, seen: Seen) -> Seen:
        """Cut the fields."""
        return {**seen, **{field: self.cut(seen[field]) for field in self.fields}}

    def cut(self, text: str) -> str:
        """Return a text that is no longer than the limit."""
        if self._measure(text) <= self.limit:
            return text
        # What is put together of tokens may count more of them than its parts did.
        for room in range(self.limit, 0, -1):
            shorter = self._shorter(text, room)
            if self._measure(shorter) <= self.limit:
                return shorter
        return ""

    def _shorter(self, text: str, room: int) -> str:
        if self.keep == "start":
            return self._slice(text, room, 0)
        if self.keep == "end":
            return self._slice(text, 0, room)
        rest = room - self._measure(CUT_MARK)
        if rest < 2:  # no room for a mark: the end says how to answer
            return self._slice(text, 0, room)
        tail = (rest + 1) // 2
        return self._slice(text, rest - tail, 0) + CUT_MARK + self._slice(text, 0, tail)


def _characters(text: str, head: int, tail: int) -> str:
    """Return the first `head` or the last `tail` characters."""
    return text[:head] if head else text[len(text) - tail :]


class _Tokens:
    """Counts and cuts by a tokenizer, without special tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        named = inspect.signature(tokenizer.encode).parameters
        self.plain = {"add_special_tokens": False} if "add_special_tokens" in named else {}

    def count(self, text: str) -> int:
        return len(self.tokenizer.encode(text, **self.plain))

    def cut(self, text: str, head: int, tail: int) -> str:
        """Return the first `head` or the last `tail` tokens, as text."""
        ids = self.tokenizer.encode(text, **self.plain)
        return self.tokenizer.decode(ids[:head] if head else ids[len(ids) - tail :])


def _end_first(text: str, limit: int) -> str:
    """Return a text within a limit that keeps its end."""
    if len(text) <= limit:
        return text
    room = limit - len(CUT_MARK)
    return CUT_MARK + text[len(text) - room :] if room > 0 else text[len(text) - limit :]


# ------------------------------------------------------------------------------ history
Whose = Literal["own", "all"]
WHOSE: Final = ("own", "all")


class History(TextWrapper):
    """Puts what was said earlier in the episode before the prompt.

    A prompt shows the last plan, program and feedback anyway; with this an agent also reads
    its answers of earlier rounds, or the whole team's.
    """

    def __init__(self, env: Game, *, turns: int = 4, whose: Whose = "own") -> None:
        """Wrap an environment.

        Args:
            env: A `TeamEnv`, wrapped or not.
            turns: How many earlier turns are shown, the latest ones. Where they do not fit,
                the oldest are left out; the prompt itself is never shortened for them.
            whose: `own`: the agent's own; `all`: the whole team's, in order. The latter shows
                an agent also what its role is not meant to see, such as the program to a
                Planner.

        Raises:
            BadConfig: If an argument cannot work.
        """
        super().__init__(env)
        self.turns = whole_number("turns", turns, 1)
        self.whose: Whose = one_of("whose", whose, WHOSE)

    def observation(self, agent: str, seen: Seen) -> Seen:
        """Put the earlier turns before the prompt."""
        episode = cast(TeamEnv, self.unwrapped).episode
        said = [
            f"[round {turn.round + 1}, {turn.agent}]\n{turn.action.strip()}"
            for turn in episode.turns
            if self.whose == "all" or turn.agent == agent
        ][-self.turns :]
        while said:
            parts = ["Earlier in this episode:", *said, "Now:", seen["prompt"]]
            prompt = "\n\n".join(parts)
            if len(prompt) <= self.limit_of(agent):
                return {**seen, "prompt": prompt}
            said.pop(0)
        return seen


# --------------------------------------------------------------------------- the prompt
class PromptTemplate(TextWrapper):
    """Writes the prompt anew from the other fields of an observation.

    A template is text with `$name` placeholders, one for each field: `$statement`, `$plan`,
    `$program`, `$feedback`, `$role`, `$round` (from 1), `$rounds_left`, and `$prompt` for what
    stood there; `$$` is a dollar sign. A paragraph whose placeholders are all empty is left
    out. To change the prompts of an environment for good, give it files: `prompts=`.
    """

    def __init__(self, env: Game, template: str | Mapping[str, str]) -> None:
        """Wrap an environment.

        Args:
            env: A `TeamEnv`, wrapped or not.
            template: One for everybody, or several by agent or role; who has none keeps its
                prompt.

        Raises:
            UnknownName: If a template is for nobody in the team.
            BadConfig: If a placeholder is unknown, or a template is empty or no text.
        """
        super().__init__(env)
        agents = list(env.possible_agents)
        if isinstance(template, str):
            template = dict.fromkeys(agents, template)
        if not isinstance(template, Mapping) or not template:
            raise BadConfig(
                f"template must be a text, or texts by agent or role, got {template!r}; write "
                "PromptTemplate(env, {'coder': '$statement'})"
            )
        self.templates = {}
        for agent, text in by_agent(template, agents).items():
            if not isinstance(text, str):
                raise BadConfig(f"the template of {agent!r} must be a text, got {text!r}")
            self.templates[agent] = Template(text, f"of {agent!r}", self._fields(agent))

    def _fields(self, agent: str) -> tuple[str, ...]:
        return tuple(cast(spaces.Dict, self.observation_space(agent)))

    def observation(self, agent: str, seen: Seen) -> Seen:
        """Fill the agent's template."""
        template = self.templates.get(agent)
        if template is None:
            return seen
        values = {name: str(value) for name, value in seen.items()}
        values["round"] = str(seen["round"] + 1)
        return {**seen, "prompt": template.fill_within(values, self.limit_of(agent))}


class RoleIndicator(TextWrapper):
    """Tells each agent who it is, in the first line of its prompt.

    One policy that plays several seats can so tell them apart, where prompts alone do not.
    """

    def __init__(
        self, env: Game, form: str = "You are $agent, the $role of the team: $team."
    ) -> None:
        """Wrap an environment.

        Args:
            env: A `TeamEnv`, wrapped or not.
            form: The line, with the placeholders `$agent`, `$role` and `$team`.

        Raises:
            BadConfig: If a placeholder is unknown, or the line is empty.
        """
        super().__init__(env)
        template = Template(form, "of RoleIndicator", ("agent", "role", "team"))
        team = ", ".join(env.possible_agents)
        self.lines = {
            agent: template.fill({"agent": agent, "role": role_of(agent), "team": team})
            for agent in env.possible_agents
        }

    def observation(self, agent: str, seen: Seen) -> Seen:
        """Put the line before the prompt."""
        line = f"{self.lines[agent]}\n\n"
        room = self.limit_of(agent) - len(line)
        if room < 1:
            return seen
        return {**seen, "prompt": line + _end_first(seen["prompt"], room)}
