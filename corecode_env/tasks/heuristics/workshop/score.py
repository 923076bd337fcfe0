"""Workshop: a bound on the time over the time that a plan takes."""

from __future__ import annotations


def score(instance: str, output: str) -> float:
    """Return bound over time, in (0, 1].

    Raises:
        ValueError: If the output is no plan for all jobs.
    """
    numbers = [int(token) for token in instance.split()]
    n, m, mounting = numbers[:3]
    jobs = [(numbers[3 + 2 * i], numbers[4 + 2 * i]) for i in range(n)]
    lines = output.strip().splitlines()
    if len(lines) != m:
        raise ValueError(f"there must be {m} lines, one a machine, got {len(lines)}")
    plan = [[] if line.strip() == "-" else [int(t) for t in line.split()] for line in lines]
    if sorted(job for machine in plan for job in machine) != list(range(1, n + 1)):
        raise ValueError(f"each of the jobs 1 to {n} must stand on one machine, once")
    longest = 0
    for machine in plan:
        time, mounted = 0, 0
        for job in machine:
            minutes, tool = jobs[job - 1]
            time += minutes + (mounting if tool != mounted else 0)
            mounted = tool
        longest = max(longest, time)
    tools = len({tool for _, tool in jobs})
    return (sum(minutes for minutes, _ in jobs) + mounting * tools) / m / longest
