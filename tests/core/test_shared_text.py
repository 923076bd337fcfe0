"""What texts in shared memory promise: what was written is what is read, whatever it is.

Gymnasium's worker processes hand observations over in shared memory, which it reads through
a window that it makes once. A text must come out of it whole after every step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.shared_text import slot_bytes, write_text
from corecode_env.core.spaces import UnicodeText

LONGEST = 12
SPACE = gymnasium.spaces.Dict(
    {"text": UnicodeText(LONGEST), "n": gymnasium.spaces.Discrete(9)}
)

texts = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from("\0\n\r\u2028\u202e\ufeff\U0010ffff😀e\u0301"),
    max_size=LONGEST,
)


class Echo(gymnasium.Env[dict[str, Any], str]):
    """Shows the text that it was given last."""

    observation_space = SPACE
    action_space = UnicodeText(LONGEST)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        return {"text": "", "n": 0}, {}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        return {"text": action, "n": len(action) % 9}, 0.0, False, False, {"said": action}


def write(slot: int, text: str, n: int, memory: Any) -> None:
    observation: Any = {"text": text, "n": n}
    write_to_shared_memory(SPACE, slot, observation, memory)


@given(st.lists(st.lists(texts, min_size=3, max_size=3), min_size=1, max_size=4))
def test_every_text_comes_out_as_it_went_in(rounds: list[list[str]]) -> None:
    memory = create_shared_memory(SPACE, n=3)
    window: Any = read_from_shared_memory(SPACE, memory, n=3)
    assert list(window["text"]) == ["", "", ""]
    for said in rounds:
        for number, text in enumerate(said):
            write(number, text, number, memory)
        assert list(window["text"]) == said
        assert window["text"][-1] == said[-1]
        assert window["text"][1:] == tuple(said[1:])
        assert window["n"].tolist() == [0, 1, 2]


def test_a_copy_is_plain_texts_that_stay_while_the_window_goes_on() -> None:
    memory = create_shared_memory(SPACE, n=1)
    window: Any = read_from_shared_memory(SPACE, memory, n=1)
    write(0, "before", 0, memory)
    kept = copy.deepcopy(window)
    write(0, "after", 0, memory)
    assert kept["text"] == ("before",)
    assert type(kept["text"]) is tuple
    assert window["text"] == ("after",)
    assert repr(window["text"]) == "TextWindow(['after'])"


def test_a_text_that_its_slot_cannot_hold_is_refused_and_spoils_no_other() -> None:
    size = slot_bytes(1)
    memory = bytearray(2 * size)
    write_text(memory, "b", 1, size)
    with pytest.raises(ValueError, match="must fit into its 4 bytes of shared memory, got 5"):
        write_text(memory, "aaaaa", 0, size)
    assert memory[:size] == bytes(size)
    with pytest.raises(UnicodeEncodeError):
        write_text(memory, "\ud800", 0, size)
    assert memory[size:] == b"\1\0\0\0b\0\0\0"


@pytest.fixture(params=["shared memory", "pipes", "window"])
def workers(request: pytest.FixtureRequest) -> Any:
    """Three environments in processes of Gymnasium's own, in each way it can be asked for."""
    env_fns: list[Callable[[], gymnasium.Env[Any, Any]]] = [Echo] * 3
    envs = gymnasium.vector.AsyncVectorEnv(
        env_fns, shared_memory=request.param != "pipes", copy=request.param != "window"
    )
    yield envs
    envs.close()


def test_gymnasiums_worker_processes_never_show_a_wrong_text(workers: Any) -> None:
    random = np.random.default_rng(0)
    letters = [*"ab \0\n\t é→漢😀\U0010ffff\ufeff\u202e", "e\u0301"]
    observations, _ = workers.reset(seed=0)
    assert list(observations["text"]) == ["", "", ""]
    for _ in range(50):
        said = tuple(
            "".join(random.choice(letters, size=random.integers(LONGEST)))[:LONGEST]
            for _ in range(3)
        )
        observations, _, _, _, infos = workers.step(said)
        assert tuple(observations["text"]) == said == tuple(infos["said"])
