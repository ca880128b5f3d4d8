"""The structure of a zip file, taken strictly: every program finds the same files in it, each in bytes of its
own.

The format lets a file be listed under one name and stored under another, files overlap, or two directories
follow one another; programs then disagree, or a small file unpacks without end. What `zip`, 7-Zip and Python
write has none of it. https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (6.3.10; its sections are
named below)
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from perjoule.machine import portable

MOST_FILES = 200_000  # 12,000 trials have half
MOST_DIRECTORY_BYTES = 64 * 1024**2
_STORED, _DEFLATED = 0, 8
# level of compression, sizes after the data, UTF-8 (4.4.4); none is of encryption
_FLAGS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 11
_SIZES_AFTER, _UTF_8 = 1 << 3, 1 << 11
_LEFT_TO_ZIP64 = 0xFFFFFFFF
# 4.5.2 and 4.6: sizes of 64 bits, times, owners. Others give a file another name.
_ZIP64 = 0x0001
_EXTRA = {_ZIP64, 0x000A, 0x5455, 0x5855, 0x7855, 0x7875}
_END = struct.Struct("<4s4H2IH")  # 4.3.16
_END_64, _LOCATOR_64 = struct.Struct("<4sQ2H2I4Q"), struct.Struct("<4sIQI")  # 4.3.14, 4.3.15
_LISTED = struct.Struct("<4s6H3I5H2I")  # 4.3.12
_STORED_HEAD = struct.Struct("<4s5H3I2H")  # 4.3.7
# of sizes after the data: with or without a signature, of 32 or 64 bits (4.3.9)
_AFTER_BYTES = (12, 16, 20, 24)


@dataclass(frozen=True)
class _Entry:
    """A file as the directory lists it."""

    name: bytes
    flags: int
    compression: int
    packed_bytes: int
    size_bytes: int
    begin: int


def check(file: BinaryIO) -> None:
    """Check the structure of a zip file.

    Raises ValueError: programs would disagree on what it contains; OSError.
    """
    end = file.seek(0, os.SEEK_END)
    begin_directory, directory_end, count = _directory(file, end)
    if count > MOST_FILES or directory_end - begin_directory > MOST_DIRECTORY_BYTES:
        raise ValueError(f"it has {count} files, and results at most {MOST_FILES}")
    entries = sorted(
        _entries(_read(file, begin_directory, directory_end - begin_directory)), key=lambda entry: entry.begin
    )
    if len(entries) != count:
        raise ValueError(f"it has {len(entries)} files and states {count}")
    at = 0
    for entry, following in zip(
        entries, [*(entry.begin for entry in entries[1:]), begin_directory], strict=True
    ):
        if entry.begin != at:
            raise ValueError(
                f"{_shown(entry.name)} begins within another file, or after bytes that belong to none"
            )
        data_end = _data_end(file, entry)
        after = _AFTER_BYTES if entry.flags & _SIZES_AFTER else (0,)
        if following - data_end not in after:
            raise ValueError(
                f"{_shown(entry.name)} ends within another file, or before bytes that belong to none"
            )
        at = following


def _directory(file: BinaryIO, end: int) -> tuple[int, int, int]:
    """Return where the directory begins and ends, and the number of files that it states."""
    at = end - _END.size
    signature, *disks, here, count, size_bytes, begin, comment_bytes = _END.unpack(_read(file, at, _END.size))
    if signature != b"PK\5\6" or comment_bytes:
        raise ValueError("its directory is not at its end, or a comment follows")
    if at >= _LOCATOR_64.size + _END_64.size:
        signature, disk, position, disks_count = _LOCATOR_64.unpack(
            _read(file, at - _LOCATOR_64.size, _LOCATOR_64.size)
        )
        if signature == b"PK\6\7":
            at -= _LOCATOR_64.size + _END_64.size
            end_64 = _END_64.unpack(_read(file, at, _END_64.size))
            if (
                end_64[0] != b"PK\6\6"
                or end_64[1] != _END_64.size - 12
                or (disk, position, disks_count) != (0, at, 1)
            ):
                raise ValueError("the ends of its directory disagree")
            large = end_64[6:]
            for small, limit, value in zip(
                (here, count, size_bytes, begin), (0xFFFF,) * 2 + (_LEFT_TO_ZIP64,) * 2, large, strict=True
            ):
                if small not in (limit, value):
                    raise ValueError("the ends of its directory disagree")
            disks, (here, count, size_bytes, begin) = [*disks, *end_64[4:6]], large
    if any(disks) or here != count or begin + size_bytes != at:
        raise ValueError("its directory is not where it states, or is in several parts")
    return begin, at, count


def _entries(directory: bytes) -> Iterator[_Entry]:
    at, count = 0, 0
    while at < len(directory):
        fields = _LISTED.unpack_from(directory, at)
        (
            signature,
            _,
            _,
            flags,
            compression,
            *_,
            packed_bytes,
            size_bytes,
            name_bytes,
            extra_bytes,
            comment_bytes,
        ) = fields[:13]
        disk, begin = fields[13], fields[16]
        at += _LISTED.size
        name, extra = (
            directory[at : at + name_bytes],
            directory[at + name_bytes : at + name_bytes + extra_bytes],
        )
        at += name_bytes + extra_bytes + comment_bytes
        count += 1
        if signature != b"PK\1\2" or at > len(directory) or count > MOST_FILES:
            raise ValueError("its directory is damaged, or too long")
        if flags & ~_FLAGS or compression not in (_STORED, _DEFLATED):
            raise ValueError(f"{_shown(name)} is encrypted, or compressed in a way that bundles are not")
        if not name.isascii() and not flags & _UTF_8:
            raise ValueError(f"{_shown(name)} has letters without their encoding")
        size_bytes, packed_bytes, begin, disk = _wide(extra, (size_bytes, packed_bytes, begin, disk), name)
        if disk:
            raise ValueError("it is one of several parts")
        yield _Entry(name, flags, compression, packed_bytes, size_bytes, begin)


def _wide(extra: bytes, small: tuple[int, ...], name: bytes) -> tuple[int, ...]:
    """Return size, packed size and what follows them, with the values of 64 bits that their extra field
    has (4.5.3).
    """
    at, values = 0, b""
    while at < len(extra):
        kind, length_bytes = struct.unpack_from("<2H", extra, at)
        if kind not in _EXTRA or at + 4 + length_bytes > len(extra) or (kind == _ZIP64 and values):
            raise ValueError(f"{_shown(name)} has a field that could give it another name or size")
        values = extra[at + 4 : at + 4 + length_bytes] if kind == _ZIP64 else values
        at += 4 + length_bytes
    wide: list[int] = []
    for value, (form, limit) in zip(small, (("<Q", _LEFT_TO_ZIP64),) * 3 + (("<I", 0xFFFF),), strict=False):
        if value == limit and len(values) >= struct.calcsize(form):
            (value,) = struct.unpack_from(form, values)
            values = values[struct.calcsize(form) :]
        wide.append(value)
    return tuple(wide)


def _data_end(file: BinaryIO, entry: _Entry) -> int:
    """Return where the data of a file end; what stands before them must agree with the directory."""
    head = _STORED_HEAD.unpack(_read(file, entry.begin, _STORED_HEAD.size))
    signature, _, flags, compression, _, _, _, packed_bytes, size_bytes, name_bytes, extra_bytes = head
    name, extra = (
        (tail := _read(file, entry.begin + _STORED_HEAD.size, name_bytes + extra_bytes))[:name_bytes],
        tail[name_bytes:],
    )
    size_bytes, packed_bytes = _wide(extra, (size_bytes, packed_bytes), name)
    sizes = ((packed_bytes, entry.packed_bytes), (size_bytes, entry.size_bytes))
    agree = all(stored == listed or (flags & _SIZES_AFTER and not stored) for stored, listed in sizes)
    if not agree or (signature, name, flags, compression) != (
        b"PK\3\4",
        entry.name,
        entry.flags,
        entry.compression,
    ):
        raise ValueError(f"{_shown(entry.name)} is stored otherwise than it is listed")
    return entry.begin + _STORED_HEAD.size + name_bytes + extra_bytes + entry.packed_bytes


def _read(file: BinaryIO, at: int, count_bytes: int) -> bytes:
    if at < 0:
        raise ValueError("it is too short")
    file.seek(at)
    if len(content := file.read(count_bytes)) < count_bytes:
        raise ValueError("it is cut short")
    return content


def _shown(name: bytes) -> str:
    return portable.quoted(name.decode(errors="replace"))
