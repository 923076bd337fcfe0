"""What the system call filters promise, for every call there is and on both machines.

The filters are run here by a small interpreter of the kernel's filter language, so that
what they answer for each call and argument is looked at without making the call.
"""

from __future__ import annotations

import errno
import re
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corecode_env.executor.inside import seccomp
from corecode_env.executor.inside.syscalls import NUMBERS

ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
MACHINES = tuple(ARCHITECTURES)
ALLOW, KILL = 0x7FFF_0000, 0x8000_0000
REFUSE = 0x0005_0000 | errno.EPERM
PID = seccomp.OWN_PID
HIGHEST = 1024

LAYERS = {
    machine: (seccomp.base_code(machine), seccomp.seal_code(machine=machine))
    for machine in MACHINES
}

# Calls that no program may make, whatever the arguments: (x86-64, aarch64) numbers.
FORBIDDEN = {
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "socket": (41, 198),
    "connect": (42, 203),
    "accept": (43, 202),
    "bind": (49, 200),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "setsockopt": (54, 208),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "setpriority": (141, 140),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setfsuid": (122, 151),
    "setgroups": (116, 159),
    "capset": (126, 91),
    "setsid": (112, 157),
    "setpgid": (109, 154),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "flock": (73, 32),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "splice": (275, 76),
    "vmsplice": (278, 75),
    "tee": (276, 77),
    "fallocate": (285, 47),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_setup": (206, 0),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "openat2": (437, 437),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "reboot": (169, 142),
    "seccomp": (317, 277),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "timer_create": (222, 107),
    "timer_settime": (223, 110),
    "timer_delete": (226, 111),
    "timerfd_create": (283, 85),
    "signalfd4": (289, 74),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "truncate": (76, 45),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat2": (316, 276),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "mlock": (149, 228),
    "mlockall": (151, 230),
    "mincore": (27, 232),
    "membarrier": (324, 283),
    "personality": (135, 92),
    "arch_prctl": (158, None),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
}


def interpret(code: bytes, architecture: int, number: int, arguments: Sequence[int]) -> int:
    """Run a filter and return its answer."""
    data = struct.pack("=iIQ6Q", number, architecture, 0, *arguments)
    program = list(struct.iter_unpack("=HBBI", code))
    accumulator, at = 0, 0
    while True:
        operation, if_true, if_false, operand = program[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, operand)
            case 0x54:
                accumulator &= operand
            case 0x05:
                at += operand
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x06:
                return int(operand)
            case _:
                raise AssertionError(f"operation {operation:#x} at {at - 1}")


def answer(machine: str, number: int, *arguments: int) -> int:
    """Return what the kernel would answer a program: the strictest of both filters."""
    padded = [argument & 0xFFFF_FFFF_FFFF_FFFF for argument in arguments]
    padded += [0] * (6 - len(padded))
    answers = [
        interpret(code, ARCHITECTURES[machine], number, padded) for code in LAYERS[machine]
    ]
    # As in the kernel: actions are ordered as signed numbers, the smallest wins.
    return min(answers, key=lambda value: value ^ 0x8000_0000)


def named(machine: str, name: str, *arguments: int) -> int:
    return answer(machine, NUMBERS[machine][name], *arguments)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_call_is_refused(name: str, machine: str) -> None:
    number = FORBIDDEN[name][MACHINES.index(machine)]
    if number is None:
        pytest.skip(f"{machine} has no such call")
    for arguments in ((0,) * 6, (1,) * 6, (PID,) * 6, (2**64 - 1,) * 6):
        assert answer(machine, number, *arguments) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_rule_12_what_no_table_names_is_refused(machine: str) -> None:
    known = {NUMBERS[machine][n] for n in seccomp.PROGRAM if n in NUMBERS[machine]}
    unknown = set(range(HIGHEST)) - known - {NUMBERS[machine]["clone3"]}
    allowed_by_the_base_only = {
        NUMBERS[machine][n] for n in seccomp.ZYGOTE if n in NUMBERS[machine]
    }
    assert allowed_by_the_base_only - known <= unknown
    assert {answer(machine, number) for number in unknown} == {REFUSE}


@given(
    st.sampled_from(MACHINES),
    st.integers(0, HIGHEST),
    st.lists(
        st.one_of(
            st.integers(0, 2**64 - 1), st.integers(0, 16), st.sampled_from([PID, 2**31])
        ),
        min_size=6,
        max_size=6,
    ),
)
def test_the_two_filters_together_say_what_the_table_says(
    machine: str, number: int, arguments: list[int]
) -> None:
    by_number = {
        NUMBERS[machine][n]: a for n, a in seccomp.PROGRAM.items() if n in NUMBERS[machine]
    }
    action = by_number.get(number, REFUSE)
    if number == NUMBERS[machine]["clone3"]:
        action = 0x0005_0000 | errno.ENOSYS
    if isinstance(action, tuple):
        action = ALLOW if all(holds(check, arguments) for check in action) else REFUSE
    assert answer(machine, number, *arguments) == action


def holds(check: seccomp.Check, arguments: Sequence[int]) -> bool:
    value = arguments[check.argument] & 0xFFFF_FFFF
    if isinstance(check, seccomp.OneOf):
        return value in check.values
    if isinstance(check, seccomp.Masked):
        return value & check.mask == check.value
    return value < check.bound


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "architecture", [0x4000_0003, 0x4000_0028, 0xC000_003E, 0xC000_00B7, 0]
)
def test_another_architectures_calls_kill(machine: str, architecture: int) -> None:
    expected = {ALLOW} if architecture == ARCHITECTURES[machine] else {KILL}
    number = NUMBERS[machine]["read"]
    answers = {interpret(code, architecture, number, [0] * 6) for code in LAYERS[machine]}
    assert answers == expected


@pytest.mark.parametrize("number", [0, 1, 39, 57, 512, 547])
def test_x32_calls_kill(number: int) -> None:
    assert answer("x86_64", 0x4000_0000 | number) == KILL


CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND, CLONE_THREAD = (
    0x100,
    0x200,
    0x400,
    0x800,
    0x10000,
)
THREAD = 0x3D_0F00  # as glibc's pthread_create has it


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("flags", [THREAD, 0x7D_0F00])
def test_rule_12_a_thread_may_be_started(machine: str, flags: int) -> None:
    assert named(machine, "clone", flags) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "missing", [CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND, CLONE_THREAD]
)
def test_rule_12_clone_must_share_everything(machine: str, missing: int) -> None:
    assert named(machine, "clone", THREAD & ~missing) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("bit", range(32))
def test_rule_12_clone_may_carry_nothing_else(machine: str, bit: int) -> None:
    extra = 1 << bit
    if not extra & 0x7D_0F00:
        assert named(machine, "clone", THREAD | extra) == REFUSE
    assert named(machine, "clone", 17 | extra) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_clone3_does_not_exist_so_that_libc_uses_clone(machine: str) -> None:
    assert named(machine, "clone3", 0, 88) == 0x0005_0000 | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("domain", range(48))
def test_rule_12_socketpair_only_local_streams(machine: str, domain: int) -> None:
    for kind in range(11):
        expected = ALLOW if (domain, kind) == (1, 1) else REFUSE
        assert named(machine, "socketpair", domain, kind, 0) == expected
        assert named(machine, "socketpair", domain, kind | 0x80800) == expected
        assert named(machine, "socketpair", domain, kind, 1) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_rule_12_close_range_may_not_unshare(machine: str) -> None:
    assert [named(machine, "close_range", 3, 9, flags) for flags in range(8)] == [
        REFUSE if flags & 2 else ALLOW for flags in range(8)
    ]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["clock_gettime", "clock_getres", "clock_nanosleep"])
def test_rule_12_clocks_of_others_are_refused(machine: str, name: str) -> None:
    assert {named(machine, name, clock) for clock in range(12)} == {ALLOW}
    others = [12, 100, -1, -6, (~1 << 3) | 2, (~4321 << 3) | 6, 2**31, 2**32 - 1]
    assert {named(machine, name, clock) for clock in others} == {REFUSE}


@pytest.mark.parametrize("machine", MACHINES)
def test_rule_12_fcntl_has_no_locks_leases_owners_and_pipe_sizes(machine: str) -> None:
    allowed = [c for c in range(2048) if named(machine, "fcntl", 0, c) == ALLOW]
    assert allowed == [0, 1, 2, 3, 4, 1030]


@pytest.mark.parametrize("machine", MACHINES)
def test_ioctl_only_reads_a_pipe_and_sets_its_own_descriptor(machine: str) -> None:
    allowed = [c for c in range(0x1_0000) if named(machine, "ioctl", 0, c) == ALLOW]
    assert allowed == [0x5401, 0x541B, 0x5421, 0x5450, 0x5451]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["kill", "tgkill"])
def test_signals_reach_the_program_itself_only(machine: str, name: str) -> None:
    assert named(machine, name, PID) == ALLOW
    others = [0, 1, -1, -PID, PID + 1, 2**32 - 1]
    assert {named(machine, name, pid) for pid in others} == {REFUSE}


@pytest.mark.parametrize("machine", MACHINES)
def test_limits_of_others_are_out_of_reach(machine: str) -> None:
    assert named(machine, "prlimit64", 0) == ALLOW
    assert {named(machine, "prlimit64", pid) for pid in (1, PID, -1)} == {REFUSE}


@pytest.mark.parametrize("machine", MACHINES)
def test_prctl_only_names_a_thread(machine: str) -> None:
    allowed = [option for option in range(256) if named(machine, "prctl", option) == ALLOW]
    assert allowed == [15]


@pytest.mark.parametrize("machine", MACHINES)
def test_without_landlock_and_namespaces_no_path_is_looked_up(machine: str) -> None:
    seal = seccomp.seal_code(no_paths=True, machine=machine)
    for name in seccomp.PATH_CALLS:
        if name in NUMBERS[machine]:
            number = NUMBERS[machine][name]
            assert interpret(seal, ARCHITECTURES[machine], number, [0] * 6) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_the_zygote_keeps_what_it_needs(machine: str) -> None:
    base = LAYERS[machine][0]
    for name in seccomp.ZYGOTE:
        if name in NUMBERS[machine]:
            number = NUMBERS[machine][name]
            assert interpret(base, ARCHITECTURES[machine], number, [17] * 6) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_a_filter_is_short_to_search(machine: str) -> None:
    for code in LAYERS[machine]:
        assert len(code) // 8 < 4096, "the kernel's limit"
    # A balanced search: about two instructions a level.
    assert longest_path(LAYERS[machine][1]) < 30


def longest_path(code: bytes) -> int:
    """Return the largest number of instructions that any call may take."""
    program = list(struct.iter_unpack("=HBBI", code))
    longest = [0] * (len(program) + 1)
    for at in range(len(program) - 1, -1, -1):
        operation, if_true, if_false, operand = program[at]
        if operation == 0x06:
            longest[at] = 1
        elif operation == 0x05:
            longest[at] = 1 + longest[at + 1 + operand]
        elif operation in (0x15, 0x35):
            longest[at] = 1 + max(longest[at + 1 + if_true], longest[at + 1 + if_false])
        else:
            longest[at] = 1 + longest[at + 1]
    return longest[0]


HEADERS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    header = Path(HEADERS[machine])
    if not header.exists():
        pytest.skip("the kernel's headers are not installed")
    found = dict(
        re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", header.read_text(encoding="utf-8"))
    )
    if machine == "aarch64":
        found["newfstatat"] = found["fstatat"] if "fstatat" in found else found["newfstatat"]
    wrong = {n: v for n, v in NUMBERS[machine].items() if found.get(n) != str(v)}
    assert wrong == {}
