"""Every change of side costs one flip, with a plus at the very bottom."""

for case in range(1, int(input()) + 1):
    stack = input().strip() + "+"
    print(f"Case #{case}: {sum(a != b for a, b in zip(stack, stack[1:]))}")
