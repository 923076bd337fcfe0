"""Count pairs bit by bit, knowing which of the three numbers are still at their limit."""

from functools import cache


def winning(a, b, k):
    @cache
    def count(bit, tight_a, tight_b, tight_k):
        if bit < 0:
            return int(not (tight_a or tight_b or tight_k))
        limits = (a >> bit & 1, b >> bit & 1, k >> bit & 1)
        total = 0
        for x in (0, 1):
            for y in (0, 1):
                bits = (x, y, x & y)
                tight = (tight_a, tight_b, tight_k)
                if any(t and v > top for t, v, top in zip(tight, bits, limits)):
                    continue
                still = [t and v == top for t, v, top in zip(tight, bits, limits)]
                total += count(bit - 1, *still)
        return total

    return count(30, True, True, True)


for case in range(1, int(input()) + 1):
    print(f"Case #{case}: {winning(*map(int, input().split()))}")
