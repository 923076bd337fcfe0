"""Sort twice, compare place by place."""

for case in range(1, int(input()) + 1):
    fabrics = []
    for _ in range(int(input())):
        colour, durability, number = input().split()
        fabrics.append((colour, int(durability), int(number)))
    by_colour = sorted(fabrics, key=lambda f: (f[0], f[2]))
    by_durability = sorted(fabrics, key=lambda f: (f[1], f[2]))
    same = sum(a[2] == b[2] for a, b in zip(by_colour, by_durability))
    print(f"Case #{case}: {same}")
