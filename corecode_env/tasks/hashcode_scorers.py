"""Scorers of the Hash Code tasks: an instance and what a program printed become a number.

The judge runs the text of this very file in a judge slot, so it imports the standard
library only. A scorer raises ValueError where the output breaks the task's rules; larger
scores are better.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator


def _integers(line: str, what: str) -> list[int]:
    words = line.split()
    # int() also takes "1_0", "+1" and digits of other scripts: none is in the format.
    for word in words:
        if not (word.isascii() and word.isdigit()):
            raise ValueError(f"{what} must be whole numbers from 0 up, got {word[:20]!r}")
        if len(word) > 18:
            raise ValueError(f"{what} must be in range, got {word[:20]!r}")
    return [int(word) for word in words]


def _lines(output: str) -> list[str]:
    lines = output.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _take_all(used: set[int], ids: list[int], below: int, what: str) -> None:
    for number in ids:
        if number >= below:
            raise ValueError(f"{what} must be below {below}, got {number}")
        if number in used:
            raise ValueError(f"{what} {number} must be used once, got it again")
        used.add(number)


def _counted(output: str, what: str, most: int) -> list[str]:
    """Return the lines after the first, which must say how many they are."""
    lines = _lines(output)
    head = _integers(lines[0], f"the number of {what}") if lines else []
    if len(head) != 1:
        raise ValueError(f"line 1 must be the number of {what}, got {lines[:1]}")
    if head[0] != len(lines) - 1:
        raise ValueError(f"{head[0]} lines of {what} must follow, got {len(lines) - 1}")
    if head[0] > most:
        raise ValueError(f"there must be at most {most} {what}, got {head[0]}")
    return lines[1:]


# ------------------------------------------------------------- self-driving rides
def self_driving_rides(instance: str, output: str) -> float:
    """Return the points of all rides that end in time."""
    head, *rides = [[int(word) for word in line.split()] for line in _lines(instance)]
    _, _, vehicles, n_rides, bonus, steps = head
    lines = _lines(output)
    if len(lines) != vehicles:
        raise ValueError(f"there must be {vehicles} lines, got {len(lines)}")
    used: set[int] = set()
    score = 0
    for line in lines:
        count, *ids = _integers(line, "a line") or [-1]
        if count != len(ids):
            raise ValueError(f"a line must begin with its number of rides, got {line[:40]!r}")
        _take_all(used, ids, n_rides, "ride")
        score += _drive([rides[i] for i in ids], bonus, steps)
    return float(score)


def _drive(rides: list[list[int]], bonus: int, steps: int) -> int:
    row = column = time = score = 0
    for a, b, x, y, earliest, latest in rides:
        started = max(time + abs(row - a) + abs(column - b), earliest)
        distance = abs(a - x) + abs(b - y)
        time, row, column = started + distance, x, y
        if time <= min(latest, steps):
            score += distance + (bonus if started == earliest else 0)
    return score


# --------------------------------------------------------------- streaming videos
def streaming_videos(instance: str, output: str) -> float:
    """Return the mean time saved per request, in microseconds, rounded down."""
    numbers = _stream(instance)
    videos, endpoints, requests, caches, capacity = (next(numbers) for _ in range(5))
    sizes = [next(numbers) for _ in range(videos)]
    held = _caches(output, sizes, caches, capacity)
    latencies: list[tuple[int, list[tuple[int, int]]]] = []
    for _ in range(endpoints):
        center, links = next(numbers), next(numbers)
        linked = [(next(numbers), next(numbers)) for _ in range(links)]
        latencies.append((center, linked))
    saved = asked = 0
    for _ in range(requests):
        video, endpoint, times = (next(numbers) for _ in range(3))
        center, linked = latencies[endpoint]
        best = min([center, *(ms for cache, ms in linked if video in held[cache])])
        saved += times * (center - best)
        asked += times
    return float(1000 * saved // asked)


def _stream(instance: str) -> Iterator[int]:
    return (int(word) for word in instance.split())


def _caches(output: str, sizes: list[int], caches: int, capacity: int) -> list[set[int]]:
    held: list[set[int]] = [set() for _ in range(caches)]
    described: set[int] = set()
    for line in _counted(output, "caches", caches):
        cache, *videos = _integers(line, "a line") or [caches]
        _take_all(described, [cache], caches, "cache")
        _take_all(held[cache], videos, len(sizes), "video in a cache")
        size = sum(sizes[video] for video in videos)
        if size > capacity:
            raise ValueError(f"cache {cache} must hold at most {capacity} MB, got {size}")
    return held


# ---------------------------------------------------------------- photo slideshow
def photo_slideshow(instance: str, output: str) -> float:
    """Return the summed interest of all pairs of neighbouring slides."""
    photos = [line.split() for line in _lines(instance)[1:]]
    used: set[int] = set()
    slides: list[set[str]] = []
    for line in _counted(output, "slides", len(photos)):
        ids = _integers(line, "a slide")
        _take_all(used, ids, len(photos), "photo")
        shapes = "".join(photos[i][0] for i in ids)
        if shapes not in ("H", "VV"):
            raise ValueError(f"a slide must hold one H or two V photos, got {shapes[:10]!r}")
        slides.append({tag for i in ids for tag in photos[i][2:]})
    if not slides:
        raise ValueError("there must be at least one slide, got none")
    interest = 0
    for before, after in itertools.pairwise(slides):
        common = len(before & after)
        interest += min(common, len(before) - common, len(after) - common)
    return float(interest)
