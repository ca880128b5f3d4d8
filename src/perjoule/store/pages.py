"""What the pages of a Parquet file unpack to, by their own headers: a reader allocates what these state, whatever
the file states elsewhere.

https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift (PageHeader), written in
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from collections.abc import Iterator

MOST_NESTED = 8  # structures in a header: it has two
_INTEGERS, _BINARY, _STRUCTURE = (4, 5, 6), 8, 12
_SIZES_BYTES = {
    1: 0,
    2: 0,
    3: 1,
    7: 8,
}  # of the other types that a header has: truth values, a byte, a double
_UNPACKED, _PACKED = 2, 3  # fields of a header


def unpacked_sizes(chunk: bytes) -> Iterator[int]:
    """Yield what each page in a chunk of a column unpacks to, in bytes.

    Raises ValueError, IndexError: these are no pages.
    """
    at = 0
    while at < len(chunk):
        sizes, at = _integers(chunk, at)
        unpacked_bytes, packed_bytes = sizes.get(_UNPACKED, -1), sizes.get(_PACKED, -1)
        if unpacked_bytes < 0 or packed_bytes < 0:
            raise ValueError("a page of it has no size")
        yield unpacked_bytes
        at += packed_bytes


def _integers(chunk: bytes, at: int, depth: int = 1) -> tuple[dict[int, int], int]:
    """Return the integers of a structure by the numbers of their fields, and where it ends."""
    integers: dict[int, int] = {}
    field = 0
    if depth > MOST_NESTED:
        raise ValueError("a page of it has a header that is nested too deeply")
    while head := chunk[at]:
        at += 1
        step, kind = head >> 4, head & 15
        if step:
            field += step
        else:
            field, at = _integer(chunk, at)
        if kind in _INTEGERS:
            integers[field], at = _integer(chunk, at)
        elif kind == _STRUCTURE:
            _, at = _integers(chunk, at, depth + 1)
        elif kind == _BINARY:
            length, at = _unsigned(chunk, at)
            at += length
        elif kind in _SIZES_BYTES:
            at += _SIZES_BYTES[kind]
        else:
            raise ValueError("a page of it has a header with something that no header has")
    return integers, at + 1


def _integer(chunk: bytes, at: int) -> tuple[int, int]:
    value, at = _unsigned(chunk, at)
    return (value >> 1) ^ -(value & 1), at


def _unsigned(chunk: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        byte = chunk[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a page of it has a header with a number that is too large")
