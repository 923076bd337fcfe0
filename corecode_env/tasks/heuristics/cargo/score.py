"""Cargo: the value of a load over what a load of cut crates could be worth."""

from __future__ import annotations


def score(instance: str, output: str) -> float:
    """Return value over bound, in (0, 1].

    Raises:
        ValueError: If the output names no load that may be carried.
    """
    numbers = [int(token) for token in instance.split()]
    n, limits = numbers[0], numbers[1:3]
    crates = [tuple(numbers[3 + 3 * i : 6 + 3 * i]) for i in range(n)]
    claimed, *load = [int(token) for token in output.split()]
    if not load:
        raise ValueError("at least one crate must be loaded")
    if len(set(load)) < len(load) or not all(1 <= crate <= n for crate in load):
        raise ValueError(f"the crates must be distinct numbers from 1 to {n}")
    weight, volume, value = (sum(crates[c - 1][part] for c in load) for part in range(3))
    if weight > limits[0] or volume > limits[1]:
        raise ValueError(f"the load is too much: weight {weight}, volume {volume}")
    if claimed != value:
        raise ValueError(f"the load is worth {value}, not {claimed}")
    return value / min(_cut(crates, part, limits[part]) for part in (0, 1))


def _cut(crates: list[tuple[int, ...]], part: int, limit: int) -> float:
    """Return what the best load is worth if crates may be cut and one limit holds."""
    total = 0.0
    for crate in sorted(crates, key=lambda crate: -crate[2] / crate[part]):
        share = min(1.0, limit / crate[part])
        total += share * crate[2]
        limit -= crate[part]
        if limit <= 0:
            break
    return total
