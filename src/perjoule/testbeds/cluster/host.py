"""A real host, reached over the connection of its keeper."""

import contextlib
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

from perjoule.catalogue import Node
from perjoule.drivers.protocols import (
    ClockOffset,
    Completed,
    Counters,
    Host,
    LendsDevices,
    Process,
)
from perjoule.drivers.protocols.networks import HasClusterNetwork
from perjoule.machine import mirrors
from perjoule.model import Disk
from perjoule.model.doubts import Doubt
from perjoule.model.errors import (
    CampaignError,
    MachineError,
    PerjouleError,
    TransientError,
    UnexpectedOutput,
    WorkloadError,
)
from perjoule.model.units import MIB, bytes_text
from perjoule.testbeds import _format, _mirror, _process
from perjoule.testbeds._device import DeviceClaim
from perjoule.testbeds.cluster.connection import KeeperLine, with_env
from perjoule.testbeds.cluster.devices import There, require_mounted
from perjoule.testbeds.cluster.facts import counters
from perjoule.testbeds.cluster.keeping.answers import HostAnswers
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.program import Room, SshProgram, signalled
from perjoule.testbeds.cluster.scripts import HELPER
from perjoule.testbeds.cluster.verbs import verb

_SHORT_S = 30.0
_LONG_S = 600.0
_MOST_TEXT_BYTES = 16 * MIB  # of a command's output; files have other limits


class SshHost(Host, HasClusterNetwork, LendsDevices):
    """A real host, over SSH."""

    def __init__(
        self,
        name: str,
        role: str,
        address: str,
        node: Node | None,
        directory: Path,
        keeper: Keeper,
        doubt: Doubt | None,
        together: Sequence[Keeper] = (),
        *,
        cluster_address: str = "",
    ) -> None:
        self.name, self.role, self.address, self.node, self.directory = name, role, address, node, directory
        self.cluster_address = cluster_address
        self.mark = f"PERJOULE_HOST={directory.name}"
        self.cpu_capacity_cores = float(keeper.probe.cores_count)
        self._line, self._probe = KeeperLine(keeper, directory, together), keeper.probe
        self._disks: dict[str, Callable[[], object]] = {}  # what removes each
        self._copies: dict[str, int] = {}
        self._doubts = {"clock": doubt}
        self._answers = HostAnswers()

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
        arguments = tuple(str(argument) for argument in argv)
        answer, late = self._line.keeper.run(
            [*with_env(env), *arguments], (text or "").encode(), timeout_s=timeout_s
        )
        if len(answer.out) > _MOST_TEXT_BYTES:  # as text it may take four times as much
            raise WorkloadError(
                f"{arguments[0]} printed more than {bytes_text(_MOST_TEXT_BYTES)}", where=self.name
            )
        out, err = answer.out.decode(errors="replace"), answer.err.decode(errors="replace")
        completed = Completed(arguments, signalled(answer.code), out, err)
        return _process.judged(completed, where=self.name, check=check, late_s=timeout_s if late else None)

    def spawn(
        self,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        text: str | None = None,
    ) -> Process:
        """Start a program that keeps running; its output goes to `log` on this machine, even if that is a
        path on the host.
        """
        number = self._line.keeper.number()
        text = self._line.input_of(number, [str(argument) for argument in argv], env, text)
        return SshProgram(self._line, number, self._line.lead(number, env), argv, log=log, text=text)

    @contextlib.contextmanager
    def room(self, folder: Path, *files: str) -> Generator[Path]:
        """Lend a new folder: `files` are copied there before, new ones copied back at the end."""
        room_path = self.directory / "programs" / f"{self._line.keeper.number()}.room"
        room = Room(self._line, folder.resolve(), room_path, files)
        try:
            yield room_path
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
        content_bytes = content.encode() if isinstance(content, str) else content
        try:
            self._line.raw(
                verb("perjoule-put", str(path), f"{mode:o}", owner, str(self.directory)), content_bytes
            )
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
            raise WorkloadError(
                f"can't read {path} ({error.what.rpartition(': ')[2]})", where=self.name
            ) from None

    def counters(self) -> Counters:
        """Return the counters of the whole machine, from its keeper; t_s is the middle of the round trip."""
        return self.ask_counters()()

    def ask_counters(self, *, switches: bool = False) -> Callable[[], Counters]:
        """Ask its keeper, which always states context switches."""
        answer = self._line.keeper.ask_counters()

        def read() -> Counters:
            try:
                t_s, half_s, answer_text = answer()
            except PerjouleError:
                return Counters(time.monotonic())  # a gap
            try:
                return (
                    counters(answer_text, t_s, self._probe)
                    if self._answers.take(t_s, half_s, answer_text)
                    else Counters(t_s)
                )
            except ValueError as error:
                raise UnexpectedOutput(str(error), where=self.name) from None

        return read

    def disturbances(self) -> tuple[Doubt, ...]:
        """By the answers with its counters."""
        return self._answers.disturbances(self.name)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubts about its clock, by which workloads report their start, and about mirrors that it can't
        make.
        """
        return tuple(filter(None, self._doubts.values()))

    def drop_caches(self) -> None:
        """Write back and drop the page cache, and ZFS's caches where zinject is installed."""
        try:
            if self._probe.user != "root" and not self._probe.drops:
                fix = f"only root can; install {HELPER}, see `perjoule doctor --helper`"
                raise WorkloadError(fix, where=self.name)
            self._line.raw(
                ["sudo", "-n", "--", HELPER, "drop-caches"] if self._probe.drops else verb("perjoule-drop")
            )
        except TransientError:
            raise
        except WorkloadError as error:
            raise WorkloadError(f"can't drop the page cache ({error.what})", where=self.name) from None

    def disk(self, name: str, spec: Disk) -> Path:
        """Make a disk in a sparse file below the work folder, in two as a mirror, or on a named device of
        the host.
        """
        _format.make_words(spec)  # the impossible is reported before anything is touched
        place = self.directory / name
        self._without(name)
        self._tool("mkdir", "-p", place)
        spec, self._doubts[f"disk {name}"] = mirrors.possible(spec, self._lacking)
        made = self._named if spec.device else self._single if spec.mirror == "none" else self._mirrored
        with made(name, spec) as source:
            self._tool("mount", "-t", spec.kind, "-o", ",".join(spec.mount_options), source, place)
            require_mounted(self.name, self._tool, place, source, spec.kind)
        self._disks[name] = lambda: self._unmounted(place)
        self._copies[name] = 1 if spec.mirror == "none" else _mirror.LEGS_COUNT
        return place

    @contextlib.contextmanager
    def _single(self, name: str, spec: Disk) -> Generator[str]:
        """Make a file system in a file, and lend its loop device for the mount that keeps it from then on."""
        image = self.directory / f"{name}.img"
        self._tool("truncate", f"--size={spec.size_bytes}", image)
        self._tool(*_format.make_words(spec), image)
        loop = self._loop(image)
        try:
            yield loop
        finally:
            self.run(["losetup", "--detach", loop], timeout_s=_SHORT_S, check=False)

    @contextlib.contextmanager
    def _mirrored(self, name: str, spec: Disk) -> Generator[str]:
        """Make a file system on two files with the same content."""
        mirror = _mirror.Mirror(spec.mirror, self.directory / "disks", name)
        self._tool("mkdir", "-p", mirror.folder)
        self._tool("modprobe", mirrors.WAYS[spec.mirror].module)
        self._tool("truncate", f"--size={spec.size_bytes}", *mirror.images)
        loops = [self._loop(leg) for leg in mirror.images]
        try:
            self._tool(*verb("perjoule-ending", f"{self.directory / name}.end", "array", *mirror.end(loops)))
            for argv in mirror.make(loops, spec):
                self._tool(*argv)
            if spec.kind != "zfs":
                self._tool(*_format.make_words(spec), mirror.source)
            yield mirror.source
        finally:
            for loop in loops:
                self.run(["losetup", "--detach", loop], timeout_s=_SHORT_S, check=False)

    @contextlib.contextmanager
    def _named(self, name: str, spec: Disk) -> Generator[str]:
        """Make a file system on a device that may be overwritten; it is removed with the run."""
        claim = self._claim(name, spec.device)
        try:
            boot = self.read(Path("/proc/sys/kernel/random/boot_id")).decode(errors="replace").strip()
            claim.wipe()
            path, device_seen = str(claim.path), claim.seen
            device = (path, device_seen.number, device_seen.sequence or "-", boot)
            end = (*device, "wipefs", "--all", "--types", spec.kind, "--quiet", path)
            self._tool(*verb("perjoule-ending", f"{self.directory / name}.end", "device", *end))
        finally:
            claim.release()  # mkfs takes it exclusively itself, and refuses where something is
        self._tool(*_format.make_words(spec), path)
        yield path

    def device(self, name: str, *, size_bytes: int, device: str = "") -> Path:
        """Lend a named device of the host, or a loop device on a sparse file, replacing an earlier one of
        that name.
        """
        self._without(name)
        if not device:
            image = self.directory / f"{name}.img"
            self._tool("truncate", f"--size={size_bytes}", image)
            loop = self._loop(image)
            self._disks[name] = lambda: self.run(["losetup", "--detach", loop], timeout_s=_LONG_S)
            return Path(loop)
        claim = self._claim(name, device)
        self._disks[name] = claim.release
        claim.wipe()
        claim.check()  # right before what comes next, which is the first write
        return claim.path

    def _claim(self, name: str, device: str) -> DeviceClaim:
        """Claim a device of the host, judged as one of this machine. Raises CampaignError, MachineError."""
        if self._probe.user != "root":
            fix = "log in as root, or set sudo = true"
            raise MachineError(f"only root can overwrite a device ({device})", where=self.name, next=fix)
        view = There(ask=lambda argv: self._tool(*argv), host=self, log=self.directory / f"{name}.held")
        try:
            return DeviceClaim(
                device, [permit for permit in self.overwrite if permit.host == self.name], view
            )
        except (CampaignError, MachineError) as error:
            raise type(error)(error.what, where=self.name, next=error.next) from None

    @property
    def copies_count(self) -> int:
        """2 with a mirror."""
        return max(self._copies.values(), default=1)

    def _lacking(self, mirror: str) -> str:
        """Return why the host can't make a mirror; "" if it can."""
        mirror_way = mirrors.WAYS[mirror]
        answer = self._tool(*verb("perjoule-mirror", mirror_way.module, mirror_way.tool)).split()
        return mirrors.lack_of(mirror, module="module" in answer, tool="tool" in answer)

    def _loop(self, image: Path) -> str:
        return self._tool("losetup", "--find", "--show", "--direct-io=on", image)

    def _unmounted(self, place: Path) -> None:
        self.run(["umount", place], timeout_s=_LONG_S)
        # detaches its copies in namespaces that somebody made meanwhile
        self.run(["rmdir", place], timeout_s=_LONG_S)
        self.run(verb("perjoule-end", f"{place}.end"), timeout_s=_LONG_S)

    def _without(self, name: str) -> None:
        if removed := self._disks.pop(name, None):
            removed()
        self._copies.pop(name, None)
        self._tool(*verb("perjoule-rm", str(self.directory / name)))

    def _tool(self, *argv: str | Path) -> str:
        try:
            return self.run(argv, timeout_s=_LONG_S).stdout.strip()
        except TransientError:
            raise
        except WorkloadError as error:
            fix = (
                "log in as root, or set sudo = true"
                if self._probe.user != "root"
                else "check its tools and the free space"
            )
            raise MachineError(f"can't make a disk ({error.what})", where=self.name, next=fix) from None
