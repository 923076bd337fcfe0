"""Choose the highest stack to be eaten; higher ones are split, a minute a split."""

for case in range(1, int(input()) + 1):
    input()
    plates = list(map(int, input().split()))
    best = min(
        high + sum((plate - 1) // high for plate in plates)
        for high in range(1, max(plates) + 1)
    )
    print(f"Case #{case}: {best}")
