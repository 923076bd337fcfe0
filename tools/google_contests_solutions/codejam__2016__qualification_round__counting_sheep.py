"""Multiples of N until all ten digits were seen."""

for case in range(1, int(input()) + 1):
    n = int(input())
    if n == 0:
        print(f"Case #{case}: INSOMNIA")
        continue
    seen = set()
    current = 0
    while len(seen) < 10:
        current += n
        seen |= set(str(current))
    print(f"Case #{case}: {current}")
