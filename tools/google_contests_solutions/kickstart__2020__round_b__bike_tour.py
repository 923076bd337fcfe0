"""A peak is higher than both neighbours."""

for case in range(1, int(input()) + 1):
    input()
    heights = list(map(int, input().split()))
    peaks = sum(a < b > c for a, b, c in zip(heights, heights[1:], heights[2:]))
    print(f"Case #{case}: {peaks}")
