"""Harvest: what was gathered over what the best cells hold."""

from __future__ import annotations

_MOVES = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1), "S": (0, 0)}


def score(instance: str, output: str) -> float:
    """Return gathered over bound, in [0, 1].

    Raises:
        ValueError: If the output is no walk of `t` minutes in the field.
    """
    numbers = [int(token) for token in instance.split()]
    h, w, t = numbers[:3]
    crops = numbers[3 : 3 + h * w]
    walk = output.strip()
    if len(walk) != t or set(walk) - _MOVES.keys():
        raise ValueError(f"there must be exactly {t} of the letters U, D, L, R and S")
    row = column = 0
    seen = {0}
    for minute, letter in enumerate(walk, 1):
        row, column = row + _MOVES[letter][0], column + _MOVES[letter][1]
        if not (0 <= row < h and 0 <= column < w):
            raise ValueError(f"the robot leaves the field in minute {minute}")
        seen.add(row * w + column)
    return sum(crops[cell] for cell in seen) / sum(sorted(crops)[-t - 1 :])
