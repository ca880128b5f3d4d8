"""What a campaign does on each of its hosts: programs, ports, paths and devices, as its drivers declare them.

A live test holds the declarations against what runs: tests/live/test_footprint.py.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from perjoule import drivers
from perjoule.drivers.protocols import Elsewhere, FileSystem, Host, Hosts, Workload
from perjoule.model import Campaign, Trial

# Of the system's own, which perjoule runs on hosts besides those that a file system or a workload names.
TOOLS = """bash cat chmod chown cp dd df env exportfs find findmnt grep head hostname install kill losetup mkdir modprobe mount
mountpoint mv perl ps python python3 readlink rm rmdir setpriv setsid sh ss stat tail tar test timeout
touch true truncate umount unshare wipefs"""


@dataclass(frozen=True)
class Footprint:
    """What is done on one host."""

    host: str
    user: str
    programs: tuple[str, ...]
    ports: tuple[str, ...]
    paths: tuple[str, ...]

    def lines(self) -> tuple[str, ...]:
        """Return it in lines, without the host's name."""
        parts = {"programs": self.programs, "ports": self.ports, "writes": self.paths}
        return (f"as {self.user}", *(f"{name}: {', '.join(items)}" for name, items in parts.items() if items))


def footprints(campaign: Campaign) -> tuple[Footprint, ...]:
    """Return what trials of a campaign do on hosts that are other machines, in the order of the hosts; nobody
    is contacted.

    Raises CampaignError: a testbed can't provide the hosts.
    """
    return tuple(
        _footprint(host, *planned) for planned in planned_elsewhere(campaign) for host in planned[0].all
    )


def planned_elsewhere(campaign: Campaign) -> Iterator[tuple[Hosts, Elsewhere, Sequence[Trial]]]:
    """Plan the hosts of each testbed of other machines, with its trials.

    Raises CampaignError: it can't provide them.
    """
    for label in dict.fromkeys(trial.testbed.label for trial in campaign.trials):
        trials = [trial for trial in campaign.trials if trial.testbed.label == label]
        testbed = drivers.testbed(trials[0].testbed)
        if isinstance(testbed, Elsewhere):
            yield testbed.planned(max(trial.clients_count for trial in trials)), testbed, trials


def loaded_with(trials: Sequence[Trial]) -> Iterator[tuple[FileSystem, Workload]]:
    """Return each pair of a file system and a load of trials, once."""
    for trial in {(trial.filesystem.label, trial.workload.label): trial for trial in trials}.values():
        yield drivers.filesystem(trial.filesystem), drivers.workload(trial.workload)


def _footprint(host: Host, hosts: Hosts, testbed: Elsewhere, trials: Sequence[Trial]) -> Footprint:
    footing = testbed.footing(host.name)
    programs, ports, paths = (
        dict.fromkeys(["bash"]),
        dict[str, None](),
        dict.fromkeys([f"{footing.work}/cluster"]),
    )
    for filesystem, workload in loaded_with(trials):
        programs |= dict.fromkeys(programs_on(host, hosts, filesystem, workload))
        ports |= dict.fromkeys(ports_on(host, hosts, filesystem))
        paths |= dict.fromkeys(
            f"{path} (hidden by a mount while it runs)"
            for path in hides_on(host, hosts, filesystem, workload)
        )
        if host in hosts.at(filesystem.devices_at):
            paths |= dict.fromkeys(f"{device} (overwritten, once confirmed)" for device in filesystem.devices)
    return Footprint(host.name, footing.text, tuple(programs), tuple(ports), tuple(paths))


def programs_on(
    host: Host, hosts: Hosts, filesystem: FileSystem, workload: Workload | None = None
) -> list[str]:
    """Name the programs of a file system and a workload on a host."""
    checks = [*filesystem.checks(), *(workload.checks() if workload else ())]
    looks = [
        check.look.split()[1]
        for check in checks
        if check.look.startswith("program ") and _needs(host, hosts, check.on, workload)
    ]
    tools = [
        name
        for place, names in filesystem.tools.items()
        if _needs(host, hosts, place, workload)
        for name in names
    ]
    return [name.rpartition("/")[2] for look in (*looks, *tools) for name in look.split("|")]


def ports_on(host: Host, hosts: Hosts, filesystem: FileSystem) -> list[str]:
    """Name the TCP ports on which a file system's servers listen on a host, each with the program: "24007
    glusterd".
    """
    placed = filesystem.ports().items()
    return [
        f"{port.text} {port.program}" for place, ports in placed if host in hosts.at(place) for port in ports
    ]


def hides_on(host: Host, hosts: Hosts, filesystem: FileSystem, workload: Workload) -> tuple[str, ...]:
    """Name the paths of a host over which a file system mounts folders of its own."""
    used = host in _users(hosts, workload) or any(host in hosts.at(place) for place in filesystem.ports())
    return filesystem.hides if used else ()


def _needs(host: Host, hosts: Hosts, place: str, workload: Workload | None) -> bool:
    return host in (_users(hosts, workload) if place == "client" else hosts.at(place))


def _users(hosts: Hosts, workload: Workload | None) -> Iterable[Host]:
    return hosts.by_role("client", *(workload.using if workload else ()))
