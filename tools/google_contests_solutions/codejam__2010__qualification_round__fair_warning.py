"""The differences of the times have the best T as their greatest common divisor."""

from math import gcd

for case in range(1, int(input()) + 1):
    _, *times = map(int, input().split())
    best = gcd(*(time - times[0] for time in times))
    print(f"Case #{case}: {-times[0] % best}")
