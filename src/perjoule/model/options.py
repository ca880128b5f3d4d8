"""Types of campaign options: units in names, disks, devices, text files."""

import contextlib
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from perjoule.model.disk_words import mount_words, require_words
from perjoule.model.units import Bytes, Ratio

if TYPE_CHECKING:
    Json = None | bool | int | float | str | list["Json"] | Mapping[str, "Json"]
else:
    Json = JsonValue

UNIT_SUFFIXES = ("_bytes_per_s", "_bytes", "_s", "_j", "_w", "_v", "_hz", "_count", "_ratio")


def option_name(field_name: str) -> str:
    """Return an option's name in campaigns: without its unit, which the value carries (`transfer_bytes` is
    `transfer`).
    """
    return next((field_name.removesuffix(s) for s in UNIT_SUFFIXES if field_name.endswith(s)), field_name)


def value_at(value: Json, *path: str) -> Json:
    """Return what tables hold at a path of keys; None where a key is missing, or no table has it."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


# How a driver's dataclass reads its options: @dataclass(frozen=True, kw_only=True, config=OPTIONS) of
# pydantic.dataclasses.
OPTIONS = ConfigDict(extra="forbid", alias_generator=option_name)


# Pydantic's context of options in a campaign that will be run or checked. Without it they are those of
# results, of which nothing is started: these are read whatever they would pass on.
TO_RUN = {"to run": True}
T = TypeVar("T")


def is_to_run(info: ValidationInfo) -> bool:
    """Return whether options are validated to be run, so that what they pass on to programs must be
    permitted.
    """
    return info.context is TO_RUN


def passed_on(check: Callable[[T], object]) -> AfterValidator:
    """Return the rule of an option that is passed on to a program: a check that raises ValueError, only of
    what will be run.
    """

    def checked(value: T, info: ValidationInfo) -> T:
        if is_to_run(info):
            check(value)
        return value

    return AfterValidator(checked)


@dataclass(frozen=True)
class PassedOnAs:
    """The rule of a text that is passed on: all of it must match a regular expression, if it will be run."""

    pattern: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "pattern": self.pattern}

    def _checked(self, text: str, info: ValidationInfo) -> str:
        if is_to_run(info) and not re.fullmatch(self.pattern, text):
            raise ValueError(f'"{text}" is not permitted (write what matches {self.pattern})')
        return text


Journal = Literal["ordered", "journal", "writeback"]


def _log_buffer(size_bytes: int) -> int:
    if size_bytes & (size_bytes - 1) or not 16 * 1024 <= size_bytes <= 256 * 1024:
        raise ValueError("no size of a log buffer (write a power of two from 16 KiB to 256 KiB)")
    return size_bytes


LogBufferBytes = Annotated[Bytes, AfterValidator(_log_buffer)]


def require_journal(
    kind: str, journal: Journal | None, log_buffer_bytes: int | None, options: Sequence[str]
) -> None:
    """Check options of a journal.

    Raises ValueError: another file system has them, or mount options say so, too.
    """
    for name, value, of_kind, option in (
        ("journal", journal, "ext4", "data"),
        ("log_buffer", log_buffer_bytes, "xfs", "logbsize"),
    ):
        if value is not None and kind != of_kind:
            raise ValueError(f"{kind} has no {name}, {of_kind} has one (remove {name})")
        if value is not None and any(part.startswith(f"{option}=") for part in mount_words(options)):
            raise ValueError(f"{name} and options both set {option} (remove one)")


@pydantic_dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Disk:
    """A local file system on a disk of its own, beneath a server's data or measured itself."""

    kind: Literal["ext4", "xfs", "btrfs", "f2fs", "zfs"]
    """The file system; zfs only with mirror = "zfs"."""
    mirror: Literal["none", "md", "lvm", "zfs"] = "none"
    """Store each server's data twice, on two separate disks (files): with md (mdadm), LVM (raid1) or ZFS, if
    the kernel has it. Otherwise the data are on a single disk (on xfs instead of zfs), and each record has a
    doubt. Not on testbed local. Disk caps
    do not limit ZFS, which writes from kernel threads."""
    block_bytes: Bytes | None = None
    """Its block size (btrfs: sector size, zfs: record size); mkfs's default if absent."""
    size_bytes: Bytes = 4 * 1024**3
    """Size of the sparse file that contains it; has no effect on a named device."""
    device: str = ""
    """A block device by its stable id below /dev/disk, instead of a file; only on real hosts."""
    journal: Journal | None = None
    """What ext4 journals (mount option data): names and sizes once their data are on the disk ("ordered", its
    default), data as
    well ("journal"), or names and sizes at any time ("writeback": after a power loss, a file may contain old
    blocks).
    """
    log_buffer_bytes: LogBufferBytes | None = None
    """Size of each buffer of xfs's log, a power of two from 16 KiB to 256 KiB (mount option logbsize); the
    kernel's choice,
    usually 32 KiB, if absent."""
    make: tuple[str, ...] = ()
    """More arguments for mkfs, as in ["-d", "su=64k,sw=4"]; only words that tune
    (`perjoule docs permitted`).
    """
    options: tuple[str, ...] = ()
    """More mount options, as in ["commit=30"]; only those that tune (`perjoule docs permitted`)."""

    @property
    def legs_count(self) -> int:
        """Disks that hold the same data."""
        return 1 if self.mirror == "none" else 2

    @property
    def mount_options(self) -> tuple[str, ...]:
        """All mount options; never the time of the last access."""
        journal = (f"data={self.journal}",) if self.journal else ()
        log = (f"logbsize={self.log_buffer_bytes}",) if self.log_buffer_bytes else ()
        return ("noatime", *journal, *log, *self.options)

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> Self:
        if is_to_run(info):
            require_words(self.kind, self.make, self.options)
        require_journal(self.kind, self.journal, self.log_buffer_bytes, self.options)
        if (self.kind == "zfs") != (self.mirror == "zfs"):
            raise ValueError(
                'zfs is both: write {kind = "zfs", mirror = "zfs"}, or another kind with mirror = "md" or '
                '"lvm"'
            )
        if self.device and self.mirror != "none":
            raise ValueError("a mirror needs two files, not one device (remove device or mirror)")
        return self


@pydantic_dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Aged:
    """What a file system has been through before its trials."""

    full_ratio: Annotated[Ratio, Field(lt=1)]
    """Share of the usable capacity that is in use when the trials begin, as df shows it on a client; "0 %"
    leaves it new.
    """
    overwrites_count: Annotated[int, Field(ge=0, le=1000)] = 1
    """Rounds after it has been filled: each deletes a third of the files, overwrites a quarter of another
    third, piece by piece,
    and fills it up again."""
    seed: Annotated[int, Field(ge=0, le=2**53)] = 1
    """Seed of the sizes of files, and of what is deleted and overwritten."""


@pydantic_dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Overwrite:
    """A raw block device whose content may be lost."""

    device: str
    """Its stable id below /dev/disk (by-id, by-path, by-uuid, by-partuuid)."""
    signature: Annotated[
        tuple[str, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = ()
    """The signatures on it that may be lost, as wipefs names them: "ext4", or ["gpt", "vfat"]; none if
    omitted.
    """


PROGRAMS = "PERJOULE_PROGRAMS"  # of the environment: folders of the user's, as --programs names them
_INSTALLED = ("/usr", "/opt")  # where only root installs


def program_folders() -> tuple[str, ...]:
    """Return the folders below which programs may be chosen: where only root installs, and those of the
    user's word.
    """
    return (*_INSTALLED, *filter(None, os.environ.get(PROGRAMS, "").split(":")))


def _installed(path: str) -> None:
    """Refuse programs that whoever wrote the campaign could have put beside it."""
    if path and (
        ".." in Path(path).parts or not any(Path(path).is_relative_to(folder) for folder in program_folders())
    ):
        reason = (
            f'programs in "{path}" would be run, and a campaign may name only those below '
            f"{' and '.join(_INSTALLED)}"
        )
        raise ValueError(
            f"{reason} (install them there, or confirm the folder: add --programs {path} to the command)"
        )
    if (
        path and not of_users_word(path) and (shared := _open_to_all(path))
    ):  # as /usr/tmp, which is /var/tmp on some systems
        raise ValueError(
            f'programs in "{path}" would be run, and all users may write to {shared} (install them elsewhere, or '
            f"confirm the folder: add --programs {path} to the command)"
        )


def of_users_word(path: str) -> bool:
    """Return whether the user has named a folder of programs, not only the campaign."""
    folders = filter(None, os.environ.get(PROGRAMS, "").split(":"))
    return any(Path(path).is_relative_to(folder) for folder in folders)


def _open_to_all(path: str) -> Path | None:
    """Return a folder to which all users may write, of those through which a path leads on this machine."""
    real, roots = Path(os.path.realpath(path)), [Path(os.path.realpath(folder)) for folder in _INSTALLED]
    root = next((folder for folder in roots if real.is_relative_to(folder)), None)
    for place in (real, *real.parents):
        with contextlib.suppress(OSError):
            state = place.stat()
            if stat.S_ISDIR(state.st_mode) and state.st_mode & stat.S_IWOTH:
                return place
        if place == root:
            break
    return None


InstalledFolder = Annotated[str, passed_on(_installed)]


def program_named(name: str) -> AfterValidator:
    """Return the rule of an option that is a program: its name, for the PATH, or its path, as
    `InstalledFolder` allows.
    """

    def check(path: str) -> None:
        if Path(path).name != name:
            raise ValueError(f'"{path}" is not {name} (write its path, as in "/opt/bin/{name}")')
        if path != name:
            _installed(path)

    return passed_on(check)


@pydantic_dataclass(frozen=True)
class AttachedText:
    """A small text file by its path relative to the campaign; its text is part of the campaign."""

    name: str
    text: str


# Types of options that are written as such a path.
TextFile = Annotated[AttachedText, WithJsonSchema({"type": "string", "examples": ["my.fio"]})]
InventoryFile = Annotated[AttachedText, WithJsonSchema({"type": "string", "examples": ["hosts.ini"]})]
ProfileFile = Annotated[AttachedText, WithJsonSchema({"type": "string", "examples": ["day.csv"]})]

MOST_HOSTS_COUNT = 1024  # of one role
HostsCount = Annotated[int, Field(ge=1, le=MOST_HOSTS_COUNT)]


@dataclass(frozen=True)
class Permit:
    """A raw device that may be overwritten: named by the campaign, shown to the user, and confirmed."""

    device: str
    signature: tuple[str, ...] = ()
    # of the device that was shown, by the kernel's number and count: "8:16 41"; "" where nothing was shown
    identity: str = ""
    host: str = ""  # whose device it is; "" for the machine where perjoule runs
