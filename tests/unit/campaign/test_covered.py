"""Meters and their outlets that would fill one channel are refused when a campaign is read, and no others."""

import pytest

from perjoule import campaign
from perjoule.campaign.covered import unmetered
from perjoule.model.errors import CampaignError

CAMPAIGN = """
[testbed]
kind = "simulated"
servers = 2
[[filesystem]]
kind = "simulated"
[[workload]]
kind = "simulated"
"""
PLUGS = {
    "shelly": 'address = "192.0.2.1"',
    "tasmota": 'address = "192.0.2.1"',
    "kasa": 'address = "192.0.2.1"',
    "redfish": 'address = "https://192.0.2.1"',
    "ipmi": 'address = "192.0.2.1"',
    "snmp_pdu": 'address = "192.0.2.1"\nmodel = "apc"\noutlet = 1',
    "csv": 'path = "power.csv"\nvalue = "W"\nunit = "W"\nsemantics = "instantaneous"\ngrade = "wall"',
    "prometheus": 'address = "192.0.2.1:9100"\nmetric = "w"\nunit = "W"\nsemantics = "average"\ngrade = "PDU"',
    "scpi": 'address = "TCPIP::192.0.2.1::5025::SOCKET"',
    "scope": 'address = "192.0.2.1"',
}


def parsed(*tables: str) -> None:
    campaign.parse(CAMPAIGN + "".join(f"[[meter]]\n{table}\n" for table in tables), source="lab.toml")


@pytest.mark.parametrize("kind", PLUGS)
def test_two_meters_of_one_name_that_feed_the_same_are_refused_with_both_lines(kind):
    table = f'kind = "{kind}"\ncovers = ["storage-1"]\n{PLUGS[kind]}'
    second = len((CAMPAIGN + f"[[meter]]\n{table}\n").splitlines()) + 1
    with pytest.raises(CampaignError, match=r"feed the same \(storage-1\)") as refused:
        parsed(table, table + '\nlabel = "second"')
    assert refused.value.where == f"lab.toml line {second + 2}"  # of its covers
    assert refused.value.what.endswith(f"the other one is lab.toml line {CAMPAIGN.count(chr(10)) + 1}")
    assert refused.value.next and "say in covers what each feeds" in refused.value.next
    parsed(
        table,
        table.replace("storage-1", "storage-2")
        .replace("192.0.2.1", "192.0.2.2")
        .replace("power.csv", "2.csv"),
    )
    parsed(table, table + '\nname = "again"')  # two meters of one thing are compared
    with pytest.raises(CampaignError, match="both read the same"):
        parsed(table, table.replace("storage-1", "storage-2"))
    with pytest.raises(
        CampaignError, match="both read the same"
    ):  # the watts of a host are not those of its disks
        parsed(table, table + '\ncomponent = "disks"')


def test_groups_are_the_same_in_whichever_words():
    table = f'kind = "shelly"\n{PLUGS["shelly"]}\n'
    with pytest.raises(CampaignError, match="feed the same"):
        parsed(table + 'covers = ["storage-1", "storage-2"]', table + 'covers = ["storage-2", "storage-1"]')


def test_a_power_and_a_counter_of_one_outlet_are_two_channels():
    table = f'kind = "snmp_pdu"\n{PLUGS["snmp_pdu"]}\n'
    parsed(table, table + 'quantity = "energy"')
    with pytest.raises(CampaignError, match="feed the same"):
        parsed(table + 'quantity = "energy"', table + 'quantity = "energy"\nlabel = "second"')


def test_one_circle_twice_is_refused():
    circles = '{"000D6F0000B1B64B" = "storage-1", "000d6f0000b1b64b" = "storage-2"}'
    with pytest.raises(CampaignError, match="a Circle is there twice"):
        parsed(f'kind = "plugwise"\naddress = "/dev/ttyUSB0"\ncircles = {circles}')


def test_hosts_that_read_their_own_sensors_are_compared_one_by_one():
    parsed('kind = "ipmi"\non = ["storage-1"]', 'kind = "ipmi"\non = ["storage-2"]')
    with pytest.raises(CampaignError, match=r"feed the same \(storage-1\)"):
        parsed('kind = "ipmi"\non = ["storage-1"]', 'kind = "ipmi"\non = ["servers"]')


@pytest.mark.parametrize("kind", ["system", "modelled"])
def test_counters_of_all_hosts_are_read_once(kind):
    with pytest.raises(CampaignError, match=f"meter {kind} is there twice"):
        parsed(f'kind = "{kind}"', f'kind = "{kind}"\nlabel = "second"')


STRIP = 'kind = "snmp_pdu"\nmodel = "apc"\naddress = "192.0.2.1"\n'


def strip(covers: str, more: str = "") -> str:
    return f'{STRIP}name = "a{abs(hash(covers + more))}"\ncovers = [{covers}]\n{more}'


def test_a_strip_includes_its_outlets():
    """A PDU's inlet beside one of its outlets, the first said to feed only what the second doesn't."""
    outlet = strip('"storage-2"', "outlet = 3")
    for tables in ((strip('"storage-1"'), outlet), (outlet, strip('"storage-1"'))):
        with pytest.raises(CampaignError) as refused:
            parsed(*tables)
        assert "the one of storage-1 includes the one of storage-2" in refused.value.what
        assert "(snmp_pdu 192.0.2.1:161 unit 1 inlet 1)" in refused.value.what
        assert refused.value.next and "name in covers of each all that it feeds" in refused.value.next
    parsed(strip('"servers"'), outlet)
    parsed(strip('"servers", "switch"'), outlet, strip('"storage-1"', "outlet = 4"))
    parsed(
        strip('"storage-1"'), strip('"storage-2"', "outlet = 3\nunit = 2")
    )  # of another strip of the chain
    parsed(strip('"storage-1"', "outlet = 4"), outlet)


def test_a_column_of_a_log_includes_its_rows():
    log = f'kind = "csv"\n{PLUGS["csv"]}\nby = "outlet"\n'
    row = log + 'only = ["3"]\ncovers = ["storage-2"]\nname = "row"'
    with pytest.raises(CampaignError, match="the one of storage-1 includes the one of storage-2"):
        parsed(log + 'covers = ["storage-1"]', row)
    parsed(log + 'covers = ["servers"]', row)
    parsed(log + 'covers = ["storage-1"]\nonly = ["4"]', row)


def test_a_meter_that_names_no_output_may_include_those_of_another():
    shelly = f'kind = "shelly"\n{PLUGS["shelly"]}\n'
    with pytest.raises(CampaignError) as refused:
        parsed(shelly + 'covers = ["storage-1"]', shelly + 'covers = ["storage-2"]\noutput = 0\nname = "b"')
    assert "the one of storage-1 includes the one of storage-2 (shelly 192.0.2.1)" in refused.value.what
    parsed(
        shelly + 'covers = ["storage-1"]\noutput = 0',
        shelly + 'covers = ["storage-2"]\noutput = 1\nname = "b"',
    )


def test_one_outlet_by_two_quantities_feeds_one_thing():
    outlet = strip('"storage-1"', "outlet = 3")
    with pytest.raises(CampaignError, match="of storage-1 and of storage-2 would count the same watts twice"):
        parsed(outlet, strip('"storage-2"', 'outlet = 3\nquantity = "energy"'))


CLUSTER = """
[testbed]
kind = "cluster"
hosts = [
    {name = "oss-[1-4]", role = "storage", login = false},
    {name = "mds-1", role = "metadata", login = false},
    {name = "n[01-16]", address = "192.0.2.[1-16]", role = "client"},
]
[[filesystem]]
kind = "directory"
path = "/scratch"
[[workload]]
kind = "fio"
"""
SWITCH = '[[meter]]\nkind = "constant"\npower = "15 W"\nuncertainty = "1 W"\n'


def warned(text: str, *tables: str) -> list[str]:
    meters = "".join(f"[[meter]]\n{table}\n" for table in tables)
    return list(unmetered(campaign.parse(text + meters, source="lab.toml").trials))


def plug(covers: str, last: int = 1) -> str:
    return f'kind = "shelly"\naddress = "192.0.2.{last}"\n{covers}'


@pytest.mark.parametrize(
    ("covers", "lacking"),
    [
        ('covers = ["oss-1"]', "mds-1, oss-[2-4]"),
        ('covers = ["oss-[1-4]", "switch"]', "mds-1"),
        ('covers = ["clients"]', "mds-1, oss-[1-4]"),
    ],
)
def test_servers_that_no_meter_covers_are_named_before_a_campaign(covers: str, lacking: str) -> None:
    (line,) = warned(CLUSTER, plug(covers))
    named = line.removeprefix("no MiB/J: no meter covers ").partition(";")[0]
    assert sorted(named.split(", ")) == sorted(lacking.split(", "))


def test_servers_that_are_metered_with_their_switch_alone_are_told_before_a_campaign() -> None:
    for table in (plug(""), plug('covers = ["servers", "switch"]')):
        (line,) = warned(CLUSTER, table)
        assert line.startswith("no MiB/J without the switch: ")
        assert warned(CLUSTER + SWITCH, table) == []
        assert warned(CLUSTER, table, plug('covers = ["switch"]', 2)) == []


def test_servers_in_overlaps_are_told_before_a_campaign() -> None:
    two = (plug('covers = ["oss-[1-4]"]'), plug('covers = ["oss-4", "mds-1"]', 2))
    (line,) = warned(CLUSTER, *two)
    assert "no sum or difference" in line
    assert warned(CLUSTER, *two, plug('covers = ["mds-1"]', 3)) == []


@pytest.mark.parametrize(
    "tables",
    [
        (plug('covers = ["servers"]'),),
        (plug('covers = ["oss-[1-4]"]'), plug('covers = ["mds-1"]', 2)),
        (plug('covers = ["servers", "clients"]'), plug('covers = ["clients"]', 2)),
        ('kind = "ipmi"\non = ["n01"]', plug('covers = ["servers"]')),
        ('kind = "simulated"\nwaveform = "constant"',),
    ],
)
def test_campaigns_whose_servers_are_metered_are_not_warned(
    tables: tuple[str, ...],
) -> None:
    assert warned(CLUSTER, *tables) == []


def test_real_hosts_without_a_meter_of_power_are_told_before_a_campaign() -> None:
    for meters in ((), ('kind = "system"',)):
        assert warned(CLUSTER, *meters) == ["no MiB/J: no meter of power (`perjoule docs meters`)"]
    assert warned(CAMPAIGN, 'kind = "system"') == []  # simulated hosts


def test_a_campaign_whose_clients_hold_the_data_is_not_warned() -> None:
    of_clients = CLUSTER.replace('kind = "directory"\npath = "/scratch"', 'kind = "local"\ntype = "ext4"')
    assert of_clients != CLUSTER
    assert warned(of_clients, plug('covers = ["n01"]')) == []
