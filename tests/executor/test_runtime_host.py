"""What the executor promises its host: it disturbs nothing and leaves nothing behind.

Each scene is a trainer of its own: a script in a fresh interpreter with every warning an
error, which must end by itself, silently, and leave no process behind.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

PROLOGUE = """
import os, signal, sys, threading, time
from pathlib import Path
from corecode_env.core.task import Limits, Stdio, StdioTest, Task
from corecode_env.executor import LocalExecutor

def children(of=None):
    found = set()
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                fields = Path(f'/proc/{entry}/stat').read_text().rpartition(')')[2].split()
            except OSError:
                continue
            if int(fields[1]) == (of or os.getpid()) and fields[0] != 'Z':
                found.add(int(entry))
    return found

def namespaces(pid):
    lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    return len(next(line for line in lines if line.startswith('NSpid:')).split())

def programs(first):
    # What the trainer starts may only wait for the zygote, which then has a namespace.
    below = children(of=first)
    if any(namespaces(pid) > namespaces(first) for pid in below):
        return set().union(*(children(of=zygote) for zygote in below))
    return below

def descriptors():
    return len(os.listdir('/proc/self/fd'))

TASK = Task('t', '', Stdio(), hidden_tests=(StdioTest('1 2', '3'),), limits=Limits(wall_seconds=30))
RIGHT = 'print(sum(map(int, input().split())))'
SLOW = 'import time; time.sleep(0.5); ' + RIGHT
LOOK_AROUND = '''
import os, signal, sys
open_ones = []
for number in range(3, 1024):
    try: os.fstat(number); open_ones.append(number)
    except OSError: pass
assert not open_ones, open_ones
assert 'CANARY' not in os.environ
assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])
assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
assert sys.argv == ['main.py']
assert not any('corecode' in name for name in sys.modules)
assert os.getcwd() == '/'
print(3)
'''
"""


def run_trainer(scene: str, *, seconds: float = 90) -> str:
    """Run a scene to its end and return what it printed."""
    done = subprocess.run(
        trainer(scene), capture_output=True, text=True, timeout=seconds, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def trainer(scene: str) -> list[str]:
    source = PROLOGUE + textwrap.dedent(scene)
    return [sys.executable, "-X", "dev", "-W", "error", "-c", source]


def assert_gone(pids: str | list[int], seconds: float = 10.0) -> None:
    """Check that processes end within some seconds."""
    numbers = [int(pid) for pid in pids.split()] if isinstance(pids, str) else pids
    assert numbers, "the scene must name the processes that it had"
    for pid in numbers:
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            gone, _, _ = select.select([pidfd], [], [], seconds)
        finally:
            os.close(pidfd)
        assert gone, f"process {pid} is still there"


@contextmanager
def running(scene: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        trainer(scene),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_close_ends_every_process_and_every_descriptor() -> None:
    pids = run_trainer("""
        before = descriptors()
        with LocalExecutor(2) as executor:
            for _ in range(20):
                assert executor.judge(TASK, RIGHT).passed
            print(*children())
        assert not children() and descriptors() == before
    """)
    assert_gone(pids)


@pytest.mark.parametrize(
    "last", ["pass", "del executor", "executor = None; import gc; gc.collect()"]
)
def test_an_executor_that_nobody_closes_ends_with_its_trainer(last: str) -> None:
    pids = run_trainer(f"""
        executor = LocalExecutor(2)
        assert executor.judge(TASK, RIGHT).passed
        print(*children())
        {last}
    """)
    assert_gone(pids)


def test_a_batch_that_is_left_open_does_not_hold_up_the_end() -> None:
    pids = run_trainer("""
        executor = LocalExecutor(2)
        results = executor.map((TASK, RIGHT) for _ in iter(int, 1))
        assert next(results).passed
        print(*children())
    """)
    assert_gone(pids)


def test_zygotes_end_when_their_trainer_is_killed() -> None:
    scene = """
        executor = LocalExecutor(2)
        assert executor.judge(TASK, RIGHT).passed
        print(*children(), flush=True)
        executor.judge(TASK, 'import time; time.sleep(60)')
    """
    with running(scene) as process:
        assert process.stdout is not None
        pids = process.stdout.readline()
        process.kill()
        assert_gone(pids)


def test_a_trainer_that_ignores_its_childrens_ends_is_served() -> None:
    run_trainer("""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        with LocalExecutor(1) as executor:
            assert executor.judge(TASK, RIGHT).passed
        assert not children()
    """)


def test_a_trainer_that_reaps_every_child_is_served() -> None:
    run_trainer("""
        def reap(*_):
            try:
                while os.waitpid(-1, os.WNOHANG)[0]: pass
            except ChildProcessError: pass
        signal.signal(signal.SIGCHLD, reap)
        with LocalExecutor(1) as executor:
            assert executor.judge(TASK, RIGHT).passed
        assert executor.isolation().level
    """)


def test_an_interrupt_to_the_group_does_not_reach_programs() -> None:
    run_trainer("""
        os.setsid()
        seen = []
        signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        with LocalExecutor(1) as executor:
            assert executor.judge(TASK, RIGHT).passed
            threading.Timer(0.2, os.killpg, (os.getpgrp(), signal.SIGINT)).start()
            assert executor.judge(TASK, SLOW).passed
        assert seen
    """)


def test_an_interrupt_of_the_trainer_ends_its_judging_cleanly() -> None:
    run_trainer("""
        # A shell's background jobs start with SIGINT ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with LocalExecutor(1) as executor:
            assert executor.judge(TASK, RIGHT).passed
            before = descriptors()
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                executor.judge(TASK, 'import time; time.sleep(60)')
            except KeyboardInterrupt:
                pass
            else:
                raise AssertionError('the interrupt was lost')
            assert executor.judge(TASK, RIGHT).passed
            assert descriptors() == before
    """)


def test_a_forked_trainer_gets_processes_of_its_own() -> None:
    run_trainer("""
        executor = LocalExecutor(1)
        assert executor.judge(TASK, RIGHT).passed
        before = children()
        child = os.fork()
        if child == 0:
            assert executor.judge(TASK, RIGHT).passed
            assert children() and not children() & before
            executor.close()
            os._exit(0 if not children() else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert executor.judge(TASK, RIGHT).passed
        assert children() == before
        executor.close()
    """)


def test_a_fork_beside_busy_threads_leaves_both_sides_working() -> None:
    run_trainer("""
        import warnings
        warnings.simplefilter('ignore', DeprecationWarning)  # fork with threads, on purpose
        executor = LocalExecutor(2)
        assert executor.judge(TASK, RIGHT).passed
        results = executor.map((TASK, RIGHT) for _ in range(200))
        next(results)
        for _ in range(5):
            child = os.fork()
            if child == 0:
                try:
                    next(results)
                except Exception as error:
                    told = 'forked child' in str(error)
                passed = executor.judge(TASK, RIGHT).passed
                executor.close()
                os._exit(0 if told and passed else 1)
            assert os.waitpid(child, 0)[1] == 0
        assert all(judgement.passed for judgement in results)
        executor.close()
    """)


def test_a_worker_of_multiprocessing_may_use_the_executor_it_inherits() -> None:
    run_trainer("""
        import multiprocessing
        executor = LocalExecutor(1)
        def work(queue):
            queue.put(executor.judge(TASK, RIGHT).passed)
        assert executor.judge(TASK, RIGHT).passed
        fork = multiprocessing.get_context('fork')
        queue = fork.Queue()
        worker = fork.Process(target=work, args=(queue,))
        worker.start()
        assert queue.get() is True
        worker.join()
        assert worker.exitcode == 0
        executor.close()
    """)


# ------------------------------------------------------------------- dead zygotes
def test_a_job_whose_zygote_dies_is_run_again() -> None:
    run_trainer("""
        with LocalExecutor(1) as executor:
            assert executor.judge(TASK, RIGHT).passed
            (zygote,) = children()
            threading.Timer(0.2, os.kill, (zygote, signal.SIGKILL)).start()
            judgement = executor.judge(TASK, SLOW)
            assert judgement.passed, judgement
            assert zygote not in children()
    """)


def test_a_job_whose_zygote_dies_twice_says_nothing_about_the_program() -> None:
    run_trainer("""
        def kill():
            while not done:
                for zygote in children():
                    try:
                        before = programs(zygote)
                        time.sleep(0.1)  # what a zygote tries while it starts is over soon
                        if before & programs(zygote):
                            os.kill(zygote, signal.SIGKILL)
                    except (FileNotFoundError, ProcessLookupError):
                        pass  # it has ended while it was looked at
        done = []
        with LocalExecutor(1) as executor:
            assert executor.judge(TASK, RIGHT).passed
            killer = threading.Thread(target=kill)
            killer.start()
            judgement = executor.judge(TASK, 'import time; time.sleep(20)')
            done.append(1)
            killer.join()
            assert judgement.verdict.value == 'SE' and not judgement.valid, judgement
            assert executor.judge(TASK, RIGHT).passed
    """)


def test_programs_die_with_their_zygote() -> None:
    pids = run_trainer("""
        with LocalExecutor(1) as executor:
            assert executor.judge(TASK, RIGHT).passed
            (zygote,) = children()
            def kill():
                time.sleep(0.3)
                print(*programs(zygote))
                os.kill(zygote, signal.SIGKILL)
            threading.Thread(target=kill).start()
            assert executor.judge(TASK, SLOW).passed
    """)
    assert_gone(pids)


# --------------------------------------------------------------- what is inherited
def test_a_program_sees_nothing_of_its_trainer() -> None:
    run_trainer("""
        os.environ['CANARY'] = 'canary'
        secret = os.open('/etc/hostname', os.O_RDONLY)
        os.set_inheritable(secret, True)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        with LocalExecutor(1) as executor:
            judgement = executor.judge(TASK, LOOK_AROUND)
            assert judgement.passed, judgement
    """)


def test_a_trainer_with_very_many_descriptors_is_served() -> None:
    run_trainer("""
        import resource
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        held = [os.open('/dev/null', os.O_RDONLY) for _ in range(min(hard, 4096) - 200)]
        with LocalExecutor(1) as executor:
            assert executor.judge(TASK, RIGHT).passed
    """)


def test_a_closed_standard_input_does_not_matter() -> None:
    run_trainer("""
        os.close(0)
        with LocalExecutor(1) as executor:
            assert executor.judge(TASK, RIGHT).passed
    """)


def test_the_refusal_of_weak_isolation_names_the_way_out() -> None:
    run_trainer("""
        from corecode_env.core.errors import BadConfig, IsolationRefused
        from corecode_env.executor import isolation, local
        weak = isolation.IsolationReport('L1', {}, '', 0, isolation.SelfTestReport())
        local._report_of_process.append(weak)
        try:
            LocalExecutor(1).judge(TASK, RIGHT)
        except IsolationRefused as error:
            assert 'LocalExecutor(min_isolation="L1")' in str(error)
        else:
            raise AssertionError('L1 was accepted as L2')
        with LocalExecutor(1, min_isolation='L1') as executor:
            assert executor.judge(TASK, RIGHT).isolation == 'L1'
        for bad in ({'min_isolation': 'L9'}, {'workers': 0}, {'workers': True}):
            try:
                LocalExecutor(**bad)
            except BadConfig as error:
                assert str(list(bad.values())[0]) in str(error)
            else:
                raise AssertionError(bad)
    """)


def test_a_preloaded_module_that_does_not_exist_is_named() -> None:
    run_trainer("""
        from corecode_env.core.errors import ExecutorError
        try:
            LocalExecutor(1, preload=('no_such_module',)).judge(TASK, RIGHT)
        except ExecutorError as error:
            assert 'no_such_module' in str(error)
        else:
            raise AssertionError('accepted')
    """)
