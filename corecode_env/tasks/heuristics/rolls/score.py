"""Rolls: the rolls that the cloth would fill over the rolls in use."""

from __future__ import annotations


def score(instance: str, output: str) -> float:
    """Return bound over rolls in use, in (0, 1].

    Raises:
        ValueError: If the output is no way to cut all strips.
    """
    n, length, *strips = [int(token) for token in instance.split()]
    rolls = [int(token) for token in output.split()]
    if len(rolls) != n or set(rolls) != set(range(1, max(rolls, default=0) + 1)):
        raise ValueError(f"there must be {n} rolls, numbered from 1 without a gap")
    used = [0] * max(rolls)
    for roll, strip in zip(rolls, strips, strict=True):
        used[roll - 1] += strip
        if used[roll - 1] > length:
            raise ValueError(f"the strips of roll {roll} are longer than {length}")
    return -(-sum(strips) // length) / len(used)
