"""What registries and seeds promise."""

import subprocess
import sys

import pytest

from corecode_env.core.errors import BadConfig, MissingExtra, UnknownName
from corecode_env.core.registry import Registry
from corecode_env.core.seeding import derive_seed, generator


def test_a_near_miss_is_named() -> None:
    things = Registry[int]("a thing")
    things.add("reference", 1)
    with pytest.raises(UnknownName) as caught:
        things["refrence"]
    assert (
        str(caught.value) == "'refrence' is not the name of a thing; did you mean 'reference'?"
    )


def test_a_name_is_given_once() -> None:
    things = Registry[int]("a thing")
    things.add("a", 1)
    with pytest.raises(BadConfig, match="already"):
        things.add("a", 2)
    assert list(things) == ["a"] and "a" in things and things["a"] == 1


def test_a_missing_extra_says_how_to_get_it() -> None:
    assert "pip install 'corecode-env[data]'" in str(MissingExtra("pyarrow", "data"))


def test_equal_paths_give_equal_streams_and_others_do_not() -> None:
    assert generator(1, "a").random() == generator(1, "a").random()
    assert generator(1, "a").random() != generator(1, "b").random()
    assert generator(1, "a").random() != generator(2, "a").random()
    assert generator(None).random() != generator(None).random()


def test_a_stream_is_the_same_in_another_process() -> None:
    code = "from corecode_env.core.seeding import derive_seed; print(derive_seed(7, 'x', 2))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert int(out.stdout) == derive_seed(7, "x", 2)
