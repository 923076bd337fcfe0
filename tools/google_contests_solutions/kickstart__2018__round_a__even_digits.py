"""The first odd digit decides: the nearest even numbers below and above it."""

for case in range(1, int(input()) + 1):
    text = input().strip()
    odd = [i for i, digit in enumerate(text) if int(digit) % 2]
    if not odd:
        print(f"Case #{case}: 0")
        continue
    first = odd[0]
    rest = len(text) - first - 1
    head, digit = text[:first], int(text[first])
    presses = int(text) - int(f"{head}{digit - 1}{'8' * rest}")
    if digit < 9:
        presses = min(presses, int(f"{head}{digit + 1}{'0' * rest}") - int(text))
    print(f"Case #{case}: {presses}")
