"""This machine as it is: one host that is client and server, for a local or mounted file system, and
servers that only meters know, as a NAS.

Counters come from https://docs.kernel.org/filesystems/proc.html and cover the whole machine.
"""

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    MADE,
    Check,
    Cleaned,
    Cleans,
    Completed,
    Counters,
    Host,
    Hosts,
    LendsDevices,
    LooksAtHosts,
    Offered,
    OffersSettings,
    OverwritesDevices,
    Process,
    StandsReady,
    Testbed,
    planned,
)
from perjoule.machine import guarded, processes, removal
from perjoule.machine.mounts import folder_check
from perjoule.model import OPTIONS, Disk, Overwrite, Permit
from perjoule.model.errors import CampaignError, MachineError, WorkloadError
from perjoule.testbeds import _device, _power, _process, _put
from perjoule.testbeds._device import view
from perjoule.testbeds._kernel import cpu_ticks, disk_work, hardware, network_bytes, switches_count
from perjoule.testbeds._machine import ThisMachine
from perjoule.testbeds._metered import MeteredHost
from perjoule.testbeds._power import Power
from perjoule.testbeds.local import exports, power
from perjoule.testbeds.local.guard import Guarded, GuardedDevice, GuardedDisk, free

EXAMPLE = '[testbed]\nkind = "local"\n'
# where programs start, as on other hosts: Python and others take modules and settings from where they are
ROOT_FOLDER = "/"
_MADE = re.compile(r"perjoule-\w{10}")  # folders that are noted in MADE


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Local(Testbed, Cleans, LooksAtHosts, OffersSettings, OverwritesDevices, StandsReady):
    """This machine, uncapped; its one host is called "local" and is a client."""

    work: str = ""
    """Folder for the run's own files; the system's temporary folder by default."""
    beside_production: bool = False
    """Whether this machine may be used although its kernel's NFS server exports folders of a site's own."""
    metered: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*$")], ...] = ()
    """Names of servers that hold the data and that nobody logs in to, as ["nas"]: power meters cover them."""
    power: Power | None = None
    """Power states of this machine to set during the campaign, as {cpu_governor = "powersave"}; they are
    put back afterwards.
    """

    @model_validator(mode="after")
    def _here(self) -> Self:
        if self.power and self.power.on:
            raise ValueError("power names hosts, but this machine is the only one (remove `on`)")
        if len({"local", *self.metered}) <= len(self.metered):
            raise ValueError('each server in metered needs a name of its own, and this machine is "local"')
        return self

    @property
    def folder(self) -> Path:
        """The parent of the run's folder."""
        return Path(self.work or tempfile.gettempdir()).absolute()

    def planned(self, clients_count: int) -> Hosts:
        """One client, and the servers that only meters know."""
        if clients_count != 1:
            raise CampaignError(
                f"{clients_count} clients requested on one machine",
                where="testbed local",
                next='write clients = [1], or kind = "virtual"',
            )
        return planned(["client", *("storage" for _ in self.metered)], ["local", *self.metered])

    def shown(self, overwrite: Overwrite, clients_count: int, place: str) -> list[tuple[Permit, list[str]]]:
        """Say what a device is and what would be lost with it; the permit is for that device alone."""
        return [_device.described(overwrite, view.HERE)]

    def offered(self, clients_count: int) -> Mapping[str, Offered]:
        """The power states of this machine, if the campaign has a table `power`."""
        return _power.offered(LocalHost(self.folder), self.power) if self.power else {}

    @contextlib.contextmanager
    def hold(self, clients_count: int) -> Generator[Hosts]:
        """Hold this machine; programs started on it end with the block.

        Raises:
            CampaignError: more than one client is requested.
            MachineError: the folder can't be made, or power states can't be set or, of a killed run, put
                back.
        """
        self.planned(clients_count)
        with contextlib.ExitStack() as stack:
            within = self.folder if self.work else None
            if failures := clean()[1]:
                raise MachineError(
                    f"a killed run's power states stay: {failures[0]}", next="run `perjoule down`"
                )
            try:
                if os.geteuid() == 0:
                    guarded.require(self.folder)
                sweep(within)  # `perjoule down` does not know of `work`
                folder = stack.enter_context(removal.scratch("perjoule-local-", within))
            except OSError as error:
                problem = f"can't make a folder ({(error.strerror or str(error)).lower()})"
                raise MachineError(problem, where=str(error.filename), next="set work") from None
            host = LocalHost(folder)
            stack.callback(host.stop)
            states = (
                stack.enter_context(power.holding_states(host, self.power))
                if self.power
                else _power.facts(host)
            )
            yield Hosts(
                (host, *(MeteredHost(name, "storage") for name in self.metered)),
                facts={"power": {host.name: states}},
                machine=ThisMachine(covers=(host.name,)),
            )

    @classmethod
    def clean(cls) -> Cleaned:
        """Put back the power states that killed runs have set, and remove their scratch folders and disks."""
        put_back, failures = clean()
        swept, left_folders = sweep()
        return Cleaned(tuple(map(str, swept)), tuple(put_back), left_folders, tuple(failures))

    def checks(self) -> tuple[Check, ...]:
        """Check the permission to drop caches, which reads need, the folder `work`, and whether there are
        the power states.
        """
        able = os.access("/proc/sys/vm/drop_caches", os.W_OK)
        detail = "can be dropped" if able else "can't be dropped: reads may come from memory"
        all_checks = [Check("page cache", able, detail, "run it with sudo", needed=False)]
        if self.work:
            all_checks.append(
                folder_check(Path(self.work), "set work to a folder that this user can write to")
            )
        if self.power:
            lack = _power.lack(LocalHost(self.folder), self.power)
            all_checks.append(
                Check(
                    "power states", not lack, lack.what if lack else "can be set", lack.next if lack else ""
                )
            )
        return tuple(all_checks)

    def first_client(self) -> Host:
        """This machine."""
        return LocalHost(self.folder)

    def lacking(self, clients_count: int, required: Sequence[Check]) -> tuple[Check, ...]:
        """Return the check for exports of a site's own, if there are some and the campaign exports beside
        them.
        """
        return () if self.beside_production else exports.lacking(required)


def clean() -> tuple[list[str], list[str]]:
    """Put back power states that killed runs have set; return what was put back, and why something could
    not be.
    """
    return power.clean(LocalHost(Path(tempfile.gettempdir())))


def sweep(within: Path | None = None) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Remove the scratch folders of killed runs, their programs, and disks that no guard has removed; see
    `removal.sweep`.
    """
    return removal.sweep(within, free=_free)


def _free(folder: Path) -> str:
    """End the programs of a killed run, and remove what they have filled; return what of that stays."""
    processes.end(_owned(folder))
    exports.withdraw(folder.resolve())
    reasons: list[str] = []
    for note in sorted((folder / MADE).glob("*")):
        if _MADE.fullmatch(note.name) and (made := Path(note.read_text().strip())).name == note.name:
            if not made.parent.is_dir():
                reasons.append(f"its {made} may be there yet; mount {made.parent}")
            elif stays := removal.remove_folder(made, mark=""):
                reasons.append(f"its {stays[0]} can't be removed")
    free(folder)
    return "; ".join(reasons)


def _owned(folder: Path) -> str:
    """Return the entry in the environment of all programs of a run that has this folder."""
    return f"PERJOULE_LOCAL={folder.resolve()}"


class LocalHost(Host, LendsDevices):
    """The machine that perjoule runs on."""

    def __init__(self, directory: Path) -> None:
        self.name, self.role, self.address, self.node, self.directory = (
            "local",
            "client",
            "127.0.0.1",
            None,
            directory,
        )
        self.mark = _owned(directory)
        self._programs: list[_process.Program] = []
        self._disks: dict[str, Guarded] = {}

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        timeout_s: float,
        check: bool = True,
        text: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command to its end."""
        return _process.run(
            (),
            argv,
            where=self.name,
            timeout_s=timeout_s,
            check=check,
            text=text,
            env=self._marked(env),
            folder=ROOT_FOLDER,
        )

    def spawn(
        self,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        text: str | None = None,
    ) -> Process:
        """Start a program that keeps running."""
        program = _process.Program(
            (), argv, where=self.name, log=log, env=self._marked(env), text=text, folder=ROOT_FOLDER
        )
        self._programs.append(program)
        return program

    def _marked(self, env: Mapping[str, str] | None) -> dict[str, str]:
        name, _, value = self.mark.partition("=")
        return {**(env or {}), name: value}

    def put(self, content: str | bytes, path: Path, *, mode: int = 0o644, owner: str = "") -> None:
        """Write a file, making its folders if necessary."""
        _put.put(content, path, inside=self.directory, where=self.name, mode=mode, owner=owner)

    def read(self, path: Path) -> bytes:
        """Read a file."""
        try:
            return path.read_bytes()
        except OSError as error:
            raise WorkloadError(f"can't read {path} ({error.strerror})", where=self.name) from None

    def tell(self, gate: Path, line: str) -> None:
        """Write a line to who waits at a gate."""
        _process.tell(gate, line, where=self.name)

    def counters(self) -> Counters:
        """Read the counters of the whole machine."""
        received, sent = network_bytes(Path("/proc/net/dev").read_text(), hardware(Path("/sys/class/net")))
        disk = disk_work(Path("/proc/diskstats").read_text(), hardware(Path("/sys/block")))
        stat = Path("/proc/stat").read_text()
        cpu_s = cpu_ticks(stat) / os.sysconf("SC_CLK_TCK")
        return Counters(time.monotonic(), cpu_s, received, sent, *disk, switches_count(stat))

    def disk(self, name: str, spec: Disk) -> Path:
        """Make a disk in a sparse file, or on a named device, replacing an earlier one of that name."""
        place = self._place(name)
        self._disks[name] = GuardedDisk(place, spec, self.overwrite, view.HERE)
        return place

    def device(self, name: str, *, size_bytes: int, device: str = "") -> Path:
        """Lend a named device, or a loop device on a sparse file, replacing an earlier one of that name."""
        lent = GuardedDevice(self._place(name), size_bytes, device, self.overwrite, view.HERE)
        self._disks[name] = lent
        return lent.path

    def _place(self, name: str) -> Path:
        if os.geteuid() != 0:
            raise MachineError("only root can make a disk", where=self.name, next="run it with sudo")
        if old := self._disks.pop(name, None):
            old.remove()
        place = self.directory / name
        place.mkdir(exist_ok=True)
        return place

    def drop_caches(self) -> None:
        """Write back and drop what the kernel caches of files."""
        _process.drop_caches(where=self.name)

    def stop(self) -> None:
        """End every program, and remove its disks."""
        for program in self._programs:
            program.stop()
        for disk in self._disks.values():
            disk.remove()
