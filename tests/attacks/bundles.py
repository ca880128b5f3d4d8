"""Hostile bundles: each is made of a good one, and must be refused in a sentence that names it."""

import hashlib
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from perjoule.exporting.crate import CHECKSUMS
from perjoule.store import progress

Change = Callable[[Path, Path], object]  # of a good bundle into a hostile one
MIB = 1024**2
UTF_8 = 1 << 11
BARE = 1 << 20  # none of the format: names without the flag of UTF-8


@dataclass(frozen=True)
class Odd:
    """A file of a bundle, and what is odd about it: names of the directory and of its own head, flags,
    extra fields.
    """

    name: str
    listed: bytes = b""
    stored: bytes = b""
    flags: int = 0
    extra: bytes = b""


PLAIN = Odd("")


def with_names(*names: str) -> Change:
    """Add files of these names."""
    return lambda good, target: target.write_bytes(_zip({**_content(good), **dict.fromkeys(names, b"x")}))


@lru_cache(maxsize=4)
def _content(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as source:
        return {entry.filename: source.read(entry) for entry in source.infolist()}


def _zip(
    files: Mapping[str, bytes],
    *,
    odd: Odd | None = None,
    comment: bytes = b"",
    before: bytes = b"",
    count_shift: int = 0,
) -> bytes:
    """Write files with their checksums as a zip file, byte by byte: modules of Python would refuse some of
    it.
    """
    content = {name: data for name, data in files.items() if name != CHECKSUMS}
    sums = "".join(f"{_packed(data)[2]}  {name}\n" for name, data in sorted(content.items()))
    body, head = bytearray(before), bytearray()
    for name, data in {**content, CHECKSUMS: sums.encode()}.items():
        own = odd if odd and name == odd.name else PLAIN
        packed, crc, _ = _packed(data)
        entry = Entry(own.listed or name.encode(), packed, len(data), crc, own.flags, own.extra)
        head += entry.head(len(body))
        body += (replace(entry, name=own.stored) if own.stored else entry).stored()
    count = len(content) + 1 + count_shift
    return bytes(body + head) + end(count, len(head), len(body), comment)


@lru_cache(maxsize=64)  # more than a bundle has files: each hostile one has those of the good one
def _packed(data: bytes) -> tuple[bytes, int, str]:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush(), zlib.crc32(data), hashlib.sha256(data).hexdigest()


def _small_files(count: int, size_bytes: int) -> Change:
    """Files that each may unpack at any ratio, but not together."""
    return lambda good, target: target.write_bytes(
        _zip({**_content(good), **dict.fromkeys((f"x/{n}" for n in range(count)), bytes(size_bytes))})
    )


def _many_files(good: Path, target: Path) -> None:
    target.write_bytes(
        _zip(
            {**_content(good), **{f"x/{number}": b"" for number in range(200_001)}},
            count_shift=-(200_400 // 65536) * 65536,
        )
    )


def _overlapping(good: Path, target: Path) -> None:
    """Many names for the bytes of one file: https://www.bamsoftware.com/hacks/zipbomb/."""
    zeros = bytes(MIB)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    entry = Entry(b"0", packer.compress(zeros) + packer.flush(), MIB, zlib.crc32(zeros))
    head = b"".join(replace(entry, name=b"%d" % number).head(0) for number in range(100))
    target.write_bytes(entry.stored() + head + end(100, len(head), len(entry.stored())))


def _nested(good: Path, target: Path) -> None:
    """A file whose data contain another file's head and data."""
    inner = Entry(b"b", b"in", 2, zlib.crc32(b"in"))
    outer = Entry(b"a", inner.stored(), len(inner.stored()), zlib.crc32(inner.stored()))
    head = outer.head(0) + inner.head(len(outer.stored()) - len(inner.stored()))
    target.write_bytes(outer.stored() + head + end(2, len(head), len(outer.stored())))


@dataclass(frozen=True)
class Entry:
    """A file in a zip file: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (4.3.7, 4.3.12)."""

    name: bytes
    packed: bytes
    size_bytes: int
    crc: int
    flags: int = 0
    extra: bytes = b""

    def _numbers(self) -> tuple[int, ...]:
        flags = self.flags | (0 if self.name.isascii() or self.flags & BARE else UTF_8)
        kind = 0 if len(self.packed) == self.size_bytes and not self.flags & BARE else 8
        sizes = (self.crc, len(self.packed), self.size_bytes, len(self.name), len(self.extra))
        return flags & ~BARE, kind, 0, 33, *sizes

    def stored(self) -> bytes:
        """Return its head and data."""
        return (
            struct.pack("<4s5H3I2H", b"PK\3\4", 20, *self._numbers()) + self.name + self.extra + self.packed
        )

    def head(self, begin: int) -> bytes:
        """Return its line of the directory."""
        return (
            struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, *self._numbers(), 0, 0, 0, 0, begin)
            + self.name
            + self.extra
        )


def end(count: int, size_bytes: int, begin: int, comment: bytes = b"") -> bytes:
    """Return the end of a directory."""
    return struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, size_bytes, begin, len(comment)) + comment


def _one(
    flags: int = 0,
    extra: bytes = b"",
    listed: bytes = b"",
    stored: bytes = b"",
    *,
    comment: bytes = b"",
    before: bytes = b"",
    count_shift: int = 0,
) -> Change:
    """A bundle that is odd in one way."""
    odd = Odd("a", listed, stored, flags, extra)

    def change(good: Path, target: Path) -> None:
        files = {"a": b"x" * 100, **_content(good)}
        target.write_bytes(_zip(files, odd=odd, comment=comment, before=before, count_shift=count_shift))

    return change


def _patched(change: Callable[[bytes], bytes]) -> Change:
    return lambda good, target: target.write_bytes(change(good.read_bytes()))


def _link(good: Path, target: Path) -> None:
    entry = zipfile.ZipInfo("link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(target, "w") as sink:
        sink.writestr(entry, "/etc/passwd")


def _huge_sizes(good: Path, target: Path) -> None:
    """A field of 64 bits that claims 2**60 bytes."""
    extra = struct.pack("<2H2Q", 1, 16, 2**60, 1)
    body = (
        struct.pack("<4s5H3I2H", b"PK\3\4", 45, 0, 0, 0, 33, 0, 0xFFFFFFFF, 0xFFFFFFFF, 1, len(extra))
        + b"a"
        + extra
        + b"x"
    )
    head = struct.pack(
        "<4s6H3I5H2I", b"PK\1\2", 45, 45, 0, 0, 0, 33, 0, 0xFFFFFFFF, 0xFFFFFFFF, 1, len(extra), 0, 0, 0, 0, 0
    )
    head += b"a" + extra
    target.write_bytes(body + head + end(1, len(head), len(body)))


NAMES: Mapping[str, tuple[str, ...]] = {
    "leads outside": ("../evil",),
    "leads outside in the middle": ("a/../../evil",),
    "absolute": ("/etc/evil",),
    "backslash": ("a\\..\\evil",),
    "drive": ("C:/evil",),
    "stream of NTFS": ("trials/record.json:evil",),
    "here": ("./evil",),
    "empty part": ("a//evil",),
    "a file that is a folder": ("a", "a/b"),
    "a folder that is a file": ("a/b", "a"),
    "2000 folders": ("d/" * 2000 + "x",),
    "21 folders": ("d/" * 20 + "x",),
    "a part of 256 bytes": ("x" * 256,),
    "a part of 255 letters, 510 bytes": ("ä" * 255,),
    "right to left": ("trials/\u202egpj.exe",),
    "isolate": ("a\u2066b",),
    "zero width": ("campaign\u200b.toml",),
    "byte order mark": ("\ufeffcampaign.toml",),
    "soft hyphen": ("cam\u00adpaign.toml",),
    "line feed": ("a\nb",),
    "escape": ("\x1b[31mred",),
    "C1 control": ("a\x9bb",),
    "line separator": ("a\u2028b",),
    "no-break space": ("a\u00a0b",),
    "capitals": ("Campaign.toml",),
    "capitals of a folder": ("Trials/x", "trials/y"),
    "sharp s": ("straße", "STRASSE"),
    "composed and decomposed": ("\u00e9", "e\u0301"),
    "Kelvin sign": ("\u212a", "k"),
    "reserved": ("trials/NUL",),
    "reserved with a suffix": ("com1.txt",),
    "reserved with a superscript": ("lpt\u00b9",),
    "reserved character": ("what?",),
    "ends with a blank": ("trials/x ",),
    "begins with a blank": (" trials",),
    "ends with a full stop": ("trials/x.",),
    "computed numbers": ("summary/cells.json",),
    "a lock": ("lock/x",),
    "progress": (progress.NAME,),
}
STRUCTURES: Mapping[str, Change] = {
    "small files of 3 GiB together": _small_files(200, 16 * MIB - 1),
    "more files than results have": _many_files,
    "overlapping files": _overlapping,
    "a file in another": _nested,
    "another name inside": _one(stored=b"../evil"),
    "sizes of 2**60": _huge_sizes,
    "a link": _link,
    "encrypted": _one(flags=1),
    "masked directory": _one(flags=1 << 13),
    "patch": _one(flags=1 << 5),
    "Unicode path": _one(extra=struct.pack("<2HBI", 0x7075, 12, 1, zlib.crc32(b"a")) + b"../evil"),
    "letters without encoding": _one(flags=BARE, listed="é".encode("cp437")),
    "states more files": _one(count_shift=1),
    "states fewer files": _one(count_shift=-1),
    "a comment": _one(comment=b"see https://example.org"),
    "a second directory in the comment": _one(comment=end(0, 0, 0)),
    "a program before it": _one(before=b"#!/bin/sh\nexit\n"),
    "bytes after it": _patched(lambda content: content + b"\0" * 8),
    "cut short": _patched(lambda content: content[:-100]),
    "its first byte is missing": _patched(lambda content: content[1:]),
    "no directory": _patched(lambda content: content[: len(content) // 2]),
    "only a directory's end": lambda good, target: target.write_bytes(end(0, 0, 0)),
    "empty": lambda good, target: target.write_bytes(b""),
    "text": lambda good, target: target.write_bytes(b"nothing\n" * 100),
    "twice the same name": _one(listed=b"campaign.toml"),
}
HOSTILE: Mapping[str, Change] = {
    **{f"name: {what}": with_names(*names) for what, names in NAMES.items()},
    **STRUCTURES,
}
