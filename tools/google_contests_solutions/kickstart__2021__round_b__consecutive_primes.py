"""The two primes stand around the square root: look at the nearest three."""

from math import isqrt

LIMIT = 40000
sieve = bytearray([1]) * (LIMIT + 1)
small_primes = []
for p in range(2, LIMIT + 1):
    if sieve[p]:
        small_primes.append(p)
        sieve[p * p :: p] = bytes(len(range(p * p, LIMIT + 1, p)))


def is_prime(number):
    for p in small_primes:
        if p * p > number:
            break
        if number % p == 0:
            return False
    return number > 1


def prime_from(number, step):
    while not is_prime(number):
        number += step
    return number


for case in range(1, int(input()) + 1):
    z = int(input())
    root = isqrt(z)
    middle = prime_from(root, -1)
    above = prime_from(root + 1, 1)
    if middle * above > z:
        above, middle = middle, prime_from(middle - 1, -1)
    print(f"Case #{case}: {middle * above}")
