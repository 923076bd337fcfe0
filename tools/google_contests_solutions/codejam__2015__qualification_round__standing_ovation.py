"""Invite a friend whenever too few people stand."""

for case in range(1, int(input()) + 1):
    _, audience = input().split()
    standing = friends = 0
    for shyness, people in enumerate(map(int, audience)):
        if standing < shyness:
            friends += shyness - standing
            standing = shyness
        standing += people
    print(f"Case #{case}: {friends}")
