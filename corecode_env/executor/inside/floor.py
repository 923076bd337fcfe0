"""Floor: everything that stands between a program and the machine.

    zygote:  Floor.prepare(settings)       once: what every program shares
    child:   floor.enter(limits)           after the fork, before the source is compiled
             floor.seal()                  last, before the program's first instruction

What can be installed in the zygote is installed there, since each new page that a child
touches costs more than a system call. Layers that the machine refuses are left out and
say why in `layers`; whether what is left suffices is decided elsewhere, after attacks
have been tried on it.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import math
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from corecode_env.executor.inside import landlock, linux, namespaces, readable, seccomp

ON: Final = "on"
OFF: Final = "switched off"

_MAX_OPEN_FILES: Final = 32
_MAX_THREADS: Final = 64
_MAX_PENDING_SIGNALS: Final = 64
_VIRTUAL_SLACK: Final = 64 << 20  # stacks and arenas that are reserved but never touched
_OOM_FIRST: Final = "1000"
_NONE_AT_ALL: Final = ("CORE", "MEMLOCK", "MSGQUEUE", "NICE", "RTPRIO")
_WIDE: Final = """
argparse array ast asyncio base64 binascii bisect bz2 calendar cmath cmd codecs
collections.abc concurrent.futures concurrent.futures.thread contextvars copyreg csv ctypes
ctypes.util datetime decimal difflib dis doctest encodings.ascii encodings.cp1252
encodings.idna encodings.latin_1 encodings.utf_16 encodings.utf_32 encodings.utf_8_sig fcntl
fileinput fnmatch getopt getpass gettext glob graphlib gzip hashlib hmac html html.parser
http importlib.resources inspect io ipaddress itertools json keyword locale logging lzma
mmap multiprocessing multiprocessing.shared_memory pathlib pickle pickletools platform
pprint profile cProfile pstats random re reprlib resource sched secrets select selectors
shelve shlex shutil signal socket sqlite3 ssl stat statistics string subprocess symtable
sysconfig tempfile termios textwrap timeit token tokenize tomllib typing unicodedata
unittest unittest.mock urllib.parse urllib.request uuid warnings wave weakref
xml.etree.ElementTree zipfile zlib zoneinfo
""".split()
_WIDE_NUMPY: Final = "numpy.fft numpy.linalg numpy.ma numpy.polynomial numpy.random".split()


@dataclass(frozen=True, slots=True)
class FloorSettings:
    """What the parent decides about a zygote's floor."""

    readable: tuple[str, ...] = ()
    """Paths of packages that programs may read, besides the standard library."""
    namespaces: bool = True
    private_uid: int | None = None
    """User number of this zygote's programs; only root can give one."""
    scratch: str | None = None
    """Folder in which programs may write; None: they write nowhere."""
    disabled: frozenset[str] = frozenset()
    """Layers to leave out, by name: for trying what stands in for them."""


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What one program may use."""

    cpu_seconds: float
    memory_bytes: int
    """Memory above the bare interpreter's."""
    file_bytes: int
    """Largest file that may be written; pipes are not files."""
    stack_bytes: int


class Floor:
    """The floor of one zygote.

    Attributes:
        layers: "on" or the reason why not, by layer.
        landlock_abi: Version of Landlock in force, 0 if it is off.
    """

    def __init__(self, settings: FloorSettings) -> None:
        """Start with nothing installed; use `prepare`."""
        self.layers: dict[str, str] = {}
        self.landlock_abi = 0
        self._settings = settings
        self._zygote = os.getpid()
        self._uid: int | None = None
        self._keeps_roots_files = False
        self._keep_setuid = linux.prepared_capabilities(1 << linux.CAP_SETUID)
        self._open_as_root = linux.prepared("setfsuid", ctypes.c_uint(0))
        self._drop_all = linux.prepared_capabilities(0)
        self._seal: seccomp.Filter | None = None
        self._shows_processes = False
        self._scratch = settings.scratch
        self._virtual_bytes = self._data_bytes = 0
        self._hard: dict[int, int] = {}
        self._timer = _CpuTimer()
        self._die_with_zygote = linux.prepared(
            "prctl", ctypes.c_long(linux.PR_SET_PDEATHSIG), ctypes.c_long(signal.SIGKILL)
        )

    @classmethod
    def prepare(cls, settings: FloorSettings) -> Floor:
        """Install, in the zygote, what all its programs share.

        Comes after the zygote has imported what it preloads: from here on it can open
        only what programs can, and make only the system calls of `seccomp.ZYGOTE`.

        Args:
            settings: What the parent decided.
        """
        floor = cls(settings)
        _start_over()
        floor._try("first_out_of_memory", _die_first_when_memory_ends)
        if linux.SUPPORTED:
            floor._virtual_bytes, floor._data_bytes = _sizes()
            floor._shows_processes = (
                bool(landlock.abi()) and "landlock" not in settings.disabled
            )
            floor._enter_namespaces()
            floor._choose_user()
            if floor.layers["pid_namespace"] == ON:
                # After the change of user, which clears it.
                linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
            floor._limit_for_good()
            floor._try("no_new_privs", lambda: linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1))
            floor._try("landlock", floor._lock_files)
            floor._filter_calls()
        else:
            floor._limit_for_good()
        floor._check_scratch()
        return floor

    def enter(self, limits: ChildLimits) -> None:
        """Bind the child, whose descriptors are in order, to its limits.

        Args:
            limits: What the program may use, counted from here on.

        Raises:
            OSError: If a layer that the zygote found working fails now.
        """
        if self._uid is not None:
            self._become(self._uid)
        if linux.SUPPORTED:
            # A change of user clears it, so it comes after.
            if linux.syscall(*self._die_with_zygote) < 0:
                raise linux.failure("prctl(PR_SET_PDEATHSIG)")
        if os.getppid() != self._zygote:
            raise OSError("the zygote ended while its child was being set up")
        if self.layers["rlimits"] == ON:
            self._limit(limits)
        if self._scratch is not None:
            os.chdir(self._scratch)

    def seal(self) -> None:
        """Take away every system call that programs have no need of.

        Raises:
            OSError: If the kernel refuses.
        """
        if self._seal is not None:
            self._seal.install()

    def _try(self, name: str, install: Callable[[], str | None]) -> bool:
        """Install a layer and note how it went; the installer may return a reason."""
        if name in self._settings.disabled:
            self.layers[name] = OFF
        else:
            try:
                self.layers[name] = install() or ON
            except OSError as error:
                self.layers[name] = str(error)
        return self.layers[name] == ON

    def _enter_namespaces(self) -> None:
        settings = self._settings
        if not settings.namespaces:
            for name in namespaces.LAYERS:
                self.layers[name] = OFF
            return
        if os.geteuid() == 0:
            # In a user namespace that maps root alone, no other user could be taken on.
            self.layers["user_namespace"] = "not used by root, who needs none"
        else:
            self._try("user_namespace", namespaces.enter_user_namespace)
        if self._try("pid_namespace", namespaces.enter_pid_namespace):
            namespaces.become_first_process()
            self._zygote = os.getpid()
        self._try(
            "private_root",
            lambda: namespaces.enter_private_root(
                settings.readable,
                process_files=self._shows_processes,
                scratch=settings.scratch,
            ),
        )
        if settings.scratch is not None and self.layers["private_root"] == ON:
            self._scratch = namespaces.SCRATCH
        self.layers |= namespaces.separate(settings.disabled)

    def _choose_user(self) -> None:
        self._try("not_root", self._prepare_user)
        self._try("process_limit", self._own_count)
        kept = 0
        if self._uid is not None:
            kept = 1 << linux.CAP_SETUID | 1 << linux.CAP_KILL
        self._try("no_capabilities", lambda: linux.set_capabilities(kept))
        # No process of the same user may look into the zygote.
        linux.prctl(linux.PR_SET_DUMPABLE, 0)

    def _prepare_user(self) -> str | None:
        uid = self._settings.private_uid
        if os.geteuid() != 0:
            return None
        if uid is None:
            return "programs run as root: no private user was given"
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        if _child_fails(lambda: os.setresuid(uid, uid, uid)):
            return f"this root may not become user {uid}"
        self._uid = uid

        def read_library() -> None:
            os.setresuid(uid, uid, uid)
            for path in (os.__file__, *self._settings.readable):
                os.close(os.open(path, os.O_RDONLY))

        self._keeps_roots_files = _child_fails(read_library)
        if self._keeps_roots_files:
            linux.prctl(linux.PR_SET_KEEPCAPS, 1)
        elif self._scratch is not None:
            os.chown(self._scratch, uid, uid)
        return None

    def _own_count(self) -> str | None:
        if self._uid is not None or self.layers.get("user_namespace") == ON:
            return None
        if os.geteuid() == 0:
            return "RLIMIT_NPROC does not bind root"
        return "RLIMIT_NPROC would count the user's other processes too"

    def _lock_files(self) -> str | None:
        version = landlock.abi()
        if not version:
            return "this kernel has no Landlock (Linux 5.13 and later, if built in)"
        grants = [
            landlock.Grant(path, landlock.READ_FILE | landlock.READ_DIR)
            if os.path.isdir(path)
            else landlock.Grant(path, landlock.READ_FILE)
            for path in (*readable.files(self._settings.readable), *readable.DEVICES_READ)
        ]
        null = landlock.READ_FILE | landlock.WRITE_FILE
        grants.append(landlock.Grant(readable.DEVICE_WRITTEN, null))
        if self._scratch is not None:
            grants.append(landlock.Grant(self._scratch, landlock.SCRATCH))
        ruleset = landlock.build_ruleset(landlock.known_rights(), grants)
        landlock.enforce(ruleset)
        os.close(ruleset)
        self.landlock_abi = version
        return None

    def _filter_calls(self) -> None:
        rooted = self.layers["private_root"] == ON and not self._shows_processes
        found_by_rule = self.layers["landlock"] == ON or rooted
        if found_by_rule:
            self.layers["no_paths"] = "not needed: files are closed by a better layer"
        no_paths = not found_by_rule and "no_paths" not in self._settings.disabled
        scratch = self._scratch is not None

        def install() -> str | None:
            if not seccomp.supported():
                return f"there is no table of system calls for {linux.MACHINE}"
            if no_paths or scratch:
                _load_widely()
            seal = seccomp.seal_code(no_paths=no_paths, scratch=scratch)
            self._seal = seccomp.Filter(seal)
            seccomp.Filter(seccomp.base_code(scratch=scratch)).install()
            return None

        filtered = self._try("seccomp", install)
        if not filtered:
            self._seal = None
        if not found_by_rule:
            self.layers["no_paths"] = ON if filtered and no_paths else OFF

    def _check_scratch(self) -> None:
        """Refuse to go on where a program could write elsewhere too, or not even there."""
        if self._scratch is None:
            return
        layers = self.layers
        confined = ON in (layers.get("landlock"), layers.get("private_root"))
        if not confined or layers.get("seccomp") != ON:
            raise OSError(
                "a task asks for a folder to write in, which needs seccomp, and Landlock or a "
                "private root; `corecode doctor` says how to get them"
            )

        def write() -> None:
            if self._uid is not None:
                self._become(self._uid)
            os.chdir(self._scratch or "")
            os.close(os.open("probe", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.unlink("probe")

        if _child_fails(write):
            raise OSError(
                f"programs must be able to write in {self._settings.scratch}, but cannot; set "
                "TMPDIR to a folder that every user may pass through"
            )

    def _limit_for_good(self) -> None:
        def install() -> None:
            for name in _NONE_AT_ALL:
                if hasattr(resource, f"RLIMIT_{name}"):
                    resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (0, 0))
            for kind in _PER_PROGRAM:
                self._hard[kind] = resource.getrlimit(kind)[1]

        self._try("rlimits", install)
        self._try("cpu_timer", self._timer.try_out)

    def _become(self, uid: int) -> None:
        os.setresuid(uid, uid, uid)
        if self._keeps_roots_files:
            # Where only root can reach the library, files are still opened as root's owner,
            # without its powers; everything else is the private user's.
            if linux.syscall(*self._keep_setuid) < 0:
                raise linux.failure("capset")
            linux.syscall(*self._open_as_root)
            # It returns what was in force before.
            if linux.syscall(*self._open_as_root) != 0:
                raise OSError("setfsuid did not take effect")
            if linux.syscall(*self._drop_all) < 0:
                raise linux.failure("capset")

    def _limit(self, limits: ChildLimits) -> None:
        cpu = math.ceil(limits.cpu_seconds) + 1
        if self.layers["cpu_timer"] == ON:
            self._timer.arm(limits.cpu_seconds)
        self._clamp(resource.RLIMIT_CPU, cpu, cpu + 1)
        self._clamp(resource.RLIMIT_NOFILE, _MAX_OPEN_FILES)
        self._clamp(resource.RLIMIT_FSIZE, limits.file_bytes)
        self._clamp(resource.RLIMIT_STACK, limits.stack_bytes)
        # DATA counts private writable memory; AS stops shared mappings too.
        self._clamp(resource.RLIMIT_DATA, self._data_bytes + limits.memory_bytes)
        if linux.SUPPORTED:
            room = self._virtual_bytes + limits.memory_bytes + _VIRTUAL_SLACK
            self._clamp(resource.RLIMIT_AS, room)
            # After the timer, which needs a place in the same queue.
            self._clamp(resource.RLIMIT_SIGPENDING, _MAX_PENDING_SIGNALS)
        if self.layers.get("process_limit") == ON:
            self._clamp(resource.RLIMIT_NPROC, _MAX_THREADS)

    def _clamp(self, kind: int, soft: int, hard: int | None = None) -> None:
        most = self._hard[kind]
        top = soft if hard is None else hard
        if most != resource.RLIM_INFINITY:
            soft, top = min(soft, most), min(top, most)
        resource.setrlimit(kind, (soft, top))


_PER_PROGRAM: Final = tuple(
    getattr(resource, f"RLIMIT_{name}")
    for name in "CPU NOFILE FSIZE STACK DATA AS SIGPENDING NPROC".split()
    if hasattr(resource, f"RLIMIT_{name}")
)


class _CpuTimer:
    """A kernel timer on the process's own CPU clock that ends in SIGKILL.

    Finer than RLIMIT_CPU, which counts whole seconds, and out of the program's reach: the
    signal cannot be caught, and the calls that would disarm the timer are filtered.
    """

    def __init__(self) -> None:
        # Everything is made here, so that a child makes no object and touches few pages.
        event = ctypes.create_string_buffer(64)
        struct.pack_into("=Qii", event, 0, 0, signal.SIGKILL, linux.SIGEV_SIGNAL)
        number = (ctypes.c_int * 1)()
        time = (ctypes.c_int64 * 4)()
        self._number = memoryview(number).cast("B").cast("i")
        self._time = memoryview(time).cast("B").cast("q")
        clock = ctypes.c_long(linux.CLOCK_PROCESS_CPUTIME_ID)
        self._create = linux.prepared(
            "timer_create", clock, ctypes.byref(event), ctypes.byref(number)
        )
        # The kernel numbers the timers of a process from 0.
        zero = ctypes.c_long(0)
        self._set = linux.prepared("timer_settime", zero, zero, ctypes.byref(time), zero)

    def arm(self, seconds: float) -> None:
        """Let this process end when it has used so much CPU time from now on.

        Raises:
            OSError: If the kernel refuses.
        """
        nanoseconds = max(int(seconds * 1e9), 1)
        self._time[2] = nanoseconds // 10**9
        self._time[3] = nanoseconds % 10**9
        if linux.syscall(*self._create) < 0:
            raise linux.failure("timer_create")
        if self._number[0] != 0 or linux.syscall(*self._set) < 0:
            raise linux.failure("timer_settime")

    def try_out(self) -> str | None:
        """Return why timers do not work here, None if they do."""
        if not linux.SUPPORTED:
            return "needs Linux"
        failed = _child_fails(lambda: self.arm(1.0))
        return "the kernel refuses timers on the CPU clock" if failed else None


def _load_widely() -> None:
    """Import what programs may import, for they will not be able to open or map its files."""
    for name in (*_WIDE, *(_WIDE_NUMPY if "numpy" in sys.modules else ())):
        with contextlib.suppress(ImportError):  # not every build has every module
            importlib.import_module(name)


def _start_over() -> None:
    """Undo what the process inherited: session, signals, working folder."""
    if os.getpgrp() != os.getpid():
        os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    # As a fresh interpreter has them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.chdir("/")


def _die_first_when_memory_ends() -> None:
    Path("/proc/self/oom_score_adj").write_text(_OOM_FIRST)


def _sizes() -> tuple[int, int]:
    """Return the bytes of all mappings, and of those that are private and writable."""
    pages = Path("/proc/self/statm").read_text().split()
    size = resource.getpagesize()
    return int(pages[0]) * size, int(pages[5]) * size


def _child_fails(action: Callable[[], object]) -> bool:
    """Return whether an action raises OSError in a forked child."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        except OSError:
            status = 1
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] != 0
