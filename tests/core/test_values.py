"""What the JSON form of plain values promises."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.core.values import MAX_DEPTH, NotPlain, from_jsonable, to_jsonable

atoms = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text()
    | st.text(alphabet=["\ud800", "$", "a"])
    | st.binary()
)
hashable = st.recursive(
    atoms,
    lambda inner: st.lists(inner).map(tuple) | st.frozensets(inner),
    max_leaves=5,
)
plain = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(hashable, inner)
        | st.sets(hashable)
        | st.frozensets(hashable)
    ),
    max_leaves=12,
)


@given(plain)
def test_every_plain_value_comes_back_with_its_type(value: object) -> None:
    back = from_jsonable(json.loads(json.dumps(to_jsonable(value))))
    assert back == value
    assert repr(type(back)) == repr(type(value))


def test_nan_and_huge_integers_survive() -> None:
    assert math.isnan(from_jsonable(to_jsonable(math.nan)))
    assert from_jsonable(to_jsonable(10**5000)) == 10**5000


def test_a_subclass_is_refused() -> None:
    class Sly(int):
        pass

    with pytest.raises(NotPlain, match="Sly"):
        to_jsonable([Sly(1)])


def test_too_deep_nesting_is_refused_both_ways() -> None:
    deep: list[object] = []
    for _ in range(MAX_DEPTH + 5):
        deep = [deep]
    with pytest.raises(NotPlain, match="levels deep"):
        to_jsonable(deep)
    with pytest.raises(NotPlain, match="levels deep"):
        from_jsonable(deep)


@pytest.mark.parametrize(
    "text",
    ['{"$set": [[]]}', '{"$int": "zz"}', '{"$nope": 1}', '{"$dict": [1]}', '{"$tuple": 3}'],
)
def test_malformed_tags_are_one_error(text: str) -> None:
    with pytest.raises(NotPlain):
        from_jsonable(json.loads(text))
