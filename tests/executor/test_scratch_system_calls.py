"""What the filter of programs with a folder to write in promises, on both machines.

Run by the interpreter of filters that `test_floor_system_calls` uses.
"""

from __future__ import annotations

import pytest

from corecode_env.executor.inside import seccomp
from corecode_env.executor.inside.syscalls import NUMBERS
from tests.executor.test_floor_system_calls import (
    ALLOW,
    ARCHITECTURES,
    HIGHEST,
    MACHINES,
    REFUSE,
    interpret,
)

MAP_SHARED, MAP_PRIVATE, MAP_ANONYMOUS = 1, 2, 0x20
CREATE = 0o100


def filters(machine: str, *, scratch: bool) -> tuple[bytes, bytes]:
    base = seccomp.base_code(machine, scratch=scratch)
    return base, seccomp.seal_code(scratch=scratch, machine=machine)


def answer(machine: str, number: int, *arguments: int, scratch: bool = True) -> int:
    padded = [*arguments, *(0 for _ in range(6 - len(arguments)))]
    answers = [
        interpret(code, ARCHITECTURES[machine], number, padded)
        for code in filters(machine, scratch=scratch)
    ]
    return min(answers, key=lambda value: value ^ 0x8000_0000)


@pytest.mark.parametrize("machine", MACHINES)
def test_only_the_named_calls_are_added_and_only_mapping_of_files_is_taken(
    machine: str,
) -> None:
    names = {number: name for name, number in NUMBERS[machine].items()}
    changed = {
        names[number]
        for number in range(HIGHEST)
        if answer(machine, number) != answer(machine, number, scratch=False)
    }
    added = "mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2".split()
    assert changed == {"mmap", *(name for name in added if name in NUMBERS[machine])}


@pytest.mark.parametrize("machine", MACHINES)
def test_files_can_be_locked_but_not_waited_for(machine: str) -> None:
    number = NUMBERS[machine]["fcntl"]
    allowed = [c for c in range(2048) if answer(machine, number, 0, c) == ALLOW]
    assert allowed == [0, 1, 2, 3, 4, 5, 6, 1030]


@pytest.mark.parametrize("machine", MACHINES)
def test_a_rename_has_no_flags(machine: str) -> None:
    number = NUMBERS[machine]["renameat2"]
    answers = [answer(machine, number, 3, 0, 3, 0, flags) for flags in (0, 1, 2, 4, 2**31)]
    assert answers == [ALLOW, REFUSE, REFUSE, REFUSE, REFUSE]


@pytest.mark.parametrize("machine", MACHINES)
def test_memory_can_be_mapped_and_files_cannot(machine: str) -> None:
    number = NUMBERS[machine]["mmap"]
    for flags in (MAP_SHARED, MAP_PRIVATE):
        assert answer(machine, number, 0, 4096, 3, flags, 3) == REFUSE
        assert answer(machine, number, 0, 4096, 3, flags | MAP_ANONYMOUS, 2**64 - 1) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("name", "place"), [("open", 2), ("openat", 3)])
def test_no_file_is_made_that_lends_its_owner(machine: str, name: str, place: int) -> None:
    number = NUMBERS[machine].get(name)
    if number is None:
        pytest.skip(f"{machine} has no such call")
    for mode in range(0o10000):
        arguments = [CREATE] * place + [mode]
        expected = REFUSE if mode & 0o6000 else ALLOW
        assert answer(machine, number, *arguments) == expected
