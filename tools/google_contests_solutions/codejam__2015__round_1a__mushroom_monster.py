"""Eaten at least: all drops; at a constant rate: the largest drop sets the rate."""

for case in range(1, int(input()) + 1):
    input()
    seen = list(map(int, input().split()))
    drops = [max(0, a - b) for a, b in zip(seen, seen[1:])]
    rate = max(drops)
    constant = sum(min(rate, mushrooms) for mushrooms in seen[:-1])
    print(f"Case #{case}: {sum(drops)} {constant}")
