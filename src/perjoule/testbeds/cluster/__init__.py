"""Real hosts over SSH: the machines of a lab with their installed software. https://man.openbsd.org/ssh

Uses OpenSSH's own client with your keys, known hosts and configuration, and never a password. On a host it
writes only to `work`/cluster, and to power states that the campaign names. A keeper there ends all our
programs, removes our files and puts power states back as soon as it loses contact, for whatever reason.
"""

import contextlib
import secrets
import shutil
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    Ability,
    Awaits,
    Check,
    Cleaned,
    Cleans,
    ClockOffset,
    Elsewhere,
    Footing,
    HasEvents,
    Host,
    Hosts,
    LooksAtHosts,
    Offered,
    OffersSettings,
    OverwritesDevices,
    Testbed,
    planned,
)
from perjoule.machine.each import each
from perjoule.model import OPTIONS, Json, Overwrite, Permit
from perjoule.model.errors import CampaignError, MachineError, PerjouleError
from perjoule.model.options import HostsCount, InventoryFile
from perjoule.model.units import Bytes, Seconds
from perjoule.testbeds import _device
from perjoule.testbeds._metered import MeteredHost
from perjoule.testbeds._power import Power
from perjoule.testbeds.cluster import devices, findings, logs, notes, pool, power
from perjoule.testbeds.cluster.ansible import listed
from perjoule.testbeds.cluster.facts import clock_doubt
from perjoule.testbeds.cluster.host import SshHost
from perjoule.testbeds.cluster.judge import JUDGED, PERMITTED
from perjoule.testbeds.cluster.judge import text as helper_text
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.login import Login
from perjoule.testbeds.cluster.machines import (
    LabHost,
    LabHosts,
    NodeName,
    Word,
    hardware_of,
    is_nobodys,
    node_of,
)
from perjoule.testbeds.cluster.openssh import Ssh, configuration
from perjoule.testbeds.cluster.scripts import HELPER
from perjoule.testbeds.cluster.units import UnitLimits

__all__ = [
    "HELPER",
    "JUDGED",
    "PERMITTED",
    "LabHost",
    "Login",
    "NodeName",
    "SshCluster",
    "helper_text",
    "listed",
]

EXAMPLE = """
[testbed]
kind = "cluster"
user = "root"
hosts = [
    {name = "storage-1", address = "192.0.2.11", role = "storage", node = "odroid-hc4/A"},
    {name = "client-1", address = "192.0.2.21", role = "client", node = "odroid-hc4/G"},
]
"""


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SshCluster(
    Testbed, Awaits, Cleans, Elsewhere, HasEvents, LooksAtHosts, OffersSettings, OverwritesDevices
):
    """Real hosts, uncapped, over SSH; each needs sshd, bash, procps, util-linux and the software to
    measure.
    """

    also_called: ClassVar[Mapping[str, str]] = {
        "config": "no ssh configuration into a campaign, because it can run programs: add --ssh-config {value} to the command"
    }

    inventory: InventoryFile | None = None
    """An Ansible inventory beside the campaign, in INI format ("hosts.ini") or as `ansible-inventory --list`
    prints it:
    addresses, ports, users and groups of hosts."""
    hosts: LabHosts
    """The hosts, as {name = "storage-1", address = "10.0.0.11", role = "storage", node = "odroid-hc4/A"};
    node is optional. One table can be many hosts: {name = "n[001-064]", address = "10.0.1.[1-64]", role =
    "client"}. Names suffice with an inventory,
    or if OpenSSH knows them; {name = "@compute", role = "client", count = 4} takes 4 hosts of a group."""
    servers_count: HostsCount | None = None
    """How many storage hosts to use, the first ones; all by default."""
    user: Word | Literal[""] = ""
    """User to log in as; file systems need root. OpenSSH's own configuration decides by default."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """The port of their SSH servers; OpenSSH's own configuration decides by default."""
    identity: str = ""
    """File with the private key; OpenSSH's own choice by default."""
    work: Annotated[str, Field(pattern=r"^/[\w.-]+(/[\w.-]+)*$")] = "/var/tmp/perjoule"
    """The only folder written to on a host, in its subfolder "cluster"; on this machine it holds the
    daemons' logs."""
    sudo: bool = False
    """Whether to run everything with sudo, which must not ask for a password."""
    tasks_limit_count: Annotated[int, Field(gt=0)] | None = None
    """How many processes and threads a run may have on each host; needs systemd there, whose own limit is
    the default."""
    memory_limit_bytes: Annotated[Bytes, Field(gt=0)] | None = None
    """How much memory the programs of a run may use on each host, together with what the kernel caches for
    them; needs systemd
    there. No limit by default."""
    beside_production: bool = False
    """Whether hosts may be used on which a file system of the site's own is that is of the same kind, running
    or not; perjoule
    never speaks to it, but loads the same disks and networks, and hides its state where programs have fixed
    paths.
    """
    power: Power | None = None
    """Power states to set during the campaign on the hosts that it names, as {on = ["storage"], cpu_governor
    = "powersave"}; they
    are put back afterwards."""
    first_count: Annotated[int, Field(ge=0)] = 0
    """How many hosts are tried before all others, which are not contacted if one of these can't be used;
    none by default."""
    missing_count: Annotated[int, Field(ge=0)] = 0
    """How many hosts may be missing: as many that can't be used are left out, if others of their role can
    take their place, and
    records name them. The numbers of clients and servers stay what the campaign says."""
    patience_s: Seconds = 180.0
    """How long to wait, between trials, for hosts to come back whose connection was lost, for example
    while they reboot."""

    @property
    def abilities(self) -> frozenset[type[Ability]]:
        """None: a network that is not ours is not cut and loses nothing, nor are disks slowed down."""
        return frozenset()

    @model_validator(mode="after")
    def _named(self) -> Self:
        names = [name for machine in self.hosts if machine.login for name in (machine.role, machine.name)]
        if self.power and (not self.power.on or set(self.power.on) - set(names)):
            unknown = next(
                (
                    f'power is on "{stranger}", which is not a host'
                    for stranger in self.power.on
                    if stranger not in names
                ),
                "",
            )
            problem = unknown or "power names no hosts"
            raise ValueError(
                f"{problem} (on = [...] takes roles and names: {', '.join(dict.fromkeys(names))})"
            )
        return self

    def planned(self, clients_count: int) -> Hosts:
        """The first clients, the first storage hosts if `servers` limits them, and all others."""
        machines = self._chosen(clients_count)
        return planned((machine.role for machine in machines), (machine.name for machine in machines))

    def shown(self, overwrite: Overwrite, clients_count: int, place: str) -> list[tuple[Permit, list[str]]]:
        """Say what the device is on each host, and what would be lost with it; each permit is for that
        device alone.
        """
        machines = self._chosen(clients_count)
        hosts = planned(machine.role for machine in machines)
        theirs = [
            machine for machine, host in zip(machines, hosts.all, strict=True) if host in hosts.at(place)
        ]

        def look(machine: LabHost) -> tuple[Permit, list[str]]:
            keeper = pool.looked(self._place(machine))
            try:
                permit, lines = _device.described(overwrite, devices.beforehand(keeper))
            except (CampaignError, MachineError) as error:
                raise type(error)(error.what, where=machine.name, next=error.next) from None
            return replace(permit, host=machine.name), lines

        return each(theirs, look)

    def footing(self, host: str) -> Footing:
        """Return the user of the login, with sudo or without, and the work folder."""
        machine = next(machine for machine in self.hosts if machine.name == host)
        return Footing(
            machine.user or self.user, self.work, self.sudo if machine.sudo is None else machine.sudo
        )

    def offered(self, clients_count: int) -> Mapping[str, Offered]:
        """The power states of the hosts that the campaign's table `power` names."""
        machines = [
            machine
            for machine in self._chosen(clients_count)
            if self._sets_power(machine) and machine.login and not is_nobodys(machine.address)
        ]
        if not self.power or not machines:
            return {}
        return power.offered(each(machines, lambda machine: pool.looked(self._place(machine))), self.power)

    def awaited(self, *, booting: bool = False) -> Generator[str]:
        """Wait for hosts whose connection was lost, or for all of them while they are `booting`.

        Raises PerjouleError: one is not back within `patience`.
        """
        places = [self._place(machine) for machine in self.hosts if machine.login]
        yield from pool.regained(places, self.patience_s, booting=booting)

    @contextlib.contextmanager
    def hold(self, clients_count: int) -> Generator[Hosts]:
        """Hold the servers and the first clients; nothing of ours stays on them afterwards.

        Raises:
            CampaignError: too few clients or storage hosts, two hosts of one name, or hardware that is not in
                the catalogue.
            MachineError: a host can't be reached, lacks something, or is in use by another perjoule.
        """
        everybody = self._chosen(clients_count)
        nodes = {machine.name: node_of(machine) for machine in everybody}
        addresses = dict(each(everybody, lambda machine: (machine.name, self._address(machine))))
        machines = [machine for machine in everybody if machine.login]
        run = secrets.token_hex(4)
        with contextlib.ExitStack() as stack:
            dead = notes.dead()
            note = stack.enter_context(notes.noted(run, self._noted(machines)))
            folders = [self._folder(run, machine) for machine in machines]
            stack.callback(lambda: [logs.remove(folder) for folder in folders])
            held_keepers: list[Keeper] = []
            states: dict[str, Json] = {}

            def release() -> None:
                ended = each(held_keepers, Keeper.close)
                for keeper in [keeper for keeper, well in zip(held_keepers, ended, strict=True) if not well]:
                    pool.lose((keeper.login, self.work))
                if all(ended):
                    notes.remove(note)

            stack.callback(release)

            def keep(machine: LabHost) -> Keeper:
                keeper = pool.fresh(self._place(machine))
                with contextlib.ExitStack() as refused:
                    refused.callback(keeper.close)
                    if not (check := findings.readiness(machine.name, keeper.probe)).ok:
                        raise MachineError(check.detail, where=check.name, next=check.fix)
                    states[machine.name] = power.facts(keeper)
                    refused.pop_all()
                keeper.keep(run, tuple(dead), UnitLimits(self.tasks_limit_count, self.memory_limit_bytes))
                held_keepers.append(keeper)
                return keeper

            keepers = each(machines, keep)
            notes.superseded(dead, self._noted(machines))
            for folder in folders:
                logs.make(folder)
            clocks = each(keepers, Keeper.clock)
            ours = iter(zip(folders, keepers, clocks, strict=True))  # of the chosen ones, in the order of all

            def host(machine: LabHost) -> Host:
                node = nodes[machine.name]
                identity = (machine.name, machine.role, addresses[machine.name], node and node[1])
                if not machine.login:
                    return MeteredHost(*identity)
                folder, keeper, clock = next(ours)
                doubt, second = clock_doubt(machine.name, clock), machine.cluster_address
                return SshHost(*identity, folder, keeper, doubt, keepers, cluster_address=second)

            hosts = tuple(map(host, everybody))
            if self.power:
                setting = [
                    ssh_host
                    for ssh_host in hosts
                    if isinstance(ssh_host, SshHost) and self._sets_power(ssh_host)
                ]
                states |= stack.enter_context(power.holding_states(setting, self.power))
            facts = self._facts(run, keepers, clocks) | {
                "power": {machine.name: states[machine.name] for machine in machines}
            }
            if within := {m.name: m.cluster_address for m in machines if m.cluster_address}:
                facts["cluster_network"] = within
            yield Hosts(hosts, 1.0, hardware_of(list(nodes.values())), facts)

    @classmethod
    def clean(cls) -> Cleaned:
        """Make the hosts of killed runs remove what is left there; a host that can't be reached is a
        failure.
        """
        removed, failures = notes.clean()
        return Cleaned(removed=tuple(removed), failures=tuple(failures))

    def checks(self) -> tuple[Check, ...]:
        """Check that each host can be reached, and has enough space and the tools."""
        ssh_path = shutil.which("ssh")
        ssh_check = Check(
            "ssh",
            bool(ssh_path),
            ssh_path or "not installed",
            "" if ssh_path else "apt install openssh-client",
        )
        return (ssh_check, *self.reached()) if ssh_path else (ssh_check,)

    def reached(self) -> tuple[Check, ...]:
        """Check each host; its connection is kept for who holds it next."""

        def look(machine: LabHost) -> Check:
            if is_nobodys(machine.address):
                detail = "a documentation address (RFC 5737), skipped"
                return Check(machine.name, True, detail, needed=False, placeholder=True)
            if not machine.login:
                return Check(machine.name, True, "login = false, skipped", needed=False)
            try:
                keeper = Keeper(*self._place(machine))
            except PerjouleError as error:
                return Check(machine.name, False, error.what, error.next)
            pool.keep(self._place(machine), keeper)
            return findings.readiness(machine.name, keeper.probe)

        tried = each(self.hosts[: self.first_count], look)
        if failed := next((check for check in tried if check.needed and not check.ok), None):
            why = f"not contacted, because {failed.name}, which is tried first, can't be used"
            return tuple(
                findings.together(
                    [
                        *tried,
                        *(Check(unreached.name, False, why) for unreached in self.hosts[self.first_count :]),
                    ]
                )
            )
        looked = [*tried, *each(self.hosts[self.first_count :], look)]
        spared = {
            machine.name
            for machine in self.hosts
            if machine.role == "client" or (machine.role == "storage" and self.servers_count)
        }
        missing: dict[str, Json] = {
            check.name: check.detail
            for check in looked
            if check.needed and not check.ok and check.name in spared
        }
        _missing[self.hosts] = missing = missing if len(missing) <= self.missing_count else {}
        looked = [
            replace(check, needed=False, detail=f"left out: {check.detail}")
            if check.name in missing
            else check
            for check in looked
        ]
        return tuple(findings.together(looked))

    def lacking(self, clients_count: int, required: Sequence[Check]) -> tuple[Check, ...]:
        """Return what hosts that `checks` has reached lack, power states too, and clocks that nothing
        synchronizes.
        """
        machines = self._chosen(clients_count)
        places = planned(machine.role for machine in machines)
        needing = [(check, places.at(check.on)) for check in required if check.look]

        def look(machine: LabHost, place: Host) -> list[Check]:
            if (keeper := pool.keeper_at(self._place(machine))) is None:
                return []
            needed = list({check.look: check for check, hosts in needing if place in hosts}.values())
            if self.beside_production:
                needed = [
                    check
                    for check in needed
                    if check.look.split()[0] not in ("without", "unexported", "nothing")
                ]
            try:
                answers = keeper.lacks([check.look for check in needed])
            except PerjouleError as error:
                return [Check(machine.name, False, error.what, error.next)]
            pairs = zip(needed, answers, strict=True)
            lacks = [findings.lacking(machine.name, check, why) for check, why in pairs if why is not None]
            return [*lacks, *findings.clock_finding(machine.name, keeper.probe)]

        lacks = [
            check
            for checks in each(zip(machines, places.all, strict=True), lambda pair: look(*pair))
            for check in checks
        ]
        if self.power:
            setting = [machine for machine in machines if self._sets_power(machine)]
            keepers = [pool.keeper_at(self._place(machine)) for machine in setting]
            lacks += power.lacking([keeper for keeper in keepers if keeper], self.power)
        return tuple(findings.installed_at_once(findings.together(lacks)))

    def _sets_power(self, machine: LabHost | Host) -> bool:
        return bool(self.power and {machine.name, machine.role} & set(self.power.on))

    def _chosen(self, clients_count: int) -> list[LabHost]:
        names = [machine.name for machine in self.hosts]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise CampaignError(
                f'two hosts are called "{twice}"', where="testbed cluster", next="give each a name of its own"
            )
        unused = [machine for machine in self.hosts if machine.name in _missing.get(self.hosts, {})]
        for role, count in (("client", clients_count), ("storage", self.servers_count)):
            of_role = [machine for machine in self.hosts if machine.role == role and machine not in unused]
            if count is not None and len(of_role) < count:
                problem = f"{count} {role} hosts requested, {len(of_role)} available"
                raise CampaignError(problem, where="testbed cluster", next=f'add hosts with role = "{role}"')
            unused += of_role[count:] if count is not None else ()
        return [machine for machine in self.hosts if machine not in unused]

    def _login(self, machine: LabHost) -> Login:
        key = machine.identity or self.identity
        identity, sudo = (
            str(Path(key).expanduser()) if key else "",
            self.sudo if machine.sudo is None else machine.sudo,
        )
        user, port = machine.user or self.user, machine.port or self.port
        destination = machine.ssh or machine.address or machine.name
        return Ssh(machine.name, destination, user, port, identity, configuration(), sudo, machine.jump)

    def _address(self, machine: LabHost) -> str:
        login = self._login(machine)
        return (
            machine.address
            if machine.address or not machine.login or not isinstance(login, Ssh)
            else login.address()
        )

    def _place(self, machine: LabHost) -> pool.Place:
        return self._login(machine), self.work

    def _noted(self, machines: Sequence[LabHost]) -> list[tuple[Ssh, str]]:
        """Return the hosts that `perjoule down` can reach when this run is over: not those of a batch job."""
        return [(login, self.work) for machine in machines if isinstance(login := self._login(machine), Ssh)]

    def _folder(self, run: str, machine: LabHost) -> Path:
        return Path(self.work, "cluster", f"{run}-{machine.name}")

    def _facts(self, run: str, keepers: Sequence[Keeper], clocks: Sequence[ClockOffset]) -> dict[str, Json]:
        return {
            "run": run,
            "counters": "of each whole machine, from its kernel",
            "kernels": {keeper.login.name: keeper.probe.kernel for keeper in keepers},
            "clocks": {
                keeper.login.name: {
                    **asdict(clock),
                    "chronyc": keeper.probe.chronyc,
                    "timedatectl": keeper.probe.timedatectl,
                }
                for keeper, clock in zip(keepers, clocks, strict=True)
            },
            "units": {keeper.login.name: keeper.unit for keeper in keepers if keeper.login.units},
            "missing": _missing.get(self.hosts, {}),
            "removed": [removal_text for keeper in keepers for removal_text in keeper.removed],
        }


# of the hosts of a testbed, those that are left out, each with the reason
_missing: dict[tuple[LabHost, ...], dict[str, Json]] = {}
