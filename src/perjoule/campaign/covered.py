"""Hosts that meters name, compared with those that the testbeds will have."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from perjoule import drivers
from perjoule.campaign.defaults import COUNTERS
from perjoule.campaign.source import CampaignSource
from perjoule.campaign.tables import TableRow
from perjoule.drivers.boundary import GROUPS, SWITCH, Boundary, members, names
from perjoule.drivers.names import fold
from perjoule.drivers.protocols import Hosts, Meter
from perjoule.drivers.together import clash
from perjoule.energy.coverage import Item, cover
from perjoule.model import Spec, Trial
from perjoule.model.errors import CampaignError
from perjoule.model.metrics import EFFICIENCY, metric_of
from perjoule.model.validation import instead

WORDS = (*GROUPS, SWITCH)


def check_covered(
    meters: Iterable[TableRow], testbeds: Sequence[Spec], clients_counts: Sequence[int], place: CampaignSource
) -> None:
    """Check that each host that a meter names is one of some deployment, and that each has hosts for words
    like "servers".

    Raises CampaignError with the line of the option.
    """
    beds = [drivers.testbed(testbed) for testbed in testbeds]
    # trials share a deployment
    largest = [hosts for bed in beds for hosts in _planned(bed, max(clients_counts))]
    _check_apart(list(meters), largest or [Hosts(())], place)
    host_names = {
        host.name
        for bed in beds
        for count in clients_counts
        for hosts in _planned(bed, count)
        for host in hosts.all
    }
    if not host_names:  # what keeps the testbed from planning any is refused by itself
        return
    empty = {group for hosts in largest for group, group_hosts in members(hosts).items() if not group_hosts}
    chosen_later = not all(bed.names_hosts for bed in beds)  # by somebody else, when the campaign runs
    for meter in meters:
        assert isinstance(meter.driver, Meter)
        for option, places in meter.driver.named.items():
            if lacking := [name for name in places if name in empty]:
                advice = 'give a host the role "storage", or name the hosts'
                raise place.error((*meter.path, option), f"{option}: the testbed has no {lacking[0]}", advice)
            if strange := [
                name for name in places if not chosen_later and name not in host_names and name not in WORDS
            ]:
                advice = instead(strange[0], (*WORDS, *sorted(host_names)))
                raise place.error(
                    (*meter.path, option), f'{option}: no host is called "{strange[0]}"', advice
                )


def _check_apart(meters: Sequence[TableRow], deployed: Sequence[Hosts], place: CampaignSource) -> None:
    """Check that no two meters, or outlets of one, would fill one channel. Raises CampaignError."""
    read = [row.driver for row in meters if isinstance(row.driver, Meter)]
    for hosts in deployed:
        try:
            conflict = clash(read, hosts)
        except CampaignError:  # a name that no host has is refused with its line
            continue
        if conflict is not None:
            first, second = (meters[n].path for n in conflict.places)
            beside = f"; the other one is {place.location(first)}" if first != second else ""
            path = (*second, conflict.outlets[1].option)
            raise place.error(path, conflict.what + beside, conflict.advice)


def _planned(bed: drivers.protocols.Testbed, clients_count: int) -> Iterator[Hosts]:
    try:
        yield bed.planned(clients_count)
    except CampaignError:
        return


def unmetered(trials: Sequence[Trial]) -> Iterator[str]:
    """Say which servers no meter shows, or none without the switch: their trials have no MiB/J.

    Only what tables say for certain: that real hosts have no meter of power, or of servers that hold the data
    and meters that all name what they feed.
    """
    deployments = {(trial.testbed.label, trial.filesystem.label): trial for trial in trials}
    most_count = max(trial.clients_count for trial in trials)
    lines: dict[str, None] = {}
    for trial in deployments.values():
        bed = drivers.testbed(trial.testbed)
        if bed.reality == "real" and all(spec.kind == COUNTERS for spec in trial.meters):
            lines[f"{_none()}: no meter of power (`perjoule docs meters`)"] = None
        if drivers.filesystem(trial.filesystem).devices_at == "client":  # clients hold their own data
            continue
        for hosts in _planned(bed, most_count):
            with suppress(CampaignError):  # a name of hosts that are chosen later
                if (fed := _fed(trial.meters, hosts)) and hosts.servers:
                    lines |= dict.fromkeys(_lacking([host.name for host in hosts.servers], fed))
    yield from lines


def _none() -> str:
    return f"no {metric_of(EFFICIENCY).unit.symbol}"


def _fed(meters: Sequence[Spec], hosts: Hosts) -> Mapping[str, frozenset[str]]:
    """Return the hosts that each outlet of meters feeds, whole or in part, and the switch; {} if one does not
    say it. Raises CampaignError: there is no host of such a name.
    """
    fed: dict[str, frozenset[str]] = {}
    for meter in (drivers.meter(spec) for spec in meters if spec.kind != COUNTERS):
        outlets = meter.outlets(hosts)
        hosts_named = {name for of in meter.named.values() for name in names("", of, hosts)}
        for outlet in outlets:
            devices = outlet.devices or hosts_named or ({SWITCH} if outlet.feeds == SWITCH else set[str]())
            fed[outlet.channel] = frozenset(device.partition("/")[0] for device in devices)
        if not outlets or not all(fed[outlet.channel] for outlet in outlets):
            return {}
    return fed


def _lacking(servers: Sequence[str], fed: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Say what the energy of servers lacks."""
    items = [
        Item(Boundary(channel, "", "group").channel("power", "instantaneous", "wall"), devices)
        for channel, devices in fed.items()
    ]
    if missing := [name for name in servers if not any(name in devices for devices in fed.values())]:
        yield f"{_none()}: no meter covers {fold(missing)}; name in covers all that each feeds, or add a meter"
    elif cover(frozenset(servers), items):
        return
    elif cover(frozenset((*servers, SWITCH)), items):
        yield (
            f'{_none()} without the switch: write covers = ["servers"] if the meter does not feed it, else add '
            '[[meter]] kind = "constant" with its power'
        )
    else:
        yield f"{_none()}: no sum or difference of what meters cover is the servers alone"
