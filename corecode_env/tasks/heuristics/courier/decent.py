"""Courier, decent: go to the nearest place, then turn parts round while that is shorter."""

from __future__ import annotations

import math
import sys


def main() -> None:
    """Read the places, print a round."""
    numbers = [int(token) for token in sys.stdin.read().split()]
    n = numbers[0]
    places = [(numbers[1 + 2 * i], numbers[2 + 2 * i]) for i in range(n)]
    far = [[math.dist(a, b) for b in places] for a in places]
    order, left = [0], set(range(1, n))
    while left:
        order.append(min(left, key=lambda place: (far[order[-1]][place], place)))
        left.remove(order[-1])
    while _turn(order, far):
        pass
    print(*(place + 1 for place in order))


def _turn(order: list[int], far: list[list[float]]) -> bool:
    """Turn every part round whose ends then lie nearer; return whether there was one."""
    n, turned = len(order), False
    for i in range(n - 1):
        for j in range(i + 1, n):
            before, first = order[i - 1], order[i]
            last, after = order[j], order[(j + 1) % n]
            if i == 0 and j == n - 1:
                continue
            now = far[before][first] + far[last][after]
            if far[before][last] + far[first][after] < now - 1e-9:
                order[i : j + 1] = order[i : j + 1][::-1]
                turned = True
    return turned


if __name__ == "__main__":
    main()
