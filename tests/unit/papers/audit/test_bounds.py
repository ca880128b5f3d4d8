"""Physical bounds of a paper's throughputs and energies: what lies just inside of one agrees, what lies
just outside does not.
"""

import pytest

from perjoule.papers import published
from perjoule.papers.audit import audit

KNOWN = {
    "clients": ("count", "3"),
    "client_nic": ("throughput", "100 MiB/s"),
    "servers": ("count", "4"),
    "server_nic": ("throughput", "90 MiB/s"),
    "disks": ("count", "5"),
    "disk_write": ("throughput", "50 MiB/s"),
    "disk_read": ("throughput", "70 MiB/s"),
    "copies": ("count", "2"),
    "in_flight": ("count", "2"),
    "client_expansion": ("ratio", "1.25"),
    "disk_copies": ("count", "2"),
}
FIRST = ("clients", "client_nic", "servers", "server_nic")


def paper(rate, direction="write", known=None, more="", facts="", bounds=""):
    known = KNOWN if known is None else known
    numbers = "".join(
        f'  {{ id = "{id}", quantity = "{quantity}", printed = "{printed}", statistic = "nominal", what = '
        f'"{id}" }},\n'
        for id, (quantity, printed) in known.items()
    )
    said = "".join(f'{id} = "{id}"\n' for id in known)
    behind = 'plus_minus = ["statistical"], ' if "±" in rate else ""
    return published.read(
        f"""
title = "Invented"
authors = "Nobody"
reference = "nowhere"

[configuration.one]
cluster = "box"
{facts}

[configuration.one.bounds]
{said}{bounds}

[[table]]
place = "section 1"
common = {{ cluster = "box" }}
number = [
{numbers}
]

[[table]]
place = "Table I"
common = {{ configuration = "one", statistic = "mean" }}
number = [
  {{ id = "rate", quantity = "throughput", printed = "{rate}", {behind}direction = "{direction}" }},
{more}
]
""",
        "invented",
    )


def said(found, rule):
    return [(v.kind, v.cause) for v in audit(found) if v.rule == rule and v.id in ("rate", "energy")]


@pytest.mark.parametrize(
    ("direction", "rule", "most", "without"),
    [
        ("write", "throughput x what clients encode <= network of the clients", 3 * 100 / 1.25, ()),
        (
            "write",
            "throughput x what clients encode <= network of the clients",
            3 * 100,
            ("client_expansion",),
        ),
        ("read", "throughput <= network of the clients", 3 * 100, ()),
        ("write", "throughput x copies received <= network of the servers", 4 * 90 / 2 / 1.25, ()),
        ("read", "throughput <= network of the servers", 4 * 90, ()),
        ("write", "throughput x copies <= disks", 5 * 50 / 2 / 2 / 1.25, ()),
        ("write", "throughput x copies <= disks", 5 * 50 / 2 / 1.25, ("disk_copies",)),
        ("read", "throughput <= disks", 5 * 70, ()),
        ("write", "throughput <= requests in flight, each at one server's network", 3 * 2 * 90, ()),
        ("read", "throughput <= requests in flight, each at one server's network", 3 * 2 * 90, ()),
    ],
)
def test_a_throughput_is_bound_by_networks_disks_copies_and_requests(direction, rule, most, without):
    known = {id: of for id, of in KNOWN.items() if id not in without}
    for ratio, kind in ((0.999, "agrees"), (1.001, "disagrees")):
        ((found, _),) = said(paper(f"{ratio * most:.3f} MiB/s", direction, known), rule)
        assert found == kind
    if not rule.endswith("server's network"):  # which bounds both directions
        other = "read" if direction == "write" else "write"
        assert said(paper(f"{most:.3f} MiB/s", other, known), rule) == []


def test_copies_on_a_network_of_their_own_burden_no_other():
    rule = "throughput x copies received <= network of the servers"
    for facts, kind in (
        ('replication_network = "own"', "agrees"),
        ('replication_network = "shared"', "disagrees"),
    ):
        ((found, _),) = said(paper("200.0 MiB/s", facts=facts), rule)
        assert found == kind


@pytest.mark.parametrize(("plus_minus", "kind"), [("6.1", "agrees"), ("5.8", "disagrees")])
def test_what_a_printed_uncertainty_leaves_open_breaks_no_bound(plus_minus, kind):
    ((found, _),) = said(
        paper(f"150.0 ± {plus_minus} MiB/s"), "throughput x copies received <= network of the servers"
    )
    assert found == kind


@pytest.mark.parametrize(("rate", "cause"), [("239.0", ""), ("312.0", "4 clients"), ("328.0", "5 clients")])
def test_how_many_more_it_would_take_is_stated(rate, cause):
    ((_, found),) = said(paper(f"{rate} MiB/s"), "throughput x what clients encode <= network of the clients")
    assert found == (cause and f"would take {cause}, not 3")


@pytest.mark.parametrize(("rate", "fits"), [("100", "2.88"), ("71", ""), ("73", "3.95")])
def test_how_many_copies_would_fit_is_reported_where_it_is_fewer_than_four(rate, fits):
    known = {id: KNOWN[id] for id in (*FIRST, "client_expansion")}
    (found,) = [
        v
        for v in audit(paper(f"{rate} MiB/s", known=known))
        if v.rule.startswith("throughput x copies received")
    ]
    assert (found.kind, found.cause) == (
        "unchecked",
        "the number of copies is not given" + (fits and f"; no more than {fits} would fit"),
    )
    assert found.what == "1 throughput (one)"


def test_what_is_lacking_is_named_and_requests_in_flight_are_not_missed():
    found = [
        v
        for v in audit(paper("100 MiB/s", "read", known={"clients": KNOWN["clients"]}))
        if v.kind == "unchecked"
    ]
    causes = {v.rule: v.cause for v in found}
    assert causes["throughput <= network of the clients"] == "the network of a client is not given"
    assert (
        causes["throughput <= disks"]
        == "the number of disks and the rate at which a disk reads are not given"
    )
    assert not any("in flight" in rule for rule in causes)


@pytest.mark.parametrize("whose", ["client", "server"])
@pytest.mark.parametrize(
    ("each", "direct", "told"), [("1.0 GB", "no", False), ("1.3 GB", "no", True), ("1.3 GB", "yes", True)]
)
def test_data_of_less_than_twice_the_memory_may_have_come_from_caches(whose, each, direct, told):
    """Three clients or four servers, and 7.6 or 10 GB."""
    data = {"client": "7.6 GB", "server": "10.0 GB"}[whose]
    known = {**KNOWN, "data": ("size", data), f"{whose}_memory": ("memory", each)}
    found = [
        v.cause
        for v in audit(paper("10 MiB/s", known=known, facts=f'direct_io = "{direct}"'))
        if "caches" in v.cause
    ]
    expected = told and not (direct == "yes" and whose == "client")
    assert bool(found) == expected
    if expected:
        much = {"client": "3.90", "server": "5.20"}[whose]
        assert found == [f"{data} against {much} GB of {whose}s' memory: caches may have served a part of it"]


@pytest.mark.parametrize(
    ("energy", "low", "high"),
    [
        (1005, "agrees", "agrees"),
        (995, "disagrees", "agrees"),
        (1495, "agrees", "agrees"),
        (1505, "agrees", "disagrees"),
    ],
)
def test_an_energy_is_between_the_lowest_and_the_highest_power_over_the_time_of_its_bytes(energy, low, high):
    """1000 MiB at 10 MiB/s take 100 s, and power was printed from 10 to 15 W."""
    more = f"""  {{ id = "energy", quantity = "energy", printed = "{energy}.0 J", direction = "write" }},
  {{ id = "low", quantity = "power", printed = "10.000 W", statistic = "minimum", row = "a" }},
  {{ id = "low2", quantity = "power", printed = "11.000 W", statistic = "minimum", row = "b" }},
  {{ id = "high", quantity = "power", printed = "15.000 W", statistic = "maximum", row = "a" }},
  {{ id = "high2", quantity = "power", printed = "14.000 W", statistic = "maximum", row = "b" }},"""
    known = {"processed": ("size", "1000 MiB")}
    found = paper("10.000 MiB/s", known=known, more=more)
    assert [kind for kind, _ in said(found, "energy at least the minimum power x bytes / rate")] == [low]
    assert [kind for kind, _ in said(found, "energy at most the maximum power x bytes / rate")] == [high]


def test_a_throughput_printed_twice_is_held_against_bounds_once():
    again = """  { id = "again", quantity = "throughput", printed = "100 MiB/s", direction = "write" },"""
    rule = "throughput x copies <= disks"
    found = [v.id for v in audit(paper("100 MiB/s", more=again)) if v.rule == rule]
    assert len(found) == 1


def test_as_many_copies_fit_as_the_fastest_of_all_throughputs_leaves_room_for():
    known = {id: KNOWN[id] for id in (*FIRST, "client_expansion")}
    slower = """  { id = "slower", quantity = "throughput", printed = "60 MiB/s", direction = "write", clients = 3 },"""
    (found,) = [
        v
        for v in audit(paper("100 MiB/s", known=known, more=slower))
        if v.rule.startswith("throughput x copies received")
    ]
    assert found.cause == "the number of copies is not given; no more than 2.88 would fit"
    assert found.what == "2 throughputs (one)"
