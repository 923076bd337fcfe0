"""Lessons: what episodes teach, as pairs of a question and an answer.

    episodes  ->  lessons_of()  ->  lessons of each agent  ->  tokenise()  ->  rows of tokens

A lesson is one turn: the prompt exactly as the environment showed it, and what was said
there. Nothing here knows how it is learnt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import BadConfig, SplitError
from corecode_env.core.names import role_of
from corecode_env.core.seams import Request
from corecode_env.tasks.taskset import TaskSet

if TYPE_CHECKING:
    from corecode_env.agents.local_model import TransformersAgent


class Lesson(NamedTuple):
    """One example: what was asked, and what to say."""

    request: Request
    answer: str


class Tokenised(NamedTuple):
    """Examples as SFTTrainer reads them."""

    rows: list[dict[str, list[int]]]
    """`input_ids`, and `completion_mask`: 1 on tokens of the answer."""
    too_long: int
    """Examples that were left out, since the agent could not say or read so much."""


def only_of(episodes: Iterable[Episode], tasks: TaskSet) -> list[Episode]:
    """Return episodes that are all of some tasks.

    Raises:
        SplitError: If one is not.
    """
    kept, ids = list(episodes), set(tasks.ids())
    for episode in kept:
        if episode.task_id not in ids:
            raise SplitError(
                f"episodes to learn from must be of the training tasks, got one of "
                f"{episode.task_id!r}, which is not in {tasks.name}: results on tasks that "
                "were trained on say nothing; leave its file out, or name its tasks"
            )
    return kept


def lessons_of(episodes: Iterable[Episode], *, fenced: bool = True) -> dict[str, list[Lesson]]:
    """Return what episodes teach, by agent; each lesson once, in order.

    Only the last round of an episode that passed every test teaches: what was said before it
    led nowhere.

    Args:
        episodes: What was played, here or elsewhere.
        fenced: Whether programs are taught as they were said, or bare.
    """
    found: dict[str, dict[tuple[str, str], Lesson]] = {}
    for episode in episodes:
        if not episode.valid or episode.judgement is None or not episode.judgement.passed:
            continue
        last = episode.turns[-1].round
        for turn in episode.turns:
            if turn.round == last:
                program = None if fenced else turn.submission
                said = turn.action if program is None else program.program
                key = (str(turn.observation["prompt"]), said)
                lesson = Lesson(_request(turn, episode.task_id), said)
                found.setdefault(turn.agent, {}).setdefault(key, lesson)
    return {agent: list(lessons.values()) for agent, lessons in found.items()}


def _request(turn: Turn, task_id: str) -> Request:
    """Return the request that a turn answered, as the environment made it."""
    prompt = str(turn.observation["prompt"])
    messages = ({"role": "user", "content": prompt},)
    return Request(turn.agent, role_of(turn.agent), turn.observation, messages, task_id)


def tokenise(lessons: Sequence[Lesson], policy: TransformersAgent) -> Tokenised:
    """Return lessons as tokens: the prompt as the policy sees it, the answer and its end.

    Raises:
        BadConfig: If a prompt does not fit the model, and the policy does not cut it.
    """
    end = policy.tokenizer.eos_token_id
    if end is None:
        raise BadConfig(
            "the tokenizer must have an end token (eos_token), got none: the model could not "
            "be taught to stop"
        )
    rows: list[dict[str, list[int]]] = []
    for lesson in lessons:
        prompt = policy.encode(lesson.request)
        said = policy.tokenizer(lesson.answer, add_special_tokens=False)["input_ids"]
        answer = [*said, end]
        if len(answer) <= policy.sampling.max_new_tokens:
            mask = [0] * len(prompt) + [1] * len(answer)
            rows.append({"input_ids": [*prompt, *answer], "completion_mask": mask})
    return Tokenised(rows, len(lessons) - len(rows))
