"""Start anew only when a run no longer fits on four keys."""

for case in range(1, int(input()) + 1):
    input()
    notes = list(map(int, input().split()))
    ups = downs = broken = 0
    for last, note in zip(notes, notes[1:]):
        if note > last:
            ups, downs = ups + 1, 0
        elif note < last:
            ups, downs = 0, downs + 1
        if max(ups, downs) > 3:
            broken += 1
            ups = downs = 0
    print(f"Case #{case}: {broken}")
