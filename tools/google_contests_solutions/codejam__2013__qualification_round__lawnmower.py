"""A spot is as high as the highest of its row or of its column."""

for case in range(1, int(input()) + 1):
    n, _ = map(int, input().split())
    lawn = [list(map(int, input().split())) for _ in range(n)]
    rows = [max(row) for row in lawn]
    columns = [max(column) for column in zip(*lawn)]
    possible = all(
        height == min(rows[i], columns[j])
        for i, row in enumerate(lawn)
        for j, height in enumerate(row)
    )
    print(f"Case #{case}: {'YES' if possible else 'NO'}")
