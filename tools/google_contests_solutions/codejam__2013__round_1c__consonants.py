"""For every end of a substring: how many starts lie before the last long run."""

for case in range(1, int(input()) + 1):
    name, length = input().split()
    length = int(length)
    run = starts = value = 0
    for i, letter in enumerate(name):
        run = 0 if letter in "aeiou" else run + 1
        if run >= length:
            starts = i - length + 2
        value += starts
    print(f"Case #{case}: {value}")
