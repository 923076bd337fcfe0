"""Rolls, trivial: cut from one roll until a strip does not fit, then take the next."""

from __future__ import annotations

import sys


def main() -> None:
    """Read the strips, print the roll of each."""
    _, length, *strips = [int(token) for token in sys.stdin.read().split()]
    roll, left, rolls = 1, length, []
    for strip in strips:
        if strip > left:
            roll, left = roll + 1, length
        left -= strip
        rolls.append(roll)
    print(*rolls)


if __name__ == "__main__":
    main()
