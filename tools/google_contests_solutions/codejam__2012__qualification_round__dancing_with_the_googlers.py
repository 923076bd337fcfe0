"""A total of 3p-2 reaches p without surprise, 3p-4 with one (if p is at least 2)."""

for case in range(1, int(input()) + 1):
    _, surprises, p, *totals = map(int, input().split())
    plain = sum(total >= max(p, 3 * p - 2) for total in totals)
    surprising = sum(max(p, 3 * p - 4) <= total < 3 * p - 2 for total in totals)
    print(f"Case #{case}: {plain + min(surprises, surprising)}")
