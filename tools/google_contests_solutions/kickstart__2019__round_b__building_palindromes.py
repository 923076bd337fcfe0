"""A block can be a palindrome when at most one letter is there an odd number of times."""

for case in range(1, int(input()) + 1):
    n, questions = map(int, input().split())
    blocks = input().strip()
    parity = [0]
    for letter in blocks:
        parity.append(parity[-1] ^ 1 << ord(letter) - ord("A"))
    yes = 0
    for _ in range(questions):
        left, right = map(int, input().split())
        odd = parity[right] ^ parity[left - 1]
        yes += odd & (odd - 1) == 0
    print(f"Case #{case}: {yes}")
