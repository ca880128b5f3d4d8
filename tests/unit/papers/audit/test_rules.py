"""Each rule of an audit: from which numbers it makes a recipe, and what comes out of it by hand."""

from typing import Any

import pytest

from perjoule import catalogue
from perjoule.model import Cell, Interval
from perjoule.papers.audit import rules
from perjoule.papers.audit.own import audit_cells
from perjoule.papers.published import PrintedNumber, Uncertainty

CLUSTER = {"cluster": "box"}


def number(
    id,
    quantity,
    value,
    *,
    place="Table I",
    statistic="mean",
    derived="",
    plus_minus=(),
    printed="",
    cluster="box",
    **own,
):
    found = tuple(Uncertainty(v, v, v, kind) for kind, v in plus_minus)
    digits = printed or " ± ".join(f"{v:g}" for v in (value, *(v for _, v in plus_minus)))
    facts = {**own, "cluster": cluster} if cluster else own
    return PrintedNumber(
        id, quantity, digits, value, value, value, 1.0, place, statistic, facts, own, found, derived
    )


def made(rule, *numbers):
    """What a rule makes of them: number, its relation, what comes out."""
    found = [recipe for recipe in rules.recipes(numbers) if recipe.rule.startswith(rule)]
    return [(one.subject.id, one.relation, pytest.approx(one.central().middle)) for one in found]


TPP = number("tpp", "throughput", 400.0, what="TPP")


def test_a_share_of_tpp_is_throughput_over_tpp():
    share = number("share", "share", 0.25, of="TPP", clients=1, direction="write")
    rate = number("rate", "throughput", 100.0, clients=1, direction="write")
    rule = "share of TPP"
    assert made(rule, share, rate, TPP) == [("share", "equals", 0.25)]
    node = number("node", "throughput", 200.0, what="TPP", node="A")
    # of the cluster rather than of its nodes
    assert made(rule, share, rate, node, TPP) == [("share", "equals", 0.25)]
    assert made(rule, share, rate, node) == [("share", "equals", 0.5)]
    assert made(rule, share, rate) == made(rule, share, TPP) == []
    for other in ({"of": "disks"}, {"of": "TPP", "derived": "rate / tpp"}):
        assert (
            made(rule, number("share", "share", 0.25, clients=1, direction="write", **other), rate, TPP) == []
        )
    assert made(rule, number("share", "gain", 0.25, of="TPP", clients=1, direction="write"), rate, TPP) == []


def test_measured_throughputs_are_no_more_than_tpp():
    rule = "throughput <= TPP"
    rate = number("rate", "throughput", 100.0, direction="write")
    assert made(rule, rate, TPP) == [("rate", "at most", 400.0)]
    for other in (
        number("rate", "throughput", 100.0),
        number("rate", "throughput", 100.0, direction="write", what="network"),
        number("rate", "power", 100.0, direction="write"),
        number("rate", "throughput", 100.0, direction="write", cluster="another"),
    ):
        assert made(rule, other, TPP) == []


@pytest.mark.parametrize(("network", "tpp"), [(1000.0, 3 * (2 * 100 + 4 * 50)), (110.0, 3 * 110)])
def test_tpp_is_nodes_by_the_lesser_of_network_and_all_devices(network, tpp):
    node = {"node": "A", "place": "Table I"}
    parts = [
        number("network", "throughput", network, what="network", **node),
        number("nodes", "count", 3.0, what="nodes", **node),
        number("d", "throughput", 100.0, what="device", device="d", **node),
        number("ds", "count", 2.0, what="devices", device="d", **node),
        number("e", "throughput", 50.0, what="device", device="e", **node),
        number("es", "count", 4.0, what="devices", device="e", **node),
    ]
    whole = number("tpp", "throughput", 1.0, what="TPP", **node)
    rule = "TPP = nodes"
    assert made(rule, whole, *parts) == [("tpp", "equals", tpp)]
    assert made(rule, TPP, *parts) == []  # of no node
    assert made(rule, number("x", "throughput", 1.0, what="total", **node), *parts) == []
    for lacking in ("network", "nodes"):
        assert made(rule, whole, *(one for one in parts if one.id != lacking)) == []
    assert made(rule, whole, *parts[:2]) == []


@pytest.mark.parametrize(
    ("statistic", "relation"), [("mean", "equals"), ("minimum", "at least"), ("maximum", "at most")]
)
def test_extremes_of_parts_need_not_fall_together(statistic, relation):
    whole = number("whole", "power", 170.0, statistic=statistic, part="boards + disks", clients=1)
    boards = number("boards", "power", 41.0, statistic=statistic, part="boards", clients=1)
    disks = number("disks", "power", 126.0, statistic=statistic, part="disks", clients=1)
    assert made("whole = sum", whole, boards, disks) == [("whole", relation, 167.0)]
    assert made("whole = sum", whole, boards) == []


def test_uncertainties_of_parts_add_up_in_quadrature_where_all_have_one():
    of: dict[str, Any] = {"plus_minus": [("statistical", 3.0), ("systematic", 5.0)]}
    whole, boards = (number(part, "power", 40.0, part=part, **of) for part in ("boards + disks", "boards"))
    rule = "± = root"
    one = number("disks", "power", 126.0, part="disks", plus_minus=[("systematic", 12.0)])
    assert made(rule, whole, boards, one) == [("boards + disks_systematic", "equals", 13.0)]


def test_the_throughput_of_a_network_is_no_more_than_the_first_line_rate_of_its_cluster():
    network = number("network", "throughput", 110.0, what="network")
    line, second, another = (
        number(id, "throughput", rate, what="line rate", cluster=cluster)
        for id, rate, cluster in (("line", 125.0, "box"), ("second", 1250.0, "box"), ("far", 12.5, "another"))
    )
    rule = "network <= line rate"
    assert made(rule, network, another, line, second) == [("network", "at most", 125.0)]
    assert made(rule, number("disk", "throughput", 110.0, what="device"), line) == []
    assert made(rule, network, another) == []


def test_a_mean_over_all_cases_lies_between_the_means_of_cases_with_one_fact_more():
    mean = number("mean", "power", 2.0, clients=1)
    low, high, higher = (
        number(id, "power", watts, clients=1, direction=id)
        for id, watts in (("write", 1.0), ("read", 3.0), ("mixed", 4.0))
    )
    rule = "mean over all cases"
    three = [("mean", "at least", 1.0), ("mean", "at most", 4.0)]
    assert made(rule, mean, low, high, higher) == three
    assert made(rule, mean, low) == []
    for other in (
        number("two facts more", "power", 9.0, clients=1, direction="write", access="random"),
        number("of another number", "power", 9.0, clients=2, direction="write"),
        number("of another kind", "energy", 9.0, clients=1, direction="write"),
        number("an extreme", "power", 9.0, statistic="maximum", clients=1, direction="write"),
    ):
        assert made(rule, mean, low, high, higher, other) == three
    extremes = [
        number(id, "power", watts, statistic="maximum", clients=1, **facts)
        for id, watts, facts in (
            ("all", 2.0, {}),
            ("w", 1.0, {"direction": "write"}),
            ("r", 3.0, {"direction": "read"}),
        )
    ]
    assert made(rule, *extremes) == []


def test_a_mean_lies_between_the_extremes_of_the_same():
    low, mean, high = (
        number(s, "power", v, statistic=s, clients=1)
        for s, v in (("minimum", 1.0), ("mean", 2.0), ("maximum", 3.0))
    )
    assert made("mean at", low, mean, high) == [("mean", "at least", 1.0), ("mean", "at most", 3.0)]
    assert made("mean at", low, high) == []


def test_peak_power_is_no_less_than_idle_power_of_the_whole():
    peak, idle = number("peak", "power", 60.0, state="peak"), number("idle", "power", 40.0, state="idle")
    switch = number("switch", "power", 15.0, state="idle", component="switch")
    rule = "peak power"
    assert made(rule, peak, switch, idle) == [("peak", "at least", 40.0)]
    assert made(rule, number("peak", "throughput", 60.0, state="peak"), idle) == []
    assert made(rule, number("mean", "power", 60.0, state="load"), idle) == []
    assert made(rule, peak, number("idle", "power", 40.0, state="idle", cluster="another")) == []


@pytest.mark.parametrize(
    ("places", "first"),
    [(("Table I", "section 1"), "a"), (("section 1", "Table I"), "b"), (("section 1", "section 2"), "a")],
)
def test_a_number_printed_twice_is_that_of_the_table(places, first):
    a, b = (
        number(id, "power", value, place=place, clients=1)
        for id, value, place in zip("ab", (1.0, 2.0), places, strict=True)
    )
    second, value = ("b", 1.0) if first == "a" else ("a", 2.0)
    assert made("the same number", a, b) == [(second, "equals", value)]


def test_what_is_of_another_statistic_or_follows_from_others_is_not_a_repetition():
    one = number("a", "power", 1.0, clients=1)
    for other in (
        number("b", "power", 2.0, statistic="maximum", clients=1),
        number("b", "energy", 2.0, clients=1),
        number("b", "power", 2.0, clients=2),
        number("b", "power", 2.0, clients=1, derived="a * 2"),
    ):
        assert made("the same number", one, other) == []
    # of nothing in particular
    assert made("the same number", number("a", "power", 1.0), number("b", "power", 2.0)) == []


@pytest.mark.parametrize(
    ("quantity", "first", "second", "value"),
    [
        ("efficiency", ("throughput", 100.0), ("power", 40.0), 2.5),
        ("energy", ("power", 40.0), ("duration", 5.0), 200.0),
        ("energy-delay product", ("energy", 200.0), ("duration", 5.0), 1000.0),
    ],
)
def test_efficiency_energy_and_its_product_with_the_delay_follow(quantity, first, second, value):
    whole = number("whole", quantity, 1.0, clients=1, boundary="gross")
    a = number("a", *first, clients=1, boundary="gross")
    b, bare = number("b", *second, clients=1, boundary="gross"), number("bare", *second, clients=1)
    assert made(quantity, whole, a, bare, b) == [("whole", "equals", value)]
    assert made(quantity, whole, a, bare) == [("whole", "equals", value)]  # a duration has no boundary
    assert made(quantity, whole, a) == made(quantity, whole, b) == []


def test_capacity_per_watt_is_that_of_the_catalogues_data_disks():
    """In the same state, without the switch where a power without it is printed, and of the whole."""
    name = "odroid-hc4"
    whole = number("density", "capacity per watt", 1.0, state="idle", cluster=name)
    powers = [
        number("part", "power", 1.0, state="idle", switch="without", component="board", cluster=name),
        number("with", "power", 50.0, state="idle", switch="with", cluster=name),
        number("without", "power", 40.0, state="idle", switch="without", cluster=name),
        number("peak", "power", 60.0, state="peak", switch="without", cluster=name),
    ]
    nodes = [node for node in catalogue.cluster(name).nodes if node.role == "storage"]
    capacity_bytes = sum(node.count * disk.capacity_bytes.value for node in nodes for disk in node.disks)
    rule = "capacity per watt"
    assert made(rule, whole, *powers) == [("density", "equals", capacity_bytes / 40)]
    (recipe,) = (recipe for recipe in rules.recipes([whole, *powers]) if recipe.rule.startswith(rule))
    each_tb = [sum(disk.capacity_bytes.value for disk in node.disks) / 1e12 for node in nodes]
    assert [source.printed for source in recipe.inputs[1:]] == [
        text for node, tb in zip(nodes, each_tb, strict=True) for text in (f"{node.count}", f"{tb:.12g} TB")
    ]
    assert made(rule, whole, *powers[:2]) == [("density", "equals", capacity_bytes / 50)]
    assert made(rule, whole, powers[0], powers[3]) == []
    assert made(rule, number("x", "capacity per watt", 1.0, state="idle", cluster="box"), *powers) == []
    assert (
        made(
            rule, number("x", "capacity per watt", 1.0, state="idle", cluster=name, derived="1 / 2"), *powers
        )
        == []
    )
    assert made(rule, number("x", "capacity", 1.0, state="idle", cluster=name), *powers) == []


@pytest.mark.parametrize(("spread", "holds"), [(9.9, True), (10.1, False)])
@pytest.mark.parametrize("energy_j", [200.0, 2.0])
def test_a_rate_spreads_no_more_than_ten_times_as_the_energy_of_the_same_runs(energy_j, spread, holds):
    energy = number("energy", "energy", energy_j, clients=1, plus_minus=[("statistical", energy_j / 100)])
    rate = number("rate", "throughput", 100.0, clients=1, what="mean", plus_minus=[("statistical", spread)])
    (recipe,) = (one for one in rules.recipes([energy, rate]) if one.rule.startswith("the rate spreads"))
    assert (recipe.subject.id, recipe.relation, recipe.holds()) == ("rate_statistical", "at most", holds)
    assert recipe.rule.endswith("a factor of 10")
    for other in (
        number("rate", "throughput", 100.0, clients=1),
        number("rate", "throughput", 100.0, clients=2, plus_minus=[("statistical", 2.0)]),
        number("rate", "throughput", 100.0, clients=1, place="Table II", plus_minus=[("statistical", 2.0)]),
        number("rate", "power", 100.0, clients=1, plus_minus=[("statistical", 2.0)]),
    ):
        assert made("the rate spreads", energy, other) == []
    same_every_time = number("energy", "energy", 200.0, clients=1, plus_minus=[("statistical", 0.0)])
    assert made("the rate spreads", same_every_time, rate) == []


# Gains


def gains(times):
    """A is 174 % faster than B, and draws 20 % less than `times` of B."""
    pair = {"better": "A", "worse": "B", "direction": "write"}
    return (
        number("efficiency", "gain", 2.0, metric="efficiency", **pair),
        number("throughput", "gain", 1.74, metric="throughput", **pair),
        number("saving", "saving", 0.2, metric="power", replaced="A", by="B", times="number of"),
        number("number of", "count", times, what="machines"),
    )


@pytest.mark.parametrize(("times", "bound"), [(0.81, True), (0.79, False), (3.0, True)])
def test_who_draws_more_gains_no_more_in_efficiency_than_in_throughput(times, bound):
    found = made("gain in efficiency <=", *gains(times))
    assert found == ([("efficiency", "at most", 1.74)] if bound else [])


@pytest.mark.parametrize(("first", "second"), [(0.79, 3.0), (3.0, 0.79), (3.0, 2.0)])
def test_of_several_savings_each_shows_that_the_better_draws_more(first, second):
    saved = {"metric": "power", "replaced": "A", "by": "B"}
    more = number("of disks", "saving", 0.2, times="disks", **saved)
    found = made("gain in efficiency <=", *gains(first), more, number("disks", "count", second, what="disks"))
    assert found == ([("efficiency", "at most", 1.74)] if min(first, second) > 0.8 else [])


def test_a_gain_in_efficiency_is_bounded_where_gain_saving_and_their_number_are_printed():
    numbers = gains(2.0)
    for lacking in ("throughput", "saving", "number of"):
        assert made("gain in efficiency <=", *(one for one in numbers if one.id != lacking)) == []
    other = number("efficiency", "gain", 2.0, metric="power", better="A", worse="B", direction="write")
    assert made("gain in efficiency <=", other, *numbers[1:]) == []
    of_another = number(
        "efficiency", "ratio", 2.0, metric="efficiency", better="A", worse="B", direction="write"
    )
    assert made("gain in efficiency <=", of_another, *numbers[1:]) == []


def test_a_gain_in_throughput_per_watt_lies_between_idle_and_peak_power():
    """Of A 120 MiB/s at 10 to 20 W, of B 60 MiB/s at 10 to 30 W: 6 to 12 over 2 to 6, less 1."""
    numbers = [
        number("gain", "gain", 2.0, metric="efficiency", better="A", worse="B", direction="write"),
        number("slow", "throughput", 100.0, direction="write", cluster="A"),
        number("fast", "throughput", 120.0, direction="write", cluster="A"),
        number("read", "throughput", 500.0, direction="read", cluster="A"),
        number("peak rate", "throughput", 900.0, direction="write", what="TPP", cluster="A"),
        number("other", "throughput", 60.0, direction="write", cluster="B"),
        *(number(f"idle {c}", "power", 10.0, state="idle", switch="without", cluster=c) for c in "AB"),
        *(number(f"with {c}", "power", 15.0, state="idle", switch="with", cluster=c) for c in "AB"),
        *(number(f"peak {c}", "power", w, state="peak", cluster=c) for c, w in (("A", 20.0), ("B", 30.0))),
    ]
    rule = "gain in throughput per watt"
    (recipe,) = (one for one in rules.recipes(numbers) if one.rule.startswith(rule))
    assert (recipe.result().low, recipe.result().high) == pytest.approx((0.0, 5.0))
    assert [one.id for one in recipe.inputs] == [
        "slow",
        "fast",
        "idle A",
        "peak A",
        "other",
        "idle B",
        "peak B",
    ]
    for lacking in ("other", "idle B", "peak A"):
        assert made(rule, *(one for one in numbers if one.id != lacking)) == []
    assert (
        made(
            rule,
            number("gain", "gain", 2.0, metric="throughput", better="A", worse="B", direction="write"),
            *numbers[1:],
        )
        == []
    )


RATES = {  # transfer, access, file system beneath
    ("64 KB", "sequential"): {"xfs": 100.0, "ext4": 80.0, "btrfs": 50.0},
    ("64 KB", "random"): {"xfs": 30.0, "ext4": 40.0, "btrfs": 20.0},
    ("1 MB", "random"): {"xfs": 60.0, "ext4": 30.0, "btrfs": 30.0},
}


@pytest.mark.parametrize(("printed", "relation"), [("57 %", "equals"), ("54-60 %", "within")])
def test_a_gain_of_the_best_is_over_the_average_of_the_others_in_each_case(printed, relation):
    facts = {"configuration": "one", "direction": "write", "block": "4 KB"}
    told = {"over": "average of the others", "beneath": "xfs, ext4", "transfers": "64 KB, 1 MB"}
    gain = number("gain", "gain", 0.57, printed=printed, **facts, **told)
    rates = [
        number(
            f"{transfer} {access} {kind}",
            "throughput",
            rate,
            transfer=transfer,
            access=access,
            beneath=kind,
            **facts,
        )
        for (transfer, access), own in RATES.items()
        for kind, rate in own.items()
    ]
    (recipe,) = (one for one in rules.recipes([gain, *rates]) if one.rule.startswith("gain of the best"))
    cases = (100 / 65 - 1, 40 / 25 - 1, 60 / 30 - 1)
    found = recipe.result()
    assert recipe.relation == relation
    expected = (min(cases), max(cases)) if relation == "within" else (sum(cases) / 3,) * 2
    assert (found.low, found.high) == pytest.approx(expected)
    ((words, compute),) = recipe.alternatives
    assert words == "the best counted into the average"
    counted_in = [100 / (230 / 3) - 1, 40 / 30 - 1, 60 / 40 - 1]
    found = compute(lambda one: rules.exactly(one.value))
    expected = (min(counted_in), max(counted_in)) if relation == "within" else (sum(counted_in) / 3,) * 2
    assert (found.low, found.high) == pytest.approx(expected)
    assert made("gain of the best", gain) == []
    assert (
        made(
            "gain of the best", number("gain", "gain", 0.57, **facts, **{**told, "over": "the next"}), *rates
        )
        == []
    )
    assert made("gain of the best", number("gain", "ratio", 0.57, **facts, **told), *rates) == []


# One's own results


def cell(**metrics):
    return Cell(
        "moosefs", "fio", "write", 2, {name: Interval(v[0], v[0], v[0], v) for name, v in metrics.items()}
    )


@pytest.mark.parametrize(("beyond", "agrees"), [(3.9e-9, True), (4.15e-9, False)])
def test_what_is_computed_agrees_but_for_rounding_of_a_billionth_each(beyond, agrees):
    one = cell(mean_w=(50.0,), duration_s=(10.0,), energy_j=(500.0 * (1 + beyond),))
    assert [v.kind for v in audit_cells([one], "")] == ["agrees" if agrees else "disagrees"]


@pytest.mark.parametrize(("ratio", "kind"), [(1 / 0.9801, "agrees"), (1 / 0.9799, "disagrees")])
def test_caps_and_timers_leave_two_percent_of_a_bound_open(ratio, kind):
    one = cell(throughput_bytes_per_s=(ratio * 400e6,), tpp_bytes_per_s=(400e6,))
    assert [(v.rule, v.kind) for v in audit_cells([one], "")] == [("throughput <= TPP", kind)]


def test_repetitions_are_held_against_their_own_numbers_and_counted_from_one():
    two = cell(mean_w=(50.0, 60.0), duration_s=(10.0, 20.0), energy_j=(500.0, 1300.0))
    found = audit_cells([two], "")
    assert [(v.id.rsplit(", ", 2)[1:], v.kind) for v in found] == [
        (["energy_j", "1"], "agrees"),
        (["energy_j", "2"], "disagrees"),
    ]


def test_a_metric_that_a_repetition_lacks_is_held_against_nothing():
    one = cell(
        mean_w=(50.0, 60.0), duration_s=(10.0,), energy_j=(1.0, 2.0), throughput_bytes_per_s=(3.0, 4.0)
    )
    assert audit_cells([one], "") == ()


def test_the_peak_is_that_of_the_cell_or_else_of_the_catalogues_cluster():
    told, untold = (
        cell(throughput_bytes_per_s=(450e6,), **more) for more in ({"tpp_bytes_per_s": (400e6,)}, {})
    )
    assert [v.kind for v in audit_cells([told], "odroid-hc4")] == ["disagrees"]
    (found,) = audit_cells([untold], "odroid-hc4")
    assert (found.kind, found.recomputed) == ("agrees", "at most 445.360 MiB/s")
    assert found.printed == f"{450e6 / 2**20:.6g} MiB/s"
    assert audit_cells([untold], "a cluster of one's own") == ()
