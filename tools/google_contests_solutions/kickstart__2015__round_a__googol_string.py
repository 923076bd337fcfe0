"""Every string is the last one, a 0, and its mirrored complement: walk back."""

for case in range(1, int(input()) + 1):
    place = int(input())
    flips = 0
    while place & (place - 1):
        place = 2 ** place.bit_length() - place
        flips += 1
    print(f"Case #{case}: {flips % 2}")
