"""Cargo, decent: load by value for what of both limits is used; then exchange pairs."""

from __future__ import annotations

import sys

Crate = tuple[int, int, int]


def main() -> None:
    """Read the crates, print a load."""
    numbers = [int(token) for token in sys.stdin.read().split()]
    n, weight, volume = numbers[:3]
    crates: list[Crate] = [
        (numbers[i], numbers[i + 1], numbers[i + 2]) for i in range(3, 3 + 3 * n, 3)
    ]
    load = _greedy(crates, weight, volume)
    while _improve(crates, load, weight, volume):
        pass
    print(sum(crates[c][2] for c in load))
    print(*(c + 1 for c in sorted(load)))


def _greedy(crates: list[Crate], weight: int, volume: int) -> set[int]:
    def use(crate: int) -> float:
        w, v, value = crates[crate]
        return (w / weight + v / volume) / value

    load: set[int] = set()
    for crate in sorted(range(len(crates)), key=use):
        if _fits(crates, load | {crate}, weight, volume):
            load.add(crate)
    return load


def _fits(crates: list[Crate], load: set[int], weight: int, volume: int) -> bool:
    used = [sum(crates[c][part] for c in load) for part in (0, 1)]
    return used[0] <= weight and used[1] <= volume


def _improve(crates: list[Crate], load: set[int], weight: int, volume: int) -> bool:
    """Exchange one crate for a better one, or add one; return whether that was possible."""
    outside = [c for c in range(len(crates)) if c not in load]
    for new in outside:
        for old in (None, *sorted(load)):
            lost = 0 if old is None else crates[old][2]
            changed = (load - {old}) | {new} if old is not None else load | {new}
            if crates[new][2] > lost and _fits(crates, changed, weight, volume):
                load.clear()
                load.update(changed)
                return True
    return False


if __name__ == "__main__":
    main()
