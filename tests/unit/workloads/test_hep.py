"""The muon analysis: its data are reproducible, its peaks are where they were put, its places are chosen
as configured.
"""

import importlib.metadata
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perjoule import drivers
from perjoule.drivers.protocols import Host, Workload
from perjoule.energy.hosts import loaded_servers
from perjoule.figures import rendering
from perjoule.machine.installing import installs
from perjoule.measures.points import points
from perjoule.model import Amplification, Cell, ClientResult, Flow, Json, Outcome
from perjoule.model.errors import UnexpectedOutput, WorkloadError
from perjoule.model.metrics import METRICS
from perjoule.statistics.intervals import interval
from perjoule.views.performance import muons
from perjoule.views.performance.muons import dimuon
from perjoule.workloads import hep
from perjoule.workloads._muons import analysis as muon_analysis
from perjoule.workloads._muons import data
from perjoule.workloads._muons import fit as muon_fit
from perjoule.workloads.hep import report
from places import TRANSCRIPTS
from scripted import ScriptedHost, ScriptedMount

INSTALL = f" ({installs('perjoule[hep]')})"
RECORDED = TRANSCRIPTS / "hep" / "local"  # 16 files on MooseFS with four chunk servers


def analysis(**options: Json) -> Workload:
    made = drivers.build("workloads", "hep", options)
    assert isinstance(made, Workload)
    return made


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A raw folder of a real run, to be damaged."""
    return shutil.copytree(RECORDED, tmp_path / "raw")


def changed(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    """What the analysis counts in 150 000 events."""
    awkward = pytest.importorskip("awkward", reason="awkward is missing" + INSTALL)
    per_event, columns = data.muons(seed=7, number=0, cluster=0, events_count=150_000)
    events = awkward.Array(
        {f"Muon_{name}": awkward.unflatten(column, per_event) for name, column in columns.items()}
    )
    return muon_analysis.counted(events)


def edges_gev() -> np.ndarray:
    return np.geomspace(muon_analysis.LOW_GEV, muon_analysis.HIGH_GEV, muon_analysis.BINS_COUNT + 1)


@pytest.mark.heavy
def test_a_file_is_as_large_as_a_plan_believes(tmp_path: Path) -> None:
    pytest.importorskip("uproot", reason="uproot is missing" + INSTALL)
    data.write(tmp_path / "muons.root", 5, 0, 20_000, 1, "none")
    assert (tmp_path / "muons.root").stat().st_size / 20_000 == pytest.approx(data.EVENT_BYTES, rel=0.03)


def test_events_are_jagged() -> None:
    per_event, columns = data.muons(seed=3, number=0, cluster=0, events_count=20_000)
    assert set(per_event) >= {0, 1, 2, 3, 4}
    assert columns["pt"].min() >= 2
    assert set(columns["charge"]) == {-1, 1}
    last = np.cumsum(per_event)[per_event > 0][:-1]
    assert (np.delete(np.diff(columns["pt"]), last - 1) <= 0).all()  # falling within each event


def test_the_same_seed_gives_the_same_bytes_and_another_number_others(tmp_path: Path) -> None:
    pytest.importorskip("uproot", reason="uproot is missing" + INSTALL)
    written: list[bytes] = []
    for folder, number in (("a", 0), ("b", 0), ("c", 1)):
        path = tmp_path / folder / "muons.root"
        path.parent.mkdir()
        data.write(path, 5, number, 300, 1, "zlib")
        written.append(path.read_bytes())
    assert written[0] == written[1] != written[2]
    assert written[0].startswith(b"root")


@pytest.mark.parametrize("compression", data.COMPRESSIONS)
def test_what_is_written_in_parts_is_a_tree_that_is_read_again(
    tmp_path: Path, compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "EVENTS_AT_ONCE", 300)
    uproot = pytest.importorskip("uproot", reason="uproot is missing" + INSTALL)
    path = tmp_path / "muons.root"
    data.write(path, 5, 0, 400, 1, compression)
    parts = [data.muons(5, 0, part, count) for part, count in ((0, 300), (1, 100))]
    per_event = np.concatenate([counts for counts, _ in parts])
    columns = {name: np.concatenate([found[name] for _, found in parts]) for name in data.COLUMNS}
    with uproot.open({str(path): data.TREE}) as tree:
        assert tree.classname == "TTree"
        assert (tree["nMuon"].array(library="np") == per_event).all()
        for name, column in columns.items():
            assert (np.concatenate(tree[f"Muon_{name}"].array(library="np")) == column).all()


@pytest.mark.parametrize(("events_count", "parts_count"), [(1000, 1), (1000, 3), (2, 4), (1_600_000, 3)])
def test_parts_of_a_file_are_all_of_its_events_once(events_count: int, parts_count: int) -> None:
    parts = [data.part_of(events_count, part, parts_count) for part in range(parts_count)]
    assert [first for first, _ in parts] == [0, *[end for _, end in parts[:-1]]]
    assert parts[-1][1] == events_count
    ends = np.cumsum(data.clusters(events_count, parts_count))
    assert {end for first, end in parts if end > first} <= set(ends.tolist())
    assert max(data.clusters(events_count, parts_count)) <= data.EVENTS_AT_ONCE


@pytest.mark.heavy
def test_tasks_that_share_a_file_count_what_one_task_does_and_read_hardly_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in hep.LIBRARIES:
        pytest.importorskip(name, reason=name + " is missing" + INSTALL)
    data.write(tmp_path / "muons.root", 5, 0, 20_000, 4, "zlib")
    monkeypatch.setattr("distributed.get_worker", lambda: SimpleNamespace(address="here"))
    whole, *parts = (
        muon_analysis.analyse({"here": ("storage-1", str(tmp_path))}, "muons.root", part, count)
        for part, count in ((0, 1), (0, 4), (1, 4), (2, 4), (3, 4))
    )
    assert np.array_equal(np.sum([part["counts"] for part in parts], axis=0), whole["counts"])
    assert [part["task"]["events"] for part in parts] == [5000] * 4
    read_bytes = sum(part["task"]["bytes"] for part in parts)
    assert read_bytes < 1.1 * whole["task"]["bytes"]


def test_a_pair_decays_to_muons_of_its_mass() -> None:
    vector = pytest.importorskip("vector", reason="vector is missing" + INSTALL)
    mass = np.array([3.0969, 91.1876, 1.0, 200.0])
    legs = data.pairs(np.random.default_rng(1), mass)
    one, two = (
        vector.array({"pt": pt, "eta": eta, "phi": phi, "mass": np.full(len(pt), data.MUON_GEV)})
        for pt, eta, phi in legs
    )
    assert (one + two).mass == pytest.approx(mass, rel=1e-9)


@pytest.mark.parametrize(("name", "width_gev"), [("z", data.Z.width_gev), ("jpsi", data.JPSI.resolution_gev)])
def test_a_peak_is_found_where_it_was_put_within_three_errors(
    counts: np.ndarray, name: str, width_gev: float
) -> None:
    found = muon_fit.fit(name, edges_gev(), counts)
    assert abs(found.mass_gev - muon_fit.PEAKS[name].mass_gev) < 3 * found.mass_error_gev
    assert abs(found.width_gev - width_gev) < 3 * found.width_error_gev
    assert found.mass_error_gev < 0.1 * width_gev


def test_a_fit_knows_its_errors() -> None:
    """Of many data sets drawn from the fitted curve itself, the estimates scatter as widely as the errors
    say.
    """
    rng, edges = np.random.default_rng(2), edges_gev()
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    expected = muon_fit.density("jpsi", middles, 2000.0, 3.0969, 0.031, 1500.0, -1.0, 0.0) * widths
    expected[(middles < 2) | (middles > 5)] = 0
    fits = [muon_fit.fit("jpsi", edges, rng.poisson(expected)) for _ in range(40)]
    pulls = np.array([(fit.mass_gev - 3.0969) / fit.mass_error_gev for fit in fits])
    assert abs(pulls.mean()) < 0.5
    assert 0.7 < pulls.std() < 1.4


def test_too_little_to_fit_is_reported(counts: np.ndarray) -> None:
    with pytest.raises(ValueError, match="pairs are too few"):
        muon_fit.fit("z", edges_gev(), counts // 100)


HOLDERS = {f"f{n}": ["s1", "s2"] if n % 2 else ["s3"] for n in range(8)} | {"elsewhere": ["s9"]}


def placed(holders: dict[str, list[str]], **options: Json) -> dict[tuple[str, int], list[str]]:
    made = analysis(**options)
    assert isinstance(made, hep.Hep)
    return made.placed(holders, ["s1", "s2", "s3"])


def test_with_locality_a_task_goes_to_those_that_hold_its_file_alone() -> None:
    places = placed(HOLDERS)
    assert all(places[file, 0] == holders for file, holders in HOLDERS.items() if file != "elsewhere")
    assert len(places["elsewhere", 0]) == 1
    assert list(places) == [(file, 0) for file in sorted(HOLDERS)]


def test_without_locality_files_go_in_turns_whoever_holds_them() -> None:
    places = placed(HOLDERS, locality=False)
    assert places == placed({file: ["s1"] for file in HOLDERS}, locality=False)
    assert sorted(name for (name,) in places.values()) == ["s1"] * 3 + ["s2"] * 3 + ["s3"] * 3


@pytest.mark.parametrize("locality", [True, False])
def test_tasks_smaller_than_a_file_give_work_to_all_who_may_do_it(locality: bool) -> None:
    places = placed({"one": ["s2"], "two": ["s1", "s3"]}, locality=locality, tasks_per_file=3)
    assert list(places) == [(file, part) for file in ("one", "two") for part in range(3)]
    if locality:
        assert list(places.values()) == [["s2"]] * 3 + [["s1", "s3"]] * 3
    else:
        assert sorted(name for (name,) in places.values()) == ["s1", "s1", "s2", "s2", "s3", "s3"]


def test_a_recorded_run_tells_who_read_what_and_the_physics() -> None:
    outcome = analysis().outcome(RECORDED)
    assert "distributed 2026.8.0" in outcome.engine
    assert [(r.host, r.direction, r.operations_count) for r in outcome.results] == [
        (f"storage-{n}", "read", 4) for n in (1, 2, 3, 4)
    ]
    assert sum(r.moved_bytes for r in outcome.results) == 35_993_355
    assert all(
        float((s.value * s.duration_s).sum()) == pytest.approx(r.moved_bytes)
        for s, r in zip(outcome.series, outcome.results, strict=True)
    )
    assert outcome.doubts == ()
    assert outcome.measured["events_count"] == 2_033_600
    assert outcome.measured.keys() <= METRICS.keys()
    assert outcome.measured["locality_ratio"] == 1.0
    assert outcome.measured["network_locality_ratio"] == pytest.approx(0.9986, abs=1e-4)
    for name, peak in muon_fit.PEAKS.items():
        pull = (outcome.measured[f"{name}_mass_ev"] - peak.mass_gev * 1e9) / outcome.measured[
            f"{name}_mass_error_ev"
        ]
        assert abs(pull) < 3


def test_bytes_that_came_over_the_network_nevertheless_are_a_doubt(raw: Path) -> None:
    changed(raw / "run.json", received_bytes={f"storage-{n}": 4_000_000 for n in (1, 2, 3, 4)})
    outcome = analysis().outcome(raw)
    assert outcome.measured["network_locality_ratio"] == pytest.approx(1 - 16 / 35.993355)
    assert outcome.doubts == (
        "100 % of the bytes were read on hosts that hold their files, but only 56 % not over the network",
    )


def test_clocks_that_were_set_during_the_run_are_doubts(raw: Path) -> None:
    older = json.loads((raw / "run.json").read_text())
    ahead_s = {f"storage-{n}": 0.25 * n for n in (1, 2, 3, 4)}
    changed(raw / "run.json", ahead_s=ahead_s)
    steady = analysis().outcome(raw)
    first, last = older["clocks"]
    said = {
        "clients": [*ahead_s],
        "clocks": [first, {**last, "utc_s": last["utc_s"] - 3.0}],
        "ahead_s": {name: [s, s - (name == "storage-2")] for name, s in ahead_s.items()},
    }
    (raw / "run.json").write_text(json.dumps(said))
    (raw / "received.json").write_text(json.dumps(older["received_bytes"]))
    outcome = analysis().outcome(raw)
    assert (steady.doubts, outcome.results, outcome.measured) == ((), steady.results, steady.measured)
    assert outcome.doubts == (
        "the clock of storage-2 was set by -1 s during the run: its times are uncertain by as much",
        "the clock was set by +3 s during the run: starts and ends are uncertain by as much",
    )


def test_hosts_that_do_not_count_bytes_have_no_locality_by_network(raw: Path) -> None:
    changed(raw / "run.json", received_bytes={"storage-1": 4})
    measured = analysis().outcome(raw).measured
    assert "network_locality_ratio" not in measured
    assert measured["locality_ratio"] == 1.0


def test_files_whose_place_is_not_known_have_no_locality_by_placement(raw: Path) -> None:
    holders = json.loads((raw / "prepared.json").read_text())["holders"]
    changed(raw / "prepared.json", holders={file: [] for file in holders})
    outcome = analysis().outcome(raw)
    assert "locality_ratio" not in outcome.measured
    assert outcome.measured["network_locality_ratio"] == pytest.approx(0.9986, abs=1e-4)
    assert outcome.doubts == ()


def test_a_peak_that_lies_elsewhere_is_a_doubt(raw: Path) -> None:
    counts = json.loads((raw / "histogram.json").read_text())["counts"]
    changed(raw / "histogram.json", counts=[0, 0, *counts[:-2]])
    doubts = analysis().outcome(raw).doubts
    assert any(
        "the peak jpsi lies +" in doubt and "standard errors from its true mass" in doubt for doubt in doubts
    )


@pytest.mark.parametrize("name", ["tasks.jsonl", "histogram.json", "prepared.json", "run.json"])
def test_a_raw_folder_without_a_file_or_with_half_of_one_is_refused(raw: Path, name: str) -> None:
    whole = (raw / name).read_text()
    (raw / name).write_text(whole[: len(whole) // 2])
    with pytest.raises(UnexpectedOutput):
        analysis().outcome(raw)
    (raw / name).unlink()
    with pytest.raises(UnexpectedOutput):
        analysis().outcome(raw)


def test_a_file_that_nobody_analysed_is_an_error(raw: Path) -> None:
    lines = (raw / "tasks.jsonl").read_text().splitlines(keepends=True)
    (raw / "tasks.jsonl").write_text("".join(lines[:-1]))
    with pytest.raises(WorkloadError, match="15 tasks, not 1 for each of 16 files"):
        analysis().outcome(raw)


def test_more_tasks_than_fit_into_the_memory_are_an_error(raw: Path) -> None:
    changed(raw / "prepared.json", tasks_per_file=10**12)
    with pytest.raises(WorkloadError, match="16 tasks, not 1000000000000 for each of 16 files"):
        analysis().outcome(raw)


def absent(name: str) -> None:
    raise importlib.metadata.PackageNotFoundError(name)


def test_what_is_missing_is_reported_with_what_fixes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [check.name for check in analysis().checks()] == [
        "uproot",
        "awkward",
        "vector",
        "hist",
        "scipy",
        "distributed",
        "cryptography",
    ]
    monkeypatch.setattr(importlib.metadata.Distribution, "from_name", absent)
    for check in analysis().checks():
        assert check.needed
        assert not check.ok
        assert check.fix == installs("perjoule[hep]")


def test_workers_with_folders_of_their_own_are_refused(tmp_path: Path) -> None:
    class Apart(ScriptedHost):
        def answers(self, words: Sequence[str]) -> tuple[int, str]:
            return int(words[:2] == ["test", "-e"]), ""

    clients = [Apart("client-1"), Apart("client-2")]
    with pytest.raises(
        WorkloadError,
        match="client-2: the analysis needs one folder for all clients, but here each has its own",
    ):
        analysis(workers="clients").prepare(clients, ScriptedMount(*clients), tmp_path)


def test_the_storage_hosts_work_only_where_they_are_configured_to() -> None:
    assert analysis().using == ("storage",)
    assert analysis(workers="clients").using == ()
    assert analysis(workers="data").using == ("storage",)


@pytest.mark.parametrize(
    ("workers", "with_servers", "alone"),
    [
        ("storage", "storage-1, storage-2", "there are no storage hosts to run the analysis on"),
        ("clients", "client-1", "client-1"),
        ("data", "storage-1, storage-2", "client-1"),
    ],
)
def test_the_hosts_with_the_data_are_the_clients_where_there_are_no_servers(
    workers: str, with_servers: str, alone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def job(_first: Host, of: Sequence[Host], *_: object, **__: object) -> None:
        raise WorkloadError(", ".join(host.name for host in of))

    monkeypatch.setattr("perjoule.workloads.hep.dask.job", job)
    (tmp_path / "prepared.json").write_text('{"holders": {}}')
    client, *servers = map(ScriptedHost, ("client-1", "storage-1", "storage-2"))
    for hosts, expected in ((client, *servers), with_servers), ((client,), alone):
        with pytest.raises(WorkloadError, match=f"{expected}(;|$)"):
            analysis(workers=workers).run(hosts, ScriptedMount(*hosts), tmp_path)


def test_a_trial_that_counts_events_has_joules_per_event(made: Any) -> None:
    record = made.record()
    outcome = Outcome("dask", made.results((10.0, 20.0), direction="read"), measured={"events_count": 500.0})
    counted = type(record)(**{**vars(record), "outcome": outcome})
    series = [made.steady(name, 5.0) for name in ("storage-1", "storage-2", "metadata-1")]
    metrics = points(counted, series)[0].metrics
    assert metrics["events_per_s"] == 50
    assert metrics["energy_per_event_j"] == pytest.approx(metrics["energy_j"] / 500)
    assert "events_per_s" not in points(record, series)[0].metrics


def test_the_recorded_histogram_is_what_the_spectrum_is_drawn_from() -> None:
    found = report.spectrum(RECORDED)
    assert found.edges_gev == pytest.approx(edges_gev())
    assert found.counts.sum() > 800_000


def test_networks_say_nothing_of_a_load_on_the_servers_themselves(made: Any) -> None:
    results = tuple(ClientResult(f"storage-{n}", "read", 10.0, 20.0, 1000, 10) for n in (1, 2))
    record = replace(
        made.record(moved=results),
        amplification=Amplification(Flow(), Flow(client_received_ratio=1, storage_sent_ratio=1)),
    )
    hosts = [host.name for host in record.hosts]
    series = [
        made.counter(name, quantity, 0.0)
        for name in hosts
        for quantity in ("network_received", "network_sent")
    ]
    assert loaded_servers(record) == {"storage-1", "storage-2"}
    point = points(record, series)[0]
    assert point.metrics["network_sent_servers_ratio"] == 0
    assert not [name for name in point.metrics if name.startswith("derived_network")]
    assert point.doubts == points(replace(record, amplification=None), series)[0].doubts
    assert not [doubt for doubt in point.doubts if "cache" in doubt]


def test_the_report_has_the_spectrum_the_peaks_and_what_an_event_costs() -> None:
    drawn = analysis().mass_spectrum(RECORDED)
    assert drawn is not None
    assert list(drawn.peaks) == ["jpsi", "z"]
    assert drawn.peaks["z"].words == "Z: 91.1804 ± 0.0095 GeV"
    low, top = (
        min(pairs for _, pairs in drawn.peaks["z"].fitted),
        max(drawn.peaks["z"].fitted, key=lambda point: point[1]),
    )
    assert top[0] == pytest.approx(91.19, abs=0.2)
    assert top[1] > 5 * low
    assert "<svg" in rendering.svg(dimuon(drawn))

    measured = {"events_per_s": 2e6, "energy_per_event_j": 2e-5, "energy_j": 7200.0, "locality_ratio": 1.0}
    masses = {"z_mass_ev": 91.18e9, "z_mass_error_ev": 0.01e9}
    cell = Cell(
        "MooseFS",
        "hep",
        "read",
        1,
        {name: interval([value] * 2) for name, value in (measured | masses).items()},
    )
    (row,) = muons.muons_table([cell, replace(cell, metrics={})]).rows
    assert row[:3] == ("MooseFS", "hep", "1")
    assert [text.split(" ")[0] for text in row[3:]] == [
        "2000000",
        "20.00",
        "2.00",
        "100.0",
        "–",
        "–",
        "91.1800",
    ]


def test_a_histogram_of_another_length_is_refused(raw: Path) -> None:
    changed(raw / "histogram.json", counts=[1, 2, 3])
    with pytest.raises(WorkloadError, match="the histogram has 3 bins, not 2000"):
        analysis().outcome(raw)
