"""Packed tests: LiveCodeBench's private tests, without running what is packed in them.

    base64( zlib( pickle( JSON text ) ) )  ->  the tests, or an error

Unpickling runs whatever a stranger packed, so nothing is unpickled here: the pickle's
operations are read one by one, and only those that write down one string are allowed. How
far it may be inflated is bounded.
"""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib
from typing import Any, Final

from corecode_env.tasks.files import parse_json

MAX_UNPACKED: Final = 256 * 2**20
"""Bytes to which the tests of one task may be inflated."""

# Memo operations only remember the string; none of them is ever asked for it again.
_ALLOWED: Final = frozenset(
    {
        "PROTO",
        "FRAME",
        "SHORT_BINUNICODE",
        "BINUNICODE",
        "BINUNICODE8",
        "UNICODE",
        "MEMOIZE",
        "BINPUT",
        "LONG_BINPUT",
        "PUT",
        "STOP",
    }
)


def unpack_tests(text: str, *, limit: int = MAX_UNPACKED) -> Any:
    """Return the JSON value in a field of tests, packed or plain.

    Args:
        text: JSON, or JSON that was pickled as one string, compressed and encoded.
        limit: Bytes to which it may be inflated.

    Raises:
        ValueError: If it is neither; holds anything but one string; or grows beyond the
            limit.
    """
    if text.lstrip()[:1] in ("[", "{"):
        return parse_json(text)
    try:
        packed = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"neither JSON nor base64: {error}") from error
    return parse_json(unpickle_string(_inflate(packed, limit)))


def _inflate(packed: bytes, limit: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(packed, limit)
    except zlib.error as error:
        raise ValueError(f"not compressed by zlib: {error}") from error
    if not inflater.eof:
        found = "cut off" if len(data) < limit else f"longer than {limit:,} bytes"
        raise ValueError(f"the tests are {found} when inflated")
    return data


def unpickle_string(data: bytes) -> str:
    """Return the one string that a pickle holds, without unpickling.

    Raises:
        ValueError: If the pickle does anything else than to write one string down.
    """
    found: list[str] = []
    for operation, argument, _ in pickletools.genops(data):
        if operation.name not in _ALLOWED:
            raise ValueError(
                f"a pickle of tests must hold one string, got the operation {operation.name}: "
                "anything else could run code"
            )
        if isinstance(argument, str):
            found.append(argument)
    if len(found) != 1:
        raise ValueError(f"a pickle of tests must hold one string, got {len(found)}")
    return found[0]
