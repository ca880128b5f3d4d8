"""Hosts that meters name, compared with those that the testbeds will have."""

from collections.abc import Iterable, Iterator, Sequence

from perjoule import drivers
from perjoule.campaign.source import CampaignSource
from perjoule.campaign.tables import TableRow
from perjoule.drivers.boundary import GROUPS, SWITCH, members
from perjoule.drivers.protocols import Hosts, Meter
from perjoule.drivers.together import clash
from perjoule.model import Spec
from perjoule.model.errors import CampaignError
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
        for option, names in meter.driver.named.items():
            if lacking := [name for name in names if name in empty]:
                advice = 'give a host the role "storage", or name the hosts'
                raise place.error((*meter.path, option), f"{option}: the testbed has no {lacking[0]}", advice)
            if strange := [
                name for name in names if not chosen_later and name not in host_names and name not in WORDS
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
