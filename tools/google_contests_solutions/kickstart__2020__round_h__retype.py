"""Start over, or walk back to the level with the sword."""

for case in range(1, int(input()) + 1):
    n, k, s = map(int, input().split())
    restart = k + n
    walk = (k - 1) + (k - s) + (n - s + 1)
    print(f"Case #{case}: {min(restart, walk)}")
