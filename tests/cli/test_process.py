"""What the installed command promises as a process: clean streams, exit codes, signals."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-W", "error", "-c", "from corecode_env.cli import main; main()"]
RIGHT = "def double(x):\n    return 2 * x\n"


def corecode(*args: object, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, args)], input=typed, capture_output=True, text=True, timeout=120
    )


def test_help_teaches_with_examples_and_exit_codes() -> None:
    done = corecode("--help")
    assert done.returncode == 0
    assert "corecode play" in done.stdout
    assert "130" in done.stdout
    for command in ("judge", "play", "doctor", "tasks"):
        assert "corecode " + command in corecode(command, "--help").stdout


def test_results_go_to_stdout_and_nothing_else_does(source: Path) -> None:
    done = corecode("judge", source, "double", "-", "--json", typed=RIGHT)
    assert done.returncode == 0
    assert json.loads(done.stdout)["passed"] is True
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("tasks", "list"), 0),
        (("tasks", "list", "no-such-set"), 2),
        (("no-such-command",), 2),
        (("judge",), 2),
    ],
)
def test_exit_codes_are_those_that_help_documents(args: tuple[str, ...], code: int) -> None:
    done = corecode(*args)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_a_closed_pipe_ends_it_quietly(source: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "tasks", "show", "mbpp", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_text_that_has_no_utf8_form_is_shown_all_the_same(source: Path) -> None:
    record = json.loads(source.read_text().splitlines()[0])
    source.write_text(json.dumps({**record, "statement": "lone \ud800 \u00e9"}) + "\n")
    done = corecode("tasks", "show", source)
    assert done.returncode == 0, done.stderr
    assert r"lone \ud800" in done.stdout


def test_a_bar_appears_on_a_slow_job_and_takes_nothing_from_stdout(source: Path) -> None:
    slow = {"task_id": "echo", "program": "import time; time.sleep(1); print(input())"}
    ours, theirs = pty.openpty()
    shown: list[bytes] = []
    # Read all the time: a terminal that nobody reads from stops its writers.
    reader = threading.Thread(target=read_all, args=(ours, shown))
    reader.start()
    try:
        done = subprocess.run(
            [*COMMAND, "judge", str(source), "--programs", "-", "--json", "--workers", "1"],
            input=2 * (json.dumps(slow) + "\n"),
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
            timeout=120,
        )
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
    assert done.returncode == 0
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["AC", "AC"]
    assert b"judging" in b"".join(shown)


def read_all(terminal: int, chunks: list[bytes]) -> None:
    try:
        while chunk := os.read(terminal, 1 << 16):
            chunks.append(chunk)
    except OSError:
        pass  # how Linux says that the other end of a terminal is closed


def test_ctrl_c_ends_it_with_130_and_leaves_no_process(source: Path) -> None:
    endless = "def double(x):\n    import time\n    time.sleep(1000)\n"
    record = json.loads(source.read_text().splitlines()[0])
    # However busy the machine: the limit must not end the program before the signal does.
    source.write_text(json.dumps({**record, "limits": {"wall_seconds": 900}}) + "\n")
    program = source.with_name("endless.py")
    program.write_text(endless)
    # A shell's background jobs, these tests perhaps among them, start with SIGINT ignored.
    *python, code = COMMAND
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {code}"
    with subprocess.Popen(
        [*python, code, "judge", str(source), "double", str(program)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_for_descendants(process.pid)
        family = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        try:
            _, stderr = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.returncode == 130
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    deadline = time.monotonic() + 10
    while any(map(is_alive, family)):
        assert time.monotonic() < deadline, "a process outlived the command"
        os.sched_yield()


def wait_for_descendants(pid: int) -> None:
    """Wait until the command has a grandchild: a program is running."""
    deadline = time.monotonic() + 60
    while not any(descendants(child) for child in children(pid)):
        assert time.monotonic() < deadline, "no program was started"
        os.sched_yield()


def children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        lists = [(task / "children").read_text().split() for task in tasks]
    except FileNotFoundError:
        return []
    return [int(child) for found in lists for child in found]


def descendants(pid: int) -> list[int]:
    return [d for child in children(pid) for d in (child, *descendants(child))]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
