"""Buy farms for as long as the next one pays."""

for case in range(1, int(input()) + 1):
    cost, gain, goal = map(float, input().split())
    rate, bought = 2.0, 0.0
    while cost / rate + goal / (rate + gain) < goal / rate:
        bought += cost / rate
        rate += gain
    print(f"Case #{case}: {bought + goal / rate:.7f}")
