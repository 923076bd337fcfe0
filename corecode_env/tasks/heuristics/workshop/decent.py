"""Workshop, decent: keep jobs of a tool together; the machine that is done first goes on."""

from __future__ import annotations

import sys


def main() -> None:
    """Read the jobs, print a plan."""
    numbers = [int(token) for token in sys.stdin.read().split()]
    n, m, mounting = numbers[:3]
    jobs = [(numbers[3 + 2 * i], numbers[4 + 2 * i]) for i in range(n)]
    work: dict[int, int] = {}
    for minutes, tool in jobs:
        work[tool] = work.get(tool, 0) + minutes
    # Tools with much work first, and of each tool the long jobs first.
    order = sorted(range(n), key=lambda j: (-work[jobs[j][1]], jobs[j][1], -jobs[j][0]))
    plan: list[list[int]] = [[] for _ in range(m)]
    times, mounted = [0] * m, [0] * m
    for job in order:
        minutes, tool = jobs[job]
        done = [times[i] + minutes + mounting * (mounted[i] != tool) for i in range(m)]
        machine = min(range(m), key=lambda i: (done[i], i))
        plan[machine].append(job + 1)
        times[machine], mounted[machine] = done[machine], tool
    for machine_jobs in plan:
        print(*(machine_jobs or "-"))


if __name__ == "__main__":
    main()
