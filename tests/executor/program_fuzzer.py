"""Random programs from a small grammar: mostly nonsense, some of it nasty."""

from __future__ import annotations

import random
from collections.abc import Callable

NAMES = ("a", "b", "c", "print", "len", "list", "x", "self", "os", "sys", "__builtins__")
ATOMS = (
    "0 1 -1 2.5 1e308 'text' b'\\x00' None True ... [] {} () set() 10**9 10**5000 'x'*10**8 "
    "[0]*10**9 globals() locals() vars() dir() object() range(10**18) iter(int,1) print "
    "sys.stdout sys.stdin sys.modules os.environ __name__ __file__ NotImplemented"
).split()
OPERATORS = "+ - * / // % ** << >> & | ^ == != < in is and or".split()
CALLS = (
    "print len list str repr hash id type int float sorted sum max min bytes bytearray set "
    "tuple dict iter next map zip open eval exec compile input vars getattr setattr "
    "os.getpid os.fork os.write os.close os.dup2 os.pipe os.kill os._exit sys.exit sys.settrace "
    "sys.setrecursionlimit sys._getframe os.closerange os.listdir os.remove os.mkdir __import__"
).split()
ERRORS = "Exception BaseException ValueError KeyboardInterrupt SystemExit MemoryError".split()
LINES = (
    "import os, sys",
    "import ctypes, gc, signal, threading",
    "from __future__ import annotations",
    "sys.stdout.close()",
    "sys.stdout = None",
    "os.closerange(0, 64)",
    "gc.collect()",
    "threading.Thread(target=print).start()",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "ctypes.string_at(0)",
    "__builtins__.__dict__.clear()",
    "sys.modules.clear()",
    "raise SystemExit",
    "del print",
    "os.kill(os.getpid(), 15)",
    "os.kill(os.getppid(), 9)",
    "def g(): g()",
    "g()",
    "return",
    "yield",
    "await x",
)


def random_program(dice: random.Random, most_lines: int = 12) -> str:
    """Return a program; about a third of them compile."""
    lines = ["import os, sys"] if dice.random() < 0.8 else []
    lines += _block(dice, 0, dice.randint(1, most_lines))
    text = "\n".join(lines)
    if dice.random() < 0.1:
        at = dice.randrange(len(text) + 1)
        text = text[:at] + chr(dice.choice((0, 9, 34, 40, 92, 0x2028, 0xD800))) + text[at:]
    return text


def _block(dice: random.Random, depth: int, count: int) -> list[str]:
    lines: list[str] = []
    for _ in range(count):
        lines += [("    " * depth) + line for line in [_simple(dice)]]
        if depth < 3 and dice.random() < 0.3:
            head, tail = dice.choice(_COMPOUND)(dice)
            lines.append("    " * depth + head)
            lines += _block(dice, depth + 1, dice.randint(1, 3))
            if tail:
                lines += ["    " * depth + tail, "    " * (depth + 1) + _simple(dice)]
    return lines


def _simple(dice: random.Random) -> str:
    pick = dice.random()
    if pick < 0.25:
        return dice.choice(LINES)
    if pick < 0.55:
        return f"{dice.choice(NAMES)} = {_expression(dice, 0)}"
    if pick < 0.6:
        return f"raise {dice.choice(ERRORS)}"
    return _expression(dice, 0)


_COMPOUND: tuple[Callable[[random.Random], tuple[str, str]], ...] = (
    lambda dice: (f"for {dice.choice('abc')} in {_expression(dice, 1)}:", ""),
    lambda dice: (f"while {_expression(dice, 2)}:", ""),
    lambda dice: (f"if {_expression(dice, 1)}:", "else:"),
    lambda dice: ("try:", f"except {dice.choice(ERRORS)}:"),
    lambda dice: ("try:", "finally:"),
    lambda dice: (f"def {dice.choice(NAMES)[:8]}(*a, **b):", ""),
    lambda dice: (f"class {dice.choice('abc')}({dice.choice(ERRORS)}):", ""),
    lambda dice: (f"with {_expression(dice, 2)}:", ""),
)


def _expression(dice: random.Random, depth: int) -> str:
    pick = dice.random()
    if depth > 3 or pick < 0.35:
        return dice.choice(ATOMS) if dice.random() < 0.7 else dice.choice(NAMES)
    left, right = _expression(dice, depth + 1), _expression(dice, depth + 1)
    if pick < 0.55:
        return f"({left} {dice.choice(OPERATORS)} {right})"
    if pick < 0.85:
        return f"{dice.choice(CALLS)}({left}{', ' + right if dice.random() < 0.4 else ''})"
    if pick < 0.9:
        return f"[{left} for {dice.choice('abc')} in {right}]"
    if pick < 0.95:
        return f"(lambda *a: {left})({right})"
    return f"{left}[{right}]"
