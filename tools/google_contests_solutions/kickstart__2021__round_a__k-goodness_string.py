"""One operation changes the goodness by one, up or down."""

for case in range(1, int(input()) + 1):
    n, k = map(int, input().split())
    s = input().strip()
    goodness = sum(s[i] != s[-1 - i] for i in range(n // 2))
    print(f"Case #{case}: {abs(goodness - k)}")
