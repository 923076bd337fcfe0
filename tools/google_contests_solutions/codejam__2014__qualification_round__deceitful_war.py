"""Lying, she beats his lightest block or wastes her lightest on his heaviest."""

for case in range(1, int(input()) + 1):
    n = int(input())
    naomi = sorted(map(float, input().split()))
    ken = sorted(map(float, input().split()))
    lying = 0
    for block in naomi:
        if block > ken[lying]:
            lying += 1
    answered = 0
    for block in ken:
        if block > naomi[answered]:
            answered += 1
    print(f"Case #{case}: {lying} {n - answered}")
