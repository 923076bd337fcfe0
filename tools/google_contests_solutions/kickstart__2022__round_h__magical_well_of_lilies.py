"""Fewest coins by number of lilies: one by one, or by notes of the number reached."""

asked = [int(input()) for _ in range(int(input()))]
most = max(asked)
coins = list(range(most + 1))
for have in range(1, most + 1):
    coins[have] = min(coins[have], coins[have - 1] + 1)
    noted = coins[have] + 4
    for total in range(2 * have, most + 1, have):
        noted += 2
        coins[total] = min(coins[total], noted)
for case, lilies in enumerate(asked, 1):
    print(f"Case #{case}: {coins[lilies]}")
