"""Meters of many hosts in one table: patterns of names, and a meter for each."""

import pytest

from perjoule import campaign
from perjoule.campaign.plan import plan, short_loads
from perjoule.model.errors import CampaignError

TEXT = """
name = "many"
[testbed]
kind = "cluster"
[[testbed.hosts]]
name = "stor-[1-4]"
address = "192.0.2.[1-4]"
role = "storage"
[[testbed.hosts]]
name = "client-1"
address = "192.0.2.9"
role = "client"
[[filesystem]]
kind = "directory"
path = "/mnt/fs"
[[workload]]
kind = "fio"
operation = "write"
size = "{size}"
[[meter]]
{meter}
"""
SHELLY = 'kind = "shelly"\naddress = "{address}"\ncovers = {covers}'


def meters(meter: str, size: str = "1 GiB"):
    return campaign.parse(TEXT.format(meter=meter, size=size)).trials[0].meters


def test_covers_takes_patterns_of_names_as_hosts_do():
    (one,) = meters('kind = "shelly"\naddress = "plug"\ncovers = ["stor-[1-3,4]", "switch"]')
    assert one.options["covers"] == ["stor-1", "stor-2", "stor-3", "stor-4", "switch"]


def test_one_table_is_a_meter_for_each_host():
    found = meters('kind = "shelly"\naddress = "plug-{host}.lan"\ncovers = ["stor-[1-4]"]')
    assert [(one.options["address"], one.options["covers"]) for one in found] == [
        (f"plug-stor-{n}.lan", [f"stor-{n}"]) for n in range(1, 5)
    ]


def test_the_host_may_stand_in_a_metric():
    words = (
        'address = "http://prometheus:9090"\nserver = true\nunit = "W"\nsemantics = "average"\ngrade = "BMC"'
    )
    found = meters(
        f"""kind = "prometheus"\n{words}\nmetric = 'power{{instance="{{host}}"}}'\ncovers = ["stor-[1-2]"]"""
    )
    assert [one.options["metric"] for one in found] == [
        'power{instance="stor-1"}',
        'power{instance="stor-2"}',
    ]


@pytest.mark.parametrize(
    ("meter", "words"),
    [
        ('kind = "shelly"\naddress = "{host}"', "{host} stands for no host"),
        ('kind = "shelly"\naddress = "{host}"\ncovers = []', "{host} stands for no host"),
        ('kind = "shelly"\naddress = "{host}"\ncovers = ["{host}"]', "{host} stands for no host"),
        ('kind = "shelly"\naddress = "{host}"\ncovers = ["servers"]', "{host} stands for no host"),
        ('kind = "shelly"\naddress = "plug"\ncovers = ["stor-[1-"]', "bracket without its partner"),
        ('kind = "shelly"\naddress = "plug"\ncovers = ["stor-[1-99999]"]', "too many hosts"),
        ('kind = "shelly"\naddress = "plug"\ncovers = ["stor-[4-5]"]', 'no host is called "stor-5"'),
    ],
)
def test_a_pattern_that_names_no_host_is_refused_with_its_line(meter, words):
    with pytest.raises(CampaignError) as refused:
        meters(meter)
    assert words in str(refused.value)


def test_loads_that_are_too_short_in_one_way_are_one_line():
    """8 MiB at the assumed 100 MB/s take 0.084 s, less than five readings of both counters."""
    meter = 'kind = "system"\nrate = "20 Hz"\n[[meter]]\nkind = "modelled"\nrate = "20 Hz"'
    both = TEXT.format(meter=meter, size="8 MiB").replace('"write"', '["write", "read"]')
    assert list(short_loads(plan(campaign.parse(both)))) == [
        "fio write, fio read: a load of about 84 ms is too short for system and modelled, which need 0.25 s; write "
        'size = "24 MiB", or choose a higher rate of system and modelled'
    ]


@pytest.mark.parametrize(
    ("size", "rate", "short"),
    [("8 MiB", "1 Hz", True), ("8 MiB", "300 Hz", False), ("100 GiB", "1 Hz", False)],
)
def test_a_load_that_is_too_short_for_a_meter_is_reported_beforehand(size, rate, short):
    meter = f'kind = "shelly"\naddress = "plug"\nrate = "{rate}"\ncovers = ["servers"]'
    words = list(short_loads(plan(campaign.parse(TEXT.format(meter=meter, size=size)))))
    assert any("too short for shelly" in one for one in words) == short


def test_a_load_that_is_too_short_is_reported_with_the_size_that_has_twenty_updates():
    """8 MiB at the assumed 100 MB/s take 0.084 s; twenty updates of 2 s are 40 s, which is 3.7 GiB."""
    meter = 'kind = "shelly"\naddress = "plug"\nrate = "2 Hz"\ncovers = ["servers"]'
    planned = plan(campaign.parse(TEXT.format(meter=meter, size="8 MiB")))
    (line,) = [one for one in short_loads(planned, {"shelly": 2.0}) if "shelly" in one]
    assert 'which needs 40 s; write size = "4 GiB", or choose a higher rate' in line
    (polled,) = [one for one in short_loads(planned) if "shelly" in one]
    assert "which needs 10 s" in polled


@pytest.mark.parametrize(("window", "needs"), [("100 ms", "2 s"), ("60 s", "20 min 0 s")])
def test_a_log_is_as_fast_as_its_rows_and_not_as_it_is_read(window, needs):
    """100 MiB at the assumed 100 MB/s take 1.05 s, and the log is read once a second."""
    means = f'value = "P"\nunit = "W"\nsemantics = "window mean"\nwindow = "{window}"\ngrade = "wall"'
    meter = f'kind = "csv"\npath = "log.csv"\n{means}\ncovers = ["servers"]'
    planned = plan(campaign.parse(TEXT.format(meter=meter, size="100 MiB")))
    (line,) = [one for one in short_loads(planned) if "csv" in one]
    assert f"a load of about 1 s is too short for csv, which needs {needs}; write size = " in line
