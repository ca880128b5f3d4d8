"""Raw devices of a host: it reports everything about one in a single answer, which is judged here by the
rules for local ones.

A program on the host holds the device open exclusively (O_EXCL) while it is ours, and ends with all that
bears our mark.
"""

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perjoule.drivers.protocols import Host, Process
from perjoule.machine import removal
from perjoule.machine.untrusted import UNEXPECTED, words
from perjoule.model.errors import MachineError, WorkloadError
from perjoule.testbeds import _mounted, _process
from perjoule.testbeds._device.view import BTRFS_COUNT, COLUMNS, Held, MachineView
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.verbs import HOLD, verb

_SHORT_S = 30.0
_SEPARATOR = "\0"
MOST_ENTRIES_COUNT = 50_000  # of a report: a host with a thousand disks and mounts has a tenth


@dataclass(frozen=True)
class Report(MachineView):
    """What a host has said of a device, at one moment."""

    links_to: Mapping[str, str] = field(default_factory=dict[str, str])
    numbers: Mapping[str, str] = field(default_factory=dict[str, str])  # of devices, by their nodes
    reals: Mapping[str, str] = field(default_factory=dict[str, str])
    opened: Sequence[tuple[str, str]] = ()  # by whom ("fio (4711)"), and the device's number
    by_root: bool = False

    def node(self, link: Path) -> Path | None:
        """Return the device to which the link led."""
        return Path(self.links_to[str(link)]) if str(link) in self.links_to else None

    def number(self, node: Path) -> str:
        """Return its number; "" if it has become none."""
        return self.numbers.get(str(node), "")

    def real(self, path: str) -> str:
        """Return a path without the host's links."""
        return self.reals.get(path, path)

    def openers(self, numbers: set[str]) -> Iterator[str]:
        """Name who had it open. Raises PermissionError."""
        if not self.by_root:
            raise PermissionError("only root can examine all processes")
        yield from (who for who, number in self.opened if number in numbers)


def report(answer: str, folder: Path, *, links: Path = Path("/dev/disk"), but: Sequence[str] = ()) -> Report:
    """Parse a host's report into a view; its files go below `folder`, and `but` are pids of ours.

    Raises MachineError.
    """
    try:
        if answer.count(_SEPARATOR) > 3 * MOST_ENTRIES_COUNT:
            raise ValueError(f"it has more than {MOST_ENTRIES_COUNT} entries")
        return _parsed(answer.split(_SEPARATOR), folder, links, but)
    except (*UNEXPECTED, OSError) as error:
        problem = f"its report about a device has another form ({words(error)[:200]})"
        raise MachineError(problem, next="nothing is touched before it can be read") from None


def _parsed(fields_of: Sequence[str], folder: Path, links: Path, but: Sequence[str]) -> Report:
    entries = list(zip(fields_of[::3], fields_of[1::3], fields_of[2::3], strict=False))
    if not entries or entries[-1][0] != "end":
        raise MachineError(
            "its report about a device is cut short", next="nothing is touched before it can be read"
        )
    of: dict[str, dict[str, str]] = {
        kind: {n: t for k, n, t in entries if k == kind} for kind in ("link", "number", "real", "tool")
    }
    for kind, name, text in entries:
        here = folder / name.lstrip("/")
        if kind in ("file", "folder") and ".." not in here.parts:
            (here.parent if kind == "file" else here).mkdir(parents=True, exist_ok=True)
            if kind == "file":
                here.write_text(text)

    def ask(argv: Sequence[str]) -> str:
        asked_argv = sorted(argv)
        if text := next(
            (text for fields_of, text in of["tool"].items() if sorted(fields_of.split(" ")) == asked_argv), ""
        ):
            return text
        raise ValueError(f"{argv[0]} failed, or the device has changed meanwhile")

    return Report(
        links=links,
        proc=folder / "proc",
        sys=folder / "sys",
        ask=ask,
        links_to=of["link"],
        numbers={node: _decimal(number) for node, number in of["number"].items()},
        reals=of["real"],
        opened=[
            (n, _decimal(t))
            for k, n, t in entries
            if k == "opener" and not n.endswith(tuple(f"({pid})" for pid in but))
        ],
        by_root=any(kind == "root" for kind, *_ in entries),
    )


@dataclass(frozen=True)
class There(MachineView):
    """The devices of a host, reached by a function that runs a command there and returns its output."""

    holders: list[str] = field(default_factory=list[str])  # pids of ours that hold devices
    host: Host | None = None  # None: only to look, before the host is ours
    log: Path = Path()

    @contextlib.contextmanager
    def collected(self, device: str) -> Generator[MachineView]:
        """Have the host report on a device. Raises PerjouleError."""
        answer = self.ask(verb("perjoule-report", device, COLUMNS, BTRFS_COUNT))
        with removal.scratch("perjoule-device-") as folder:
            yield report(answer, folder, links=self.links, but=self.holders)

    def hold(self, node: Path) -> Held:
        """Hold it open there. Raises OSError: somebody uses it; MachineError: the host has no Perl."""
        assert self.host is not None
        held_there = HeldThere(self.host, node, self.log)
        self.holders.append(held_there.pid)
        return held_there


class HeldThere(Held):
    """A device that a program on its host holds open."""

    def __init__(self, host: Host, node: Path, log: Path) -> None:
        """Start the program. Raises OSError, MachineError."""
        self._host, self.pid, self._number = host, "", ""
        removal.remove_file(log)
        self._program: Process = host.spawn(["perl", "-e", HOLD, node], log=log)
        until_s = time.monotonic() + _SHORT_S
        while (
            "\n" not in self._program.output()
            and self._program.returncode is None
            and time.monotonic() < until_s
        ):
            time.sleep(0.02)
        verb_heard, _, content = self._program.output().strip().partition(" ")
        if verb_heard != "held":
            self._program.stop()
            if verb_heard == "busy":
                raise OSError(0, content)
            message = self._program.output().strip().removeprefix("perjoule: ") or "no answer"
            raise MachineError(
                f"{node} can't be held ({message})", where=host.name, next="apt install perl-base on it"
            )
        try:
            self.pid, device = content.split()
            packed = int(device, 16)  # as by glibc, which is the same on all Linux
            self._number = f"{os.major(packed)}:{os.minor(packed)}"
        except (ValueError, OverflowError):
            self._program.stop()
            problem = f"what holds {node} answers in another form: {content[:60]!r}"
            raise MachineError(problem, where=host.name) from None

    def number(self) -> str:
        """Return the number of the device that is open; "" if the program has ended."""
        return self._number if self._program.returncode is None else ""

    def reread(self) -> None:
        """Have the program ask the kernel."""
        with contextlib.suppress(WorkloadError):
            self._host.run(["kill", "-USR1", self.pid], timeout_s=_SHORT_S)

    def release(self) -> None:
        """End the program."""
        self._program.stop()


def beforehand(keeper: Keeper) -> MachineView:
    """Return a view of a host on which nothing is ours yet."""

    def ask(argv: Sequence[str]) -> str:
        command, content = keeper.command(argv), b""
        if keeper.probe.helper:
            arguments = ("00000000", str(len(argv[5:])), *argv[5:])  # no run yet
            command, content = (
                keeper.command((), verb=keeper.verb("report")),
                "".join(f"{argument}\0" for argument in arguments).encode(),
            )
        code, out, err = _process.captured(command, content, timeout_s=_SHORT_S)
        if code != 0:  # None: it took too long
            arguments = (err.decode(errors="replace").strip() or f"{argv[0]} ended with {code}").splitlines()[
                -1
            ]
            raise MachineError(f"its devices can't be examined ({arguments})", where=keeper.login.name)
        return out.decode(errors="replace")

    return There(ask=ask)


def require_mounted(name: str, tool: Callable[..., str], place: Path, source: str, kind: str) -> None:
    """Check what a host has mounted on a place, and unmount what it should not be. Raises MachineError.

    Args:
        name: of the host.
        tool: runs a command there and returns its output.
        place, source, kind: see `_mounted.require_mounted`.
    """

    def number(device: str) -> str:
        return _decimal(tool("stat", "-L", "--format=%t:%T", device))

    try:
        mountinfo, real = tool("cat", "/proc/self/mountinfo"), tool("readlink", "-f", place)
        _mounted.require_mounted(mountinfo, real, source, kind, number)
    except MachineError as error:
        with contextlib.suppress(MachineError):
            tool("umount", place)
        raise MachineError(error.what, where=f"{name}: {error.where}", next=error.next) from None


def _decimal(number: str) -> str:
    """Return "8:16" of "8:10", as `stat` writes it."""
    return ":".join(str(int(part or "0", 16)) for part in number.split(":"))
