"""A run according to another tool's file, and parts that its readers share."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from perjoule.model import Outcome

IDLE_S = 2.0  # of a run whose start and end are whole seconds, from which its operations do not explain it
MOST_CLIENTS = 100_000  # ten times the nodes of the largest machine: a damaged file may name any number
DAMAGED = "damaged: "  # how a doubt about a part of a file begins
_COMMAND = re.compile(r"^Command line(?: used)? *: *(.*)$", re.MULTILINE)
# what an IOR or mdtest writes besides its load
_OUTPUT = re.compile(r"--?(?:saveRank|O (?:saveRank|summary))|-O stoneWallingStatusFile")
Texts = Mapping[str, str]  # of the files that describe the same runs, by their names


@dataclass(frozen=True)
class Told:
    """Information from the user that files lack."""

    stem: str = ""  # of the file's name: the client where nothing else names one
    clients: tuple[str, ...] = ()  # as the user names them; () as the files do
    zone: str = "UTC"  # of times that name none
    ended_s: float = 0.0  # when the file was written, UTC: the end if it contains no time

    def hosts(self, name_in_file: str, count: int = 1) -> tuple[str, ...]:
        """Name the clients: from the user, or from the file.

        Raises:
            ValueError: their number differs, or is impossible.
        """
        if count > MOST_CLIENTS:
            raise ValueError(f"it says that {count} clients ran, and no machine has more than {MOST_CLIENTS}")
        if self.clients and len(self.clients) != count:
            raise ValueError(f"{len(self.clients)} clients are named, and {count} ran (name each, or none)")
        name = name_in_file or self.stem
        return self.clients or ((name,) if count == 1 else tuple(f"{name}-{n}" for n in range(1, count + 1)))


@dataclass(frozen=True)
class ImportedRun:
    """One load by the clients of one file: what makes it equal to another, and its results."""

    operation: str  # in the tool's words: "randwrite", "File creation"
    details: tuple[str, ...]  # what else was asked: "4 jobs", "direct"
    transfer_bytes: int | None
    folder: str  # its working folder; "" if unknown
    outcome: Outcome | None  # times are UTC; None where it failed
    failure: str = ""
    id: str = ""  # equal if two files report this very run; "" if the tool writes only one
    damaged: bool = False  # whether it failed because a part of the tool's output is damaged


def command_of(text: str) -> str:
    """Return the command line that IOR's or mdtest's text states; "" if it does not."""
    match = _COMMAND.search(text)
    return match[1] if match else ""


def idle_s(span_s: float, took_s: float) -> float:
    """Return how much of a run's span its operations did not take; 0 if that is not known to be anything."""
    return span_s - took_s if span_s - took_s > IDLE_S else 0.0


def options(command: str, but: frozenset[str]) -> Iterator[str]:
    """Return the options of a command line, each with its value, but for those named and outputs."""
    arguments = [argument.strip("'\"") for argument in command.split()][1:]
    while arguments:
        option = arguments.pop(0)
        value = arguments.pop(0) if arguments and not arguments[0].startswith("-") else ""
        if (
            option.startswith("-")
            and option.partition("=")[0] not in but
            and not _OUTPUT.match(f"{option} {value}")
        ):
            yield f"{option} {value}".strip()


def moment_s(text: str, form: str, zone: str) -> float:
    """Parse a local time without a zone, as seconds of UTC; if an hour occurs twice, its first.

    Raises ValueError.
    """
    return datetime.strptime(text.strip(), form).replace(tzinfo=_zone(zone)).timestamp()


def local_zone() -> str:
    """Return this machine's time zone: its name if known, else its present offset."""
    zone = os.environ.get("TZ") or str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2]
    try:
        return ZoneInfo(zone).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return datetime.now().astimezone().strftime("%z")


def check_zone(name: str) -> None:
    """Check that a time zone exists. Raises ValueError."""
    _zone(name)


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    if name[:1] in "+-" and len(name) == 5 and name[1:].isdigit():
        return timezone(
            (1 if name[0] == "+" else -1) * timedelta(hours=int(name[1:3]), minutes=int(name[3:]))
        )
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f'there is no time zone "{name}" (write it like Europe/Berlin, UTC or +0100)'
        ) from None
