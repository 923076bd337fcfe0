"""What a program with a folder to write in cannot do, whoever runs the sandbox.

It cannot fill the disk, leave anything for the next program, reach another place, or make
anything but plain files and folders. The same programs run as every kind of user.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from corecode_env.executor import LocalExecutor

RunAll = Callable[[str, Sequence[Mapping[str, Any]]], dict[str, Any]]
WRITERS = (
    "as_we_are",
    "as_an_ordinary_user",
    "as_root_of_a_container",
    "as_user_of_a_container",
    "without_landlock",
    "as_root_with_a_public_interpreter",
    "as_root_of_a_container_with_a_public_interpreter",
)
LIMIT = 2**20

# Ended by the sandbox, since more lies in the folder than may.
TOO_MUCH = {
    "many_files_of_some_size": """
        for n in range(10**9):
            with open(str(n), 'wb') as file: file.write(bytes(2**16))
    """,
    "ten_thousand_files": """
        for n in range(10_000): open(str(n), 'w').close()
        time.sleep(5)
    """,
    "ten_thousand_folders": """
        for n in range(10_000): os.mkdir(str(n))
        time.sleep(5)
    """,
    "a_tree_of_ten_thousand_levels": """
        for n in range(10_000):
            os.mkdir('d')
            os.chdir('d')
        time.sleep(5)
    """,
    "a_folder_that_nobody_may_list": """
        os.mkdir('hidden', 0o300)
        for n in range(10**9):
            with open(f'hidden/{n}', 'wb') as file: file.write(bytes(2**16))
    """,
    "more_files_with_holes_than_bytes": """
        for n in range(3): os.truncate(os.open(str(n), os.O_CREAT | os.O_RDWR), 700_000)
        time.sleep(5)
    """,
    "too_much_just_before_the_end": """
        for n in range(3):
            with open(str(n), 'wb') as file: file.write(bytes(500_000))
        os._exit(0)
    """,
}

# Each line must fail; the program prints those that do not.
REFUSED = {
    "links_and_special_files": """
        os.symlink('/etc/passwd', 'link')
        os.link('file', 'link')
        os.link('/etc/hostname', 'link')
        os.mkfifo('fifo')
        os.mknod('fifo', 0o010644)
        os.mknod('device', 0o020666, os.makedev(1, 5))
        socket.socket(socket.AF_UNIX).bind('socket')
        os.open('/proc/self/fd/1', os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    """,
    "modes_and_owners": """
        os.chmod('file', 0o777)
        os.fchmod(own, 0o777)
        os.chmod('.', 0o777)
        os.chown('file', 0, 0)
        os.setxattr('file', 'user.a', b'b')
        os.open('setuid', os.O_CREAT | os.O_RDWR, 0o4755)
        os.open('setgid', os.O_CREAT | os.O_RDWR, 0o2755)
    """,
    "other_places": """
        open('../file', 'w')
        open('/file', 'w')
        open('/tmp/file', 'w')
        open('/dev/shm/file', 'w')
        open('@SECRET@', 'a')
        open('@SECRET@')
        os.open('@SECRET@', os.O_RDONLY | os.O_TRUNC)
        os.mkdir('../folder')
        os.mkdir('/tmp/folder')
        os.unlink('@SECRET@')
        os.rename('file', '../file')
        os.rename('file', '@SECRET@')
        os.rename('@SECRET@', 'stolen')
        os.rename('file', '/tmp/file')
        os.rmdir(os.getcwd())
        os.rename(os.getcwd(), os.path.join(os.path.dirname(os.getcwd()), 'other'))
        open('/etc/passwd')
        os.listdir('..')
        os.unlink(os.__file__)
    """,
    "code_from_the_folder": """
        ctypes.CDLL('./file')
        os.execv('./file', ['file'])
        os.posix_spawn('./file', ['file'], {})
        mmap.mmap(own, 4096)
        mmap.mmap(own, 4096, flags=mmap.MAP_PRIVATE)
        mmap.mmap(own, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
    """,
    "a_file_larger_than_the_limit": """
        os.pwrite(own, b'x', 2**20)
        os.ftruncate(own, 2**20 + 1)
        os.pwrite(own, b'x', 2**40)
    """,
    "waiting_for_locks_and_signals_by_files": """
        fcntl.fcntl(own, fcntl.F_SETLKW, bytes(32))
        fcntl.fcntl(own, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(own, fcntl.F_NOTIFY, 1)
        fcntl.fcntl(own, fcntl.F_SETOWN, 1)
        fcntl.fcntl(own, 36, bytes(32))
        fcntl.flock(own, fcntl.LOCK_EX)
    """,
}

# Leaves something that is hard to remove, and ends well.
LEFT = {
    "modes": """
        os.close(os.open('none', os.O_CREAT | os.O_WRONLY, 0))
        os.mkdir('wall', 0o700)
        os.mkdir('wall/inner', 0o700)
        open('wall/inner/file', 'w').close()
        os.mkdir('wall/none', 0)
    """,
    "names": r"""
        for name in (b'\xff\xfe', b'-rf', b'a\nb', b' ', b'*', b'x' * 255, b'\\', b'..x'):
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
            os.mkdir(name[:200] + b'.d')
    """,
    "a_tree": """
        here = ''
        for level in range(18):
            here = os.path.join(here, 'y' * 250)
            os.mkdir('y' * 250)
            os.chdir('y' * 250)
            open('file', 'w').close()
    """,
    "renamed_over_each_other": """
        open('a', 'w').write('a')
        open('b', 'w').write('b')
        os.rename('a', 'b')
        os.mkdir('c')
        os.replace('b', 'c/b')
        os.mkdir('d')
        os.rename('c', 'd')
        assert open('d/b').read() == 'a'
    """,
    "an_open_and_deleted_file": """
        file = open('gone', 'wb')
        os.unlink('gone')
        file.write(bytes(1000))
    """,
}

HEAD = """
import ctypes, errno, fcntl, json, mmap, os, socket, sys, time
assert os.listdir('.') == [], os.listdir('.')
"""
TRY = (
    HEAD
    + """
open('file', 'wb').write(bytes(8192))
own = os.open('file', os.O_RDWR)
done = []
for line in LINES:
    try:
        exec(line)
    except (OSError, PermissionError):
        continue
    done.append(line)
print(json.dumps(done))
"""
)


def program(source: str) -> str:
    return HEAD + textwrap.dedent(source)


def trying(source: str) -> str:
    lines = [line.strip() for line in source.strip().splitlines()]
    return f"LINES = {lines!r}\n{TRY}"


@pytest.fixture(scope="module", params=WRITERS)
def answer(request: pytest.FixtureRequest, write_as: RunAll) -> dict[str, Any]:
    """Run everything in one slot, so that each program is the next one's predecessor."""
    programs = {
        **{name: program(source) for name, source in TOO_MUCH.items()},
        **{name: trying(source) for name, source in REFUSED.items()},
        **{name: program(source) for name, source in LEFT.items()},
        "hidden_bytes": HIDDEN,
        "honest": HONEST,
    }
    runs = [
        {"id": name, "program": text, "scratch_bytes": LIMIT}
        for name, text in programs.items()
    ]
    if request.param == "without_landlock" and not private_root():
        pytest.skip("this machine gives no private root, which is Landlock's stand-in")
    found = write_as(request.param, runs)
    assert "refused" not in found, found
    return found


def private_root() -> bool:
    """Return whether the sandbox can have a root folder of its own here."""
    with LocalExecutor(1, min_isolation="L0") as executor:
        return executor.isolation().layers["private_root"] == "on"


HIDDEN = program("""
    kept = []
    try:
        while True:
            kept.append(os.open('file', os.O_CREAT | os.O_RDWR))
            os.unlink('file')
    except OSError as error:
        assert error.errno == errno.EMFILE
    os.write(1, str(len(kept)).encode())
""")
HONEST = program("""
    import csv, shelve, sqlite3, tempfile, zipfile
    os.makedirs('a/b')
    with open('a/b/c.csv', 'w', newline='') as file: csv.writer(file).writerow([1, 2])
    with zipfile.ZipFile('z.zip', 'w') as archive: archive.write('a/b/c.csv')
    with zipfile.ZipFile('z.zip') as archive: archive.extractall('out')
    assert open('out/a/b/c.csv').read() == '1,2\\n'
    base = sqlite3.connect('base.db')
    base.execute('create table t (x)')
    base.execute('insert into t values (1)')
    base.commit()
    assert sqlite3.connect('base.db').execute('select x from t').fetchall() == [(1,)]
    with tempfile.TemporaryDirectory() as folder:
        assert os.path.dirname(folder) == os.getcwd()
    with open('file', 'w') as file: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.remove('base.db')
    print(sorted(os.listdir('.')))
""")


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_program_that_fills_its_folder_is_ended(answer: dict[str, Any], name: str) -> None:
    outcome = answer["outcomes"][name]
    assert outcome["verdict"] == "OLE", outcome


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_but_plain_files_and_nowhere_else(answer: dict[str, Any], name: str) -> None:
    outcome = answer["outcomes"][name]
    assert outcome["verdict"] is None, outcome
    assert json.loads(outcome["stdout"]) == []


@pytest.mark.parametrize("name", [*LEFT, "honest"])
def test_what_is_allowed_works(answer: dict[str, Any], name: str) -> None:
    outcome = answer["outcomes"][name]
    # A folder that its owner may not list cannot be watched, save by root.
    allowed = (None, "OLE") if name == "modes" else (None,)
    assert outcome["verdict"] in allowed and outcome["stderr"] == "", outcome


def test_honest_files_are_where_they_were_written(answer: dict[str, Any]) -> None:
    assert answer["outcomes"]["honest"]["stdout"] == "['a', 'file', 'out', 'z.zip']\n"


def test_deleted_files_that_stay_open_are_few(answer: dict[str, Any]) -> None:
    assert 0 < int(answer["outcomes"]["hidden_bytes"]["stdout"]) < 32


def test_nothing_is_left_after_any_program_nor_after_the_last(answer: dict[str, Any]) -> None:
    assert answer["while_open"] == []
    assert answer["at_the_end"] == ["secret"]
    assert answer["secret"] == "a secret"


def test_without_anything_that_confines_it_a_task_with_a_folder_is_refused(
    write_as: RunAll,
) -> None:
    run = {"id": "x", "program": "print(1)", "scratch_bytes": LIMIT}
    found = write_as("without_landlock_and_namespaces", [run])
    assert "needs seccomp, and Landlock or a private root" in found["refused"]
