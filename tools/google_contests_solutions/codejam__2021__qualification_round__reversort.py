"""Do what the statement does, and add up the costs."""

for case in range(1, int(input()) + 1):
    n = int(input())
    numbers = list(map(int, input().split()))
    cost = 0
    for i in range(n - 1):
        j = numbers.index(min(numbers[i:]))
        numbers[i : j + 1] = numbers[i : j + 1][::-1]
        cost += j - i + 1
    print(f"Case #{case}: {cost}")
