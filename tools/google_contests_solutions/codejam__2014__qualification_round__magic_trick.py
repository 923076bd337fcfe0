"""The card lies in both rows that were named."""


def read_row():
    row = int(input())
    return set([input().split() for _ in range(4)][row - 1])


for case in range(1, int(input()) + 1):
    cards = read_row() & read_row()
    if len(cards) == 1:
        answer = cards.pop()
    else:
        answer = "Bad magician!" if cards else "Volunteer cheated!"
    print(f"Case #{case}: {answer}")
