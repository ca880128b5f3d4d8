"""A results folder as one self-describing file, and back: written with the same bytes each time, unpacked with care."""

import hashlib
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from perjoule import store
from perjoule.exporting.crate import CHECKSUMS, CITATION, METADATA, File, Said, checksums, citation, metadata
from perjoule.machine import removal
from perjoule.machine.untrusted import MOST_JSON_BYTES, UNEXPECTED, words
from perjoule.model.errors import MachineError
from perjoule.model.units import bytes_text
from perjoule.results import verification
from perjoule.store import Results, progress
from perjoule.store.clearing import ASIDE

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that zip knows: when files were written is not part of a bundle
TABLE = "table.csv"
# What is computed, what is of the moment, and what an unpacked bundle had.
LEFT_OUT = ("lock", "summary", progress.NAME, METADATA, CITATION, CHECKSUMS, TABLE)
_CHUNK_BYTES = 1 << 20
_STRANGE = "it was not written by `perjoule export`: inspect it before you trust it"
_ASK_AGAIN = "fetch the bundle again"
_COMPRESSED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (OSError, zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, *UNEXPECTED)
MOST_RATIO = 200  # of a file's size over its size in a bundle: fio's logs, which compress best, reach 30
SMALL_BYTES = 16 * 1024**2  # up to which any ratio is harmless


def write_bundle(results: Results, target: Path, table: str, said: Said) -> int:
    """Write all kept attempts, the report if there is one, table and description to a zip file; return the number of files.

    Args:
        results: a folder.
        target: replaced if it exists.
        table: all metrics as CSV.
        said: the description.

    Raises:
        MachineError: the target is not a file.
        OSError: it can't be written.
    """
    records = results.records()
    paths = {_name(results.folder, path): path for path in _kept(results) if path.resolve() != target.resolve()}
    texts = {TABLE: table, CITATION: citation(said, records)}
    files = {name: File(path.stat().st_size, _sha256(path)) for name, path in paths.items()}
    files |= {name: _described(text) for name, text in texts.items()}
    # description and checksums name each other: it states only their size, which does not depend on it
    size_bytes = len(checksums({**files, METADATA: File(0, "0" * 64)}).encode())
    texts[METADATA] = metadata(said, records, {**files, CHECKSUMS: File(size_bytes, "")})
    texts[CHECKSUMS] = checksums({**files, METADATA: _described(texts[METADATA])})
    if target.exists() and not target.is_file():
        raise MachineError("a bundle is a file, but this is a pipe or a device", where=str(target), next="name a file")
    partial = target.with_name(f".{target.name}.partial")
    removal.remove_file(partial)  # a killed writer's, or a link
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle:
            for name in sorted((*paths, *texts), key=lambda one: (one != METADATA, one)):
                entry = zipfile.ZipInfo(name, EPOCH)
                entry.external_attr, entry.create_system = (stat.S_IFREG | 0o644) << 16, 3
                entry.compress_type = zipfile.ZIP_DEFLATED
                if name in texts:
                    bundle.writestr(entry, texts[name])
                else:
                    entry.file_size = files[name].size_bytes
                    with paths[name].open("rb") as source, bundle.open(entry, "w") as sink:
                        shutil.copyfileobj(source, sink, _CHUNK_BYTES)
        partial.replace(target)
    finally:
        removal.remove_file(partial)
    return len(paths) + len(texts)


def verify_bundle(path: Path) -> verification.Findings:
    """Check a bundle: its checksums first, and if they match, every number, as of a results folder.

    Raises:
        MachineError: it is not a bundle, or can't be read.
    """
    differences = [difference for difference in differing(path) if difference]
    if differences:
        return verification.Findings(_files_count(path), tuple(differences))
    with unpacked(path) as folder:
        found = verification.verify(store.open_results(folder))
        told = tuple(words.replace(f"{folder}/", "") for words in found.differences)
        return verification.Findings(_files_count(path) + found.checked_count, told, found.notes)


@contextmanager
def unpacked(path: Path) -> Generator[Path]:
    """Unpack a bundle into a temporary folder, never outside it, whatever its names say. Raises MachineError."""
    with removal.scratch("perjoule-bundle-") as folder, _opened(path) as bundle:
        entries = _entries(bundle, path)
        needed_bytes = sum(entry.file_size for entry in entries.values())
        if needed_bytes > shutil.disk_usage(folder).free:
            raise MachineError(
                "there is not enough space to unpack it", where=str(folder), next="set TMPDIR to a disk with more room"
            )
        for name, entry in entries.items():
            target = folder / "results" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with target.open("xb") as sink:
                    for chunk in _chunks(bundle, entry):
                        sink.write(chunk)
            except _DAMAGE as error:
                raise MachineError(f'"{name}" is damaged ({words(error)})', where=str(path), next=_ASK_AGAIN) from error
        yield folder / "results"


def unpacked_bytes(path: Path) -> int:
    """Return the size that the files of a bundle claim to have together. Raises MachineError."""
    with _opened(path) as bundle:
        return sum(entry.file_size for entry in _entries(bundle, path).values())


def differing(path: Path) -> Iterator[str]:
    """Compare every file of a bundle with its checksum; "" for one that matches. Raises MachineError."""
    with _opened(path) as bundle:
        entries = _entries(bundle, path)
        try:
            if CHECKSUMS not in entries:
                raise MachineError(
                    "this is not a bundle of results (it contains no checksums)", where=str(path), next="see `perjoule export`"
                )
            if entries[CHECKSUMS].file_size > MOST_JSON_BYTES:
                raise ValueError("it is too long")
            lines = b"".join(_chunks(bundle, entries[CHECKSUMS])).decode().splitlines()
            wanted = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
        except _DAMAGE:
            yield f"{CHECKSUMS}: damaged, so nothing can be checked against it"
            return
        for name in sorted(wanted.keys() | entries.keys() - {CHECKSUMS}):
            if name not in entries:
                yield f"{name}: is not in the bundle"
            elif name not in wanted:
                yield f"{name}: was not there when the bundle was written"
            else:
                yield "" if _digest(bundle, entries[name]) == wanted[name] else f"{name}: differs from the file that was bundled"


def _digest(bundle: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    digest = hashlib.sha256()
    try:
        for chunk in _chunks(bundle, entry):
            digest.update(chunk)
    except _DAMAGE:
        return "damaged"
    return digest.hexdigest()


def _chunks(bundle: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Read a file up to the size that it claims to have."""
    left_bytes = entry.file_size
    with bundle.open(entry) as source:
        while chunk := source.read(min(_CHUNK_BYTES, left_bytes + 1)):
            left_bytes -= len(chunk)
            if left_bytes < 0:
                raise ValueError("it is longer than it claims to be")
            yield chunk


@contextmanager
def _opened(path: Path) -> Generator[zipfile.ZipFile]:
    try:
        bundle = zipfile.ZipFile(path)
    except _DAMAGE as error:
        what = (
            (error.strerror or str(error)).lower()
            if isinstance(error, OSError)
            else "this is not a bundle, or its end is damaged"
        )
        raise MachineError(what, where=str(path), next="see `perjoule export --help`") from error
    with bundle:
        yield bundle


def _entries(bundle: zipfile.ZipFile, path: Path) -> Mapping[str, zipfile.ZipInfo]:
    """Return the files of a bundle by name. Raises MachineError: a name would lead outside a folder, or occurs twice."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in bundle.infolist():
        name = entry.filename
        if name.strip("/") and name.endswith("/") and not entry.file_size:
            continue  # a folder of a bundle that was repacked; folders are made with their files
        pure = PurePosixPath(name)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        odd = not pure.parts or "\\" in name or "\0" in name or ":" in pure.parts[0]
        if odd or pure.is_absolute() or ".." in pure.parts or str(pure) != name or kind not in (0, stat.S_IFREG) or name in found:
            raise MachineError(f'"{name}" does not belong in a bundle', where=str(path), next=_STRANGE)
        if entry.file_size > max(SMALL_BYTES, MOST_RATIO * entry.compress_size) or entry.compress_type not in _COMPRESSED:
            size = f"from {bytes_text(entry.compress_size)} to {bytes_text(entry.file_size)}"
            raise MachineError(f'"{name}" unpacks {size}, more than any results', where=str(path), next=_STRANGE)
        found[name] = entry
    return found


def _files_count(path: Path) -> int:
    with _opened(path) as bundle:
        return len(bundle.infolist())


def _kept(results: Results) -> Iterator[Path]:
    """Return the files of a results folder that belong to its results, without attempts that are under way."""
    folder, entries = results.folder, results.entries()
    kept = {results.folder_of_attempt(entry.trial, entry.attempt) for entry in entries}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.name.endswith(".partial"):
            continue
        if path.relative_to(folder).parts[0] in LEFT_OUT or (path.parent == folder and path.suffix == ".zip"):
            continue
        if path.is_relative_to(folder / ASIDE):
            continue
        if path.is_relative_to(folder / "trials") and not any(path.is_relative_to(attempt) for attempt in kept):
            continue
        yield path


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _described(text: str) -> File:
    content = text.encode()
    return File(len(content), hashlib.sha256(content).hexdigest())
