"""How a cluster is wired to its meters, from simulated instruments to joules: held against the watts that each
instrument was told to show, times the window, which nothing of perjoule's energy computes.
"""

from math import hypot, sqrt
from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.cli.meters._printing import table_text
from perjoule.energy.choosing import ChosenChannels
from perjoule.execution import runner
from perjoule.measures.points import points
from perjoule.model import Json, Point, Record
from perjoule.model.waveform import Waveform
from perjoule.simulators import plugwise, scpi, snmp_pdu
from perjoule.simulators._behaviour import Behaviour
from perjoule.store import create, open_results
from readings import over

CAMPAIGN = """
name = "wiring"
seed = 1
repetitions = 1
settle = "100 ms"
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = "20 MiB/s"
[[workload]]
kind = "simulated"
size = "60 MiB"
"""
NUMBER = '\n[[meter]]\nkind = "constant"\npower = "15.46 W"\nuncertainty = "1.13 W"\n'
EVERYTHING: list[Json] = ["servers", "switch"]


def steady(watts: float) -> Behaviour:
    return Behaviour(Waveform("constant", watts, watts))


def measured(folder: Path, meters: str) -> tuple[Record, Point, ChosenChannels]:
    """Run the campaign with these meters; return its only trial, that one's numbers and the chosen channels."""
    asked = campaign.parse(CAMPAIGN + meters)
    runner.run(asked, create(folder, asked.text, asked.name, asked.overrides), lambda event: None)
    results = open_results(folder)
    (record,) = results.records()
    series = results.series(record)
    assert record.outcome
    (loaded,) = record.outcome.results
    (point,) = points(record, series)
    return record, point, over(record, series, loaded.began_s, loaded.ended_s).metering.servers


def test_the_energy_of_two_circles_on_one_stick_is_the_sum_of_what_both_feed(tmp_path):
    """The Cubieboards' wiring, 50.4 W of boards and 120.4 W of disks: 170.8 W."""
    boards, disks = plugwise.CIRCLES
    with plugwise.serve(steady(50.4), others={disks: steady(120.4)}) as table:
        wired = {
            **table,
            "circles": {boards: "servers/board", disks: "servers/disks"},
            "rate": "20 Hz",
            "window": "1 s",
        }
        _, point, chosen = measured(tmp_path, table_text(wired))
    assert point.metrics["mean_w"] == pytest.approx(170.8, abs=2 * 2.1325)  # a step of each
    assert point.metrics["device_mean_w"] == pytest.approx(120.4, abs=2.1325)
    assert point.metrics["energy_j"] == pytest.approx(170.8 * point.metrics["duration_s"], rel=0.025)
    assert chosen.grade == "wall"


@pytest.mark.parametrize(("kind", "grade", "step_w"), [(scpi, "wall", 0.0), (snmp_pdu, "PDU", 1.0)])
def test_one_analyser_of_everything_and_a_number_give_the_energy_of_the_servers(
    tmp_path, kind, grade, step_w
):
    with kind.serve(steady(170.0)) as table:
        record, point, chosen = measured(
            tmp_path, table_text({**table, "rate": "20 Hz", "covers": EVERYTHING}) + NUMBER
        )
    net, duration_s = point.metrics, point.metrics["duration_s"]
    assert net["energy_j"] == pytest.approx((170.0 - 15.46) * duration_s)
    assert net["gross_energy_j"] == pytest.approx(170.0 * duration_s)
    assert net["part_network_j"] == pytest.approx(15.46 * duration_s)
    # the number's own term, and the step on which steady power stands in all repetitions; the analyser has others
    shared_w = 1.959964 * hypot(1.13, step_w / sqrt(12))
    assert net["energy_shared_uncertainty_j"] == pytest.approx(shared_w * duration_s, abs=0.03)
    assert chosen.grade == grade
    assert (
        "constant: 15.46 ± 1.13 W of the switch are a number, and were not measured in this trial"
        in record.doubts
    )
