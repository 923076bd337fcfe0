"""Open or close just as many as the depth changes by."""

for case in range(1, int(input()) + 1):
    depth = 0
    nested = ""
    for digit in input().strip():
        change = int(digit) - depth
        nested += "(" * change + ")" * -change + digit
        depth = int(digit)
    print(f"Case #{case}: {nested}{')' * depth}")
