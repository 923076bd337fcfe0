"""Lower the digit before the last descent; all after it become 9."""

for case in range(1, int(input()) + 1):
    digits = list(map(int, input().strip()))
    for i in range(len(digits) - 1, 0, -1):
        if digits[i - 1] > digits[i]:
            digits[i - 1] -= 1
            digits[i:] = [9] * (len(digits) - i)
    print(f"Case #{case}: {int(''.join(map(str, digits)))}")
