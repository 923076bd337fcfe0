"""The digit sum decides which digit to insert, the order of digits decides where."""

for case in range(1, int(input()) + 1):
    digits = input().strip()
    new = -sum(map(int, digits)) % 9
    if new == 0:
        place = 1
    else:
        larger = [i for i, d in enumerate(digits) if int(d) > new]
        place = larger[0] if larger else len(digits)
    print(f"Case #{case}: {digits[:place]}{new}{digits[place:]}")
