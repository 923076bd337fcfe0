"""What text spaces promise."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces.utils import flatdim, flatten, flatten_space, unflatten
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    iterate,
)
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.errors import BadConfig
from corecode_env.core.spaces import UnicodeText, clean_text

ANY_TEXT = st.text(st.characters(), max_size=60)


@given(st.text(max_size=40))
def test_every_text_without_lone_surrogates_is_inside(text: str) -> None:
    assert text in UnicodeText(40)


@pytest.mark.parametrize("value", [b"bytes", 3, None, ["a"], "a\ud800", "12345678901"])
def test_other_values_are_outside(value: object) -> None:
    assert value not in UnicodeText(10)


@given(ANY_TEXT, st.integers(1, 50))
def test_clean_text_is_always_inside(text: str, limit: int) -> None:
    assert clean_text(text + "\ud83d", limit) in UnicodeText(limit)


@given(st.text(max_size=40))
def test_text_that_is_inside_is_left_alone(text: str) -> None:
    assert clean_text(text, 40) == text


def test_a_surrogate_pair_becomes_its_character_and_a_lone_one_the_replacement() -> None:
    assert clean_text("\ud83d\ude00 \udc00", 10) == "😀 \ufffd"


def test_equal_seeds_give_equal_samples_that_lie_inside() -> None:
    one, two = UnicodeText(100, seed=7), UnicodeText(100, seed=7)
    samples = [one.sample() for _ in range(50)]
    assert samples == [two.sample() for _ in range(50)]
    assert len(set(samples)) > 40
    assert all(sample in one for sample in samples)


def test_a_short_space_gives_short_samples() -> None:
    space = UnicodeText(2, seed=0)
    assert {len(space.sample()) for _ in range(50)} == {0, 1, 2}


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, "9"])
def test_a_limit_that_is_no_positive_number_is_refused(limit: object) -> None:
    with pytest.raises(BadConfig, match="positive whole number"):
        UnicodeText(limit)  # type: ignore[arg-type]


def test_masks_are_refused() -> None:
    with pytest.raises(BadConfig, match="sample without"):
        UnicodeText(5).sample(mask=np.ones(3))  # type: ignore[arg-type]


def test_spaces_are_equal_by_length_and_survive_copies() -> None:
    space = UnicodeText(9, seed=1)
    assert space == UnicodeText(9)
    assert space != UnicodeText(8)
    assert pickle.loads(pickle.dumps(space)).sample() == deepcopy(space).sample()
    assert repr(space) == "UnicodeText(9)"


def test_the_zero_array_of_a_text_is_an_empty_text_each() -> None:
    space = gymnasium.spaces.Dict({"text": UnicodeText(9)})
    assert create_empty_array(space, n=3) == {"text": ("", "", "")}


def test_a_batch_goes_out_as_it_came_in() -> None:
    space = gymnasium.spaces.Dict({"text": UnicodeText(99), "n": gymnasium.spaces.Discrete(4)})
    space.seed(3)
    items = [space.sample() for _ in range(3)]
    out: Any = concatenate(space, items, create_empty_array(space, n=3))  # type: ignore[arg-type]
    many = batch_space(space, 3)
    assert out in many
    assert [item["text"] for item in iterate(many, out)] == [item["text"] for item in items]


def test_batching_leaves_the_spaces_own_stream_alone() -> None:
    space, twin = UnicodeText(9, seed=5), UnicodeText(9, seed=5)
    several = batch_space(space, 4).sample()
    assert len(set(several)) > 1
    assert space.sample() == twin.sample()


@given(st.text(max_size=12))
def test_flattening_is_undone_by_unflattening(text: str) -> None:
    space = UnicodeText(12)
    codes: Any = flatten(space, text)
    assert codes in flatten_space(space)
    assert codes.shape == (flatdim(space),)
    assert unflatten(space, codes) == text


def test_texts_flatten_inside_dicts() -> None:
    space = gymnasium.spaces.Dict({"a": UnicodeText(4), "n": gymnasium.spaces.Discrete(3)})
    value = {"a": "é😀", "n": 2}
    codes = flatten(space, value)
    assert codes in flatten_space(space)
    assert unflatten(space, codes) == value
