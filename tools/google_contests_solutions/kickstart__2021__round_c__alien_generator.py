"""Sums of consecutive positive integers: there are as many as odd divisors."""

LIMIT = 10**6
sieve = bytearray([1]) * (LIMIT + 1)
primes = []
for p in range(3, LIMIT + 1, 2):
    if sieve[p]:
        primes.append(p)
        sieve[p * p :: 2 * p] = bytes(len(range(p * p, LIMIT + 1, 2 * p)))
for case in range(1, int(input()) + 1):
    gold = int(input())
    while gold % 2 == 0:
        gold //= 2
    divisors = 1
    for p in primes:
        if p * p > gold:
            break
        power = 0
        while gold % p == 0:
            gold //= p
            power += 1
        divisors *= power + 1
    if gold > 1:
        divisors *= 2
    print(f"Case #{case}: {divisors}")
