"""The ballot theorem."""

for case in range(1, int(input()) + 1):
    n, m = map(int, input().split())
    print(f"Case #{case}: {(n - m) / (n + m):.8f}")
