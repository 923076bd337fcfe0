"""Swap the last CS there is: it lowers the damage most."""


def damage(program):
    total, beam = 0, 1
    for instruction in program:
        if instruction == "C":
            beam *= 2
        else:
            total += beam
    return total


for case in range(1, int(input()) + 1):
    shield, program = input().split()
    hacks = 0
    while damage(program) > int(shield) and "CS" in program:
        i = program.rindex("CS")
        program = program[:i] + "SC" + program[i + 2 :]
        hacks += 1
    lost = damage(program) > int(shield)
    print(f"Case #{case}: {'IMPOSSIBLE' if lost else hacks}")
