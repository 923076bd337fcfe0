"""Numbers without 9, read in base nine: in every ten of them eight are legal."""


def legal_up_to(text):
    head, last = text[:-1] or "0", int(text[-1])
    digit_sum = sum(map(int, head))
    in_ten = sum((digit_sum + digit) % 9 != 0 for digit in range(last + 1))
    return int(head, 9) * 8 + in_ten


for case in range(1, int(input()) + 1):
    first, last = input().split()
    print(f"Case #{case}: {legal_up_to(last) - legal_up_to(first) + 1}")
