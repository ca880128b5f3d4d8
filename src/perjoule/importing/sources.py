"""The files at the paths that a user names: each file's formats by its content, never by its name. What a folder
holds together, a submission to IO500 or a run of MLPerf Storage, is known by its files' names, too.
"""

import os
import re
import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from perjoule.importing import mlperf_folders
from perjoule.machine import portable, untrusted
from perjoule.model.errors import CampaignError, MachineError
from perjoule.workloads.imported import IO500_FILES, Told, dated, formats_of, outputs_of

COUNTERS = "sadf"
FORMATS = (
    "fio, rados bench and sadf as JSON, IOR as JSON or text, elbencho as JSON or CSV, mdtest as text, folders of "
    "IO500 and MLPerf Storage"
)
ADVICE = f"known formats: {FORMATS}; name a power log with --power"
_UNREAD = {  # what files of these tools are that can't be read, and how they could
    r"^[ \t]*sec +Cur ops +started +finished": "the text of rados bench: write JSON (`rados bench ... --format json`)",
    r"^fio-\d|^\S.*: \(groupid=\d+, jobs=\d+\)": "the text of fio: write JSON (`fio --output-format=json`)",
    r"^(?:\d;fio-\d|2;[^;\n]*;\d+;\d+;\d+;)": "fio's terse output: write JSON (`fio --output-format=json`)",
    r"\A\d+,(?: *\d+,)? *[012], *\d+(?:, *\w+)*\r?\n": "a log of fio's: import its report (`fio --output-format=json`)",
    r"^(?:avg-cpu: |Device[ :]).*\n": "the text of iostat: write counters with `sadf -j -- -u -d -n DEV`",
    r"^Linux \S+ \(\S+\)\s+\S+\s+_\S+_\s+\(\d+ CPU\)": "the text of sar or iostat: write counters with `sadf -j -- -u -d -n DEV`",
    r"^OPERATION +RESULT TYPE +FIRST DONE": "the text of elbencho: write JSON (`elbencho --jsonfile`)",
    r"^ISO Date,Label,Phase,RuntimeMS,": "elbencho's live statistics: import its results (`elbencho --jsonfile`)",
    r"^access,bw\([^)]+\),": "IOR's CSV, which has no times of day: write JSON (`ior -O summaryFormat=JSON`)",
    r"^time,Total,": "a sensor of nvme-energy-bench, whose times count from a start that no file dates: import its results.json",
    r'"save_checkpoint_|"load_checkpoint_': "a checkpoint of MLPerf Storage: only its training runs are read",
    r'"train_throughput_samples_per_second"': "a summary of MLPerf Storage: import the whole folder of the run",
    r"^(?:# )?hostname;interval;timestamp;": "sysstat's CSV: write JSON (`sadf -j -- -u -d -n DEV`)",
    r"^procs -+memory-": "the text of vmstat: write counters with `sadf -j -- -u -d -n DEV`",
    r"^\S+\t\d+\t\d+\t\S+\t\S+\t": "sysstat's rows for databases: write JSON (`sadf -j -- -u -d -n DEV`)",
    r"Iozone: Performance Test": "the text of IOzone, which does not say when each test ran: measure with fio or IOR",
    r"^\d+ bytes .*copied, ": "the text of dd, which does not say when it ran: measure with fio",
    r"<sysstat": "sysstat's XML: write JSON (`sadf -j -- -u -d -n DEV`)",
}
_ALONE = {  # what is left out of a file into which another tool wrote, too, and why
    "rados": "rados bench's JSON, whose time is that of its file",
    "elbencho": "elbencho's results, whose rows have no mark",
}
_FORMS = {  # of tools whose text or CSV is left out beside their JSON
    "ior": (r'"tests"\s*:', r"^Operation +Max\(MiB\)", "the text of an IOR beside the JSON of another"),
    "elbencho": (r'"phase_type"\s*:', r"^ISO date,", "elbencho's CSV beside its JSON"),
}
ZONED = ("fio", "rados", "elbencho")  # whose times are of UTC, or name their zone
_UNPACKERS = {  # by the first bytes of what they unpack
    b"\x1f\x8b": "gunzip",
    b"BZh": "bunzip2",
    b"\xfd7zXZ": "unxz",
    b"\x28\xb5\x2f\xfd": "unzstd",
    b"PK\x03\x04": "unzip",
    b"7z\xbc\xaf\x27\x1c": "7z x",
    b"\x04\x22\x4d\x18": "unlz4",
}
_TAR_AT, _TAR = 257, b"ustar"
_SPREADSHEETS = (  # how they begin: Excel's old and new form, and OpenDocument's
    re.compile(rb"\xd0\xcf\x11\xe0"),
    re.compile(rb"PK\x03\x04.{26}(?:\[Content_Types\]\.xml|_rels/|docProps/|xl/)", re.DOTALL),
    re.compile(rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument\.spreadsheet", re.DOTALL),
)
_MARKED_BYTES = 512  # in which all of these show
_HEAD = 100_000  # characters, in which every format betrays itself
_WIDEST_BYTES = 4  # of a character in UTF-8, UTF-16 and UTF-32


@dataclass(frozen=True)
class Source:
    """A file, or a folder of files that belong together."""

    path: Path
    format: str  # of `workloads.imported`, or "sadf"
    files: Mapping[str, Path]  # by their names
    told: Told
    left_out: tuple[str, ...] = ()  # what the file holds besides, of all its formats
    inside: tuple[Path, ...] = ()  # what was named (paths without links), in which its files lie

    def texts(self, names: Sequence[str] = ()) -> dict[str, str]:
        """Read its files, or some of them. Raises MachineError."""
        return {name: text_of(self.files[name]) for name in names or self.files}


def sources(arguments: Sequence[str], zone: str) -> tuple[tuple[Source, ...], tuple[Path, ...]]:
    """Find readable files, and name the files in folders that have an unknown format.

    Args:
        arguments: paths, or CLIENT=PATH if the user names the client (CLIENT,CLIENT=PATH for several nodes).
        zone: for times without a time zone.

    Raises:
        CampaignError: a path is missing, a named file has an unknown format, or no bundle could have a file's
            name.
        MachineError: a file can't be read.
    """
    named_paths = [_real(_split(argument)[1]) for argument in arguments]
    by_path: dict[tuple[Path, str, tuple[str, ...]], Source] = {}
    strange: list[Path] = []
    for argument in arguments:
        clients, path = _split(argument)
        if not path.exists():
            raise CampaignError("no such file or folder", where=str(path), next="name the output of a tool")
        if not (path.is_file() or path.is_dir()):
            advice = "write what it gives into a file"
            raise CampaignError("it is a pipe or a device, not a file", where=str(path), next=advice)
        for source in _below(path, clients, zone, named_paths):
            if isinstance(source, Source):
                source = replace(source, inside=(*named_paths, *source.inside))
                by_path.setdefault((source.path.resolve(), source.format, clients), source)
            elif path.is_file():
                raise CampaignError(why_not(path), where=str(path), next=ADVICE)
            else:
                strange.append(source)
    if not by_path:
        raise CampaignError(
            "nothing recognised in it", where=", ".join(arguments), next=f"known formats: {FORMATS}"
        )
    with_clients = {path for path, _, clients in by_path if clients}  # as in `run/ client-1=run/a.json`
    return tuple(
        source for (path, _, clients), source in by_path.items() if clients or path not in with_clients
    ), tuple(strange)


def content_of(path: Path) -> bytes:
    """Read a file. Raises MachineError."""
    with _readable(path):
        return untrusted.bytes_of(path)


def packed(path: Path) -> tuple[str, str]:
    """Return what a file is in which others are packed, and how to get them; ("", "") for any other.

    Raises MachineError.
    """
    content = _beginning(path, _MARKED_BYTES)
    if any(form.match(content) for form in _SPREADSHEETS):
        return "a spreadsheet", "save it as CSV"
    if content[_TAR_AT:].startswith(_TAR):
        return "an archive", "unpack it (tar)"
    tool = next((tool for mark, tool in _UNPACKERS.items() if content.startswith(mark)), "")
    return ("a compressed file", f"unpack it ({tool})") if tool else ("", "")


def text_of(path: Path, most_count: int = -1, encoding: str = "utf-8") -> str:
    """Read a file, or its first characters, replacing invalid ones. A byte order mark beats the encoding.

    Raises MachineError.
    """
    with _readable(path):
        if most_count < 0:
            return untrusted.foreign_text_of(path, encoding)
        content = _beginning(path, _WIDEST_BYTES * most_count)
        return untrusted.foreign_text(content, encoding)[:most_count]


def _beginning(path: Path, most_bytes: int) -> bytes:
    """Read a file's first bytes. Raises MachineError."""
    with _readable(path), untrusted.opened(path) as file:
        return file.read(most_bytes)


@contextmanager
def _readable(path: Path) -> Generator[None]:
    """Say of an OSError or a ValueError which file it is about."""
    try:
        yield
    except OSError as error:
        raise MachineError(
            (error.strerror or str(error)).lower(), where=str(path), next="check the path and its permissions"
        ) from error
    except ValueError as error:
        raise MachineError(str(error), where=str(path), next="split it, or name another file") from error


def copy_named(path: Path, to: Path, inside: Sequence[Path]) -> None:
    """Copy a file that lies in one of these folders; `inside` is () for one that the user has named.

    Raises MachineError: by now it is one elsewhere.
    """
    with _readable(path), untrusted.opened(path) as file:
        if inside and not any(untrusted.lies_in(file.fileno(), folder) for folder in inside):
            advice = "import it from a folder that nobody else changes"
            raise MachineError("it has become a file outside of what was named", where=str(path), next=advice)
        with to.open("wb") as copied:
            shutil.copyfileobj(file, copied)


def why_not(path: Path) -> str:
    """Say why a file of none of the known formats can't be read: what it is, where that is known.

    Raises MachineError.
    """
    package, advice = packed(path)
    if package:
        return f"this is {package}: {advice}"
    head = _head(path)
    if alone := [_ALONE[name] for name in formats_of(head) if name in _ALONE]:
        return f"this is {' and '.join(alone)}: give each a file of its own"
    tool = next((name for form, name in _UNREAD.items() if re.search(form, head, re.MULTILINE)), "")
    return f"this is {tool}" if tool else "unrecognised format"


def _left_out(text: str, formats: Sequence[str]) -> Iterator[str]:
    """Yield what a file of these formats holds besides what is read of it, and what to do."""
    read_formats = _readable_together(formats)
    for name in formats:
        json_mark, text_mark, tool = _FORMS.get(name, ("", "(?!)", ""))
        if name not in read_formats:
            yield f"{_ALONE[name]}: give them a file of their own"
        elif re.search(json_mark, text) and re.search(text_mark, text, re.MULTILINE):
            yield f"{tool}: give it a file of its own"
    for form, tool in _UNREAD.items():
        if not any(name in tool for name in read_formats) and re.search(form, text, re.MULTILINE):
            yield tool


def _head(path: Path) -> str:
    """Read the whole lines among a file's first characters, as `_plain` returns them. Raises MachineError."""
    head = text_of(path, _HEAD)
    return _plain((head.rpartition("\n")[0] if len(head) == _HEAD else "") or head)


def _plain(text: str) -> str:
    """Return the outputs of all hosts in a text, without what launchers and logs put before their lines."""
    return "\n".join(outputs_of(text).values())


def _split(argument: str) -> tuple[tuple[str, ...], Path]:
    names, mark, path = argument.partition("=")
    if not mark or "/" in names or Path(argument).exists():
        return (), Path(argument)
    return tuple(filter(None, names.split(","))), Path(path)


def _below(
    path: Path, clients: tuple[str, ...], zone: str, named_paths: Sequence[Path]
) -> Iterator[Source | Path]:
    """Find sources below a path, which is one of those named; `named_paths` have no links.

    Each folder is entered once: two links to a folder above would make a million million paths.
    """
    ahead, entered = [path], set[tuple[int, int]]()
    while ahead:
        place = ahead.pop()
        if not place.is_dir():
            yield from _of_file(place, clients, zone)
        elif (identity := (place.stat().st_dev, place.stat().st_ino)) not in entered:
            entered.add(identity)
            if source := _of_folder(place, clients, zone, named_paths):
                yield source
                continue
            results = place / mlperf_folders.RESULTS if mlperf_folders.is_submission(place) else place
            children = [child for child in sorted(results.iterdir()) if not child.name.startswith(".")]
            for link in filter(Path.is_symlink, children):
                require_inside(link, named_paths)
            ahead += reversed(children)


def _of_folder(path: Path, clients: tuple[str, ...], zone: str, named_paths: Sequence[Path]) -> Source | None:
    """Return the source that a folder is as a whole; None for any other folder."""
    if _io500(path):
        return _submission(path, clients, zone, named_paths)
    if not mlperf_folders.is_run(path):
        return None
    files = mlperf_folders.files_of(path)
    # a run may be named without its submission, which describes the system
    systems = [file.parent for file in files.values() if file.parent.name == mlperf_folders.SYSTEMS]
    beside = tuple(map(_real, dict.fromkeys(systems)))
    for file in files.values():
        require_portable(file)
        require_inside(file, [*named_paths, *(beside if file.parent in systems else ())])
    return Source(path, "mlperf", files, Told(path.name, clients, zone), inside=beside)


def _of_file(path: Path, clients: tuple[str, ...], zone: str) -> Iterator[Source | Path]:
    if not path.is_file():  # a socket, a pipe
        return
    if any(packed(path)) or not formats_of(_head(path)):
        yield path
        return
    require_portable(path)
    formats = formats_of(text := _plain(text_of(path)))
    left_out = tuple(_left_out(text, formats))
    if not (read_formats := _readable_together(formats)):
        yield path
    for format in read_formats:
        # What a format has no use for is left out, so that the same file is recognised: only rados bench
        # reports no time at all.
        ended_s = path.stat().st_mtime if format == "rados" else 0.0
        clues = Told(path.stem, clients, "UTC" if format in ZONED else zone, ended_s)
        yield Source(path, format, {path.name: path}, clues, left_out)


def _readable_together(formats: Sequence[str]) -> Sequence[str]:
    return formats if len(formats) == 1 else tuple(name for name in formats if name not in _ALONE)


def require_portable(path: Path) -> None:
    """Check that a bundle of the results can have a file. Raises CampaignError."""
    if fault := portable.fault(path.name):
        sentence = f"{portable.quoted(path.name)} {fault}, so no bundle of the results could have it"
        raise CampaignError(sentence, where=portable.quoted(str(path.parent)), next="rename it")


def require_inside(path: Path, named_paths: Sequence[Path]) -> None:
    """Check that no link leads to what lies in none of these folders, which have no links in their paths.

    It would be kept, and published with the results, for whoever made the link.

    Raises MachineError.
    """
    target = _real(path)
    if target.exists() and not any(target.is_relative_to(folder) for folder in named_paths):
        advice = f"name {target}, too, if it belongs to the results; if not, remove the link"
        raise MachineError(f"it is {target}, outside of what was named", where=str(path), next=advice)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _io500(folder: Path) -> bool:
    """Return whether a folder holds an IO500's results itself, and not a copy of the summary above the
    folder that does.
    """
    if not any((folder / name).is_file() for name in IO500_FILES):
        return False
    phases = (*folder.glob("ior[-_]*.txt"), *folder.glob("mdtest[-_]*.txt"))
    return bool(phases) or not any(
        p.name in IO500_FILES for p in folder.rglob("result*.txt") if p.parent != folder
    )


def _submission(folder: Path, clients: tuple[str, ...], zone: str, named_paths: Sequence[Path]) -> Source:
    kinds = (".txt", ".csv", ".ini")
    files = {
        p.name: p
        for p in sorted(folder.iterdir())
        if p.suffix in kinds and p.is_file() and not p.name.startswith(".")
    }
    for path in files.values():
        require_inside(path, named_paths)
        require_portable(path)
    source = Source(folder, "io500", files, Told(folder.name, clients, zone))
    if dated(source.texts()):
        return source
    # nothing else says when it ran
    ended_s = max(files[name].stat().st_mtime for name in IO500_FILES if name in files)
    return replace(source, told=replace(source.told, ended_s=ended_s))
