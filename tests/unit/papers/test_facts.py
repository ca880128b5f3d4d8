"""What was measured, in the terms of papers: which facts it has, and which printed number it stands
beside.
"""

from dataclasses import replace

import pytest

from perjoule.model import Cell, Spec
from perjoule.papers import published
from perjoule.papers.facts import MeasuredMetric, beside, measured, same, size_bytes
from perjoule.statistics.intervals import interval

PAPER = """
title = "Invented"
authors = "Nobody"
reference = "nowhere"

[configuration.one]
cluster = "box"
filesystem = "moosefs"

[configuration.tool]
workload = "fio"

[configuration.other]
workload = "iozone"

[configuration.none]

[[table]]
place = "Table I"
common = { quantity = "throughput", direction = "write" }
number = [
  { id = "mean", printed = "100 MiB/s", statistic = "mean", clients = 2, configuration = "one" },
  { id = "any", printed = "100 MiB/s", statistic = "mean", configuration = "one" },
  { id = "most", printed = "100 MiB/s", statistic = "maximum of 5", configuration = "one" },
  { id = "tool", printed = "100 MiB/s", statistic = "mean", clients = 2, configuration = "tool" },
  { id = "other", printed = "100 MiB/s", statistic = "mean", clients = 2, configuration = "other" },
  { id = "bare", printed = "100 MiB/s", statistic = "mean", clients = 2, configuration = "none" },
  { id = "share", quantity = "share", of = "TPP", printed = "50 %", statistic = "maximum of 5", configuration = "one" },
  { id = "power", quantity = "power", printed = "100 W", statistic = "mean", clients = 2, configuration = "one" },
]
"""


def one(clients, *values, cluster="elsewhere", filesystem="moosefs"):
    cell = Cell(filesystem, "fio", "write", clients, {"throughput_bytes_per_s": interval(values)})
    facts = {
        "filesystem": filesystem,
        "cluster": cluster,
        "direction": "write",
        "clients": clients,
        "workload": "fio",
    }
    return MeasuredMetric("throughput_bytes_per_s", facts, cell)


def pairs(*found):
    return {pair.number.id: pair for pair in beside(published.read(PAPER, "invented"), found)}


def test_a_number_stands_beside_the_one_cell_of_its_kind_and_a_maximum_beside_the_largest_of_all():
    two, four = one(2, 10.0, 30.0, 20.0), one(4, 28.0, 29.0)
    found = pairs(two, four)
    assert {id: pair.measured for id, pair in found.items()} == {"mean": two, "most": two, "tool": two}
    assert (found["mean"].value, found["most"].value) == (20.0, 30.0)
    alone = pairs(four)
    assert {id: pair.measured for id, pair in alone.items()} == {"any": four, "most": four}
    assert pairs(one(2, 1.0, filesystem="cephfs")).keys() == {"tool"}


def test_the_largest_share_of_the_peak_is_that_of_the_largest_throughput():
    """One client has the peak of its own network alone."""
    shares = {1: (102.0, 0.92), 4: (259.0, 0.58)}

    def share(clients, rate, ratio, *, written=False):
        metrics = {"throughput_bytes_per_s": interval([rate, 1.0]), "tpp_ratio": interval([ratio, 0.01])}
        if written:
            metrics |= {f"burst_{key}": metrics[key] for key in list(metrics)}
            metrics["throughput_bytes_per_s"] = interval([1.0, 1.0])  # all the same until disks hold it
        cell = Cell("moosefs", "fio", "write" if written else "read", clients, metrics)
        facts = {"filesystem": "moosefs", "direction": "write", "clients": clients, "of": "TPP"}
        key = "burst_tpp_ratio" if written else "tpp_ratio"
        return MeasuredMetric(key, facts, cell, durable="tpp_ratio" if written else "")

    for written in (False, True):
        found = pairs(*(share(clients, *of, written=written) for clients, of in shares.items()))
        assert found["share"].measured.cell.clients_count == 4
        assert found["share"].value == 0.58


@pytest.mark.parametrize(
    ("cluster", "ids"), [("box", {"mean", "any", "most"}), ("elsewhere", {"mean", "any", "most", "tool"})]
)
def test_a_cluster_that_the_paper_has_numbers_of_is_distinguished(cluster, ids):
    assert pairs(one(2, 1.0, cluster=cluster)).keys() == ids


@pytest.mark.parametrize(
    ("here", "alike"),
    [("4 MiB", True), (1.059 * 4e6, True), (1.061 * 4e6, False), (0.941 * 4e6, True), (0.939 * 4e6, False)],
)
def test_sizes_are_the_same_up_to_what_mb_leaves_open(here, alike):
    assert same("transfer", here, "4 MB") == same("block", here, "4 MB") == alike
    assert not same("clients", here, "4 MB")
    assert same("clients", 4, 4)


def test_a_size_without_a_unit_is_in_bytes():
    assert [size_bytes(fact) for fact in ("64 KB", "64", 64, "1.5 MiB")] == [64e3, 64.0, 64.0, 1.5 * 2**20]


def test_a_measurement_has_what_its_facts_are_and_is_called_by_what_it_is_of():
    two = one(2, 10.0)
    assert two.has(quantity="throughput", clients=2, direction="write")
    assert not two.has(quantity="power")
    assert not two.has(transfer="4 MB")
    assert [one(n, 1.0).words for n in (1, 2)] == ["moosefs, fio, 1 client", "moosefs, fio, 2 clients"]


@pytest.mark.parametrize(
    ("operation", "options", "facts"),
    [
        ("write", {}, {"access": "sequential"}),
        ("randread", {"transfer": "64 KiB"}, {"access": "random", "transfer": "64 KiB"}),
        ("read", {"direct": True}, {"access": "sequential", "direct_io": "yes"}),
        ("read", {"direct": False}, {"access": "sequential", "direct_io": "no"}),
    ],
)
def test_facts_of_a_load_are_its_options(made, operation, options, facts):
    asked = made.trial("moosefs", "fio", options={"operation": operation, "size": "36 MiB", **options})
    cell = Cell(
        "moosefs",
        "fio",
        "write",
        2,
        {"throughput_bytes_per_s": interval([1.0]), "tpp_ratio": interval([0.5]), "x": interval([1.0])},
    )
    rate, share = measured([made.record(asked, cluster="odroid-hc4")], [cell])
    told = {
        "filesystem": "moosefs",
        "cluster": "odroid-hc4",
        "workload": "fio",
        "direction": "write",
        "clients": 2,
        **facts,
    }
    assert told.items() <= rate.facts.items()
    assert (rate.quantity, share.quantity) == ("throughput", "share")
    assert ("of" in rate.facts, share.facts["of"]) == (False, "TPP")


@pytest.mark.parametrize(
    ("beneath", "block"), [({"kind": "ext4", "block": "1 KiB"}, "1 KiB"), ({"kind": "xfs"}, "4 KiB")]
)
def test_what_lies_beneath_has_blocks_of_4_kib_if_nothing_else_is_stated(made, beneath, block):
    asked = replace(
        made.trial("cephfs", "fio"),
        filesystem=Spec("cephfs", {"beneath": {**beneath, "size": "16 GiB"}}, "cephfs"),
    )
    asked = replace(asked, workload=Spec("fio", {"operation": "write", "size": "36 MiB"}, "fio"))
    cell = Cell("cephfs", "fio", "write", 2, {"throughput_bytes_per_s": interval([1.0])})
    (rate,) = measured([made.record(asked)], [cell])
    assert (rate.facts["beneath"], rate.facts["block"]) == (beneath["kind"], block)


def test_options_that_are_no_more_leave_the_kind(made):
    asked = replace(
        made.trial("moosefs", "fio"), workload=Spec("fio", {"operation": "write", "gone": 1}, "fio")
    )
    cell = Cell("moosefs on virtual", "fio", "write", 2, {"throughput_bytes_per_s": interval([1.0])})
    (rate,) = measured([made.record(asked)], [cell])
    assert rate.facts == {
        "filesystem": "moosefs",
        "cluster": "",
        "workload": "fio",
        "direction": "write",
        "clients": 2,
    }


def test_table_2_of_the_cubieboards_stands_beside_power_of_the_whole_benchmark(made):
    """Not beside that of a write or a read, whose mean the paper does not print."""
    powers = {"mean_w": 160.0, "whole_w": 170.0, "whole_lowest_w": 150.0, "whole_highest_w": 190.0}
    powers |= {"controller_whole_w": 42.0, "device_whole_w": 128.0}
    metrics = {key: interval([watts, watts + 1.0]) for key, watts in powers.items()}
    cells = [
        Cell("Ceph", "rados bench", "write", 5, metrics, grade="modelled"),
        Cell("Ceph", "rados bench", "read", 5, {"mean_w": interval([165.0, 166.0])}, grade="modelled"),
    ]
    trial = replace(
        made.trial(), filesystem=Spec("rados", {}, "Ceph"), workload=Spec("rados", {}, "rados bench")
    )
    found = measured([made.record(trial, cluster="cubieboard2")], cells)
    pairs = {pair.number.id: pair.value for pair in beside(published.paper("cubieboard"), found)}
    assert pairs == {
        "least_power": 150.0,
        "most_power": 191.0,
        "mean_power_5": 170.5,
        "power_5_boards_mean": 42.5,
        "power_5_disks_mean": 128.5,
        "power_5_boards_disks_mean": 170.5,
        "power_5_boards_disks_minimum": 150.0,
        "power_5_boards_disks_maximum": 191.0,
    }
    assert {of.window for of in found} == {"write", "read", "the whole benchmark"}


def of_analysis(made, machine, metrics):
    trial = replace(made.trial(), filesystem=Spec("local", {}, machine), workload=Spec("hep", {}, "hep"))
    cell = Cell(machine, "hep", "read", 1, {key: interval(values) for key, values in metrics.items()})
    return measured([made.record(trial, cluster=machine)], [cell])


def test_table_4_of_the_cubieboards_stands_beside_the_analysis_on_each_machine(made):
    boards = {"energy_j": [9.0, 8.0], "controller_energy_j": [4.0, 3.0], "throughput_bytes_per_s": [2.0, 3.0]}
    pc = {"energy_j": [1.0, 1.5], "controller_energy_j": [0.5, 0.5], "throughput_bytes_per_s": [5.0, 6.0]}
    both = (*of_analysis(made, "cubieboard2", boards), *of_analysis(made, "desktop-pc", pc))
    paper = published.paper("cubieboard")
    assert {pair.number.id: pair.value for pair in beside(paper, both)} == {
        "energy_hep_boards": 3.5,
        "energy_hep_boards_disks": 8.5,
        "energy_pc_boards_disks": 1.25,
        "rate_hep_boards": 2.5,
        "rate_hep_boards_disks": 2.5,
        "rate_pc_boards_disks": 5.5,
    }
    other_load = [replace(of, facts={**of.facts, "workload": "fio"}) for of in both]
    assert beside(paper, other_load) == ()


def test_a_campaign_is_emulated_where_some_of_it_is_and_simulated_where_all_of_it_is(made):
    def of(*realities):
        records = [made.record(made.trial(name)) for name in ("moosefs", "cephfs", "glusterfs")]
        records = [
            replace(record, traits=replace(record.traits, reality=reality))
            for record, reality in zip(records, realities, strict=False)
        ]
        cell = Cell("moosefs", "write 4 MiB", "write", 2, {"throughput_bytes_per_s": interval([1.0, 2.0])})
        (found,) = measured(records, [cell])
        return found.simulated, found.emulated

    assert of("real", "real") == (False, False)
    assert of("emulated", "emulated") == of("real", "emulated") == (False, True)
    assert of("simulated", "simulated") == (True, False)
    assert of("simulated", "emulated") == (False, True)
