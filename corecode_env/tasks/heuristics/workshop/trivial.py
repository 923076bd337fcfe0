"""Workshop, trivial: deal the jobs out like cards."""

from __future__ import annotations

import sys


def main() -> None:
    """Read the numbers of jobs and machines, print a plan."""
    n, m = (int(token) for token in sys.stdin.read().split()[:2])
    for machine in range(m):
        jobs = range(machine + 1, n + 1, m)
        print(*(jobs or "-"))


if __name__ == "__main__":
    main()
