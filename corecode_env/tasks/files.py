"""Files: the records of a file, one after the other, in bounded memory.

    .jsonl  .json  (each also .gz)  .parquet  a folder saved by `datasets`
        ->  (line, record or BadRecord), ...

Never more than one record (one batch, for parquet and `datasets`) is held. What is wrong
with one line is a value in the stream, so that the reader of the file may skip it; what
is wrong with the file itself is raised.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final

from corecode_env.core.errors import BadConfig, BadRecord, MissingExtra

Line = tuple[int, dict[str, Any] | BadRecord]
"""Number of a record, from 1, and the record, or what is wrong with it."""

SUFFIXES: Final = (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".parquet")

_CHUNK = 2**16  # characters read at a time from a .json file
_PARQUET_BUFFER = 2**20  # bytes of a column that are read ahead
_BATCH = 8  # rows: some public parquet files have rows of 50 MB
_DIGITS = 4000  # below the 4,300 at which CPython 3.11 refuses to convert


def read_records(path: str | Path) -> Iterator[Line]:
    """Read the records of a file or of a folder that `datasets` saved.

    Args:
        path: Its suffix says the form: `.jsonl` (one object a line; blank lines, CRLF and
            a byte order mark are fine), `.json` (an array, or objects one after the
            other), both also with `.gz`, `.parquet`, or a folder.

    Yields:
        Line number (`.jsonl`) or index (else) from 1, with the record or its error.

    Raises:
        BadConfig: If there is no such file, or its suffix is not known.
        BadRecord: If the file as a whole cannot be read: not gzip, cut off, not parquet.
        MissingExtra: If pyarrow is needed and not installed.
    """
    path = Path(path)
    if not path.exists():
        raise BadConfig(f"a task file must exist, got {str(path)!r}; check the path")
    if path.is_dir():
        yield from _read_saved_folder(path)
        return
    name = path.name.removesuffix(".gz")
    if name.endswith(".jsonl"):
        yield from _read_lines(path)
    elif name.endswith(".json"):
        yield from _read_values(path)
    elif path.suffix == ".parquet":
        yield from _read_parquet(path)
    else:
        raise BadConfig(
            f"a task file must end in one of {', '.join(SUFFIXES)}, or be a folder saved "
            f"by datasets, got {str(path)!r}; rename or convert it"
        )


# --------------------------------------------------------------------------- JSON
def parse_json(text: str) -> Any:
    """Parse JSON; integers may have any number of digits.

    Raises:
        ValueError: If the text is not JSON, or is nested too deeply.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _parse_int(digits: str) -> int:
    # The interpreter's limit on digits is global, so it stays as it is: convert halves.
    if len(digits) <= _DIGITS:
        return int(digits)
    if digits[0] == "-":
        return -_parse_int(digits[1:])
    low = len(digits) // 2
    high: int = _parse_int(digits[:-low]) * 10**low
    return high + _parse_int(digits[-low:])


_DECODER: Final = json.JSONDecoder(parse_int=_parse_int)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Turn what a damaged file raises into one error that names the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadRecord(
            source=str(path),
            line=None,
            field="file",
            found=str(error),
            expected="a whole gzip file",
        ) from error


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


_MARK: Final = b"\xef\xbb\xbf"  # a byte order mark


def _read_lines(path: Path) -> Iterator[Line]:
    return ((number, record) for _, number, record in indexed_lines(path))


def indexed_lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any] | BadRecord]]:
    """Read a `.jsonl` file, and say where each record stands.

    Yields:
        Offset of the line in bytes (of the text, if it is compressed), its number from 1,
        and the record or its error.

    Raises:
        BadRecord: If the file as a whole cannot be read.
    """
    offset = 0
    with _whole(path), _open(path) as file:
        for number, line in enumerate(file, start=1):
            text = line.removeprefix(_MARK) if number == 1 else line
            if text.strip():
                yield offset, number, _line_record(text, str(path), number)
            offset += len(line)


def record_at(path: Path, offset: int, number: int) -> dict[str, Any]:
    """Read one record of a `.jsonl` file that is not compressed.

    Args:
        path: The file.
        offset: Where its line begins, as `indexed_lines` gave it.
        number: Number of the line, for errors.

    Raises:
        BadConfig: If the file is gone.
        BadRecord: If there is no record, or no longer.
    """
    if not path.is_file():
        raise BadConfig(
            f"a task file must stay where it was loaded from, got none at {str(path)!r}; "
            "load it again"
        )
    with path.open("rb") as file:
        file.seek(offset)
        record = _line_record(file.readline().removeprefix(_MARK), str(path), number)
    if isinstance(record, BadRecord):
        raise record
    return record


def _line_record(line: bytes, source: str, number: int) -> dict[str, Any] | BadRecord:
    try:
        value = parse_json(line.decode())
    except ValueError as error:  # UnicodeDecodeError is one
        return _broken(source, number, line.strip()[:60], f"one JSON object ({error})")
    return _as_record(value, source, number)


def _as_record(value: Any, source: str, number: int) -> dict[str, Any] | BadRecord:
    if type(value) is dict:
        return value
    return _broken(source, number, value, "one JSON object")


def _broken(source: str, number: int, found: object, expected: str) -> BadRecord:
    if isinstance(found, bytes):
        found = found.decode(errors="replace")
    return BadRecord(
        source=source, line=number, field="record", found=found, expected=expected
    )


def _read_values(path: Path) -> Iterator[Line]:
    """Read an array of objects, or objects one after the other, chunk by chunk."""
    number = 0
    with _whole(path), _open(path) as file:
        for number, value in enumerate(_values(_decoded(file)), start=1):
            if isinstance(value, ValueError):
                expected = f"one JSON object ({value})"
                yield number, _broken(str(path), number, "broken JSON", expected)
            else:
                yield number, _as_record(value, str(path), number)


def _decoded(file: IO[bytes]) -> Iterator[str]:
    """Yield the text of a file in pieces; ends with a ValueError if it is not UTF-8."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    while chunk := file.read(_CHUNK):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _values(chunks: Iterable[str]) -> Iterator[Any]:
    """Yield each JSON value; what breaks the text is yielded as a ValueError, last.

    The buffer holds the value being read and at most as much again.
    """
    source = iter(chunks)
    buffer, in_array, started, ended = "", False, False, False
    while True:
        buffer = buffer.lstrip(" \t\r\n,")
        if buffer and not started:
            started, in_array = True, buffer[0] == "["
            buffer = buffer[1:] if in_array else buffer
            continue
        if buffer and in_array and buffer[0] == "]":
            return
        value, end, error = _next_value(buffer)
        # A value that touches the end of the buffer may go on in the next chunk.
        if not ended and (error is not None or end == len(buffer)):
            try:
                buffer += _at_least(source, max(len(buffer), 1))
            except StopIteration:
                ended = True
            except ValueError as failure:
                yield failure
                return
            continue
        if not buffer:
            if in_array:
                yield ValueError("the array is not closed")
            return
        if error is not None:
            yield error
            return
        yield value
        buffer = buffer[end:]


def _next_value(buffer: str) -> tuple[Any, int, ValueError | None]:
    if not buffer:
        return None, 0, None
    try:
        value, end = _DECODER.raw_decode(buffer)
    except RecursionError:
        return None, 0, ValueError("nested too deeply")
    except ValueError as error:
        return None, 0, error
    return value, end, None


def _at_least(source: Iterator[str], size: int) -> str:
    """Return the next text of at least `size` characters, or what is left.

    Doubling the buffer keeps the time for one long value linear.

    Raises:
        StopIteration: If nothing is left.
    """
    pieces = [next(source)]
    length = len(pieces[0])
    while length < size:
        piece = next(source, None)
        if piece is None:
            break
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces)


# ------------------------------------------------------------ parquet and datasets
def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra(f"pyarrow (needed for {path.name})", "data") from error
    return pyarrow


def _read_parquet(path: Path) -> Iterator[Line]:
    arrow = _pyarrow(path)
    try:
        file = arrow.parquet.ParquetFile(path, buffer_size=_PARQUET_BUFFER)
    except (arrow.ArrowInvalid, OSError) as error:
        raise _not_arrow(path, "a parquet file", error) from error
    with file:
        yield from _rows(_parquet_batches(file))


def _parquet_batches(file: Any) -> Iterator[Any]:
    # One reader a row group: one for all of them keeps the bytes of those it has read.
    for group in range(file.num_row_groups):
        yield from file.iter_batches(batch_size=_BATCH, row_groups=[group], use_threads=False)


def _read_saved_folder(path: Path) -> Iterator[Line]:
    """Read what `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote.

    The Arrow files are read as they lie: importing `datasets` costs seconds.
    """
    parts = sorted(path.glob("*.arrow")) or sorted(path.glob("*/*.arrow"))
    if not parts:
        raise BadConfig(
            f"a folder of tasks must be one that datasets saved (with .arrow files), got "
            f"{str(path)!r}; give a file instead"
        )
    yield from _rows(chain.from_iterable(map(_arrow_batches, parts)))


def _arrow_batches(path: Path) -> Iterator[Any]:
    arrow = _pyarrow(path)
    with arrow.memory_map(str(path)) as source:
        try:
            reader = arrow.ipc.open_stream(source)
        except arrow.ArrowInvalid as error:
            raise _not_arrow(path, "an Arrow stream", error) from error
        for batch in reader:
            for start in range(0, batch.num_rows, _BATCH):
                yield batch.slice(start, _BATCH)


def _rows(batches: Iterable[Any]) -> Iterator[Line]:
    # Row by row: as Python objects, the rows of a batch would need as much memory again.
    rows = (
        batch.slice(row, 1).to_pylist()[0]
        for batch in batches
        for row in range(batch.num_rows)
    )
    return enumerate(rows, start=1)


def _not_arrow(path: Path, expected: str, error: Exception) -> BadRecord:
    return BadRecord(
        source=str(path), line=None, field="file", found=str(error), expected=expected
    )
