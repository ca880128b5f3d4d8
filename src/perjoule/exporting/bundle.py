"""A results folder as one self-describing file, and back: written with the same bytes each time, unpacked
with care.
"""

import hashlib
import os
import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from perjoule import store
from perjoule.exporting.archive import COMPUTED, DAMAGE, MOST_UNPACKED_BYTES, Archive, open_archive, unpacked
from perjoule.exporting.crate import (
    CHECKSUMS,
    CITATION,
    METADATA,
    Description,
    File,
    checksums,
    citation,
    metadata,
)
from perjoule.machine import portable, removal
from perjoule.machine.bounded import bounded
from perjoule.machine.untrusted import MOST_JSON_BYTES, lies_in, opened
from perjoule.model.errors import MachineError
from perjoule.results import verification
from perjoule.store import Results
from perjoule.store.clearing import ASIDE

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that zip knows: when files were written is not part of a bundle
TABLE = "table.csv"
# What is computed, what is of the moment, and what an unpacked bundle had.
LEFT_OUT = (*COMPUTED, METADATA, CITATION, CHECKSUMS, TABLE)
NOTHING: Mapping[str, str] = MappingProxyType({})
_CHUNK_BYTES = 1 << 20


def write_bundle(results: Results, target: Path, table: str, description: Description) -> int:
    """Write all kept attempts, the report if there is one, table and description to a zip file; return the
    number of files.

    Args:
        results: a folder.
        target: replaced if it exists.
        table: all metrics as CSV.
        said: the description.

    Raises:
        MachineError: the target is not a file, or a file's name would be refused in a bundle.
        OSError: it can't be written.
    """
    records, folder = results.records(), results.folder.resolve()
    paths = {
        _name(results.folder, path): path
        for path in kept_files(results)
        if path.resolve() != target.resolve()
    }
    _check_names(results.folder, sorted(paths))
    texts = {TABLE: table, CITATION: citation(description, records)}
    files = {name: File(path.stat().st_size, _sha256(path)) for name, path in paths.items()}
    files |= {name: _described(text) for name, text in texts.items()}
    # description and checksums name each other: it states only their size, which does not depend on it
    size_bytes = len(checksums({**files, METADATA: File(0, "0" * 64)}).encode())
    texts[METADATA] = metadata(description, records, {**files, CHECKSUMS: File(size_bytes, "")})
    texts[CHECKSUMS] = checksums({**files, METADATA: _described(texts[METADATA])})
    first = {METADATA: texts.pop(METADATA)}
    write_zip(target, dict(sorted({**paths, **texts}.items())), first, inside=folder)
    return len(paths) + len(texts) + len(first)


def write_zip(
    target: Path,
    files: Mapping[str, Path | str],
    first: Mapping[str, str] = NOTHING,
    *,
    inside: Path | None = None,
) -> None:
    """Write a zip file that has the same bytes whenever its files have; `first` are in front.

    Args:
        target: replaced if it exists.
        files: a path to copy from, or the text itself, by name in the zip file.
        first: texts that a reader should meet first.
        inside: a folder (a path without links) in which all that is copied must lie.

    Raises:
        MachineError: the target is not a file; or a path leads out of the folder by now.
        OSError: it can't be written.
    """
    if target.exists() and not target.is_file():
        raise MachineError(
            "a zip file is a file, but this is a pipe or a device", where=str(target), next="name a file"
        )
    partial = target.with_name(f".{target.name}.partial")
    removal.remove_file(partial)  # a killed writer's, or a link
    try:
        with (
            partial.open("xb") as file,  # no link that was put there meanwhile
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed,
        ):
            for name, content in {**first, **files}.items():
                entry = zipfile.ZipInfo(name, EPOCH)
                entry.external_attr, entry.create_system = (stat.S_IFREG | 0o644) << 16, 3
                entry.compress_type = zipfile.ZIP_DEFLATED
                if isinstance(content, str):
                    packed.writestr(entry, content)
                else:
                    with opened(content) as source:
                        if inside is not None and not lies_in(source.fileno(), inside):
                            raise MachineError(
                                f"it has become a file outside of {inside}",
                                where=str(content),
                                next="copy the results to a folder that nobody else changes",
                            )
                        entry.file_size = os.fstat(source.fileno()).st_size
                        with packed.open(entry, "w") as sink:
                            shutil.copyfileobj(source, sink, _CHUNK_BYTES)
        partial.replace(target)
    finally:
        removal.remove_file(partial)


def verify_bundle(path: Path, most_bytes: int = MOST_UNPACKED_BYTES) -> verification.Findings:
    """Check a bundle: its checksums first, and if they match, every number, as of a results folder.

    Args:
        path: of the bundle.
        most_bytes: to which it may unpack.

    Raises:
        MachineError: it is not a bundle, can't be read, or is too large.
        MemoryError: its content would take too much memory.
    """
    with bounded(), open_archive(path, most_bytes) as archive:
        files_count = len(archive.files)
        if differences := [difference for difference in differing(archive) if difference]:
            return verification.Findings(files_count, tuple(differences))
        with unpacked(archive) as folder:
            findings = verification.verify(store.open_results(folder))
            differences = [difference.replace(f"{folder}/", "") for difference in findings.differences]
            return verification.Findings(
                files_count + findings.checked_count, tuple(differences), findings.notes
            )


def differing(archive: Archive) -> Iterator[str]:
    """Compare every file of a bundle with its checksum; "" for one that matches. Raises MachineError."""
    files = archive.files
    if CHECKSUMS not in files:
        problem = "this is not a bundle of results (it contains no checksums)"
        raise MachineError(problem, where=str(archive.path), next="see `perjoule export`")
    try:
        if files[CHECKSUMS].file_size > MOST_JSON_BYTES:
            raise ValueError("it is too long")
        lines = b"".join(archive.chunks(CHECKSUMS)).decode().splitlines()
    except DAMAGE:
        yield f"{CHECKSUMS}: damaged, so nothing can be checked against it"
        return
    digests = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    for name in sorted(digests.keys() | files.keys() - {CHECKSUMS}):
        if name not in files:
            yield f"{name}: is not in the bundle"
        elif name not in digests:
            yield f"{name}: was not there when the bundle was written"
        else:
            yield (
                ""
                if _digest(archive, name) == digests[name]
                else f"{name}: differs from the file that was bundled"
            )


def _digest(archive: Archive, name: str) -> str:
    digest = hashlib.sha256()
    try:
        for chunk in archive.chunks(name):
            digest.update(chunk)
    except DAMAGE:
        return "damaged"
    return digest.hexdigest()


def _check_names(folder: Path, names: Sequence[str]) -> None:
    """Check that every computer can unpack these files. Raises MachineError."""
    advice = "leave it out, or rename it where it comes from and import it again"
    for name in names:
        if fault := portable.fault(name):
            raise MachineError(
                f"{portable.quoted(name)} {fault}, so no bundle can have it", where=str(folder), next=advice
            )
    later, earlier = portable.clash(names)
    if later:
        raise MachineError(
            f"{portable.quoted(later)} and {portable.quoted(earlier)} are one file on some computers",
            where=str(folder),
            next=advice,
        )


def kept_files(results: Results) -> Iterator[Path]:
    """Return the files of a results folder that belong to its results, without attempts that are under
    way.
    """
    folder, entries = results.folder, results.entries()
    attempts = {results.folder_of_attempt(entry.trial, entry.attempt) for entry in entries}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.name.endswith(".partial"):
            continue
        if path.relative_to(folder).parts[0] in LEFT_OUT or (path.parent == folder and path.suffix == ".zip"):
            continue
        if path.is_relative_to(folder / ASIDE):
            continue
        if path.is_relative_to(folder / "trials") and not any(
            path.is_relative_to(attempt) for attempt in attempts
        ):
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
