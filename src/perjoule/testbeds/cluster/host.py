"""A real host, reached over the connection of its keeper."""

import contextlib
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from perjoule.catalogue import Node
from perjoule.drivers.protocols import ClockOffset, Completed, Counters, Host, PlannedHost, Process
from perjoule.model import Disk
from perjoule.model.errors import CampaignError, MachineError, PerjouleError, TransientError, WorkloadError
from perjoule.testbeds import _format, _process
from perjoule.testbeds.cluster.connection import Line, with_env
from perjoule.testbeds.cluster.facts import counters
from perjoule.testbeds.cluster.keeper import Keeper
from perjoule.testbeds.cluster.program import Room, SshProgram, signalled
from perjoule.testbeds.cluster.scripts import BASH

_SHORT_S = 30.0
_LONG_S = 600.0


class SshHost(Host):
    """A real host, over SSH."""

    def __init__(
        self, name: str, role: str, address: str, node: Node | None, directory: Path, keeper: Keeper, doubt: str
    ) -> None:
        self.name, self.role, self.address, self.node, self.directory = name, role, address, node, directory
        self.cpu_capacity_cores = float(keeper.probe.cores_count)
        self._line, self._probe, self._doubt = Line(keeper, directory), keeper.probe, doubt
        self._disks: dict[str, str] = {}

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        timeout_s: float,
        check: bool = True,
        text: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command to its end, from its root folder; at the time limit it is ended on the host, too."""
        words = tuple(str(word) for word in argv)
        answer, late = self._line.keeper.run([*with_env(env), *words], (text or "").encode(), timeout_s=timeout_s)
        out, err = answer.out.decode(errors="replace"), answer.err.decode(errors="replace")
        done = Completed(words, signalled(answer.code), out, err)
        return _process.judged(done, where=self.name, check=check, late_s=timeout_s if late else None)

    def spawn(
        self, argv: Sequence[str | Path], *, log: Path, env: Mapping[str, str] | None = None, text: str | None = None
    ) -> Process:
        """Start a program that keeps running; its output goes to `log` on this machine, even if that is a path on the host."""
        number = self._line.keeper.number()
        return SshProgram(self._line, number, self._line.lead(number, env), argv, log=log, text=text)

    @contextlib.contextmanager
    def room(self, folder: Path, *files: str) -> Generator[Path]:
        """Lend a new folder: `files` are copied there before, new ones copied back at the end."""
        there = self.directory / "programs" / f"{self._line.keeper.number()}.room"
        room = Room(self._line, folder.resolve(), there, files)
        try:
            yield there
        except BaseException:
            with contextlib.suppress(WorkloadError):  # whatever ended the block is the better reason
                room.back()
            raise
        room.back()

    def tell(self, gate: Path, line: str) -> None:
        """By its keeper, which is there already."""
        self._line.keeper.tell(str(gate), line)

    def clock_offset(self) -> ClockOffset:
        """Query its keeper several times; the quickest answer counts."""
        return self._line.keeper.clock()

    def put(self, content: str | bytes, path: Path, *, mode: int = 0o644, owner: str = "") -> None:
        """Write a file, making its folders if necessary."""
        data = content.encode() if isinstance(content, str) else content
        script = 'umask 077; mkdir -p -m 755 "${1%/*}" && cat > "$1" && { [ -z "$3" ] || chown "$3:" "$1"; } && chmod "$2" "$1"'
        try:
            self._line.raw([*BASH, script, "perjoule-put", str(path), f"{mode:o}", owner], data)
        except TransientError:
            raise
        except WorkloadError as error:
            raise WorkloadError(f"can't write {path} ({error.what})", where=self.name) from None

    def read(self, path: Path) -> bytes:
        """Read a file."""
        try:
            return self._line.raw(["cat", "--", str(path)])
        except TransientError:
            raise
        except WorkloadError as error:
            raise WorkloadError(f"can't read {path} ({error.what.rpartition(': ')[2]})", where=self.name) from None

    def counters(self) -> Counters:
        """Return the counters of the whole machine, from its keeper; t_s is the middle of the round trip."""
        return self.ask_counters()()

    def ask_counters(self) -> Callable[[], Counters]:
        """Ask its keeper."""
        answer = self._line.keeper.ask_counters()

        def read() -> Counters:
            try:
                t_s, _, said = answer()
            except PerjouleError:
                return Counters(time.monotonic())  # a gap
            return counters(said, t_s, self._probe)

        return read

    @property
    def doubts(self) -> tuple[str, ...]:
        """The doubt about its clock, by which workloads report their start."""
        return (self._doubt,) if self._doubt else ()

    def drop_caches(self) -> None:
        """Write back and drop the page cache."""
        try:
            self._line.raw(["sh", "-c", "sync && echo 3 > /proc/sys/vm/drop_caches"])
        except TransientError:
            raise
        except WorkloadError as error:
            raise WorkloadError(f"can't drop the page cache ({error.what})", where=self.name) from None

    def disk(self, name: str, wanted: Disk) -> Path:
        """Make a disk in a sparse file below the work folder, replacing an earlier one of that name."""
        if wanted.device:
            self._refuse_device(wanted.device)
        if wanted.mirror != "none":
            what = f'mirror = "{wanted.mirror}" does not work on a host over SSH'
            raise CampaignError(what, where=self.name, next="remove mirror, or use testbed virtual")
        place, image = self.directory / name, self.directory / f"{name}.img"
        self._tool("mkdir", "-p", place)
        self._without(name)
        self._tool("truncate", f"--size={wanted.size_bytes}", image)
        self._tool(*_format.make_words(wanted), image)
        loop = self._tool("losetup", "--find", "--show", "--direct-io=on", image)
        try:
            self._tool("mount", "-t", wanted.kind, "-o", ",".join(("noatime", *wanted.options)), loop, place)
        finally:
            self.run(["losetup", "--detach", loop], timeout_s=_SHORT_S, check=False)  # from now on it goes with its mount
        self._disks[name] = str(place)
        return place

    def device(self, name: str, *, size_bytes: int, device: str = "") -> Path:
        """Lend a loop device on a sparse file below the work folder, replacing an earlier one of that name."""
        if device:
            self._refuse_device(device)
        self._without(name)
        image = self.directory / f"{name}.img"
        self._tool("truncate", f"--size={size_bytes}", image)
        self._disks[name] = self._tool("losetup", "--find", "--show", "--direct-io=on", image)
        return Path(self._disks[name])

    def _without(self, name: str) -> None:
        if old := self._disks.pop(name, None):
            self.run(["losetup", "--detach", old] if old.startswith("/dev/") else ["umount", old], timeout_s=_LONG_S)
        self._tool("rm", "-f", self.directory / f"{name}.img")

    def _refuse_device(self, device: str) -> None:
        """Refuse a named device: the protection against overwriting sees only this machine's devices."""
        mend = "remove device (a file stands in for it), or run perjoule on that host with testbed local"
        raise CampaignError(f'device = "{device}" can\'t be used over SSH', where=self.name, next=mend)

    def _tool(self, *argv: str | Path) -> str:
        try:
            return self.run(argv, timeout_s=_LONG_S).stdout.strip()
        except TransientError:
            raise
        except WorkloadError as error:
            mend = "log in as root, or set sudo = true" if self._probe.user != "root" else "check its tools and the free space"
            raise MachineError(f"can't make a disk ({error.what})", where=self.name, next=mend) from None


class MeteredHost(PlannedHost):
    """A server that perjoule doesn't log in to: it has a name for meters, and no counters."""

    def __init__(self, name: str, role: str, address: str, node: Node | None) -> None:
        super().__init__(role, 0)
        self.name, self.address, self.node = name, address, node

    def counters(self) -> Counters:
        """Return a gap."""
        return Counters(time.monotonic())

    def _no_login(self, *_: Any, **__: Any) -> NoReturn:
        what, mend = (
            "nothing can run on this host (login = false)",
            'remove login, or measure what is mounted: kind = "directory"',
        )
        raise MachineError(what, where=self.name, next=mend)

    run = spawn = put = read = tell = disk = device = drop_caches = _no_login
