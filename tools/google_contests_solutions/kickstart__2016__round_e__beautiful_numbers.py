"""The most ones first; for each length there is at most one base."""


def ones(base, length):
    return (base**length - 1) // (base - 1)


for case in range(1, int(input()) + 1):
    n = int(input())
    for length in range(n.bit_length(), 1, -1):
        low, high = 2, n
        while low < high:
            middle = (low + high) // 2
            if ones(middle, length) < n:
                low = middle + 1
            else:
                high = middle
        if ones(low, length) == n:
            break
    print(f"Case #{case}: {low}")
