"""Harvest, decent: of all walks of a length keep the best hundred and a half."""

from __future__ import annotations

import sys
from typing import NamedTuple

_WIDTH = 150
_MOVES = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


class _Walk(NamedTuple):
    gathered: float
    row: int
    column: int
    seen: frozenset[int]
    letters: str


def main() -> None:
    """Read the field, print a walk."""
    numbers = [int(token) for token in sys.stdin.read().split()]
    h, w, t = numbers[:3]
    crops = numbers[3 : 3 + h * w]
    walks = [_Walk(crops[0], 0, 0, frozenset([0]), "")]
    for _ in range(t):
        longer = [walk for old in walks for walk in _steps(old, crops, h, w)]
        longer.sort(key=lambda walk: -walk.gathered)
        # Walks that stand at the same place with the same crop are as good as one.
        kept: dict[tuple[int, int, float], _Walk] = {}
        for walk in longer:
            kept.setdefault((walk.row, walk.column, walk.gathered), walk)
            if len(kept) == _WIDTH:
                break
        walks = list(kept.values())
    print(walks[0].letters)


def _steps(walk: _Walk, crops: list[int], h: int, w: int) -> list[_Walk]:
    found = []
    for letter, (down, right) in _MOVES.items():
        row, column = walk.row + down, walk.column + right
        if 0 <= row < h and 0 <= column < w:
            cell = row * w + column
            crop = 0 if cell in walk.seen else crops[cell]
            seen = walk.seen | {cell}
            found.append(_Walk(walk.gathered + crop, row, column, seen, walk.letters + letter))
    return found


if __name__ == "__main__":
    main()
