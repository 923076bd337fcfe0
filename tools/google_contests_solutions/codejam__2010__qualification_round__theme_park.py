"""Simulate the rides; what a ride earns depends on who stands first in the queue."""

for case in range(1, int(input()) + 1):
    rides, seats, n = map(int, input().split())
    groups = list(map(int, input().split()))
    after = {}
    first = earned = 0
    for _ in range(rides):
        if first not in after:
            taken = size = 0
            while taken < n and size + groups[(first + taken) % n] <= seats:
                size += groups[(first + taken) % n]
                taken += 1
            after[first] = (size, (first + taken) % n)
        size, first = after[first]
        earned += size
    print(f"Case #{case}: {earned}")
