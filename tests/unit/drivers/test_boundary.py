"""What a meter covers, in the fields of a channel."""

from dataclasses import replace

from perjoule.drivers.boundary import boundary
from perjoule.drivers.protocols import planned

BOTH = ("servers", "switch")


def test_a_host_alone_has_no_switch_so_a_meter_of_both_covers_the_host() -> None:
    where = boundary("plug", BOTH, planned(["client"], ["local"]))
    assert (where.host, where.component, where.covers) == ("local", "all", ())


def test_a_switch_that_another_meter_reads_is_part_of_what_feeds_a_host_alone() -> None:
    hosts = replace(planned(["client"], ["local"]), switch=True)
    assert boundary("plug", BOTH, hosts).component == "total"


def test_a_nas_beside_this_machine_may_have_a_switch() -> None:
    hosts = planned(["client", "storage"], ["local", "nas"])
    assert boundary("plug", BOTH, hosts).component == "total"
    where = boundary("plug", ("nas",), hosts)
    assert (where.host, where.component) == ("nas", "all")


def test_a_meter_of_the_switch_alone_stays_one() -> None:
    assert boundary("plug", ("switch",), planned(["client"], ["local"])).component == "switch"
