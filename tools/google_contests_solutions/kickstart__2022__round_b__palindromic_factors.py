"""Try all divisors up to the square root, each with its partner."""

from math import isqrt


def is_palindrome(number):
    return str(number) == str(number)[::-1]


for case in range(1, int(input()) + 1):
    a = int(input())
    small = [d for d in range(1, isqrt(a) + 1) if a % d == 0]
    divisors = set(small) | {a // d for d in small}
    print(f"Case #{case}: {sum(map(is_palindrome, divisors))}")
