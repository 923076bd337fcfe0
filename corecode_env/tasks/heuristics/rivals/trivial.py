"""Rivals, trivial: fill the tables one after the other."""

from __future__ import annotations

import sys


def main() -> None:
    """Read the numbers of guests and tables, print a seating."""
    n, k = (int(token) for token in sys.stdin.read().split()[:2])
    print(*(1 + guest * k // n for guest in range(n)))


if __name__ == "__main__":
    main()
