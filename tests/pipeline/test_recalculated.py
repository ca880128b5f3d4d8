"""Watts that were modelled, modelled again: what each sample is by the definition, what stays as it was,
and what is refused.
"""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from corrected import CAMPAIGN, CORRECTED, FORMER, of_today, times
from measured import STEADY, measured
from perjoule import catalogue, report, store
from perjoule.cli import cli
from perjoule.drivers.protocols import Counters, Hosts
from perjoule.exporting import recalculate
from perjoule.exporting.recalculation import recalculated
from perjoule.machine import removal
from perjoule.meters.modelled import _Model
from perjoule.model import Channel, Record, Series
from perjoule.model.errors import CampaignError, DiskFull, MachineError, PerjouleError
from perjoule.model.hardware import Cluster
from perjoule.results.modelled_watts import modelled
from perjoule.results.verification import verify
from perjoule.store.recalculated import NAME, recalculation_of
from perjoule.summary import summary

PREFIX = "perjoule-again-"  # of a folder that is being made
DERIVED = ("record.json", "series.parquet", "journal.jsonl", "report.html", "table.json", NAME)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results whose watts were modelled of the catalogue as it was, with their report."""
    place = tmp_path_factory.mktemp("former")
    (place / "one.toml").write_text(CAMPAIGN)
    done = CliRunner().invoke(cli, ["run", str(place / "one.toml"), "--into", str(place / "results")])
    assert done.exit_code == 0, done.output
    return place / "results"


@pytest.fixture
def original(kept: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(kept, tmp_path / "original"))


@pytest.fixture
def corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    of_today(monkeypatch)


def again(source: Path, into: Path) -> store.Results:
    recalculate(source, into, report.write)
    return store.open_results(into)


def refused(source: Path, into: Path) -> str:
    with pytest.raises(PerjouleError) as error:
        recalculate(source, into, report.write)
    assert not into.exists()
    assert not list(into.parent.glob(f"{PREFIX}*"))
    return str(error.value)


def tree(folder: Path) -> Mapping[str, tuple[str, int]]:
    """The digest of each file, and when it changed last."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(p.relative_to(folder)): (hashlib.sha256(p.read_bytes()).hexdigest(), p.stat().st_mtime_ns)
        for p in sorted(paths)
    }


def by_definition(
    record: Mapping[str, Any], rows: Any, host: str
) -> Iterator[tuple[float, tuple[float, dict[str, float]]]]:
    """Watts of a host after each pair of readings: docs/explanations/how-numbers-are-made.md, "Modelled
    watts", written out.
    """
    fact = next(one for one in record["hosts"] if one["name"] == host)
    hardware = record["hardware"]
    node = next(one for one in hardware["nodes"] if one["name"] == fact["node"])
    own = rows[(rows["meter"] == "system") & (rows["host"] == host)]
    counters = {
        name: own[own["quantity"] == name][["t_s", "value"]].to_numpy()
        for name in ("cpu", "disk_read", "disk_written")
    }
    read, written = (
        sum(one[key]["value"] for one in node["disks"]) for key in ("read_bytes_per_s", "write_bytes_per_s")
    )
    for n in range(1, len(counters["cpu"])):
        t = counters["cpu"][n][0] - counters["cpu"][n - 1][0]
        c, r, w = (
            counters[name][n][1] - counters[name][n - 1][1] for name in ("cpu", "disk_read", "disk_written")
        )
        idle, dynamic = (node["board"][key]["value"] for key in ("idle_w", "dynamic_w"))
        watts = {"board": idle + dynamic * c / (t * fact["cpu_capacity_cores"])}
        u = r / (t * record["scale"] * read) + w / (t * record["scale"] * written)
        watts["disks"] = sum(
            one["idle_w"]["value"] + (one["active_w"]["value"] - one["idle_w"]["value"]) * u
            for one in node["disks"]
        )
        watts["supply"] = (watts["board"] + watts["disks"]) * (1 / hardware["supply_efficiency"]["value"] - 1)
        yield counters["cpu"][n][0], (t, watts)


@pytest.mark.usefixtures("corrected")
def test_each_sample_is_by_the_definition_what_the_counters_and_the_coefficients_say_before_and_after(
    original: Path, tmp_path: Path
) -> None:
    again(original, tmp_path / "again")
    moved_w: list[float] = []
    means_w: list[float] = []
    for folder in (original, tmp_path / "again"):
        attempt = sorted((folder / "trials").glob("*/attempt-1"))[0]
        record = json.loads((attempt / "record.json").read_text())
        rows = cast("Any", pq).read_table(attempt / "series.parquet").to_pandas()
        power = rows[(rows["meter"] == "modelled") & (rows["host"] == "storage-1")]
        counted = dict(by_definition(record, rows, "storage-1"))
        hits = 0
        for component in ("board", "disks", "supply"):
            for t_s, duration_s, value in power[power["component"] == component][
                ["t_s", "duration_s", "value"]
            ].to_numpy():
                length_s, watts = counted.get(t_s, (0.0, {}))
                if abs(duration_s - length_s) < 1e-7:
                    hits += 1
                    assert value == pytest.approx(watts[component], rel=1e-6)
        assert hits > 0.8 * len(power)
        means_w.append(power[power["component"] == "board"]["value"].mean())
        moved_w.append(rows[(rows["meter"] == "modelled") & (rows["component"] == "switch")]["value"].mean())
    assert moved_w == pytest.approx([FORMER.switch_w.value, 0.8 * FORMER.switch_w.value])
    assert means_w[1] > 1.09 * means_w[0]


class Kept:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.samples: dict[Channel, dict[float, float]] = {}

    def append(self, channel: Channel, t_s: float, value: float, duration_s: float = 0.0) -> None:
        self.samples.setdefault(channel, {})[t_s] = value


def metered_by(
    cluster: Cluster, record: Record, series: tuple[Series, ...]
) -> Mapping[Channel, Mapping[float, float]]:
    """What the meter itself makes of the stored readings on this hardware."""
    nodes = {node.name: node for node in cluster.nodes}
    servers = [host for host in record.hosts if host.role != "client"]
    hosts = cast("Any", type("", (), {"servers": servers, "clients": (), "scale": record.scale}))
    sink = Kept()
    capacity_cores = {host.name: host.cpu_capacity_cores or 0.0 for host in servers}
    on = {host.name: nodes[host.node] for host in servers}
    model = _Model(cast("Hosts", hosts), cluster, on, capacity_cores, cast("Any", sink))
    names = {"cpu": "cpu_s", "disk_read": "disk_read_bytes", "disk_written": "disk_written_bytes"}
    readings: dict[float, dict[str, dict[str, float]]] = {}
    for one in series:
        if one.channel.meter == "system" and one.channel.host in on and one.channel.quantity in names:
            for t_s, value in zip(one.t_s, one.value, strict=True):
                own = readings.setdefault(float(t_s), {}).setdefault(one.channel.host, {})
                own[names[one.channel.quantity]] = float(value)
    lacking = {name: None for name in Counters.__dataclass_fields__ if name != "t_s"}
    for t_s in sorted(readings):
        rounds = {
            name: Counters(t_s=t_s, **cast("Any", {**lacking, **own})) for name, own in readings[t_s].items()
        }
        model.take(rounds)
    return sink.samples


@pytest.mark.usefixtures("corrected")
def test_recalculated_watts_are_those_that_the_meter_would_have_written_on_the_same_readings(
    original: Path, tmp_path: Path
) -> None:
    results = again(original, tmp_path / "again")
    record = results.records()[0]
    series = results.series(record)
    written = metered_by(CORRECTED, record, series)
    assert metered_by(FORMER, record, series) != written
    compared_count = samples_count = 0
    for power in modelled(series):
        if power.channel.host in {host.name for host in record.hosts if host.role != "client"}:
            there = written[power.channel]
            samples_count += len(power.value)
            began_s = power.t_s - power.duration_s
            moments_s = np.array(sorted(there))
            # its window begins with a kept reading, too
            whole = np.abs(began_s[:, None] - moments_s[None, :]).min(axis=1) < 1e-7
            pairs = [
                (v, there[t_s])
                for t_s, v in zip(power.t_s[whole], power.value[whole], strict=True)
                if t_s in there
            ]
            compared_count += len(pairs)
            assert np.allclose(*map(np.array, zip(*pairs, strict=True)), rtol=1e-7, atol=0)
    assert compared_count > 0.8 * samples_count


def test_watts_come_back_whatever_lies_between_readings(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There and back again: also samples whose work no counter states are those that were modelled."""
    of_today(monkeypatch)
    there = again(original, tmp_path / "there")
    change = recalculation_of(there.folder)
    assert change is not None
    assert 0 < change.between_count < 0.5 * change.samples_count
    of_today(monkeypatch, FORMER)
    back = again(there.folder, tmp_path / "back")
    for record in (first := store.open_results(original)).records():
        for before, after in zip(first.series(record), back.series(record), strict=True):
            assert before.channel == after.channel
            assert np.allclose(before.value, after.value, rtol=1e-12, atol=0)


@pytest.mark.usefixtures("corrected")
def test_all_that_was_measured_stays_byte_for_byte_and_the_original_as_it_is(
    original: Path, tmp_path: Path
) -> None:
    before = tree(original)
    results = again(original, tmp_path / "again")
    assert tree(original) == before
    now = tree(tmp_path / "again")
    same = [
        name
        for name in before
        if Path(name).name not in DERIVED and Path(name).parts[0] not in ("summary", "lock")
    ]
    same.remove("progress.jsonl")
    assert {name: now[name][0] for name in same} == {name: before[name][0] for name in same}
    assert any("/raw/" in name for name in same)
    first = store.open_results(original)
    for record in results.records():
        old, new = (
            json.loads((one.folder_of(record) / "record.json").read_text()) for one in (first, results)
        )
        assert {key for key in new if new[key] != old[key]} == {"hardware", "environment"}
        for one, other in zip(first.series(record), results.series(record), strict=True):
            stays = one.rows() if one.channel.meter != "modelled" else np.delete(one.rows(), 2, axis=1)
            comes = other.rows() if one.channel.meter != "modelled" else np.delete(other.rows(), 2, axis=1)
            assert stays.tobytes() == comes.tobytes()


@pytest.mark.usefixtures("corrected")
def test_the_new_folder_verifies_and_each_record_and_the_report_say_what_moved(
    original: Path, tmp_path: Path
) -> None:
    results = again(original, tmp_path / "again")
    findings = verify(results)
    assert findings.differences == ()
    assert any("before the recalculation" in note for note in findings.notes)
    journal = hashlib.sha256((original / "journal.jsonl").read_bytes()).hexdigest()
    for record in results.records():
        assert record.hardware == replace(CORRECTED, notes=())
        note = cast("Any", record.environment["recalculated"])
        assert note["original"] == journal
        assert note["coefficients"]["switch"] == {"before": 15.46, "now": pytest.approx(12.368)}
    page = (tmp_path / "again/report.html").read_text()
    assert f"The journal of the original has the SHA-256 {journal}" in page
    assert "12.4 W" in page
    assert f"not measured; recalculated on {recalculation_of(results.folder).date} with corrected" in page  # pyright: ignore[reportOptionalMemberAccess]
    assert any(
        doubt.startswith("modelled watts were recalculated on 20") for doubt in summary(results).doubts
    )


@pytest.mark.usefixtures("corrected")
def test_the_command_prints_what_moved_and_a_bundle_gives_the_same(original: Path, tmp_path: Path) -> None:
    def said(*words: str | Path) -> Result:
        done = CliRunner().invoke(cli, list(map(str, words)))
        assert done.exit_code == 0, done.output
        return done

    said("export", original, "--bundle", tmp_path / "one.zip")
    for source in (original, tmp_path / "one.zip"):
        text = said("recalculate", source, "--into", tmp_path / f"of-{source.stem}").output
        assert "switch" in text
        assert "15.5 W" in text
        assert "MiB/J before" in text
    lines = [
        (tmp_path / name / "journal.jsonl").read_text().splitlines() for name in ("of-original", "of-one")
    ]
    series = [[json.loads(line)["files"]["series.parquet"] for line in own] for own in lines]
    assert series[0] == series[1]


@pytest.mark.usefixtures("corrected")
def test_what_meters_read_is_refused(tmp_path: Path) -> None:
    measured(tmp_path / "metered", 'repetitions = 1\nsettle = "5 ms"\nquiet = 0', size="1 MiB", meter=STEADY)
    assert "no watts here were modelled" in refused(tmp_path / "metered", tmp_path / "again")


def test_what_has_todays_coefficients_is_refused(original: Path, tmp_path: Path) -> None:
    assert "the coefficients that the catalogue has today" in refused(original, tmp_path / "again")


def faster(cluster: Cluster) -> Cluster:
    nodes = tuple(
        replace(node, board=replace(node.board, mips=times(node.board.mips, 2))) for node in cluster.nodes
    )
    return replace(cluster, nodes=nodes)


def test_another_machine_of_the_same_name_is_refused(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_today(monkeypatch, faster(CORRECTED))
    assert "worked at the former speed" in refused(original, tmp_path / "again")
    of_today(monkeypatch, replace(CORRECTED, nodes=CORRECTED.nodes[:-1]))
    assert "another machine in the catalogue" in refused(original, tmp_path / "again")
    monkeypatch.setattr(catalogue, "choices", lambda: ("another",))
    results = store.open_results(original)
    with pytest.raises(CampaignError, match='has no cluster "odroid-hc4"'):
        recalculated(results.records()[0], results.series(results.records()[0]), "here")


@pytest.mark.usefixtures("corrected")
def test_results_that_do_not_verify_are_refused(original: Path, tmp_path: Path) -> None:
    path = next(original.rglob("series.parquet"))
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    assert "don't verify" in refused(original, tmp_path / "again")


@pytest.mark.usefixtures("corrected")
def test_watts_without_their_counters_are_refused(kept: Path) -> None:
    results = store.open_results(kept)
    record = results.records()[0]
    series = results.series(record)
    bare = [one for one in series if (one.channel.host, one.channel.quantity) != ("storage-1", "cpu")]
    with pytest.raises(CampaignError, match="of storage-1 were not kept"):
        recalculated(record, bare, "here")
    sparse = [one.at(slice(None, None, 3)) if one.channel.meter == "system" else one for one in series]
    with pytest.raises(CampaignError, match="lie between readings of counters, more than half"):
        recalculated(record, sparse, "here")


@pytest.mark.usefixtures("corrected")
def test_only_a_new_or_empty_folder_outside_of_the_original_is_written(
    original: Path, tmp_path: Path
) -> None:
    before = tree(original)
    for into in (original, original / "again"):
        with pytest.raises(CampaignError, match="is in the original"):
            recalculate(original, into, report.write)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path)
    for into in (tmp_path / "full", tmp_path / "link"):
        with pytest.raises(MachineError, match="not a new or empty folder"):
            recalculate(original, into, report.write)
    assert tree(original) == before
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis"]


@pytest.mark.usefixtures("corrected")
def test_a_report_that_fails_leaves_nothing_and_what_a_killed_one_left_goes(
    original: Path, tmp_path: Path
) -> None:
    def fails(results: store.Results, page: Path) -> None:
        raise DiskFull("the disk is full", where=str(page))

    with pytest.raises(DiskFull):
        recalculate(original, tmp_path / "again", fails)
    assert [path.name for path in tmp_path.iterdir()] == ["original"]
    (tmp_path / f"{PREFIX}abcdefgh").mkdir()
    removal.mark(tmp_path / f"{PREFIX}abcdefgh")
    again(original, tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "original"]


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from corrected import CORRECTED
from perjoule import catalogue, report
from perjoule.exporting import recalculate
every = {name: catalogue.cluster(name) for name in catalogue.names()} | {CORRECTED.name: CORRECTED}
catalogue.cluster = every.__getitem__
print("ready", flush=True)
recalculate(Path(sys.argv[1]), Path(sys.argv[2]), report.write)
"""


@pytest.mark.slow  # by day: a report that fails or was killed, above
def test_killed_at_any_moment_the_new_folder_is_whole_or_absent(original: Path, tmp_path: Path) -> None:
    before, into = tree(original), tmp_path / "again"
    tests = str(Path(__file__).parents[1])
    for wait_s in (0.05, 0.3, 0.6, 1.0, 1.6):
        argv = [sys.executable, "-c", KILLED, str(original), str(into), tests]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(wait_s)
            process.send_signal(signal.SIGKILL)
        if into.exists():
            assert verify(store.open_results(into)).differences == ()
            shutil.rmtree(into)
    assert tree(original) == before


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"utc_s": 1e300}',
        '{"utc_s": 0, "by": "x", "original": "y", "coefficients": {"c": {"switch": {"before": "z"}}}}',
    ],
)
@pytest.mark.usefixtures("corrected")
def test_a_file_that_says_nonsense_of_a_recalculation_is_refused(original: Path, content: str) -> None:
    (original / NAME).write_text(content)
    with pytest.raises(MachineError, match=NAME):
        verify(store.open_results(original))
