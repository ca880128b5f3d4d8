"""Campaigns with events on simulated hosts, from the file to tables, report and a second calculation."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from commanded import export
from day import by_day
from oracle.check import apart, checked, recomputed
from perjoule import campaign, report, store
from perjoule.energy.amount import amount
from perjoule.execution import happening, runner, write_back
from perjoule.execution.notices import Notice
from perjoule.filesystems.simulated import _OnServers
from perjoule.model import REBUILT, Record, healthy_since
from perjoule.model.errors import PausedError, TransientError
from perjoule.results.verification import verify
from perjoule.store import Results
from perjoule.summary import summary
from perjoule.views.life.events import events_table
from perjoule.views.life.rebuild import rebuild_table, rebuilt_bytes_table
from places import EXAMPLES

TEXT = """
name = "hit"
clients = [2]
repetitions = {repetitions}
seed = 1
settle = "50 ms"
quiet = "{quiet}"
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = "40 MiB/s"
rebuild = "{rebuild}"
[[workload]]
kind = "simulated"
size = "1 GiB"
duration = "{duration}"
{failure}
[[event]]
at = "{kill}"
kind = "kill"
host = "storage-2"
[[event]]
at = "{back}"
kind = "back"
host = "storage-2"
[[meter]]
kind = "system"
rate = "50 Hz"
[[meter]]
kind = "modelled"
rate = "50 Hz"
"""
LONG = {
    "repetitions": 1,
    "duration": "3.6 s",
    "kill": "1.1 s",
    "back": "2.3 s",
    "rebuild": "200 ms",
    "quiet": "20 s",
    "failure": "",
}
SHORT = {**LONG, "repetitions": 2, "duration": "400 ms", "kill": "100 ms", "back": "300 ms"}


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(happening, "LOOK_S", 0.05)


def run(folder: Path, text: str) -> tuple[Results, Sequence[Notice]]:
    asked = campaign.parse(text)
    results = store.create(folder, asked.text, asked.name, asked.overrides)
    said: list[Notice] = []
    runner.run(asked, results, said.append)
    return results, said


def test_a_hit_trial_has_its_stages_in_table_report_and_second_calculation(tmp_path: Path) -> None:
    late = 'late_after = "1 s"\nlate_until = "2 s"'
    results, _ = run(tmp_path / "results", TEXT.format(**{**LONG, "duration": "4.6 s", "failure": late}))
    (record,) = results.latest()
    assert record.reason == ""
    (cell,) = summary(results).cells
    means = {key: found.mean for key, found in cell.metrics.items() if key.startswith("event_")}
    for stage in ("before", "during"):
        assert means[f"event_{stage}_bytes_per_s"] == pytest.approx(2 * 40 * 1024**2)
        assert means[f"event_{stage}_w"] > 0
    assert means["event_healing_s"] >= 0.2
    assert means["event_stalled_s"] == 0
    for stage, took_s in (("before", 1 / 40), ("during", 20 / 40), ("after", 1 / 40)):  # a call moves 1 MiB
        assert [means[f"event_{stage}_latency_p{percent}_s"] for percent in (50, 99)] == pytest.approx(
            [took_s] * 2
        )
    assert [cell.metrics[f"latency_{name}_s"].mean for name in ("p50", "p99")] == pytest.approx(
        [1 / 40, 20 / 40]
    )
    table = events_table([cell])
    row = dict(zip(table.headers, table.rows[0], strict=True))
    seen = [row[header] for header in ("MiB/s during", "p99 before, ms", "p99 during, ms", "p99, ms")]
    assert seen == ["80.00 ± ?", "25.00 ± ?", "500.0 ± ?", "500.0 ± ?"]
    assert verify(results).differences == ()
    assert apart(recomputed(checked(results.folder, export))).values.tolist() == []
    page = report.write(results, tmp_path / "report.html").read_text()
    assert "<h3>Events</h3>" in page and 'id="events"' in page
    healing = (
        f"{means['event_healing_s']:.{3 if means['event_healing_s'] < 0.9995 else 2}f} ± ? s until healthy"
    )
    costs = f"80.00 ± ? MiB/s before, 80.00 ± ? MiB/s during, {healing}, "
    first_screen = " ".join(page.partition('class="answers"')[2].partition("</ul>")[0].split())
    assert costs in first_screen and "0 ± ? s stalled." in first_screen
    assert "Events while the load ran: kill storage-2 after 1.1 s and back storage-2 after 2.3 s" in page


def test_the_stage_healing_of_a_scrub_lasts_until_it_has_finished(tmp_path: Path) -> None:
    text = TEXT.format(**{**LONG, "rebuild": "1.1 s"})
    scrub = (
        text[: text.index("[[event]]")]
        + '[[event]]\nat = "1.1 s"\nkind = "scrub"\n'
        + text[text.index("[[meter]]") :]
    )
    results, _ = run(tmp_path / "results", scrub)
    (record,) = results.latest()
    assert record.reason == ""
    assert {one.words for one in record.health} == {"scrubbing, as commanded", ""}
    (cell,) = summary(results).cells
    means = {key: found.mean for key, found in cell.metrics.items() if key.startswith("event_")}
    assert means["event_healing_s"] >= 1.1
    assert means["event_healing_j"] > 0
    assert means["event_before_w"] > 0 and "event_during_w" not in means
    assert means["event_healing_bytes_per_s"] == pytest.approx(2 * 40 * 1024**2)
    assert verify(results).differences == ()
    assert apart(recomputed(checked(results.folder, export))).values.tolist() == []
    page = report.write(results, tmp_path / "report.html").read_text()
    assert "Events while the load ran: scrub after 1.1 s." in page


def test_a_rebuild_that_outlasts_its_trial_is_not_in_the_next_one(tmp_path: Path) -> None:
    times = {"kill": "600 ms", "back": "800 ms", "duration": "900 ms", "rebuild": "60 s", "quiet": "500 ms"}
    text = TEXT.format(**{**SHORT, **times})
    results, said = run(tmp_path / "results", text)
    assert sum(notice.kind == "deployed" for notice in said) == 2
    first, second = sorted(results.latest(), key=lambda record: record.clock.monotonic_s)
    for record in (first, second):
        assert record.reason == ""
        assert healthy_since(record.events, record.health) is None
        assert any(
            doubt.startswith("still busy 0.5 s after the load, gave up waiting") for doubt in record.doubts
        )
    assert "event_healing_j" not in summary(results).cells[0].metrics
    assert not any(one.words for one in second.health if one.asked_s < second.events[0].began_s)
    assert [one.event.kind for one in second.events] == ["kill", "back"]
    baseline = next(phase for phase in second.phases if phase.name == "baseline")
    assert max(one.answered_s for one in first.health) < baseline.began_s
    plain, _ = run(tmp_path / "plain", text[: text.index("[[event]]")] + text[text.index("[[meter]]") :])
    for record in plain.latest():
        assert joules(results, second, "measure", 0.5) == pytest.approx(
            joules(plain, record, "measure", 0.5), rel=1e-6
        )
    # it rebuilds
    assert joules(results, first, "tail", 0.5) > 1.001 * joules(plain, plain.latest()[0], "measure", 0.5)


def joules(results: Results, record: Record, phase: str, duration_s: float) -> float:
    """Add up the energy of all parts of all hosts from the beginning of a phase on."""
    began_s = next(one.began_s for one in record.phases if one.name == phase)
    power = [series for series in results.series(record) if series.channel.quantity == "power"]
    found = [amount(series, began_s, began_s + duration_s).value for series in power]
    assert found and None not in found
    return sum(value for value in found if value)


@pytest.mark.slow  # by day: a rebuild that outlasts its trial, above
def test_background_work_that_outlasts_its_trial_is_not_in_the_next_one_either(tmp_path: Path) -> None:
    text = TEXT.format(**{**SHORT, "repetitions": 3, "rebuild": "0 s", "quiet": "200 ms"})
    plain = text[: text.index("[[event]]")] + text[text.index("[[meter]]") :]
    for scrub, deployments_count in (("60 s", 3), ("0 s", 1)):
        results, said = run(tmp_path / scrub, plain.replace('rebuild = "0 s"', f'scrub = "{scrub}"'))
        assert [record.reason for record in results.latest()] == [""] * 3
        assert sum(notice.kind == "deployed" for notice in said) == deployments_count
        notes = [notice.text for notice in said if notice.kind == "note" and "afresh" in notice.text]
        assert notes == ["still busy (scrubbing, as configured); deploying afresh"] * (deployments_count - 1)


@pytest.mark.parametrize(("scrub", "deployments_count"), [("60 s", 3), ("0 s", 1)])
def test_a_pause_has_a_trial_measured_again_on_another_deployment_if_this_one_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scrub: str, deployments_count: int
) -> None:
    late = iter(["3.6 s", "4.1 s"])

    def paused(*_: object, **__: object) -> None:
        if late_s := next(late, ""):
            raise PausedError(f"the write-back began {late_s} after the last client's end")

    monkeypatch.setattr(write_back, "late", paused)
    text = TEXT.format(**{**SHORT, "repetitions": 1, "rebuild": "0 s", "quiet": "200 ms"})
    plain = text[: text.index("[[event]]")] + text[text.index("[[meter]]") :]
    results, said = run(tmp_path / "results", plain.replace('rebuild = "0 s"', f'scrub = "{scrub}"'))
    (record,) = results.latest()
    assert (record.attempt, record.status) == (3, "valid")
    assert sum(notice.kind == "deployed" for notice in said) == deployments_count


@pytest.mark.parametrize("name", by_day(["still", "loaded"], "still"))
def test_a_failed_disk_is_rebuilt_and_its_bytes_are_in_table_report_and_second_calculation(
    name: str, tmp_path: Path
) -> None:
    text = TEXT.format(**{**LONG, "kill": "1.8 s", "back": "2.3 s"})
    text = text.replace('kind = "kill"', 'kind = "fail"').replace(
        'rebuild = "200 ms"', 'rebuild = "200 ms"\ncopies = 2\nheld = "8 MiB"'
    )
    load = 'kind = "simulated"\nsize = "1 GiB"\nduration = "3.6 s"'
    assert load in text
    still = 'kind = "idle"\ndata = "16 MiB"\nrest = "0 s"\nduration = "3.6 s"'
    results, _ = run(tmp_path / "results", {"still": text.replace(load, still), "loaded": text}[name])
    (record,) = results.latest()
    assert record.reason == ""
    assert [(one.event.text, one.lost_bytes) for one in record.events] == [
        ("fail storage-2", 8 * 1024**2),
        ("back storage-2", None),
    ]
    assert record.phases[-1].name == REBUILT
    (cell,) = summary(results).cells
    (row,) = rebuild_table([cell]).rows
    assert dict(zip(rebuild_table([cell]).headers, row, strict=True))["MiB lost"] == "8.00 ± ?"
    assert ("rebuild_network_ratio" in cell.metrics) == (name == "still")
    assert len(rebuilt_bytes_table([cell]).rows) == 5  # roles
    assert verify(results).differences == ()
    differing = apart(recomputed(checked(results.folder, export)))
    # what rises steadily cancels, but for rounding
    steady = (differing["theirs"] - differing["own"]).abs() < 1e-12
    assert differing[~steady].values.tolist() == []
    assert "<h3>Rebuild</h3>" in report.write(results, tmp_path / "report.html").read_text()


@pytest.mark.parametrize("name", by_day(["still", "loaded", "one after the other"], "still"))
def test_a_host_that_joins_has_gained_bytes_and_joules_for_each_if_nothing_else_moves(
    name: str, tmp_path: Path
) -> None:
    text = TEXT.format(**LONG).replace('rebuild = "200 ms"', 'rebuild = "200 ms"\nheld = "8 MiB"')
    kill, back = (
        f'[[event]]\nat = "{LONG[kind]}"\nkind = "{kind}"\nhost = "storage-2"\n' for kind in ("kill", "back")
    )
    assert kill + back in text
    text = text.replace(kill + back, kill.replace('"kill"', '"add"'))
    load = 'kind = "simulated"\nsize = "1 GiB"\nduration = "3.6 s"'
    still = 'kind = "idle"\ndata = "16 MiB"\nrest = "0 s"\nduration = "3.6 s"'
    later = text.replace(load, still).replace(
        "[[meter]]", back.replace('"back"', '"add"').replace("-2", "-3") + "[[meter]]", 1
    )
    asked = {"still": text.replace(load, still), "loaded": text, "one after the other": later}
    results, _ = run(tmp_path / "results", asked[name])
    (record,) = results.latest()
    assert record.reason == ""
    joined = ["storage-2", "storage-3"] if name == "one after the other" else ["storage-2"]
    assert [(one.event.text, one.gained_bytes) for one in record.events] == [
        (f"add {host}", 8 * 1024**2) for host in joined
    ]
    assert list(record.data_hosts[-len(joined) :]) == joined
    (cell,) = summary(results).cells
    means = {key: found.mean for key, found in cell.metrics.items() if key.startswith("event_")}
    assert means["event_gained_bytes"] == len(joined) * 8 * 1024**2
    assert ("event_gained_per_byte_j" in means) == (name == "still")
    if name == "still":
        assert means["event_gained_per_byte_j"] == pytest.approx(means["event_healing_j"] / (8 * 1024**2))
    table = events_table([cell])
    assert dict(zip(table.headers, table.rows[0], strict=True))["MiB gained"].startswith(
        f"{8 * len(joined)}."
    )
    assert verify(results).differences == ()
    assert apart(recomputed(checked(results.folder, export))).values.tolist() == []
    page = report.write(results, tmp_path / "report.html").read_text()
    assert "add storage-2" in page
    assert "MiB gained" in page.partition('class="answers"')[2].partition("</ul>")[0]


def test_a_tail_ends_when_the_file_system_is_healthy(tmp_path: Path) -> None:
    results, _ = run(tmp_path / "results", TEXT.format(**{**SHORT, "repetitions": 1, "rebuild": "1500 ms"}))
    (record,) = results.latest()
    healthy_s = healthy_since(record.events, record.health)
    tail = next(phase for phase in record.phases if phase.name == "tail")
    assert healthy_s is not None
    assert record.events[-1].ended_s + 1.5 <= healthy_s <= tail.ended_s
    assert "event_healing_j" in summary(results).cells[0].metrics


def test_a_load_that_fails_after_an_event_is_a_failed_trial_and_the_campaign_continues(
    tmp_path: Path,
) -> None:
    text = TEXT.format(
        **{**SHORT, "duration": "300 ms", "kill": "1 ms", "back": "290 ms", "failure": "fail_at = 1"}
    )
    results, _ = run(tmp_path / "results", text)
    assert {record.status for record in results.latest()} == {"failed"}  # each is the first of its deployment
    assert len(results.latest()) == 2


@pytest.mark.parametrize(
    ("name", "happens"),
    [
        ("events", ["kill storage-2", "back storage-2"]),
        ("failed-disk", ["fail storage-2", "back storage-2"]),
        pytest.param("added-hosts", ["add storage-3", "add storage-4"], marks=pytest.mark.slow),
        pytest.param("degraded-reads", ["kill storage-2"], marks=pytest.mark.slow),
    ],
)
def test_the_example_runs_in_simulation(name: str, happens: Sequence[str], tmp_path: Path) -> None:
    asked = campaign.read(EXAMPLES / f"{name}.toml", ["simulate=true", "settle=5 ms", "repetitions=1"])
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda notice: None)
    for record in results.latest():
        assert record.reason == ""
        assert [one.event.text for one in record.events] == happens
    filesystems_count = len({trial.filesystem.label for trial in asked.trials})
    assert filesystems_count >= 3
    assert len(events_table(summary(results).cells).rows) == filesystems_count
    assert len(rebuild_table(summary(results).cells).rows) == filesystems_count * ("fail" in happens[0])


def test_an_event_that_fails_after_the_load_has_ended_fails_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scrub(mounted: _OnServers) -> None:
        time.sleep(0.6)
        raise TransientError("refused", where="the monitor")

    monkeypatch.setattr(_OnServers, "scrub", scrub)
    text = TEXT.format(**{**SHORT, "repetitions": 1})
    failing = (
        text[: text.index("[[event]]")]
        + '[[event]]\nat = "100 ms"\nkind = "scrub"\n'
        + text[text.index("[[meter]]") :]
    )
    results, _ = run(tmp_path / "results", failing)
    (record,) = results.latest()
    assert (record.status, record.reason) == ("failed", "scrub could not be done: the monitor: refused")
