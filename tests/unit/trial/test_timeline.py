from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perjoule.energy.amount import amount
from perjoule.figures import rendering
from perjoule.measures.points import points
from perjoule.model import Channel, Series, Specification
from perjoule.summary.timeline import Timeline
from perjoule.summary.trial import trial_summary
from perjoule.trial.reading import Reading
from perjoule.trial.timeline import components_w, means, net_power_w, summed
from perjoule.views.performance.timeline import completed, timeline
from readings import over
from typed import present

SERVERS = ("storage-1", "storage-2", "metadata-1")


def test_rates_lie_on_the_requested_grid(made):
    found = means(made.counter("storage-1", "cpu", 0.3), np.arange(0.0, 31.0, 3.0))
    assert found == pytest.approx(np.full(10, 0.3))


def test_what_is_not_covered_is_no_number_and_never_zero(made):
    steady = made.steady("storage-1", 5.0, began_s=2.0, ended_s=4.0)
    assert np.array_equal(
        means(steady, np.arange(0.0, 7.0)), [np.nan, np.nan, 5, 5, np.nan, np.nan], equal_nan=True
    )
    nothing = made.series(made.channel(), [], [])
    assert np.isnan(means(nothing, np.arange(3.0))).all()


@pytest.mark.heavy
@given(
    st.sampled_from(["counter", "window mean", "instantaneous"]),
    st.lists(st.tuples(st.floats(0.1, 0.25), st.floats(0, 500)), min_size=5, max_size=30),
)
def test_the_timeline_adds_up_to_the_amount(semantics, pairs):
    steps_s, value = np.array(pairs).T
    t_s = np.cumsum(steps_s)
    channel = Channel("meter", "host", "all", "power", "W", semantics, "wall")
    made = Series(channel, t_s, steps_s, np.cumsum(value) if semantics == "counter" else value)
    edges_s = np.linspace(t_s[0], t_s[-1], 7)
    whole = amount(made, float(t_s[0]), float(t_s[-1])).value
    assert float(means(made, edges_s) @ np.diff(edges_s)) == pytest.approx(whole, rel=1e-9, abs=1e-6)


def test_the_power_of_the_servers_is_without_the_switch(made):
    series = [made.steady(host, 10.0) for host in SERVERS] + [made.steady("", 15.0, component="switch")]
    assert net_power_w(over(made.record(), series, 1.0, 5.0), 1.0, 5.0) == pytest.approx([30] * 8)
    assert len(net_power_w(over(made.record(), series[1:], 1.0, 5.0), 1.0, 5.0)) == 0


def test_power_has_the_times_of_the_first_meter_that_counts(made):
    """Every half a second, from 10 to 20 s, though other channels come first and are read every second."""
    servers = [made.steady(host, watts) for host, watts in zip(SERVERS, (10.0, 20.0, 5.0), strict=True)]
    beside = made.series(made.channel("client-1"), np.arange(31.0), 70.0)
    watts = net_power_w(over(made.record(), [beside, *servers]), 10.0, 20.0)
    assert watts == pytest.approx(np.full(20, 35.0))


def test_power_is_by_the_meter_that_the_energy_is_of(made):
    """Two meters see the servers: the first in the alphabet reads a fifth more, and is known ten times
    worse.
    """
    series = []
    for meter, watts, wrong in (("a", 12.0, 0.1), ("b", 10.0, 0.01)):
        for host in SERVERS:
            one = made.steady(host, watts, meter=meter)
            series.append(
                replace(one, channel=replace(one.channel, specification=Specification(gain_ratio=wrong)))
            )
    record = made.record()
    (point,) = points(record, series)
    assert (point.metrics["mean_w"], point.source) == (pytest.approx(30), "b power")
    assert net_power_w(over(record, series, 10.0, 20.0), 10.0, 20.0) == pytest.approx([30] * 20)
    assert trial_summary(record, series).watts == pytest.approx([30] * 20)


def test_power_is_by_the_quantity_that_is_known_better_in_the_window(made):
    """A counter in joules is good for half a minute of 10 W, and not for a second of it, where power that
    reads 12 W is.
    """
    t_s = np.arange(0.0, 31.0, 0.2)
    both = []
    for host in SERVERS:
        both.append(made.series(made.channel(host, "all", "energy", "counter"), t_s, np.floor(10 * t_s)))
        both.append(
            made.series(made.channel(host, "all", "power", "instantaneous"), t_s, 12 + 0.01 * np.sin(t_s))
        )
    stated = [
        replace(s, channel=replace(s.channel, specification=Specification(resolution=1.0))) for s in both[::2]
    ]
    series = [*stated, *both[1::2]]
    assert net_power_w(over(made.record(), series, 1.0, 29.0), 1.0, 29.0) == pytest.approx(
        np.full(140, 30.0), rel=0.1
    )
    assert net_power_w(over(made.record(), series, 1.0, 2.0), 1.0, 2.0) == pytest.approx(
        np.full(5, 36.0), rel=0.01
    )


def test_two_meters_of_one_host_are_not_added_up_in_the_timeline(made):
    """Definition: the watts drawn are those of the channels whose energy counts, a device once."""
    both = [
        made.steady(host, watts, meter=meter)
        for meter, watts in (("a", 10.0), ("b", 11.0))
        for host in SERVERS
    ]
    cpu = made.channel("storage-1", "package-0", grade="component")
    record, series = made.record(), [*both, made.series(cpu, np.arange(0.0, 31.0), np.full(31, 3.0))]
    edges_s = np.arange(5.0, 10.0)
    assert components_w(over(record, series, 5.0, 9.0), edges_s) == {"all": pytest.approx([30] * 4)}
    line = present(trial_summary(record, series).timeline)
    assert {name: set(row) - {None} for name, row in line.rows["watts"].items()} == {"all": {30.0}}


def test_components_of_the_servers_and_the_switch_are_drawn_and_a_difference_as_the_servers(made):
    edges_s = np.arange(5.0, 10.0)
    parts = [
        made.steady(host, w, component=part)
        for host in SERVERS
        for part, w in (("board", 4.0), ("disks", 2.0))
    ]
    found = components_w(
        over(made.record(), [*parts, made.steady("", 15.0, component="switch")], 5.0, 9.0), edges_s
    )
    assert found == {
        part: pytest.approx([w] * 4) for part, w in (("board", 12), ("disks", 6), ("switch", 15))
    }
    strip = made.steady("", 40.0, component="group")
    strip = replace(strip, channel=replace(strip.channel, covers=(*SERVERS, "client-1")))
    found = components_w(over(made.record(), [strip, made.steady("client-1", 7.0)], 5.0, 9.0), edges_s)
    assert found == {"servers": pytest.approx([33] * 4)}


def test_meters_that_cover_no_server_are_drawn_by_themselves(made):
    edges_s = np.arange(5.0, 10.0)
    one = made.steady("storage-1", 4.0, meter="a")
    other = made.steady("storage-1", 5.0, meter="b")
    assert components_w(over(made.record(), [one], 5.0, 9.0), edges_s) == {"all": pytest.approx([4] * 4)}
    found = components_w(over(made.record(), [one, other], 5.0, 9.0), edges_s)
    assert found == {"a all": pytest.approx([4] * 4), "b all": pytest.approx([5] * 4)}


def drawn(**rows):
    return completed(timeline(), Timeline([0.5, 1.5], 2.0, rows))


def test_rows_without_data_are_not_drawn_and_the_last_has_the_axis_of_time():
    spec = drawn(rate={"client-1": [1.0, 2.0]}, watts={"disks": [3.0, None]}, cpu={"client-1": [None, None]})
    titles = [row["layer"][1]["encoding"]["y"]["title"] for row in spec["vconcat"]]
    assert titles == ["MiB/s by client", "W by component"]
    assert [row["layer"][1]["encoding"]["x"]["axis"]["labels"] for row in spec["vconcat"]] == [False, True]
    assert rendering.pdf(spec).startswith(b"%PDF")


def test_a_trial_that_no_meter_saw_has_no_picture_and_does_not_fail():
    assert rendering.pdf(drawn()).startswith(b"%PDF")


def test_phases_and_the_ends_of_burst_and_write_back_are_marked():
    phases = {"baseline": (-1.0, 0.0), "measure": (0.0, 3.0), "write-back": (3.0, 3.1), "tail": (3.1, 4.1)}
    marks = {"burst ends": 3.0, "disks hold the data": 3.1}
    rows = {"rate": {"client-1": [1.0, 2.0]}}
    spec = completed(timeline(), Timeline([0.5, 1.5], 3.1, rows, phases=phases, marks=marks))
    assert spec["datasets"]["window"] == [{"begin": 0, "end": 3.1}]
    assert {mark["name"]: mark["t"] for mark in spec["datasets"]["marks"]} == marks
    labels = {phase["name"]: phase["label"] for phase in spec["datasets"]["phases"]}
    # too narrow for its name
    assert labels == {"baseline": "baseline", "measure": "measure", "write-back": "", "tail": "tail"}
    assert rendering.pdf(spec).startswith(b"%PDF")


def test_a_role_moved_what_all_its_hosts_did_and_nothing_is_known_where_one_is_not(made):
    edges_s = np.arange(0.0, 31.0, 3.0)
    both = [made.counter(f"storage-{n}", "disk_read", 10.0 * n) for n in (1, 2)]
    others = [made.counter("metadata-1", "disk_read", 99.0), made.counter("storage-1", "disk_written", 77.0)]
    assert summed(Reading(made.record(), [*both, *others]), "disk_read", "storage", edges_s) == pytest.approx(
        np.full(10, 30.0)
    )
    for lacking, role in ((both[:1], "storage"), (both, "management"), ([], "storage")):
        assert (
            np.isnan(summed(Reading(made.record(), lacking), "disk_read", role, edges_s)).tolist()
            == [True] * 10
        )


@pytest.mark.parametrize(("covered_s", "told"), [(0.51, True), (0.49, False)])
def test_half_of_a_step_has_its_mean(made, covered_s, told):
    found = means(
        made.steady("storage-1", 5.0, began_s=10.0 - covered_s, ended_s=12.0), np.array([9.0, 10.0])
    )
    assert np.isnan(found[0]) == (not told)


def test_no_two_hosts_look_alike_and_one_has_the_same_style_in_every_row():
    hosts = [f"host-{n}" for n in range(12)]
    spec = drawn(
        rate={hosts[3]: [1.0, 2.0]}, cpu={name: [1.0, 1.0] for name in hosts}, network={hosts[5]: [1.0, 9.0]}
    )
    rows = [row["layer"][1]["encoding"] for row in spec["vconcat"]]
    domains = [row[channel]["scale"]["domain"] for row in rows for channel in ("color", "strokeDash")]
    assert all(domain == domains[0] for domain in domains)
    assert sorted(domains[0]) == sorted(hosts)
    assert [row["color"]["legend"]["values"] for row in rows[::2]] == [[hosts[3]], [hosts[5]]]


def test_lines_and_stacks_stay_inside_of_their_frames():
    spec = drawn(
        rate={"a": [1.0, 10.0]}, watts={"disks": [3.0, 5.0], "board": [4.0, 1.0]}, cpu={"a": [0.0, 0.0]}
    )
    assert [
        row["layer"][1]["encoding"]["y"]["scale"]["domainMax"] for row in spec["vconcat"]
    ] == pytest.approx([10.6, 7.42, 1.06])
