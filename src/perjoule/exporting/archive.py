"""A bundle opened with care: the only reader of zip files. Everything in one is untrusted."""

import hashlib
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from perjoule.exporting import zipped
from perjoule.machine import portable, removal
from perjoule.machine.disks import reserve_bytes
from perjoule.machine.untrusted import UNEXPECTED, opened, words
from perjoule.model.errors import MachineError
from perjoule.model.units import bytes_text
from perjoule.store import progress

# of a results folder, and of the moment: what a bundle never has
COMPUTED = ("lock", "summary", progress.NAME)
MOST_UNPACKED_BYTES = 16 * 1024**3
MOST_RATIO = 200  # of a file's size over its size in a bundle: fio's logs, which compress best, reach 30
MOST_RATIO_TOGETHER = 50  # of all files: whole results reach 6
SMALL_BYTES = 16 * 1024**2  # up to which any ratio is harmless
_CHUNK_BYTES = 1 << 20
_STRANGE = "it was not written by `perjoule export`: inspect it before you trust it"
ASK_AGAIN = "fetch the bundle again"
_ALLOW = "if you trust it, allow more with --most"
_HELP = "see `perjoule export --help`"
DAMAGE = (OSError, zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, *UNEXPECTED)


@dataclass(frozen=True)
class Archive:
    """An open bundle, whose names and sizes are within limits."""

    path: Path
    files: Mapping[str, zipfile.ZipInfo]
    _zip: zipfile.ZipFile
    _file: BufferedReader

    @property
    def unpacked_bytes(self) -> int:
        """The size that its files claim to have together; none is read further."""
        return sum(entry.file_size for entry in self.files.values())

    def digest(self) -> str:
        """Return the SHA-256 of the bundle itself. Raises OSError."""
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").hexdigest()

    def chunks(self, name: str) -> Iterator[bytes]:
        """Read a file up to the size that it claims to have. Raises DAMAGE."""
        left_bytes = self.files[name].file_size
        with self._zip.open(self.files[name]) as source:
            while chunk := source.read(min(_CHUNK_BYTES, left_bytes + 1)):
                left_bytes -= len(chunk)
                if left_bytes < 0:
                    raise ValueError("it is longer than it claims to be")
                yield chunk


@contextmanager
def open_archive(
    path: Path, most_bytes: int = MOST_UNPACKED_BYTES, advice: str = _ALLOW
) -> Generator[Archive]:
    """Open a bundle.

    Args:
        path: of the file.
        most_bytes: to which it may unpack.
        advice: what to do with one that would unpack to more.

    Raises:
        MachineError: it is not a bundle, can't be read, or has a name or size that bundles do not have.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(opened(path))
            zipped.check(file)
            bundle = stack.enter_context(zipfile.ZipFile(file))
        except OSError as error:
            raise MachineError((error.strerror or str(error)).lower(), where=str(path), next=_HELP) from error
        except DAMAGE as error:
            problem = f"this is not a bundle, or it is damaged: {words(error)}"
            raise MachineError(problem, where=str(path), next=f"{ASK_AGAIN}, or {_HELP}") from error
        files = _files(bundle, path)
        archive = Archive(path, files, bundle, file)
        _check_ratio(
            "it",
            archive.unpacked_bytes,
            sum(entry.compress_size for entry in files.values()),
            MOST_RATIO_TOGETHER,
            path,
        )
        if archive.unpacked_bytes > most_bytes:
            problem = (
                f"it unpacks to {bytes_text(archive.unpacked_bytes)}, more than {bytes_text(most_bytes)}"
            )
            raise MachineError(problem, where=str(path), next=advice)
        yield archive


def _files(bundle: zipfile.ZipFile, path: Path) -> Mapping[str, zipfile.ZipInfo]:
    """Return the files of a bundle by name. Raises MachineError: a bundle has no such name or size."""
    files: dict[str, zipfile.ZipInfo] = {}
    for entry in bundle.infolist():
        name = entry.filename
        if name.strip("/") and name.endswith("/") and not entry.file_size:
            continue  # a folder of a bundle that was repacked; folders are made with their files
        fault = portable.fault(name)
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            fault = "is a link, or another file that is not data"
        elif name in files:
            fault = "occurs twice"
        elif name.partition("/")[0] in COMPUTED:
            fault = "is computed, and never part of a bundle"
        if fault:
            raise MachineError(
                f"{portable.quoted(name)} does not belong in a bundle: it {fault}",
                where=str(path),
                next=_STRANGE,
            )
        _check_ratio(portable.quoted(name), entry.file_size, entry.compress_size, MOST_RATIO, path)
        files[name] = entry
    later, earlier = portable.clash(files)
    if later:
        both = f"{portable.quoted(later)} does not belong in a bundle beside {portable.quoted(earlier)}"
        problem = f"{both}: on some computers they are one file, or one is the folder of the other"
        raise MachineError(problem, where=str(path), next=_STRANGE)
    return files


def _check_ratio(name: str, size_bytes: int, packed_bytes: int, most_ratio: int, path: Path) -> None:
    if size_bytes > max(SMALL_BYTES, most_ratio * packed_bytes):
        size = f"from {bytes_text(packed_bytes)} to {bytes_text(size_bytes)}"
        raise MachineError(f"{name} unpacks {size}, more than any results", where=str(path), next=_STRANGE)


@contextmanager
def unpacked(archive: Archive) -> Generator[Path]:
    """Unpack a bundle into a temporary folder, never outside it, whatever its names say.

    Raises MachineError, OSError.
    """
    with removal.scratch("perjoule-bundle-") as folder:
        _require_space(folder, archive)
        for name in archive.files:
            target = folder / "results" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as sink:
                for chunk in _whole(archive, name):
                    sink.write(chunk)
        yield folder / "results"


def _whole(archive: Archive, name: str) -> Iterator[bytes]:
    try:
        yield from archive.chunks(name)
    except DAMAGE as error:
        raise MachineError(
            f"{portable.quoted(name)} is damaged ({words(error)})", where=str(archive.path), next=ASK_AGAIN
        ) from error


def _require_space(folder: Path, archive: Archive) -> None:
    """Check that a bundle fits beside the reserve of a disk. Raises MachineError."""
    disk = os.statvfs(folder)
    free_bytes, kept_bytes = disk.f_bavail * disk.f_frsize, reserve_bytes(disk.f_blocks * disk.f_frsize)
    if archive.unpacked_bytes + kept_bytes > free_bytes:
        space = (
            f"{bytes_text(archive.unpacked_bytes)} and {bytes_text(kept_bytes)} in reserve, "
            f"{bytes_text(free_bytes)} free"
        )
        problem = f"there is not enough space to unpack it ({space})"
        raise MachineError(problem, where=str(folder), next="set TMPDIR to a disk with more room")
    if disk.f_files and disk.f_favail < 2 * len(archive.files):
        problem = (
            f"there is no room for {len(archive.files)} files to unpack it (inodes: {disk.f_favail} free)"
        )
        raise MachineError(problem, where=str(folder), next="set TMPDIR to another disk")
