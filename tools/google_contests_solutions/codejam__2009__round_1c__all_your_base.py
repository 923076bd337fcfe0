"""The first symbol is 1, the next new one 0, then 2 and up, in the smallest base."""

for case in range(1, int(input()) + 1):
    text = input().strip()
    symbols = list(dict.fromkeys(text))
    base = max(2, len(symbols))
    digits = dict(zip(symbols, [1, 0, *range(2, base)]))
    seconds = 0
    for symbol in text:
        seconds = seconds * base + digits[symbol]
    print(f"Case #{case}: {seconds}")
