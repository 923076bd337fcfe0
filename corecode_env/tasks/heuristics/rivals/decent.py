"""Rivals, decent: seat each guest where least is lost; then move and exchange guests."""

from __future__ import annotations

import sys


def main() -> None:
    """Read the rivalries, print a seating."""
    numbers = [int(token) for token in sys.stdin.read().split()]
    n, k, seats, pairs = numbers[:4]
    rivalry = [[0] * n for _ in range(n)]
    for i in range(4, 4 + 3 * pairs, 3):
        a, b, strength = numbers[i : i + 3]
        rivalry[a - 1][b - 1] = rivalry[b - 1][a - 1] = strength
    tables: list[set[int]] = [set() for _ in range(k)]
    for guest in sorted(range(n), key=lambda g: -sum(rivalry[g])):
        free = [table for table in range(k) if len(tables[table]) < seats]
        tables[min(free, key=lambda t: sum(rivalry[guest][o] for o in tables[t]))].add(guest)
    while _improve(tables, rivalry, seats):
        pass
    print(*(1 + next(t for t in range(k) if g in tables[t]) for g in range(n)))


def _improve(tables: list[set[int]], rivalry: list[list[int]], seats: int) -> bool:
    """Move a guest or exchange two so that less rivalry sits at one table."""

    def cost(guest: int, table: int, without: int) -> int:
        return sum(rivalry[guest][o] for o in tables[table] if o not in (guest, without))

    for here in range(len(tables)):
        for there in range(len(tables)):
            for guest in sorted(tables[here]) if here != there else ():
                for other in (-1, *sorted(tables[there])):
                    if other < 0 and len(tables[there]) >= seats:
                        continue
                    now = cost(guest, here, -1) + (cost(other, there, -1) if other >= 0 else 0)
                    then = cost(guest, there, other)
                    then += cost(other, here, guest) if other >= 0 else 0
                    if then < now:
                        tables[here].remove(guest)
                        tables[there].add(guest)
                        if other >= 0:
                            tables[there].remove(other)
                            tables[here].add(other)
                        return True
    return False


if __name__ == "__main__":
    main()
