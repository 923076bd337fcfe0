"""Courier, trivial: visit the places in the order of the input."""

from __future__ import annotations


def main() -> None:
    """Read the number of places, print a round."""
    print(*range(1, int(input()) + 1))


if __name__ == "__main__":
    main()
