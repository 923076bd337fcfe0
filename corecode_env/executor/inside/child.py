"""Child: one process for one program, from the fork to its last byte.

    descriptors + limits  ->  floor, compile, run as plain `python main.py`  ->  exit

Two records tell the parent how far it came, both written before the first byte of the
candidate runs: `R` (limits are set) and then `S` (started), `C` (did not compile) or `F`
(the sandbox itself failed). Everything after that is measured by the kernel.
"""

from __future__ import annotations

import _thread
import atexit
import builtins
import gc
import json
import os
import random
import resource
import struct
import sys
import threading
import types
from typing import TYPE_CHECKING, Any, NoReturn

from corecode_env.core.values import from_jsonable
from corecode_env.executor.inside.floor import ChildLimits

if TYPE_CHECKING:
    from corecode_env.executor.inside.zygote import Warm

# What a program makes of builtins and modules must not decide how its process ends: the
# functions below look names up in a copy of builtins, and have these at hand.
globals()["__builtins__"] = dict(vars(builtins))
_exit, _collect, _count_threads = os._exit, gc.collect, _thread._count
_run_at_exit = atexit._run_exitfuncs
_threads: dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined]

RECORD = struct.Struct("=cIQQ")
"""Kind, job number, CPU nanoseconds so far, peak resident bytes so far. Whose it is says the
kernel, since a process may not know its number outside."""
PROGRAM, SERVE, JUDGE = 0, 1, 2
"""Kinds of job: a program as `python main.py`; a program whose functions are called;
test code, a checker or a scorer."""

BROKEN = 111
"""Exit status of a child that could not be set up; read together with its record."""


def main(fields: tuple[Any, ...], descriptors: list[int], warm: Warm) -> NoReturn:
    """Run one job in this process and end it; never returns."""
    job, kind, cpu_seconds, memory_bytes, stack_bytes, file_bytes = fields
    try:
        os.setsid()
        # Each call and each object costs page faults here: a seek is less than an fstat.
        size = os.lseek(descriptors[0], 0, os.SEEK_END)
        payload = os.pread(descriptors[0], size, 0)
        for target in (0, 1, 2):
            os.dup2(descriptors[target + 1], target)
        warm.floor.enter(
            ChildLimits(
                cpu_seconds=cpu_seconds,
                memory_bytes=memory_bytes,
                file_bytes=file_bytes,
                stack_bytes=stack_bytes,
            )
        )
        extra = descriptors[4:]
        _close_all_but([*extra, warm.records])
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu, peak = int((used.ru_utime + used.ru_stime) * 1e9), used.ru_maxrss * 1024
        os.write(warm.records, RECORD.pack(b"R", job, cpu, peak))
        _become_a_process_of_its_own(payload)
        run = _KINDS[kind]
        run(job, payload, extra, warm)
    except BaseException as error:
        _fail(job, error, warm)
    _exit(BROKEN)


def _become_a_process_of_its_own(payload: bytes) -> None:
    """Do after the fork what modules want done, as far as the program may notice."""
    if b"native_id" in payload:
        threading.main_thread()._set_native_id()  # type: ignore[attr-defined]
    if b"random" in payload:
        random.seed()
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed()


def _close_all_but(kept: list[int]) -> None:
    low = 3
    for descriptor in sorted(kept):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, 2**31 - 1)


def _fail(job: int, error: BaseException, warm: Warm) -> NoReturn:
    try:
        os.write(warm.records, RECORD.pack(b"F", job, 0, 0))
        os.write(2, f"sandbox set-up failed: {type(error).__name__}: {error}\n".encode())
    finally:
        _exit(BROKEN)


def _start(job: int, warm: Warm) -> None:
    """Say that the candidate starts now, and give up the means to say more."""
    os.write(warm.records, RECORD.pack(b"S", job, 0, 0))
    os.close(warm.records)


def _compile(job: int, source: bytes, warm: Warm) -> types.CodeType:
    try:
        return compile(source, "main.py", "exec", dont_inherit=True)
    except BaseException as error:
        os.write(warm.records, RECORD.pack(b"C", job, 0, 0))
        sys.excepthook(type(error), error.with_traceback(None), None)
        _flush()
        _exit(1)


# ------------------------------------------------------------------------- programs
def _run_program(job: int, payload: bytes, extra: list[int], warm: Warm) -> NoReturn:
    given, source = _split(payload)
    namespace = warm.main.__dict__
    code = _compile(job, source, warm)
    warm.floor.seal()
    if given:
        exec(compile(given, "given.py", "exec", dont_inherit=True), namespace)
    sys.setrecursionlimit(1000 + _DEPTH)
    _start(job, warm)
    _end(_execute(code, namespace), namespace)


def _serve_program(job: int, payload: bytes, extra: list[int], warm: Warm) -> NoReturn:
    given, source = _split(payload)
    # Imported rather than run: a program's `if __name__ == "__main__"` part, which often
    # reads input, is no business of tests that call its functions.
    module = warm.main
    module.__name__ = "main"
    sys.modules["main"] = module
    namespace = module.__dict__
    code = _compile(job, source, warm)
    serve = warm.serve
    if serve is None:
        raise RuntimeError("this zygote judges; it serves no candidate")
    warm.floor.seal()
    if given:
        exec(compile(given, "given.py", "exec", dont_inherit=True), namespace)
    sys.setrecursionlimit(1000 + _DEPTH)
    _start(job, warm)
    status = _execute(code, namespace)
    if status is None:
        status = _execute_call(serve, extra[0], extra[1], namespace)
    _end(status, namespace)


def _split(payload: bytes) -> tuple[bytes, bytes]:
    """Return the given source and the program's; the first 8 bytes hold the first's size."""
    size = int.from_bytes(payload[:8], "little")
    return payload[8 : 8 + size], payload[8 + size :]


_DEPTH = 8
"""Frames of ours below a program's first: it may recurse as deep as it could alone."""


def _execute(code: types.CodeType, namespace: dict[str, Any]) -> int | None:
    """Run module code; return its exit status, None if it simply came to its end."""
    try:
        exec(code, namespace)
    except BaseException as error:
        # Drop this frame: a traceback shows the program's own frames only.
        trace = error.__traceback__
        return _status_of(error.with_traceback(trace and trace.tb_next))
    return None


def _execute_call(serve: Any, *arguments: Any) -> int | None:
    try:
        serve(*arguments)
    except BaseException as error:
        return _status_of(error)
    return None


_RESERVE = bytearray(4 * 2**20)
"""Given back when memory has run out, so that there is room to say so."""


def _status_of(error: BaseException) -> int:
    """Report an exception as the interpreter does; return the exit status it stands for."""
    if isinstance(error, MemoryError):
        _RESERVE.clear()
    if isinstance(error, SystemExit):
        if error.code is None:
            return 0
        if isinstance(error.code, int):
            return error.code & 0xFF
        try:
            print(error.code, file=sys.stderr)
        except BaseException:
            return 1
        return 1
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except BaseException as second:
        # The program's own hook failed: the interpreter falls back on the default one.
        sys.__excepthook__(type(second), second, second.__traceback__)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _end(status: int | None, namespace: dict[str, Any]) -> NoReturn:
    """End as the interpreter does: threads, atexit, flush, globals, cycles, flush."""
    code = status or 0
    try:
        if _count_threads() or len(_threads) > 1:
            threading._shutdown()  # type: ignore[attr-defined]
        _run_at_exit()
    except BaseException as error:
        code = code or _status_of(error)
    code = _flush() or code
    # Finalizers print, and files that were left open are flushed. What finalizers name
    # (modules, functions, classes) goes last, so that it is still there for them.
    _clear(namespace, but=_NAMED_BY_FINALIZERS)
    _collect()
    _clear(namespace, but=())
    _collect()
    _exit(_flush() or code)


_NAMED_BY_FINALIZERS = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


def _clear(namespace: dict[str, Any], but: tuple[type, ...]) -> None:
    """Let go of what a module holds, in the interpreter's order, except for some types.

    Names with one underscore come first; builtins never go.
    """
    for private in (True, False):
        for name in list(namespace):
            hidden = type(name) is str and name[:1] == "_" and name[1:2] != "_"
            if hidden is not private or name == "__builtins__":
                continue
            if not issubclass(type(namespace.get(name)), but):
                namespace[name] = None


def _flush() -> int:
    """Flush the program's streams and the original ones; return 120 if that failed."""
    failed = 0
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        stream = vars(sys).get(name)
        try:
            if stream is not None and not _is_closed(stream):
                stream.flush()
        except BaseException:
            failed = 120
    return failed


def _is_closed(stream: Any) -> bool:
    try:
        return bool(stream.closed)
    except BaseException:
        return False  # any object may stand there: the interpreter asks for no more


# --------------------------------------------------------------------------- judges
def _run_judge(job: int, payload: bytes, extra: list[int], warm: Warm) -> NoReturn:
    tester = warm.tester
    if tester is None:
        raise RuntimeError("this zygote serves candidates; it judges nothing")
    warm.floor.seal()
    # From here on what a program wrote is looked at, and may be what ends this process.
    _start(job, warm)
    request = json.loads(payload)
    function = getattr(tester, request["function"])
    arguments, options = from_jsonable(request["arguments"]), request["options"]
    report_fd, ends = extra[-1], extra[:-1]
    if ends:
        # White space before the report: from here on, what ends this process may be the
        # program's doing.
        options["on_first_reply"] = lambda: os.write(report_fd, b" ")
    report = function(*ends, *arguments, **options)
    view = memoryview(json.dumps(report.to_json()).encode())
    while view:
        view = view[os.write(report_fd, view) :]
    _exit(0)


_KINDS = (_run_program, _serve_program, _run_judge)
