"""What file systems cost, from the counters to the report: on the product's own fakes."""

import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from click.testing import CliRunner

from perjoule import campaign, report
from perjoule.campaign import parse
from perjoule.catalogue import cluster
from perjoule.cli import cli
from perjoule.execution import runner
from perjoule.measures.overhead import disk_limits, disk_use, overhead
from perjoule.model import Quantity
from perjoule.model.errors import CampaignError
from perjoule.statistics.cells import cells
from perjoule.store import Results, create, open_results
from perjoule.summary.traffic import Overhead
from perjoule.testbeds import _disk, _kernel
from perjoule.trial.counters import window
from perjoule.trial.reading import Reading
from perjoule.views.content import Content
from perjoule.views.performance.amplification import amplification_table
from perjoule.views.performance.overhead import overhead as drawn
from readings import point_of

CAMPAIGN = """
name = "costs"
seed = 1
clients = 2
repetitions = {repetitions}
settle = "20 ms"
{top}
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
label = "fast"
throughput = "80 MiB/s"
[[filesystem]]
kind = "simulated"
label = "slow"
throughput = "40 MiB/s"
[[workload]]
kind = "simulated"
size = "2 MiB"
operation = ["write", "read"]
[[meter]]
kind = "system"
rate = "100 Hz"
"""


@dataclass(frozen=True)
class Measured:
    results: Results
    events: tuple[str, ...]
    page: str


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder, events = tmp_path_factory.mktemp("measured"), list[str]()
    asked = parse(CAMPAIGN.format(top="", repetitions=2))
    kept = create(folder / "results", asked.text, asked.name)
    runner.run(asked, kept, lambda event: events.append(event.kind))
    again = open_results(kept.folder)
    return Measured(again, tuple(events), report.write(again, folder / "report.html").read_text())


def test_a_disk_says_how_long_it_was_busy_and_what_it_moved() -> None:
    stat = "  11  0  88  1  22  0  176  2  0  3500  3  0  0  0  0  0  0"
    assert _disk.moved(stat) == (88 * 512, 176 * 512, 3.5)


def test_the_disks_of_a_machine_are_busy_together() -> None:
    one, other = (
        f" 8 {n} sd{x} 11 0 88 1 22 0 176 2 0 {ms} 3" for n, x, ms in ((0, "a", 1500), (16, "b", 250))
    )
    assert _kernel.disk_work(f"{one}\n{other}\n", {"sda", "sdb"})[2] == 1.75
    assert _kernel.disk_work(f"{one}\n{other}\n", {"sdb"})[2] == 0.25


def test_busy_is_a_share_of_the_window_and_use_one_of_what_the_catalogues_disks_can(made) -> None:
    node = next(n for n in cluster("odroid-hc4").nodes if n.role == "storage")
    hosts = tuple(replace(h, node=node.name) if h.role == "storage" else h for h in made.record().hosts)
    record = replace(made.record(cluster="odroid-hc4", scale=0.5), hosts=hosts)
    limits = disk_limits(Reading(record), ["storage-1", "storage-2"])
    assert limits is not None
    rates = [(disk.read_bytes_per_s.value, disk.write_bytes_per_s.value) for disk in node.disks]
    # of two hosts, for which a second of the wall is half a second
    assert limits == pytest.approx([2 * 0.5 * sum(of_each) for of_each in zip(*rates, strict=True)])
    series = [made.counter(h, "disk_busy", 0.25) for h in ("storage-1", "storage-2")]
    series += [made.counter(h, "disk_read", 0.0) for h in ("storage-1", "storage-2")]
    series += [made.counter(h, "disk_written", limits[1] / 4) for h in ("storage-1", "storage-2")]
    metrics = disk_use(Reading(record, series), 10.0, 20.0)
    assert metrics == pytest.approx({"disk_busy_storage_ratio": 0.25, "disk_use_storage_ratio": 0.5})
    assert disk_limits(Reading(made.record()), ["storage-1"]) is None


@pytest.mark.parametrize("node", ["", "no such node", "B"])
def test_disks_that_the_catalogue_does_not_have_leave_no_limit_for_the_bytes_of_all(made, node) -> None:
    """The bytes of both hosts over the rate of one's disks would be twice their use.

    The catalogue's B has no disks.
    """
    nodes = {"storage-1": "A", "storage-2": node}
    hosts = tuple(replace(h, node=nodes.get(h.name, h.node)) for h in made.record().hosts)
    record = replace(made.record(cluster="odroid-hc4"), hosts=hosts)
    series = [
        made.counter(h, quantity, 1e6)
        for h in nodes
        for quantity in ("disk_busy", "disk_read", "disk_written")
    ]
    assert disk_limits(Reading(record), ["storage-1"]) is not None
    assert disk_limits(Reading(record), ["storage-1", "storage-2"]) is None
    assert set(disk_use(Reading(record, series), 10.0, 20.0)) == {"disk_busy_storage_ratio"}


def test_servers_are_all_hosts_but_clients(made) -> None:
    series = [made.counter(h.name, "network_received", 10.0) for h in made.record().hosts]
    metrics = overhead(Reading(made.record(), series), 10.0, 20.0, 1000).metrics
    assert metrics["network_received_storage_ratio"] == pytest.approx(0.208)
    assert metrics["network_received_servers_ratio"] == pytest.approx(0.312)
    assert metrics["network_received_client_ratio"] == pytest.approx(0.208)


@pytest.mark.parametrize(("reset_w", "refused"), [(0.0, False), (1000.0, True)])
def test_a_counter_is_doubted_where_it_gives_no_metric(made, reset_w, refused) -> None:
    """What is doubted and counts nevertheless, as samples out of order, is not a finding of this table."""
    channel = made.channel("client-1", quantity="network_sent", semantics="counter")
    sent = made.series(
        channel, [9, 12, 11, 15, 18, 25], [0, 300, 200, 600 - reset_w, 900 - reset_w, 1600 - reset_w]
    )
    cost = overhead(Reading(made.record(moved=made.results((10.0, 20.0))), [sent]), 10.0, 20.0, 1000)
    assert ("network_sent_client_ratio" in cost.metrics, bool(cost.doubts)) == (not refused, refused)


def test_the_wait_for_quiet_is_a_duration_or_none() -> None:
    assert parse(CAMPAIGN.format(top="", repetitions=1)).quiet_s == 30
    assert parse(CAMPAIGN.format(top='quiet = "2 min"', repetitions=1)).quiet_s == 120
    assert parse(CAMPAIGN.format(top="quiet = 0", repetitions=1)).quiet_s == 0
    for wrong in ('"-1 s"', "5", "false", '"soon"'):
        with pytest.raises(CampaignError, match="quiet"):
            parse(CAMPAIGN.format(top=f"quiet = {wrong}", repetitions=1))
    header = campaign.schema()["properties"]
    assert isinstance(header, dict)
    assert "quiet" in header


def test_trials_of_a_file_system_run_in_one_deployment_whose_facts_the_report_shows_once(
    measured: Measured,
) -> None:
    assert (measured.events.count("deployed"), measured.events.count("kept")) == (2, 8)
    assert sorted(re.findall(r"Deployment of (\w+) \((\d) trials\)", measured.page)) == [
        ("fast", "4"),
        ("slow", "4"),
    ]


def test_the_report_draws_network_against_disk_and_names_the_best(measured: Measured) -> None:
    found = Content(measured.results)
    assert {(line.title, line.direction) for line in found.overheads} == {
        (name, direction) for name in ("fast", "slow") for direction in ("write", "read")
    }
    assert all(
        len(line.t_s) == len(line.network) == len(line.disk) == len(line.use_ratio)
        for line in found.overheads
    )
    assert '<figure id="overhead">' in measured.page
    assert "Best for each workload" in measured.page
    # Writes count until their write-back has ended, which takes a busy machine as long as the load itself.
    assert [finding.best for finding in found.winners if finding.direction == "read"] == ["fast"]


def test_show_names_the_best(measured: Measured) -> None:
    said = CliRunner().invoke(cli, ["show", str(measured.results.folder), "--winners"], standalone_mode=False)
    assert said.exit_code == 0, said.output
    # Two repetitions with hardly any scatter: how their variances compare decides whether that is
    # significant.
    assert re.search(
        r"read +2 +MiB/s +fast +\+100 %.* (significantly better than|not significantly different from) slow",
        said.output,
    )


def test_the_figure_has_a_panel_for_each_trial_with_the_pair_of_its_direction() -> None:
    lines = [Overhead("a", d, [0.5], 1.0, [3.0], [None], [0.5], "time") for d in ("read", "write")]
    spec = drawn(lines)
    text = json.dumps(spec)
    assert len(spec["concat"]) == 2
    assert all(name in text for name in ("network received", "disk written", "network sent", "disk read"))
    assert "NaN" not in text


def test_bytes_per_user_byte_stand_beside_what_redundancy_explains(made) -> None:
    metrics = {"disk_written_servers_ratio": 1.26, "derived_disk_written_servers_ratio": 1.25}
    point = point_of(made.trial(), "write", {"throughput_bytes_per_s": 1.0, "duration_s": 1.0, **metrics})
    laid = amplification_table(cells([made.record()], [point]))
    assert laid.rows[0][-3:] == ("1.26 (1.25)", "–", "–")
    assert (
        amplification_table(
            cells([made.record()], [point_of(made.trial(), "write", {"duration_s": 1.0})])
        ).rows
        == ()
    )


def test_bytes_that_hosts_sent_and_none_received_have_a_column(made) -> None:
    # SeaweedFS with two copies, four clients writing by half of the network: what a real trial gave
    counted = {
        "network_sent_client_ratio": 1.275,
        "network_received_client_ratio": 0.025,
        "network_received_servers_ratio": 2.072,
        "network_sent_servers_ratio": 1.219,
        "derived_network_sent_client_ratio": 1.0,
    }

    def lost(metrics: dict[str, float]) -> str:
        point = point_of(made.trial(), "write", {"throughput_bytes_per_s": 1.0, "duration_s": 1.0, **metrics})
        laid = amplification_table(cells([made.record()], [point]))
        return laid.rows[0][laid.headers.index("sent, not received")]

    assert lost(counted) == "0.40"  # 2.494 - 2.097
    del counted["network_received_client_ratio"]
    assert lost(counted) == "–"


def test_bytes_are_counted_from_the_idle_end_of_the_baseline_on_however_long_the_load_takes_to_start(made):
    record = made.record(moved=made.results((13.0, 20.0)))  # its baseline ends at 10 s
    assert window(record, 13.0, 20.0) == (9.6, 20.0)
    sent = made.series(
        made.channel("client-1", quantity="network_sent", semantics="counter"),
        [9, 10, 11, 25],
        [0, 0, 300, 1000],
    )
    cost = overhead(Reading(record, [sent]), 13.0, 20.0, 1000)
    assert cost.metrics["network_sent_client_ratio"] == pytest.approx((300 + 700 * 9 / 14) / 1000)


def reading(made, t_s, value, host="client-1", quantity: Quantity = "cpu"):
    return made.series(made.channel(host, quantity=quantity, semantics="counter"), t_s, value)


def test_cpu_time_is_that_of_the_window_in_which_bytes_moved(made) -> None:
    """Its programs start for 3 s before it and report for 2 s after it, at a whole core; the load takes a
    tenth of one.
    """
    record = made.record(moved=made.results((14.0, 20.0)), tail_s=10.0)
    t_s = [9.0, 11.0, 14.0, 20.0, 22.0, 30.0]
    cost = overhead(Reading(record, [reading(made, t_s, [0.0, 0.0, 3.0, 3.6, 5.6, 5.6])]), 14.0, 20.0, 1000)
    assert cost.metrics["cpu_client_s_per_byte"] == pytest.approx(0.6 / 1000)
    assert cost.metrics["cpu_client_uncertainty_s_per_byte"] == pytest.approx(0.0, abs=1e-12)
    assert cost.omitted == {}


def test_what_a_step_at_the_edge_counts_may_all_be_of_the_load_or_none_of_it(made) -> None:
    """0.8 s in the step that its begin cuts in the middle, 0.2 s in the one that its end cuts, 2 s between
    them.
    """
    record = made.record(moved=made.results((14.0, 20.0)))
    t_s, value = [9.0, 13.0, 15.0, 19.0, 21.0, 30.0], [0.0, 0.0, 0.8, 2.8, 3.0, 3.0]
    cost = overhead(Reading(record, [reading(made, t_s, value)]), 14.0, 20.0, 1000)
    assert cost.metrics["cpu_client_s_per_byte"] == pytest.approx(2.5 / 1000)
    assert cost.metrics["cpu_client_uncertainty_s_per_byte"] == pytest.approx(0.5 / 1000)
    # 0.2 s before it by an even pace, 0.6 s in it
    lopsided = overhead(Reading(record, [reading(made, t_s, value)]), 13.5, 20.0, 1000)
    assert lopsided.metrics["cpu_client_uncertainty_s_per_byte"] == pytest.approx(0.7 / 1000)


@pytest.mark.parametrize(("value", "known"), [([0.0, 0.4, 0.8], False), ([0.0, 0.002, 0.004], True)])
def test_cpu_time_is_omitted_where_readings_do_not_tell_it_from_what_is_beside_it(made, value, known) -> None:
    """All of it, unless it is next to nothing. Bytes have idle time beside them, and stay."""
    record = made.record(moved=made.results((12.0, 17.0)), tail_s=10.0)
    series = [
        reading(made, [9.0, 15.0, 30.0], value),
        reading(made, [9.0, 15.0, 30.0], value, quantity="network_sent"),
    ]
    cost = overhead(Reading(record, series), 12.0, 17.0, 1000)
    assert ("cpu_client_s_per_byte" in cost.metrics) == known
    assert [("client" in words) for words in cost.omitted.values()] == ([] if known else [True])
    assert "network_sent_client_ratio" in cost.metrics


@pytest.mark.parametrize(
    ("edge_s", "inside_s", "known"),
    [
        (1.00, 1.02, True),
        (1.02, 1.00, False),
        (0.0059, 0.0, True),  # a thousandth of a core for 6 s is next to nothing
        (0.0061, 0.0, False),
    ],
)
def test_half_of_the_cpu_time_may_be_of_what_is_beside_the_window(made, edge_s, inside_s, known) -> None:
    """Two edges in the middle of steps of `edge_s` each, of which half is in the window by an even pace."""
    record = made.record(moved=made.results((14.0, 20.0)))
    value = np.cumsum([0.0, 0.0, edge_s, inside_s, edge_s, 0.0])
    series = [reading(made, [9.0, 13.0, 15.0, 19.0, 21.0, 30.0], value)]
    cost = overhead(Reading(record, series), 14.0, 20.0, 1000)
    assert ("cpu_client_s_per_byte" in cost.metrics) == known
    if known:
        assert cost.metrics["cpu_client_s_per_byte"] == pytest.approx((edge_s + inside_s) / 1000)
        assert cost.metrics["cpu_client_uncertainty_s_per_byte"] == pytest.approx(edge_s / 1000)


def test_steady_rounds_are_not_charged_with_the_bytes_of_those_before_them(made) -> None:
    record = made.record(moved=made.results((14.0, 20.0)), tail_s=5.0)
    assert record.outcome is not None
    sent = reading(made, [9.0, 10.0, 20.0, 25.0], [0, 0, 1000, 1000], quantity="network_sent")
    part = replace(record, outcome=replace(record.outcome, sustained=True))
    assert overhead(Reading(part, [sent]), 14.0, 20.0, 600).metrics[
        "network_sent_client_ratio"
    ] == pytest.approx(1.0)
    assert overhead(Reading(record, [sent]), 14.0, 20.0, 600).metrics[
        "network_sent_client_ratio"
    ] == pytest.approx(1000 / 600)
