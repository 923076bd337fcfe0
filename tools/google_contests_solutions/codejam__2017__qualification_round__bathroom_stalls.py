"""The widest gap is taken first; only few different widths exist at a time."""

for case in range(1, int(input()) + 1):
    n, people = map(int, input().split())
    gaps = {n: 1}
    while True:
        widest = max(gaps)
        count = gaps.pop(widest)
        halves = (widest // 2, (widest - 1) // 2)
        if people <= count:
            break
        people -= count
        for half in halves:
            gaps[half] = gaps.get(half, 0) + count
    print(f"Case #{case}: {halves[0]} {halves[1]}")
