"""Cheapest houses first."""

for case in range(1, int(input()) + 1):
    _, budget = map(int, input().split())
    bought = 0
    for price in sorted(map(int, input().split())):
        if price > budget:
            break
        budget -= price
        bought += 1
    print(f"Case #{case}: {bought}")
