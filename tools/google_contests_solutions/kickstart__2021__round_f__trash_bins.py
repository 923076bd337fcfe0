"""Distance to the last bin on the left and on the right, in two passes."""

for case in range(1, int(input()) + 1):
    n = int(input())
    street = input().strip()
    nearest = [n] * n
    for places in (range(n), reversed(range(n))):
        distance = n
        for i in places:
            distance = 0 if street[i] == "1" else distance + 1
            nearest[i] = min(nearest[i], distance)
    print(f"Case #{case}: {sum(nearest)}")
