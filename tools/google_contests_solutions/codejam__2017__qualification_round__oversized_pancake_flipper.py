"""From the left, each blank pancake forces a flip."""

for case in range(1, int(input()) + 1):
    row, size = input().split()
    size = int(size)
    up = [side == "+" for side in row]
    flips = 0
    for i in range(len(up) - size + 1):
        if not up[i]:
            flips += 1
            up[i : i + size] = [not side for side in up[i : i + size]]
    print(f"Case #{case}: {flips if all(up) else 'IMPOSSIBLE'}")
