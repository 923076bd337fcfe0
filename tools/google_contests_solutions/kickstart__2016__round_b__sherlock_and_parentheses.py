"""The best string is ()()()...: n pairs give n(n+1)/2 balanced substrings."""

for case in range(1, int(input()) + 1):
    n = min(map(int, input().split()))
    print(f"Case #{case}: {n * (n + 1) // 2}")
