"""Rolls, decent: long strips first, each from the roll of which it leaves least."""

from __future__ import annotations

import sys


def main() -> None:
    """Read the strips, print the roll of each."""
    _, length, *strips = [int(token) for token in sys.stdin.read().split()]
    left: list[int] = []
    rolls = [0] * len(strips)
    for strip in sorted(range(len(strips)), key=lambda s: -strips[s]):
        fitting = [roll for roll in range(len(left)) if left[roll] >= strips[strip]]
        if not fitting:
            left.append(length)
            fitting = [len(left) - 1]
        roll = min(fitting, key=lambda r: left[r])
        left[roll] -= strips[strip]
        rolls[strip] = roll + 1
    print(*rolls)


if __name__ == "__main__":
    main()
