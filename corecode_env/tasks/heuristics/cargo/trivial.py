"""Cargo, trivial: load crates in the order of the input while they fit."""

from __future__ import annotations

import sys


def main() -> None:
    """Read the crates, print a load."""
    numbers = [int(token) for token in sys.stdin.read().split()]
    n, weight, volume = numbers[:3]
    load, value = [], 0
    for crate in range(n):
        w, v, worth = numbers[3 + 3 * crate : 6 + 3 * crate]
        if w <= weight and v <= volume:
            weight, volume, value = weight - w, volume - v, value + worth
            load.append(crate + 1)
    print(value)
    print(*load)


if __name__ == "__main__":
    main()
