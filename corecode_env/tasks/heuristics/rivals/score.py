"""Rivals: the part of all rivalry that lies between tables."""

from __future__ import annotations

from collections import Counter


def score(instance: str, output: str) -> float:
    """Return the part that is kept apart, in [0, 1].

    Raises:
        ValueError: If the output is no seating.
    """
    numbers = [int(token) for token in instance.split()]
    n, k, seats, pairs = numbers[:4]
    tables = [int(token) for token in output.split()]
    if len(tables) != n or not all(1 <= table <= k for table in tables):
        raise ValueError(f"there must be {n} tables, each a number from 1 to {k}")
    table, guests = Counter(tables).most_common(1)[0]
    if guests > seats:
        raise ValueError(f"table {table} has {guests} guests on {seats} seats")
    apart = total = 0
    for i in range(4, 4 + 3 * pairs, 3):
        a, b, rivalry = numbers[i : i + 3]
        total += rivalry
        apart += rivalry * (tables[a - 1] != tables[b - 1])
    return apart / total
