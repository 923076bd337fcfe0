"""Harvest, trivial: row by row, to and fro."""

from __future__ import annotations

import sys


def main() -> None:
    """Read the size of the field, print a walk."""
    h, w, t = (int(token) for token in sys.stdin.read().split()[:3])
    rows = ("R" * (w - 1) + "D" + "L" * (w - 1) + "D") * h
    walk = rows[: h * w - 1]
    print(walk[:t].ljust(t, "S"))


if __name__ == "__main__":
    main()
