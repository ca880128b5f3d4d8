"""Growing with storage hosts: laws whose truth is known, and `servers` from a campaign to the report."""

import random
from pathlib import Path
from typing import Any

import pytest

from perjoule import campaign, drivers, report
from perjoule.catalogue import cluster, tpp_bytes_per_s
from perjoule.execution import runner
from perjoule.execution.notices import Notice
from perjoule.figures import rendering
from perjoule.model import Cell, Interval
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB
from perjoule.results.verification import verify
from perjoule.statistics.scaling import power_law, scalability_law, scaling
from perjoule.store import Results, create, open_results
from perjoule.summary import summary
from perjoule.views.content import Content
from perjoule.views.performance.scaling import laws_table, scaling_table

CAMPAIGN = """
name = "servers"
servers = [1, 2, 4, 8]
repetitions = 2
seed = 1
settle = "60 ms"
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
label = "grows"
throughput = "20 MiB/s"
serial = "10 %"
noise = "1 %"
[[workload]]
kind = "simulated"
operation = "read"
size = "1 MiB"
[[meter]]
kind = "simulated"
waveform = "constant"
high = "50 W"
rate = "100 Hz"
"""


def grown(
    law: Any, counts: tuple[int, ...], noise: float = 0.01, repetitions_count: int = 5
) -> dict[int, list[float]]:
    drawn = random.Random(1)
    return {n: [law(n) * (1 + drawn.gauss(0, noise)) for _ in range(repetitions_count)] for n in counts}


def cell(
    servers_count: int, values: list[float], metric: str = "throughput_bytes_per_s", **words: Any
) -> Cell:
    found = Interval(sum(values) / len(values), 0.0, 0.0, tuple(values))
    where: dict[str, Any] = {
        "filesystem": f"grows, {servers_count} servers",
        "workload": "fio",
        "direction": "write",
        "clients_count": 2,
    }
    return Cell(**{**where, **words}, metrics={metric: found}, servers_count=servers_count)


def holds(found: Interval, truth: float) -> bool:
    return found.low <= truth <= found.high and found.high - found.low < 0.2


# Laws


def test_the_exponent_of_a_power_law_lies_in_its_interval() -> None:
    law = power_law(grown(lambda n: 100 * n**0.7, (2, 4, 8)))
    assert holds(law.parameters["exponent"], 0.7)
    assert law.at(4) == pytest.approx(100 * 4**0.7, rel=0.02)


def test_the_intervals_of_a_law_hold_the_truth_as_often_as_they_say() -> None:
    drawn = random.Random(2)
    held_count = 0
    for _ in range(300):
        values = {n: [100 * n**0.7 * (1 + drawn.gauss(0, 0.02)) for _ in range(3)] for n in (2, 4, 8)}
        exponent = power_law(values).parameters["exponent"]
        held_count += exponent.low <= 0.7 <= exponent.high
    assert held_count / 300 == pytest.approx(0.95, abs=0.04)


def test_amdahls_serial_share_is_found_without_crosstalk() -> None:
    law = scalability_law(grown(lambda n: 100 * n / (1 + 0.1 * (n - 1)), (1, 2, 4, 8)))
    assert law.kind == "Amdahl"
    assert holds(law.parameters["serial"], 0.1)
    assert law.at(8) == pytest.approx(100 * 8 / 1.7, rel=0.02)


def test_crosstalk_is_found_where_there_is_some() -> None:
    law = scalability_law(
        grown(lambda n: 100 * n / (1 + 0.05 * (n - 1) + 0.02 * n * (n - 1)), (1, 2, 4, 8, 16))
    )
    assert law.kind == "USL"
    assert holds(law.parameters["serial"], 0.05)
    assert holds(law.parameters["crosstalk"], 0.02)
    assert law.at(16) < law.at(8)  # it grows backwards


def test_values_without_any_scatter_have_no_crosstalk_of_rounding_and_their_bend_is_seen() -> None:
    values = grown(lambda n: 100 * n / (1 + 0.05 * (n - 1)), (1, 2, 4, 8), noise=0)
    assert scalability_law(values).kind == "Amdahl"
    (found,) = scaling([cell(n, own) for n, own in values.items()])
    assert len(found.doubts) == 1
    (straight,) = scaling(
        [cell(n, own) for n, own in grown(lambda n: 100 * n, (1, 2, 4, 8), noise=0).items()]
    )
    assert straight.doubts == ()


@pytest.mark.parametrize("counts", [(2, 4), (2, 4, 8)])
def test_too_few_numbers_of_hosts_are_refused_with_the_reason(counts: tuple[int, ...]) -> None:
    (found,) = scaling([cell(n, values) for n, values in grown(lambda n: 100 * n, counts).items()])
    reasons = (
        [f"no power law: {len(counts)} numbers of storage hosts, but it needs 3"] if len(counts) < 3 else []
    )
    assert found.refused == (
        *reasons,
        f"no scalability law: {len(counts)} numbers of storage hosts, but it needs 4",
    )
    assert len(found.laws) == len(counts) - 2


def test_values_that_follow_no_one_exponent_are_doubted() -> None:
    (bent,) = scaling(
        [cell(n, values) for n, values in grown(lambda n: min(n, 4) * 100, (1, 2, 4, 8)).items()]
    )
    (straight,) = scaling(
        [cell(n, values) for n, values in grown(lambda n: 100 * n**0.8, (1, 2, 4, 8)).items()]
    )
    assert len(bent.doubts) == 1
    assert straight.doubts == ()


def test_throughput_is_ideal_in_proportion_and_work_per_joule_when_it_stays() -> None:
    (rate,) = scaling([cell(2, [100.0, 100.0]), cell(4, [150.0, 150.0])])
    assert rate.ideal(4) == 200
    assert rate.of_ideal[4].mean == pytest.approx(0.75)
    (work,) = scaling([cell(n, [v, v], "efficiency_bytes_per_j") for n, v in ((2, 10.0), (4, 9.0))])
    assert work.ideal(4) == 10
    assert work.of_ideal[4].mean == pytest.approx(0.9)


def test_only_what_differs_in_nothing_but_its_servers_is_joined() -> None:
    others = [
        cell(4, [1.0], clients_count=1),
        cell(4, [1.0], workload="ior"),
        cell(4, [1.0], filesystem="other, 4 servers"),
    ]
    assert scaling([cell(2, [1.0]), *others]) == ()


# In a campaign


def labels(text: str) -> set[str]:
    return {trial.filesystem.label for trial in campaign.parse(text).trials}


def test_servers_span_the_matrix_with_short_labels() -> None:
    assert labels(CAMPAIGN) == {"grows, 1 server", "grows, 2 servers", "grows, 4 servers", "grows, 8 servers"}
    assert labels(CAMPAIGN.replace("[1, 2, 4, 8]", "4")) == {"grows"}
    below = CAMPAIGN.replace("servers = [1, 2, 4, 8]\n", "").replace(
        "[testbed]", "[testbed]\nservers = [2, 4]"
    )
    assert labels(below) == {"grows, 2 servers", "grows, 4 servers"}
    both = CAMPAIGN.replace("[1, 2, 4, 8]", "[2, 4]").replace("[testbed]", '[testbed]\ncpu = ["1 %", "2 %"]')
    assert "grows on simulated servers 2 cpu 1 %" in labels(both)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '[testbed]\nkind = "simulated"',
            '[testbed]\nkind = "local"',
            "line 3: testbed local has a fixed set of storage hosts",
        ),
        ("[testbed]", "[testbed]\nservers = 3", "line 8: servers is set twice; remove it here"),
        ("[1, 2, 4, 8]", "[2, 2]", "line 3: servers has 2 twice"),
        ("[1, 2, 4, 8]", "[2, 0]", "line 3: servers (number 2) = 0 is out of range; it must be at least 1"),
        ("[1, 2, 4, 8]", '"four"', 'line 3: servers = "four" is not a whole number'),
    ],
)
def test_servers_that_can_t_be_are_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(CampaignError) as told:
        campaign.parse(CAMPAIGN.replace(old, new, 1))
    assert str(told.value).startswith(f"campaign {said}")


def test_a_campaign_on_virtual_hosts_is_simulated_with_as_many_servers() -> None:
    text = CAMPAIGN.replace('[testbed]\nkind = "simulated"', '[testbed]\nkind = "virtual"')
    asked = campaign.parse(text, overrides=["simulate=true"])
    assert {trial.testbed.options["servers"] for trial in asked.trials} == {1, 2, 4, 8}


# The whole pipeline


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The campaign above, interrupted once."""
    wanted = campaign.parse(CAMPAIGN)
    folder = tmp_path_factory.mktemp("servers") / "results"
    results = create(folder, wanted.text, wanted.name)

    def interrupt(notice: Notice) -> None:
        if notice.kind == "kept":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(wanted, results, interrupt)
    runner.run(wanted, results, lambda notice: None)
    return open_results(folder)


def test_each_trial_has_the_servers_that_it_requested(measured: Results) -> None:
    records = measured.latest()
    assert [record.status for record in records] == ["valid"] * 8
    for record in records:
        assert sum(host.role == "storage" for host in record.hosts) == record.trial.testbed.options["servers"]
    cells = summary(measured).cells
    assert sorted(c.servers_count for c in cells) == [1, 2, 4, 8]


def test_the_peak_is_that_of_the_servers_there_are(measured: Results) -> None:
    # storage hosts of that cluster, as fast as its clients
    node_bytes_per_s = tpp_bytes_per_s(cluster("odroid-hc4")) / 4
    for one in summary(measured).cells:
        share = one.metrics["throughput_bytes_per_s"].mean / (
            node_bytes_per_s * min(one.servers_count, one.clients_count)
        )
        assert one.metrics["tpp_ratio"].mean == pytest.approx(share)


def test_the_law_of_the_simulated_file_system_is_found(measured: Results) -> None:
    found = {one.metric: one for one in scaling(summary(measured).cells)}
    rate = found["throughput_bytes_per_s"]
    assert (rate.filesystem, list(rate.values)) == ("grows", [1, 2, 4, 8])
    assert rate.of_ideal[8].mean == pytest.approx(1 / 1.7, rel=0.05)
    law = rate.laws[-1]
    assert law.kind == "Amdahl"
    assert holds(law.parameters["serial"], 0.1)
    assert rate.values[1].mean == pytest.approx(20 * MIB, rel=0.03)


def test_the_report_has_tables_and_a_figure_of_growth_and_verifies(
    measured: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "javascript", str)  # what draws in a browser takes seconds to gather
    page = report.write(measured, tmp_path / "report.html").read_text()
    assert "Scaling with storage hosts" in page
    found = Content(measured).scaling
    values, laws = scaling_table(found), laws_table(found)
    assert [row[4] for row in values.rows if row[6] == "MiB/s"] == ["1", "2", "4", "8"]
    assert any(row[5].startswith("Amdahl: serial share") for row in laws.rows)
    assert verify(measured).differences == ()
    assert "storage hosts" in rendering.svg(dict(report.drawings(Content(measured)))["scaling"])


def test_a_layout_that_is_impossible_on_few_servers_fails_there_alone(tmp_path: Path) -> None:
    text = CAMPAIGN.replace("[1, 2, 4, 8]", "[2, 4]").replace("repetitions = 2", "repetitions = 1")
    wanted = campaign.parse(text.replace("noise", "least_servers = 3\nnoise"))
    results = create(tmp_path / "results", wanted.text, wanted.name)
    with pytest.raises(CampaignError, match="needs 3 storage hosts"):
        runner.run(wanted, results, lambda notice: None)
    assert {record.trial.filesystem.label: record.status for record in results.records()} == {
        "grows, 2 servers": "failed",
        "grows, 4 servers": "valid",
    }
    assert scaling(summary(results).cells) == ()


@pytest.mark.parametrize("kind", ["simulated", "virtual"])
def test_testbeds_that_can_have_more_servers_take_them_as_an_option(kind: str) -> None:
    assert vars(drivers.build("testbeds", kind, {"servers": 3}))["servers_count"] == 3
