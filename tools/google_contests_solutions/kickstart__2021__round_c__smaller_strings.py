"""Count palindromes below a string: choose the first half, the rest follows."""

for case in range(1, int(input()) + 1):
    n, k = map(int, input().split())
    s = input().strip()
    half = (n + 1) // 2
    below = 0
    for c in s[:half]:
        below = below * k + ord(c) - ord("a")
    mirrored = s[:half] + s[: n // 2][::-1]
    print(f"Case #{case}: {(below + (mirrored < s)) % (10**9 + 7)}")
