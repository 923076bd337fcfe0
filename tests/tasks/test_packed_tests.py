"""What unpacking LiveCodeBench's private tests promises: data come out, code never runs."""

from __future__ import annotations

import base64
import json
import os
import pickle
import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.tasks.packed_tests import MAX_UNPACKED, unpack_tests, unpickle_string

TESTS = [{"input": "1\n", "output": "ü\n", "testtype": "stdin"}]


def packed(pickled: bytes) -> str:
    return base64.b64encode(zlib.compress(pickled)).decode()


class Runs:
    """Unpickling one of these calls `os.mkdir`."""

    def __init__(self, made: Path) -> None:
        self.made = str(made)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.made,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_tests_come_out_of_every_protocol_of_pickle(protocol: int) -> None:
    assert unpack_tests(packed(pickle.dumps(json.dumps(TESTS), protocol))) == TESTS


def test_plain_json_is_read_as_it_is() -> None:
    assert unpack_tests(json.dumps(TESTS)) == TESTS
    assert unpack_tests("  [] ") == []


@given(st.text(), st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_every_string_comes_back_as_it_was_pickled(text: str, protocol: int) -> None:
    assert unpickle_string(pickle.dumps(text, protocol)) == text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_runs_something_is_refused_and_runs_nothing(
    tmp_path: Path, protocol: int
) -> None:
    made = tmp_path / "made"
    bomb = pickle.dumps(Runs(made), protocol)
    with pytest.raises(ValueError, match="could run code"):
        unpack_tests(packed(bomb))
    assert not made.exists()
    pickle.loads(bomb)
    assert made.exists(), "the pickle does run something when it is unpickled"


@pytest.mark.parametrize(
    "pickled",
    [
        b"cos\nsystem\n(S'true'\ntR.",  # GLOBAL, REDUCE
        b"(S'true'\nios\nsystem\n.",  # INST
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",  # STACK_GLOBAL
        b"\x80\x02\x82\x01.",  # EXT1
        b"Psomewhere\n.",  # PERSID
        b"\x80\x04K\x01.",  # an integer
        b"\x80\x04]\x8c\x01a.",  # a list
        b"\x80\x04\x8c\x01a\x8c\x01b.",  # two strings
        b"\x80\x04.",  # none
        b"\x80\x04\x8c\x01ah\x00.",  # asks the memo
        b"\x80\x04\x8c\x01a0\x8c\x01b.",  # throws one away
        b"\x80\x05\x96" + struct.pack("<Q", 2**60) + b".",  # BYTEARRAY8, an exabyte
        b"\x80\x04\x8d" + struct.pack("<Q", 2**60) + b"a.",  # BINUNICODE8, an exabyte
        b"\x80\x04\x8c\x05ab.",  # cut off
        b"\x80\x04\x8c\x01a",  # no end
        b"\xff\xfe",
        b"",
    ],
)
def test_whatever_is_not_one_string_is_refused(pickled: bytes) -> None:
    with pytest.raises(ValueError):
        unpickle_string(pickled)


def test_a_huge_index_in_the_memo_costs_no_memory() -> None:
    # Python's own unpickler makes room for as many entries as the index says.
    pickled = b"\x80\x02X\x01\x00\x00\x00ar" + struct.pack("<I", 2**31 - 1) + b"."
    tracemalloc.start()
    try:
        assert unpickle_string(pickled) == "a"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_a_bomb_is_inflated_up_to_the_limit_and_no_further() -> None:
    bomb = packed(bytes(64 * 2**20))
    assert len(bomb) < 2**17
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="longer than 1,048,576 bytes"):
            unpack_tests(bomb, limit=2**20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2**20


def test_tests_of_exactly_the_limit_are_read() -> None:
    pickled = pickle.dumps(json.dumps(TESTS))
    assert unpack_tests(packed(pickled), limit=len(pickled)) == TESTS
    with pytest.raises(ValueError, match="longer than"):
        unpack_tests(packed(pickled), limit=len(pickled) - 1)
    assert len(pickled) < MAX_UNPACKED


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no base64 !", "neither JSON nor base64"),
        (base64.b64encode(b"not compressed").decode(), "not compressed by zlib"),
        (base64.b64encode(zlib.compress(pickle.dumps("[1]"))[:-6]).decode(), "cut off"),
        (packed(pickle.dumps("[1")), "Expecting"),
        ("[1", "Expecting"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_damaged_tests_are_an_error_that_says_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        unpack_tests(text)
