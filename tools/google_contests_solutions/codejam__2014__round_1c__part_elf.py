"""Only powers of two divide; the first generation with a whole half or more counts."""

from fractions import Fraction

for case in range(1, int(input()) + 1):
    part = Fraction(input().strip())
    if part.denominator & (part.denominator - 1):
        print(f"Case #{case}: impossible")
        continue
    generations = 0
    while part < 1:
        part *= 2
        generations += 1
    print(f"Case #{case}: {generations}")
