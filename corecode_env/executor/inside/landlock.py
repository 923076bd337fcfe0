"""Landlock: which files may be opened, decided by the kernel without any privilege.

A rule set denies every right that the running kernel knows, and then grants reading of a
few files and folders. Rights are found by asking the kernel, bit by bit, so that a right
which a later kernel learns to deny is denied from that day.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from corecode_env.executor.inside import linux

READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
WRITE_FILE: Final = 1 << 1
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_REMOVE: Final = _REMOVE_DIR | _REMOVE_FILE
SCRATCH: Final = (
    READ_FILE | READ_DIR | WRITE_FILE | _REMOVE | _MAKE_DIR | _MAKE_REG | _REFER | _TRUNCATE
)
"""Plain files and folders, all of their lives; no program runs from there, and no device,
socket, fifo or symbolic link is made."""

_CREATE_RULESET_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1
# From ABI 7 the kernel writes each refusal to the audit log: a program in a loop of
# refused calls must not be able to fill it.
_RESTRICT_LOG_OFF: Final = 1
_LOG_ABI: Final = 7


class Rights(NamedTuple):
    """Bit sets that the running kernel can deny."""

    files: int
    network: int
    scopes: int


class Grant(NamedTuple):
    """A path and what may be done beneath it."""

    path: str
    rights: int


def abi() -> int:
    """Return the kernel's Landlock version; 0 where there is none."""
    if not linux.SUPPORTED:
        return 0
    try:
        version = ctypes.c_uint32(_CREATE_RULESET_VERSION)
        return linux.call("landlock_create_ruleset", None, ctypes.c_size_t(0), version)
    except OSError:
        return 0


def known_rights() -> Rights:
    """Ask the kernel for every right that it can deny."""
    return Rights(
        files=_known_bits(lambda bit: (bit, 0, 0)),
        network=_known_bits(lambda bit: (0, bit, 0)),
        scopes=_known_bits(lambda bit: (0, 0, bit)),
    )


def build_ruleset(rights: Rights, grants: Iterable[Grant]) -> int:
    """Build a rule set that denies `rights`, except for `grants`.

    Args:
        rights: What to deny.
        grants: Exceptions; those whose path cannot be reached are left out.

    Returns:
        Descriptor of the rule set.

    Raises:
        OSError: If the kernel refuses.
    """
    ruleset = _create(rights)
    try:
        for grant in grants:
            _allow(ruleset, grant, rights.files)
    except OSError:
        os.close(ruleset)
        raise
    return ruleset


def enforce(ruleset: int) -> None:
    """Put this process, and all it will fork, under a rule set; needs no_new_privs.

    Raises:
        OSError: If the kernel refuses.
    """
    flags = _RESTRICT_LOG_OFF if abi() >= _LOG_ABI else 0
    linux.call("landlock_restrict_self", ctypes.c_int(ruleset), ctypes.c_uint32(flags))


def _allow(ruleset: int, grant: Grant, handled: int) -> None:
    try:
        path = os.open(grant.path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return
    try:
        rule = struct.pack("=Qi", grant.rights & handled, path)
        kind = ctypes.c_int(_RULE_PATH_BENEATH)
        linux.call("landlock_add_rule", ctypes.c_int(ruleset), kind, rule, ctypes.c_uint32(0))
    finally:
        os.close(path)


def _create(attributes: tuple[int, int, int]) -> int:
    # An older kernel takes the longer structure as long as what it does not know is 0.
    packed = struct.pack("=QQQ", *attributes)
    size = ctypes.c_size_t(len(packed))
    return linux.call("landlock_create_ruleset", packed, size, ctypes.c_uint32(0))


def _known_bits(attributes: Callable[[int], tuple[int, int, int]]) -> int:
    bits = 0
    for position in range(64):
        try:
            os.close(_create(attributes(1 << position)))
        except OSError:
            break
        bits |= 1 << position
    return bits
