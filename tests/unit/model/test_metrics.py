"""The registry of metrics describes every number that a trial or a row can have."""

import re
import subprocess
import sys
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from perjoule import catalogue
from perjoule.measures.points import points
from perjoule.model import Amplification, Flow, Redundancy, Specification
from perjoule.model.metrics import (
    BENCHMARK_RATE,
    BOUNDARIES,
    BY_LABEL,
    DESIGN_W,
    EDP_RATIO,
    GAP,
    IDLE_PEAK,
    METRICS,
    NAMEPLATE_W,
    OF_PEAK,
    PEAK,
    PIECES,
    PROPORTIONALITY,
    ROLES,
    entries,
    metric_of,
)
from perjoule.papers.published import QUANTITIES
from perjoule.statistics.cells import cells

SERVERS, CLIENTS = ("storage-1", "storage-2", "metadata-1"), ("client-1", "client-2")
COUNTED = ("cpu", "switches", "network_received", "network_sent", "disk_read", "disk_written", "disk_busy")
OF_SUFFIX = {
    "_bytes_per_s": "B/s", "_bytes_per_j": "B/J", "_s_per_byte": "s/B", "_per_event_j": "J", "_per_s": "1/s", "_per_j": "1/J",
    "_per_nameplate_w": "B/s/W", "_bytes_per_w": "B/W", "_w_per_byte": "W/B", "_hz": "1/s",
    "_bytes": "B", "_js": "J s", "_ratio": "1", "_count": "1", "_j": "J", "_w": "W", "_s": "s", "_ev": "eV",
}  # fmt: skip


def everything(made):
    """What every kind of meter says of a trial in all boundaries, and all that hosts count."""
    t_s = np.arange(0.0, 30.5, 0.5)
    stated = Specification(gain_ratio=0.01, resolution=0.01, latency_s=0.0)
    for host in SERVERS:
        for component in ("board", "disks"):
            load_w = np.where((t_s > 10) & (t_s < 20), 5.0, 0.0)
            one = made.series(made.channel(host, component, semantics="window mean"), t_s, 10.0 + load_w, 0.5)
            yield replace(one, channel=replace(one.channel, specification=stated))
        yield made.series(
            made.channel(host, "package-0", "energy", "counter", "component", "rapl"), t_s, 3 * t_s
        )
    for host in CLIENTS:
        one = made.steady(host, 30.0)
        yield replace(one, channel=replace(one.channel, specification=stated))
        yield made.series(
            made.channel(host, "package-0", "energy", "counter", "component", "rapl"), t_s, 5 * t_s
        )
    yield made.steady("", 5.0, component="switch")
    yield from (made.counter(host, quantity, 0.1) for host in (*SERVERS, *CLIENTS) for quantity in COUNTED)
    for component, rate in (("machine", 2.0), ("perjoule", 0.1), ("kernel", 0.1)):
        cpu = made.counter("", "cpu", rate)
        yield replace(cpu, channel=replace(cpu.channel, component=component))
    yield from (made.steady(host, 100.0, quantity="goodput", began_s=10, ended_s=20) for host in CLIENTS)


def records(made):
    """A write, a read without bytes, several users, one of whom counts events, and no load."""
    whole = made.record(environment={"cores_count": 4}, tail_s=2.0)
    whole = replace(whole, amplification=Amplification(Flow(1, 1, 1, 1, 1, 1), Flow()))
    yield replace(whole, outcome=replace(whole.outcome, measured={"events_count": 7.0}))
    results = tuple(replace(one, moved_bytes=0, operations_count=9) for one in whole.outcome.results)
    yield replace(whole, outcome=replace(whole.outcome, results=results))
    users = tuple(
        replace(one, user=user)
        for one, user in zip(whole.outcome.results, ("analysis", "archive"), strict=True)
    )
    yield replace(whole, outcome=replace(whole.outcome, results=users))
    still = tuple(
        replace(one, direction="idle", moved_bytes=0, operations_count=0) for one in whole.outcome.results
    )
    hosts = tuple(
        replace(host, node={"storage": "A", "metadata": "C", "client": "G"}[host.role])
        for host in whole.hosts
    )
    known = {
        "hosts": hosts,
        "hardware": catalogue.cluster("odroid-hc4"),
        "redundancy": Redundancy(copies_count=2),
    }
    yield replace(
        whole, outcome=replace(whole.outcome, results=still, measured={"least_gap_s": 1.0}), **known
    )


def test_every_number_of_a_trial_and_of_a_row_has_an_entry(made):
    measured = list(records(made))
    found = [point for record in measured for point in points(record, list(everything(made)))]
    keys = {key.rpartition("/")[2] for point in found for key in point.metrics}
    keys |= {key.rpartition("/")[2] for cell in cells(measured, found) for key in cell.metrics}
    assert keys - METRICS.keys() == set(), "add an entry beside what computes it"
    assert {metric_of(key).boundary for key in keys} >= {
        "net",
        "gross",
        "dynamic",
        "controller",
        "CPU package",
    }
    budgeted = [
        one for one in METRICS.values() if one.boundary in ("net", "gross", "clients", "all") and one.budgeted
    ]
    assert {one.uncertainty for one in budgeted} <= keys
    assert {f"part_{piece}_j" for piece in PIECES} - keys == {"part_unsplit_j"}
    assert {"burst_clients_energy_j", "burst_all_mean_w", "burst_all_efficiency_bytes_per_j"} <= keys
    assert len(keys) > 80


@pytest.mark.parametrize("key", METRICS)
def test_a_key_ends_in_its_si_unit(key):
    suffix = next(suffix for suffix in OF_SUFFIX if f"_{key}".endswith(suffix))
    assert METRICS[key].unit.si == OF_SUFFIX[suffix]
    assert METRICS[key].key == key


OF_SYMBOL = {
    **{"": 1, "1": 1, "%": 1e-2, "op": 1, "times the best": 1},
    **{"events": 1, "samples": 1, "epoch": 1, "checkpoint": 1, "token": 1, "tokens": 1},
    **{"object": 1, "objects": 1, "mJ": 1e-3},
    **{"s": 1, "ms": 1e-3, "day": 24 * 60 * 60, "W": 1, "J": 1, "kJ": 1e3, "µJ": 1e-6, "GeV": 1e9},
    **{"B": 1, "KiB": 2**10, "MiB": 2**20, "TiB": 2**40, "GB": 1e9, "TB": 1e12},
}
"""What each part of a unit is in SI units, and bytes, by their prefixes."""


@pytest.mark.parametrize("unit", sorted({one.unit for one in METRICS.values()}))
def test_a_unit_is_what_its_symbol_says(unit):
    above, _, below = unit.symbol.partition("/")
    above_parts = [above] if above in OF_SYMBOL else above.split()
    factor = prod(OF_SYMBOL[part] for part in above_parts)
    below_parts = re.split("[-/]", below)
    assert unit.per == pytest.approx(factor / prod(OF_SYMBOL[part] for part in below_parts), rel=1e-12)


def test_labels_are_unique_and_definitions_complete():
    labels = [one.label for one in METRICS.values()]
    assert sorted(labels) == sorted(set(labels))
    assert [
        one.key for one in METRICS.values() if not one.definition or re.search(r"[{}]", one.definition)
    ] == []


def test_no_key_has_two_entries():
    keys = [one.key for one in entries()]
    assert sorted(keys) == sorted(set(keys))


def test_stop_rules_and_comparisons_know_their_metrics_by_label():
    old = {"MiB/s", "MiB/J", "gross MiB/J", "op/s", "op/J", "J", "W", "s", "EDP"}  # written in campaigns
    sides = {f"{side} {label}" for side in ("clients", "all") for label in ("J", "W", "MiB/J", "op/J")}
    powers = {
        f"{of}{label}"
        for of in ("", "gross ", "clients ", "all ")
        for label in ("idle W", "kJ/TB-day", "kJ/TB-day raw")
    }
    kept = {f"{of}GB/W" for of in ("", "gross ", "clients ", "all ")}
    objects = {"objects/s", "objects/J", "mJ/object"}
    gross = {"gross J", "gross W", "gross op/J"}
    assert BY_LABEL.keys() == old | {"% TPP"} | gross | objects | sides | powers | kept
    less = {
        "J",
        "W",
        "s",
        "EDP",
        "gross J",
        "gross W",
        "clients J",
        "clients W",
        "all J",
        "all W",
        "mJ/object",
    } | powers
    assert {label for label, one in BY_LABEL.items() if one.better == "lower"} == less
    assert {label for label, one in BY_LABEL.items() if not one.energy} == {
        *("MiB/s", "op/s", "objects/s", "% TPP", "s")
    }


def test_an_uncertainty_has_the_unit_of_its_metric_and_none_of_its_own():
    assert metric_of("efficiency_bytes_per_j").uncertainty == "efficiency_uncertainty_bytes_per_j"
    assert (
        metric_of("gross_operations_per_j").shared_uncertainty == "gross_operations_shared_uncertainty_per_j"
    )
    for one in METRICS.values():
        for key in filter(None, (one.uncertainty, one.shared_uncertainty)):
            assert (METRICS[key].unit, METRICS[key].energy, METRICS[key].uncertainty) == (one.unit, True, "")
    assert metric_of("throughput_bytes_per_s").uncertainty == ""


def test_what_is_in_joules_or_watts_rests_on_meters_and_less_is_better_but_for_work_by_the_joule():
    in_joules = {key for key, one in METRICS.items() if re.search(r"\b[JW]\b", one.unit.si)}
    nameplates = {NAMEPLATE_W, DESIGN_W, "bytes_per_s_per_nameplate_w"}
    energies = {key: one for key, one in METRICS.items() if one.energy}
    assert energies.keys() == (in_joules | {EDP_RATIO, PROPORTIONALITY, IDLE_PEAK, GAP}) - nameplates
    by_joule = {
        key
        for key, one in energies.items()
        if one.unit.si in ("B/J", "1/J", "B/W") and "uncertainty" not in key
    }
    better = {key: one.better for key, one in energies.items()}
    assert better == {
        **dict.fromkeys(energies, "lower"),
        **dict.fromkeys((*by_joule, PROPORTIONALITY), "higher"),
    }


def test_work_of_all_clients_by_the_second_or_the_joule_is_of_clients_that_ran_together():
    of_work = {
        key
        for key, one in METRICS.items()
        if one.unit.si in ("B/s", "1/s", "B/J", "1/J", "J s") and not one.idle
    }
    stated = {PEAK, BENCHMARK_RATE}
    assert {key for key, one in METRICS.items() if one.together and one.unit.si != "J"} == {
        *(of_work - stated),
        *(OF_PEAK, f"burst_{OF_PEAK}", EDP_RATIO),
    }


def test_papers_print_a_metric_in_its_unit():
    printed = [one for one in METRICS.values() if one.quantity]
    assert {one.boundary for one in printed} == {"", "net", "gross"}
    assert [one.key for one in printed if QUANTITIES[one.quantity][one.unit.symbol] != one.unit.per] == []


def test_a_users_metric_is_that_of_all_and_an_unknown_one_a_bare_number():
    assert metric_of("user/a/latency_p99_s") is METRICS["latency_p99_s"]
    gone = metric_of("what_an_older_perjoule_had_s")
    assert (gone.key, gone.label, gone.unit.per, gone.unit.si, gone.energy) == (
        gone.label,
        gone.key,
        1.0,
        "",
        False,
    )


def test_a_boundary_or_role_more_is_a_metric_more_of_each_kind():
    assert {f"{one.prefix}energy_j" for one in BOUNDARIES} | {
        f"cpu_{role}_s_per_byte" for role in ROLES
    } <= METRICS.keys()
    assert {key for key in METRICS if key.startswith("burst_")} == {
        f"burst_{one.key}"
        for one in METRICS.values()
        if one.headline and not one.idle and one.boundary in ("", "net", "clients", "all")
    }


def test_who_only_looks_up_a_label_does_not_import_numpy():
    program = (
        "import sys; from perjoule.model.metrics import METRICS; print(len(METRICS), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(METRICS)} False\n", (
        "import numpy, and what imports it, in the functions of measures"
    )
