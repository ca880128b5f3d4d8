"""A real host, reached over the connection of its keeper."""

import contextlib
import io
import signal
import tarfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule.catalogue import Node
from perjoule.errors import CampaignError, MachineError, PerjouleError, TransientError, WorkloadError
from perjoule.model import Disk
from perjoule.protocols import Completed, Counters, Host, Process
from perjoule.testbeds import _format, _process
from perjoule.testbeds._ssh import lost
from perjoule.testbeds._ssh_facts import Probe, counters
from perjoule.testbeds._ssh_keeper import Keeper
from perjoule.testbeds._ssh_scripts import ASK, BASH, END, LAUNCH

_SHORT_S = 30.0
_LONG_S = 600.0
_MOST_SENT_BYTES = 1024**2
_SSH_FAILED = 255


class SshHost(Host):
    """A computer of its own, by SSH."""

    def __init__(
        self, name: str, role: str, address: str, node: Node | None, directory: Path, keeper: Keeper, probe: Probe, doubt: str
    ) -> None:
        self.name, self.role, self.address, self.node, self.directory = name, role, address, node, directory
        self.cpu_capacity_cores = float(probe.cores_count)
        self._keeper, self._probe, self._doubt = keeper, probe, doubt
        self._mark = directory.name
        self._count, self._lock = 0, threading.Lock()
        self._disks: dict[str, str] = {}

    def _next(self) -> int:
        with self._lock:
            self._count += 1
            return self._count

    def _lead(self, number: int, mode: str, env: Mapping[str, str] | None) -> _process.Lead:
        """What has the host launch a program under our mark."""
        marks = [f"PERJOULE_HOST={self._mark}", f"PERJOULE_PROGRAM={self._mark}/{number}"]
        launch = ["env", *marks, *BASH, LAUNCH, "perjoule-program", str(self.directory / "programs" / str(number)), mode]
        extra = ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
        return lambda words: self._keeper.command([*launch, *extra, *words])

    def end(self, number: int) -> None:
        """End a program with all that it started."""
        with contextlib.suppress(OSError):
            argv = [*BASH, END, "perjoule-end", f"PERJOULE_PROGRAM={self._mark}/{number}"]
            _process.captured(self._keeper.command(argv), timeout_s=_SHORT_S)

    def ask(self, number: int) -> None:
        """Ask a program to end."""
        with contextlib.suppress(OSError):
            argv = [*BASH, ASK, "perjoule-ask", "", str(self.directory / "programs" / f"{number}.pid")]
            _process.captured(self._keeper.command(argv), timeout_s=_SHORT_S)

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        timeout_s: float,
        check: bool = True,
        text: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command to its end, from its root folder; what is not done in time is ended on the host, too."""
        number = self._next()
        try:
            done = _process.run(
                self._lead(number, "run", env), argv, where=self.name, timeout_s=timeout_s, check=False, text=text, env=None
            )
        except BaseException as error:
            if not isinstance(error, WorkloadError) or error.transient:  # it may still run
                self.end(number)
            raise
        if done.returncode == _SSH_FAILED and not self._keeper.alive:
            raise lost(self._keeper.login)
        code = signalled(done.returncode)
        if check and code:
            raise WorkloadError(_process.failure(done, f"ended with {code}"), where=self.name)
        return Completed(done.argv, code, done.stdout, done.stderr)

    def spawn(
        self, argv: Sequence[str | Path], *, log: Path, env: Mapping[str, str] | None = None, text: str | None = None
    ) -> Process:
        """Start a program that goes on; its output comes to `log` on this machine, even where that is a path of the host's.

        Words that name the log's folder on this machine name a folder on the host instead: small files go there before, and what
        the program leaves there comes back when it has ended.
        """
        number = self._next()
        words = [str(word) for word in argv]
        room = None
        here = log.parent.resolve()
        if self.directory not in log.parents and any(str(here) in word for word in words):
            room = Room(self, here, self.directory / "programs" / f"{number}.room")
            words = [word.replace(str(here), str(room.there)) for word in words]
        return SshProgram(self, number, self._lead(number, "spawn", env), words, log=log, text=text, room=room)

    def _raw(self, argv: Sequence[str], content: bytes = b"") -> bytes:
        """What a command of ours on the host prints. Raises WorkloadError in its words, TransientError."""
        code, out, err = _process.captured(self._keeper.command(argv), content, timeout_s=_LONG_S)
        if code == _SSH_FAILED and not self._keeper.alive:
            raise lost(self._keeper.login)
        if code != 0:
            words = err.decode(errors="replace").strip().splitlines() or [f"{argv[0]} did not end in time"]
            raise WorkloadError(words[-1], where=self.name)
        return out

    def put(self, content: str | bytes, path: Path, *, mode: int = 0o644, owner: str = "") -> None:
        """Write a file, its folders made as needed."""
        data = content.encode() if isinstance(content, str) else content
        script = 'umask 077; mkdir -p -m 755 "${1%/*}" && cat > "$1" && { [ -z "$3" ] || chown "$3:" "$1"; } && chmod "$2" "$1"'
        try:
            self._raw([*BASH, script, "perjoule-put", str(path), f"{mode:o}", owner], data)
        except TransientError:
            raise
        except WorkloadError as error:
            raise WorkloadError(f"can't write {path} ({error.what})", where=self.name) from None

    def read(self, path: Path) -> bytes:
        """Read a file."""
        try:
            return self._raw(["cat", "--", str(path)])
        except TransientError:
            raise
        except WorkloadError as error:
            raise WorkloadError(f"can't read {path} ({error.what.rpartition(': ')[2]})", where=self.name) from None

    def send(self, tar: bytes, folder: Path) -> None:
        """Make a folder with what is in an archive."""
        self._raw([*BASH, 'mkdir -m 755 "$1" && tar -x -C "$1"', "perjoule-send", str(folder)], tar)

    def fetch(self, folder: Path) -> bytes:
        """An archive of a folder, which goes."""
        return self._raw([*BASH, 'tar -c -C "$1" . && rm -rf -- "$1"', "perjoule-fetch", str(folder)])

    def counters(self) -> Counters:
        """The counters of the whole machine, told by its keeper; t_s is the middle of the time that asking took."""
        try:
            t_s, _, said = self._keeper.counters()
        except PerjouleError:
            return Counters(time.monotonic())  # a gap
        return counters(said, t_s, self._probe)

    @property
    def doubts(self) -> tuple[str, ...]:
        """That its clock is not ours: loads tell when they began by it."""
        return (self._doubt,) if self._doubt else ()

    def drop_caches(self) -> None:
        """Write back and forget the page cache."""
        try:
            self._raw(["sh", "-c", "sync && echo 3 > /proc/sys/vm/drop_caches"])
        except TransientError:
            raise
        except WorkloadError as error:
            raise WorkloadError(f"the page cache can't be dropped ({error.what})", where=self.name) from None

    def disk(self, name: str, wanted: Disk) -> Path:
        """Make a disk in a sparse file below the work folder; one of that name that was there before goes."""
        if wanted.device:
            self._refuse_device(wanted.device)
        if wanted.mirror != "none":
            what = f'mirror = "{wanted.mirror}" can\'t be on a host over SSH'
            raise CampaignError(what, where=self.name, next="leave mirror out, or take testbed virtual")
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
        """Lend a loop device on a sparse file below the work folder; one of that name that was there before goes."""
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
        """What guards a device from being overwritten sees this machine's devices only."""
        mend = "leave device out (a file stands for one), or run perjoule on that host with testbed local"
        raise CampaignError(f'device = "{device}" can\'t be used over SSH', where=self.name, next=mend)

    def _tool(self, *argv: str | Path) -> str:
        try:
            return self.run(argv, timeout_s=_LONG_S).stdout.strip()
        except TransientError:
            raise
        except WorkloadError as error:
            mend = "log in as root, or set sudo = true" if self._probe.user != "root" else "see its tools and the space left"
            raise MachineError(f"no disk can be made ({error.what})", where=self.name, next=mend) from None


def signalled(code: int) -> int:
    """An exit code as a shell tells it, as ours: negative for the signal that ended the program.

    ssh's own 255 is SIGKILL here: it says so when the connection is lost, or when we killed what it waits for.
    """
    return -signal.SIGKILL if code == _SSH_FAILED else 128 - code if 128 < code < 128 + 65 else code


class Room:
    """A folder of this machine's that a program on a host works in."""

    def __init__(self, host: SshHost, here: Path, there: Path) -> None:
        self.there = there
        self._host, self._here = host, here
        if any(path.is_fifo() for path in here.iterdir()):
            what = "a load that is let go through a pipe can't be on a host over SSH"
            raise WorkloadError(what, where=host.name, next="take another workload, or testbed virtual")
        self._sent = {path.name: path for path in here.iterdir() if path.is_file() and path.stat().st_size <= _MOST_SENT_BYTES}
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for name, path in self._sent.items():
                tar.addfile(info := _entry(name, data := path.read_bytes()), io.BytesIO(data))
                assert info.size == len(data)
        host.send(archive.getvalue(), there)

    def back(self) -> None:
        """Bring what is new. Raises WorkloadError, TransientError."""
        with tarfile.open(fileobj=io.BytesIO(self._host.fetch(self.there))) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if member.isfile() and "/" not in name and name not in self._sent and (file := tar.extractfile(member)):
                    (self._here / name).write_bytes(file.read())


def _entry(name: str, data: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info


class SshProgram(_process.Program):
    """A program that goes on, on a host."""

    def __init__(
        self,
        host: SshHost,
        number: int,
        lead: _process.Lead,
        words: Sequence[str],
        *,
        log: Path,
        text: str | None,
        room: Room | None,
    ) -> None:
        super().__init__(lead, words, where=host.name, log=log, env=None, text=text)
        self._host, self._number, self._room = host, number, room
        self._ended = threading.Lock()

    def _end(self) -> None:
        with self._ended:
            if self._room:
                room, self._room = self._room, None
                room.back()

    @property
    def returncode(self) -> int | None:
        """Its exit code (negative: the signal that ended it), or None while it runs."""
        if (code := super().returncode) is None:
            return None
        self._end()
        return signalled(code)

    def wait(self, *, timeout_s: float) -> int:
        """Wait for its end and return the exit code; raises TimeoutError."""
        super().wait(timeout_s=timeout_s)
        return self.returncode or 0

    def stop(self, *, timeout_s: float = 2.0) -> None:
        """SIGTERM to the program, SIGKILL to it and all that it started after the time limit."""
        if super().returncode is None:
            self._host.ask(self._number)
            with contextlib.suppress(TimeoutError):
                super().wait(timeout_s=timeout_s)
        if super().returncode is None:
            self._host.end(self._number)
            self._child.kill()
        with contextlib.suppress(WorkloadError):
            self._end()
