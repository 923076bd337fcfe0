"""Walk, and slide over what was visited."""

MOVES = {"N": (-1, 0), "S": (1, 0), "E": (0, 1), "W": (0, -1)}
for case in range(1, int(input()) + 1):
    _, _, _, row, column = map(int, input().split())
    visited = {(row, column)}
    for letter in input().strip():
        down, right = MOVES[letter]
        while (row, column) in visited:
            row, column = row + down, column + right
        visited.add((row, column))
    print(f"Case #{case}: {row} {column}")
