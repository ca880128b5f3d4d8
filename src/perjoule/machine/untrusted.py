"""Input from outside, within limits: files and JSON of other tools, of results folders, of meters.

Files have a maximum size, JSON a maximum size and depth. JSON has no NaN and no infinity (RFC 8259), and a
number that no float can hold is invalid: all three are refused. A record writes them as `{"$float": "inf"}`.
Half a character, as in "\\ud800", is refused, too: no file in UTF-8 can hold it.
"""

import codecs
import csv
import errno
import json
import math
import os
import re
import stat
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from perjoule.model import Json
from perjoule.model.errors import UnexpectedOutput
from perjoule.model.units import bytes_text

MOST_BYTES = 256 * 1024**2  # of a file: fio's logs of a day have a tenth
MOST_JSON_BYTES = 64 * 1024**2  # sysstat's counters of a day, every ten seconds
MOST_NAMED_BYTES = 16 * 1024**2  # of JSON that a command line names: profiles have a hundredth
MOST_TABLES = 1_000_000  # tables and lists in one text: "[[],[]," becomes twenty times as large in memory
MOST_VALUES = 200_000  # in a dataclass: each that does not fit costs a kilobyte before the first is reported
MOST_DEPTH = 100  # what walks through it does so by recursion
MOST_DIGITS = 20  # of whole numbers: 64 bits
_MARKS = {  # https://www.unicode.org/faq/utf_bom.html#bom4; the longer marks first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # https://www.rfc-editor.org/rfc/rfc8259#section-8.2
_LEAST_BYTES = 8  # in which zeros say that a text is UTF-16

# What reading a text trips over that is not as its reader expects. To be caught around a reader, and never
# around anything else.
UNEXPECTED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, StopIteration, csv.Error)

T = TypeVar("T")


def words(error: BaseException) -> str:
    """Turn one of UNEXPECTED, or an OSError, into a message for the reader of the text."""
    if isinstance(error, KeyError):
        return f"it has no {error}"
    if isinstance(error, OSError):
        return f"{error.filename}: {(error.strerror or str(error)).lower()}" if error.filename else str(error)
    if isinstance(error, ValueError | csv.Error):
        return str(error)
    fault = (
        "a number in it is impossible"
        if isinstance(error, ArithmeticError)
        else "something in it has an unexpected type"
    )
    return f"{fault} ({error or type(error).__name__})"


@contextmanager
def understood(program: str) -> Generator[None]:
    """Turn what a parser trips over in a program's output into an error. Raises WorkloadError."""
    try:
        yield
    except UNEXPECTED as error:
        raise UnexpectedOutput(f"unexpected output: {words(error)}", where=program) from None


@contextmanager
def opened(path: Path) -> Generator[BufferedReader]:
    """Open a file to read it.

    A pipe would wait for its other end, and a device may never end: raises OSError for both.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a file, but a pipe or a device", str(path))
        yield file


def lies_in(descriptor: int, folder: Path) -> bool:
    """Return whether an open file lies in a folder (a path without links), or is it, by the kernel's word: its path
    may lead elsewhere by now.
    """
    return Path(f"/proc/self/fd/{descriptor}").readlink().is_relative_to(folder)


def bytes_of(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Read a file. Raises OSError; ValueError if it is longer than `most_bytes`."""
    with opened(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise ValueError(f"{path.name} is longer than {bytes_text(most_bytes)}, the limit for such a file")
    return content


def text_of(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Read a text file in UTF-8. Raises OSError; ValueError if it is too long or not text."""
    try:
        return _lines(bytes_of(path, most_bytes).decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not text (byte {error.start + 1})") from None


def foreign_text_of(path: Path, encoding: str = "utf-8") -> str:
    """Read a text file of any program, as `foreign_text` does.

    Raises OSError; ValueError if it is too long.
    """
    return foreign_text(bytes_of(path), encoding)


def foreign_text(content: bytes, encoding: str = "utf-8") -> str:
    """Decode the text of any program, in the encoding of its `marked_encoding`, else as declared; what is
    invalid is replaced.
    """
    return _lines(
        content.decode(marked_encoding(content) or encoding, errors="replace").removeprefix("\ufeff")
    )


def marked_encoding(content: bytes) -> str:
    """Return the encoding that a byte order mark names, or UTF-16 if every other byte of the first is 0;
    "" for any other.
    """
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return encoding
    head = content[:200]
    if len(head) < _LEAST_BYTES:
        return ""
    return next(
        (name for name, at in (("utf-16-le", 1), ("utf-16-be", 0)) if not any(head[at::2]) and any(head)), ""
    )


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def json_from(text: str | bytes, most_bytes: int = MOST_JSON_BYTES) -> Any:
    """Read JSON. Raises ValueError: it is invalid, too long, too deep, or has an invalid number."""
    check_size(text, most_bytes)
    text = _text(text)
    return _encodable(_shallow(_decoded(_DECODER.decode, text)), text)


def json_at(text: str, begin: int) -> tuple[Any, int]:
    """Read the JSON that begins within a text (see `check_size`), and return where it ends.

    Raises ValueError.
    """
    value, end = _decoded(_DECODER.raw_decode, text, begin)
    return _encodable(_shallow(value), text[begin:end]), end


def json_of(path: Path) -> Any:
    """Read a JSON file. Raises OSError; ValueError that names the file."""
    try:
        return json_from(bytes_of(path, MOST_JSON_BYTES))
    except ValueError as error:
        raise ValueError(str(error) if path.name in str(error) else f"{path.name}: {error}") from None


def read_as(cls: type[T], path: Path) -> T:
    """Read a dataclass that was written as JSON.

    Raises OSError; ValueError that names the file and the key.
    """
    try:
        return from_json(cls, json_of(path))
    except ValueError as error:
        raise ValueError(str(error) if path.name in str(error) else f"{path.name}: {error}") from None


def _text(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not text (byte {error.start + 1})") from None


def check_size(text: str | bytes, most_bytes: int = MOST_JSON_BYTES) -> None:
    """Check that JSON stays small in memory. Raises ValueError."""
    if len(text) > most_bytes:
        raise ValueError(f"longer than {bytes_text(most_bytes)}")
    counts = (
        (text.count("["), text.count("{")) if isinstance(text, str) else (text.count(b"["), text.count(b"{"))
    )
    if sum(counts) > MOST_TABLES:
        raise ValueError(f"more than {MOST_TABLES} tables and lists in one text")


def _decoded(decode: Callable[..., T], *arguments: Any) -> T:
    try:
        return decode(*arguments)
    except RecursionError:
        raise ValueError(f"nested deeper than {MOST_DEPTH} tables and lists") from None


def _shallow(value: Any) -> Any:
    """Return a value that is not nested too deeply. Raises ValueError."""
    level = _nested([value])
    for _ in range(MOST_DEPTH):
        if not level:
            return value
        level = [
            inner
            for outer in level
            for inner in _nested(outer.values() if isinstance(outer, dict) else outer)
        ]
    if not level:
        return value
    raise ValueError(f"nested deeper than {MOST_DEPTH} tables and lists")


def _encodable(value: T, text: str) -> T:
    """Return the value of a text, which can be written to a file. Raises ValueError."""
    if _HALF.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("half a character stands alone in it (a surrogate)") from None
    return value


def _nested(values: Iterable[Any]) -> list[dict[str, Any] | list[Any]]:
    return [value for value in values if isinstance(value, dict | list)]


def _no_number(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not a JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    return value if math.isfinite(value) else _no_number(digits[:40])


def _whole(digits: str) -> int:
    return int(digits) if len(digits.lstrip("-")) <= MOST_DIGITS else _no_number(digits[:40])


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite, parse_int=_whole)


_FLOATS = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


@cache
def _reader(cls: type[Any]) -> TypeAdapter[tuple[Any]]:
    inside: Any = tuple.__class_getitem__((cls,))  # a dataclass by itself takes no settings
    return TypeAdapter(inside, config=ConfigDict(extra="forbid", arbitrary_types_allowed=True))


def from_json(cls: type[T], document: Json) -> T:
    """Build a dataclass from JSON data. Missing fields take their default; an unknown field is an error.

    Raises:
        ValueError: the data do not fit the type, and it names the field; or there are too many of them.
    """
    text = json.dumps([document])
    if text.count(",") > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES} values in one {cls.__name__}")
    for literal, number in _FLOATS.items():  # no string contains these quotes without a backslash
        text = text.replace(f'{{"$float": "{literal}"}}', number)
    try:
        return _reader(cls).validate_json(text, strict=True)[0]
    except ValidationError as error:
        raise ValueError(_fault(cls.__name__, error.errors(include_url=False)[0])) from None


def _fault(name: str, error: ErrorDetails) -> str:
    """Return what does not fit, and where."""
    place = name + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error["loc"][1:])
    match error["type"]:
        case "unexpected_keyword_argument":
            return f'{place.rpartition(".")[0]} has no field "{error["loc"][-1]}"'
        case "missing":
            return f"{place} is missing"
        case "value_error":
            return f"{place}: {error.get('ctx', {}).get('error')}"
        case _:
            return (
                f"{place}: {error['msg'].replace('Input should be', 'expected')}, found "
                f"{json.dumps(error['input'])[:60]}"
            )
