import json
import re
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from measured import changed
from perjoule import campaign, report, store
from perjoule.campaign import own_options
from perjoule.campaign.making import replication
from perjoule.execution import runner
from perjoule.model import Doubt, Json, Spec
from perjoule.report.methods import metered_hosts, methods
from perjoule.report.page import ReportPage
from perjoule.results.claims import claims_lines
from perjoule.summary import summary
from perjoule.summary.metered import MeteredTrial
from perjoule.views import drawings
from perjoule.views.content import Content


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> store.Results:
    text = replication.written(*replication.reproductions("green-storage"), repetitions=2, simulate=True)
    overrides = ["clients=1", "settle=5 ms", "seed=7", "shrink=100000", "workload.operation=write"]
    asked = campaign.parse(text, overrides=overrides)
    found = store.create(
        tmp_path_factory.mktemp("many") / "a <study>", asked.text, asked.name, asked.overrides
    )
    runner.run(asked, found, lambda event: None)
    return found


@pytest.fixture(scope="module")
def said(results: store.Results) -> str:
    return "\n".join(methods(Content(results)))


def test_the_methods_say_what_was_run_on_what_how_often_and_how_power_was_got(said: str) -> None:
    pretended = r"\(simulated, throughput \d+ MiB/s, noise 3 %, seed [\w ]+(?:, (?:copies|code) [\w+]+)?\)"
    names = re.findall(rf"(\w[\w ]*?) {pretended}", said.partition("We compared ")[2])
    assert [name.removeprefix("and ") for name in names] == ["CephFS", "GlusterFS", "MooseFS", "Reference 2"]
    assert "nothing real was measured" in said
    assert "1 client ran the load at a time" in said
    assert "Each of 4 combinations was measured 2 times, 8 trials in all." in said
    assert "in random order within each repetition (seed 7)" in said
    assert "Meters ran 5 ms before and after" in said
    assert "95 % intervals by Student's t" in said
    assert "The repeated study is T. L. Erxleben" in said
    assert "measured at the mains" not in said


def test_one_trial_is_reported_as_one(results: store.Results) -> None:
    found = Content(results)
    cell = replace(found.cells[0], doubts=(Doubt("the moon was full"),), omitted=())
    said = "\n".join(methods(changed(found, records=found.records[:1], cells=(cell,))))
    assert "The only combination was measured once, 1 trial in all." in said
    assert "Limitations: the moon was full." in said
    ends = re.search(r"this energy is (\S+ %)( to (\S+ %))? in a trial, from an", said)
    assert ends and ends[1] != ends[3]


def test_the_methods_and_the_table_say_whose_energy_it_is(results: store.Results) -> None:
    records = results.latest()
    on_clients = tuple(replace(record, data_hosts=("client-1",)) for record in records)
    of_servers, of_clients = (
        "the servers, without switch and clients",
        "the clients that ran the load and held",
    )
    for told, axis, those in (
        (of_servers, "servers without switch", records),
        (of_clients, "clients with the data", on_clients),
    ):
        found = changed(Content(results), records=those)
        assert f"Energy is that of {told}" in "\n".join(methods(found))
        assert ReportPage(found, "").metered_hosts.startswith(told)
        figures = dict(drawings(found))
        shown = {name: json.dumps(figures[name]) for name in ("efficiency", "power")}
        assert [f"MiB/J, {axis}" in shown["efficiency"], f"W, {axis}" in shown["power"]] == [True, True]
    both = changed(Content(results), records=(*records, on_clients[0]))
    assert metered_hosts(both) == f"{of_servers}; where clients held the data, of these"
    assert both.power_axis == "servers without switch or clients with the data"


def test_no_uncertainty_is_stated_of_a_meter_that_states_no_accuracy(results: store.Results) -> None:
    found = Content(results)

    def unstated(trial: MeteredTrial) -> MeteredTrial:
        energies = {way: replace(energy, unstated=("net",)) for way, energy in trial.energies.items()}
        return replace(trial, energies=energies)

    first, *others = found.metered
    said = "\n".join(methods(changed(found, metered=tuple(map(unstated, found.metered)))))
    assert "expanded uncertainty" not in said
    assert "No accuracy of the meter is stated, so the uncertainty of this energy is unknown." in said
    said = "\n".join(methods(changed(found, metered=(unstated(first), *others))))
    assert "The expanded uncertainty" in said
    assert "so the uncertainty of 1 of 8 energies is unknown" in said


def test_the_methods_say_what_memory_and_network_emulated_hosts_had(results: store.Results) -> None:
    found = Content(results)
    facts = {
        "memory_cap_bytes": {"client-1": 8 << 30, "storage-1": 4 << 30},
        "network_delay_s": 1e-4,
        "network_loss_ratio": 0.01,
    }

    def said_of(testbed: Mapping[str, Json]) -> str:
        emulated = [
            replace(one, traits=replace(one.traits, reality="emulated"), facts={"testbed": testbed})
            for one in found.records
        ]
        return "\n".join(methods(changed(found, records=tuple(emulated))))

    assert "the cluster is emulated. Each had 4 GiB or 8 GiB of memory, its page cache included." in said_of(
        facts
    )
    assert "The network added 0.1 ms in each direction and lost 0.01 of all packets." in said_of(facts)
    bare = said_of({"memory_cap": "none: not requested"})
    assert "of memory, its page cache" not in bare
    assert "The network added" not in bare


def test_the_methods_say_which_settings_were_changed_from_the_file_systems_own_and_why(
    results: store.Results,
) -> None:
    found = Content(results)
    settings: dict[str, Json] = {
        "emulation": {"osd_memory_target": "896M", "osd_op_num_shards": "2"},
        "comparability": {"noatime": "set", "mgr_initial_modules": ""},
    }
    facts: dict[str, dict[str, Json]] = {
        "CephFS": {"changed": settings},
        "GlusterFS": {"changed": {}},
        "MooseFS": {},
        "Reference 2": {},
    }
    records = [replace(one, facts={"filesystem": facts[one.trial.filesystem.label]}) for one in found.records]
    said = "\n".join(methods(changed(found, records=tuple(records))))
    assert (
        "Settings of CephFS that were changed from the file system's own: osd_memory_target 896M, "
        "osd_op_num_shards 2 "
        "(to fit emulated hosts on one machine); noatime set, mgr_initial_modules none (for trials that "
        "differ in nothing else)." in said
    )
    assert said.count("changed from the file system's own") == 1


def test_the_methods_are_the_same_each_time(results: store.Results, said: str) -> None:
    assert "\n".join(methods(Content(store.open_results(results.folder)))) == said


def test_the_methods_of_a_campaign_that_is_not_read_leave_out_what_only_it_says(
    results: store.Results,
) -> None:
    found = Content(results)
    said = "\n".join(methods(changed(found, campaign=None)))
    assert "this release of perjoule doesn't read it" in said
    for word in ("random order", "Meters ran", "we waited up to", "seed 7"):
        assert word in "\n".join(methods(found))
        assert word not in said


def test_the_methods_name_every_option_that_is_not_its_drivers_default(results: store.Results) -> None:
    found = Content(results)
    # trash is the default
    options: dict[str, Json] = {"goal": 3, "trash": "0 s", "beneath": {"kind": "xfs", "block": "4 KiB"}}
    trials = [replace(one.trial, filesystem=Spec("moosefs", options, "MooseFS")) for one in found.records]
    records = [replace(one, trial=trial) for one, trial in zip(found.records, trials, strict=True)]
    said = "\n".join(methods(changed(found, records=tuple(records))))
    assert "We measured MooseFS (simulated, goal 3, beneath xfs block 4 KiB)." in said


def test_the_methods_name_all_options_of_a_driver_that_no_longer_takes_them(results: store.Results) -> None:
    assert own_options("filesystem", Spec("moosefs", {"goal": 1, "gone": True})) == {"goal": 1, "gone": True}
    assert own_options("filesystem", Spec("gone", {"goal": 1})) == {"goal": 1}


def test_what_is_omitted_is_distinguished_from_what_is_doubted_by_where_it_stands(
    results: store.Results,
) -> None:
    found = Content(results)
    cell = replace(
        found.cells[0], doubts=(Doubt("the moon was left out"),), omitted=("energy of the clients: no meter",)
    )
    said = "\n".join(methods(changed(found, records=found.records[:1], cells=(cell,))))
    assert "Numbers left out: energy of the clients: no meter. Limitations: the moon was left out." in said


def test_the_report_of_a_study_repeated_has_its_claims(results: store.Results) -> None:
    page = unescape(report.write(results, results.folder / "report.html").read_text())
    assert "The paper's claims" in page
    assert "Methods" in page
    assert next(claims_lines("green-storage", results.latest(), summary(results).cells)).startswith(
        "Of 38 claims"
    )


def test_an_index_leads_to_every_report(results: store.Results, tmp_path: Path) -> None:
    target = report.write_index([results], results.folder.parent / "index.html")
    page = target.read_text()
    assert 'href="a%20%3Cstudy%3E/report.html"' in page
    assert "a &lt;study&gt;" in page
    assert (results.folder / "report.html").exists()
    assert "<td>8</td>\n<td>0</td>" in page
    assert ">simulated, " in page
