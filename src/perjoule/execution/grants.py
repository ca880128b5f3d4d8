"""What a host's administrator grants for a campaign: the file for sudoers, and what the installed helper then
permits there.

https://man7.org/linux/man-pages/man5/sudoers.5.html
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perjoule import __version__
from perjoule.drivers.names import fold
from perjoule.drivers.protocols import Elsewhere, Host, Hosts
from perjoule.execution.footprint import hides_on, loaded_with, planned_elsewhere, programs_on
from perjoule.model import Campaign, Trial
from perjoule.model.errors import CampaignError
from perjoule.testbeds import cluster

# Else sudoers would read it as another word of its own: ALL, Defaults, an alias, %group, #number. useradd(8)
_PLAIN_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")


@dataclass(frozen=True)
class Grant:
    """What the user of a campaign needs on one host; `deploys` is whether more than caches are root's
    there.
    """

    host: str
    user: str
    work: str
    deploys: bool
    devices: tuple[str, ...] = ()
    over: tuple[str, ...] = ()  # paths over which folders of the run are mounted
    programs: tuple[str, ...] = ()  # that run as root with whatever the user writes for them

    def commands(self) -> list[str]:
        """The commands by sudo, each whole: none has a wildcard."""
        verbs = ("keep", "launch", "report") if self.deploys else ()
        return [
            f"{cluster.HELPER} drop-caches",
            *(f"{cluster.HELPER} {verb} {self.work} {self.host}" for verb in verbs),
        ]

    def permitted(self) -> tuple[str, ...]:
        """The lines of the file that permits them."""
        permissions = {"device": self.devices, "over": self.over, "program": self.programs}
        lines = [f"{kind} {value}" for kind, values in permissions.items() for value in values]
        return (f"user {self.user}", f"work {self.work}", *lines)


def grants(campaign: Campaign) -> tuple[Grant, ...]:
    """Return what is needed on hosts where perjoule does not log in as root, in the order of the hosts;
    nobody is contacted.

    Raises CampaignError: on all of them it does, or a user has no name that sudoers takes.
    """
    needed: list[Grant] = []
    for hosts, testbed, trials in planned_elsewhere(campaign):
        needed += [
            _grant(host, hosts, testbed, trials)
            for host in hosts.all
            if testbed.footing(host.name).user != "root"
        ]
    if not needed:
        fault = f"perjoule acts as root on the hosts of {campaign.name}, or on none"
        raise CampaignError(fault, next="set user to one who is not root, on a testbed of real hosts")
    for grant in needed:
        if not _PLAIN_USER.fullmatch(grant.user):
            fault = (
                f'sudoers takes "{grant.user}" for no user'
                if grant.user
                else "the campaign does not name its user"
            )
            raise CampaignError(fault, where=grant.host, next="set user to the name of one")
    return tuple(needed)


def _grant(host: Host, hosts: Hosts, testbed: Elsewhere, trials: Sequence[Trial]) -> Grant:
    footing = testbed.footing(host.name)
    devices, over, programs = dict[str, None](), dict[str, None](), dict[str, None]()
    deploys = footing.sudo
    for filesystem, workload in loaded_with(trials):
        deploys = deploys or filesystem.needs_root
        programs |= dict.fromkeys(programs_on(host, hosts, filesystem, workload))
        over |= dict.fromkeys(
            path for path in hides_on(host, hosts, filesystem, workload) if path.startswith("/")
        )
        if host in hosts.at(filesystem.devices_at):
            devices |= dict.fromkeys(filesystem.devices)
    if not deploys:
        return Grant(host.name, footing.user, footing.work, deploys=False)
    near = tuple(name for name in programs if name not in cluster.JUDGED)
    return Grant(host.name, footing.user, footing.work, True, tuple(devices), tuple(over), near)


def sudoers(campaign: Campaign) -> str:
    """Return the file for /etc/sudoers.d, with what it amounts to. Raises CampaignError, as `grants` does."""
    needed = grants(campaign)
    programs = sorted({name for grant in needed for name in grant.programs})
    deploys = any(grant.deploys for grant in needed)
    remarks = [
        f"What perjoule {__version__} needs of sudo for {campaign.name}. Check it with visudo -c -f FILE; "
        "it belongs in",
        "/etc/sudoers.d/perjoule, of root, mode 440. To take it back, remove it.",
        f"{cluster.HELPER} is printed by: perjoule doctor --helper",
    ]
    if deploys:
        remarks += [
            f"It does only what {cluster.PERMITTED} on the host permits: perjoule doctor CAMPAIGN "
            "--permitted",
            "Each command is logged: journalctl -t perjoule",
        ]
    else:
        remarks.append(
            "The users below may have the kernel write back and drop what it caches of files, and nothing "
            "else."
        )
    if programs:
        remarks += [
            "With that file, the users below are AS GOOD AS ROOT on these hosts, because these programs "
            "run as root with options",
            f"and files that the user writes: {', '.join(programs)}.",
            "The helper protects against mistakes, and keeps a log; it does not protect against a user who "
            "means harm.",
        ]
    elif deploys:
        remarks.append(
            "No program is among it that runs as root with files of the user's; devices that are named may "
            "be overwritten."
        )
    rules: dict[tuple[str, str], None] = {}
    for grant in needed:
        rules |= dict.fromkeys((grant.user, command) for command in grant.commands())
    by_user = {user: [command for owner, command in rules if owner == user] for user, _ in rules}
    lines = [
        f"{user} ALL = (root) NOSETENV: NOPASSWD: \\\n    " + ", \\\n    ".join(all_)
        for user, all_ in by_user.items()
    ]
    comments = "\n".join(f"# {line}" for line in remarks)
    return f"{comments}\nDefaults!{cluster.HELPER} env_reset, !requiretty\n" + "\n".join(lines) + "\n"


def permitted(campaign: Campaign) -> str:
    """Return what the helper reads on each host, those with the same in one part.

    Raises CampaignError, as `grants` does.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for grant in grants(campaign):
        if grant.deploys:
            alike.setdefault(grant.permitted(), []).append(grant.host)
    if not alike:
        raise CampaignError("the helper needs no such file to drop caches", next="use --sudoers alone")
    head = f"# {cluster.PERMITTED}, of root, mode 644: what {cluster.HELPER} permits for {campaign.name}."
    parts = [f"# On {fold(hosts)}:\n" + "\n".join(_noted(lines)) for lines, hosts in alike.items()]
    return "\n\n".join([head, *parts]) + "\n"


def _noted(lines: Sequence[str]) -> list[str]:
    notes: Mapping[str, str] = {
        "program": "as good as root: options and files are the user's",
        "device": "may be overwritten",
        "over": "hidden by a folder of the run",
    }
    return [
        f"{line} # {notes[kind]}" if (kind := line.partition(" ")[0]) in notes else line for line in lines
    ]
