import json
import re
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from measured import STEADY, measured
from perjoule import campaign, store
from perjoule.measures.points import points
from perjoule.model import Channel, Series
from perjoule.model.doubts import CACHE, METERS, WORK
from perjoule.model.records import FORMAT
from perjoule.results.likeness import differing
from perjoule.results.table_likeness import Note
from perjoule.results.verification import _same_series, verify
from perjoule.statistics.cells import cells
from perjoule.store.journal import sha256
from perjoule.store.records import record_text


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    top = 'clients = [1, 2]\nrepetitions = 2\nsettle = "30 ms"'
    results = measured(tmp_path_factory.mktemp("verify") / "results", top, size="4 MiB", meter=STEADY)
    records = results.latest()
    results.keep_table(cells(records, [p for r in records for p in points(r, results.series(r))]))
    return results


@pytest.fixture
def results(whole, tmp_path):
    """A copy that a test may damage."""
    shutil.copytree(whole.folder, tmp_path / "results")
    return store.open_results(tmp_path / "results")


def first_folder(results):
    return results.folder_of(results.records()[0])


def vouch_again(results):
    """Write the checksums of what lies there now into the journal, as a forger would."""
    lines = []
    for entry in results.entries():
        folder = results.folder_of_attempt(entry.trial, entry.attempt)
        files = {name: sha256(folder / name) for name in entry.files}
        lines.append(
            json.dumps(
                {"trial": entry.trial, "attempt": entry.attempt, "status": entry.status, "files": files}
            )
        )
    results.journal.write_text("".join(line + "\n" for line in lines))


def test_what_was_measured_verifies(results):
    found = verify(results)
    assert found.differences == ()
    assert found.checked_count > 4 * 3 + 2 * 10  # files of four trials, and the numbers of two cells


def test_the_campaign_the_journal_and_the_table_are_read_once(results, monkeypatch):
    read = Counter()

    def counted(owner, name):
        function = getattr(owner, name)

        def counting(*arguments, **words):
            read[name] += 1
            return function(*arguments, **words)

        monkeypatch.setattr(owner, name, counting)

    counted(campaign, "parse")
    for name in ("entries", "stored_table"):
        counted(store.Results, name)
    assert verify(results).differences == ()
    assert read == {"parse": 1, "entries": 1, "stored_table": 1}


def test_results_that_were_stored_without_the_space_before_a_percent_sign_verify(results):
    record, folder = results.records()[0], first_folder(results)
    raw = folder / "raw" / "simulated.json"
    outputs = json.loads(raw.read_text())
    # as it is worded now
    raw.write_text(json.dumps({**outputs, "doubts": [{"kind": "cache", "text": "90 % of it"}]}))
    outcome = replace(record.outcome, doubts=(CACHE.doubt("90 % of it"),))
    doubted = replace(record, outcome=outcome, doubts=(*record.doubts, METERS.doubt("40 % of the samples")))
    (folder / "record.json").write_text(without_space(record_text(doubted)))
    vouch_again(results)
    records = results.latest()
    results.keep_table(cells(records, [p for r in records for p in points(r, results.series(r))]))
    path = results.folder / "table.json"
    path.write_text(without_space(path.read_text()))
    assert "40% of the samples" in path.read_text()
    assert "exceeds 20% of the added energy" in path.read_text()  # what is omitted
    assert verify(results).differences == ()


@pytest.mark.parametrize(
    ("text", "differs"), [("a doubt, as configured", False), ("9 errors", False), ("8 errors", True)]
)
def test_doubts_that_were_stored_without_ids_verify_by_their_words(text, differs):
    now = {"kind": "work", "id": "work.errors", "values": {"count": 9}, "text": "9 errors"}
    now = now if "errors" in text else WORK.configured().data
    assert bool(differing({"doubts": [{"kind": "work", "text": text}]}, {"doubts": [now]})) == differs
    assert not differing({"doubts": [now]}, {"doubts": [{**now}]})
    for changed in ({"id": "work.moon"}, {"values": {"count": 8}}, {"kind": "moon"}):
        assert differing({"doubts": [{**now, **changed}]}, {"doubts": [now]})


def without_space(text):
    return re.sub(r"(?<=\d) %", "%", text)


def test_verifying_changes_nothing(results):
    before = {p: p.stat().st_mtime_ns for p in results.folder.rglob("*")}
    verify(results)
    assert {p: p.stat().st_mtime_ns for p in results.folder.rglob("*")} == before


@pytest.mark.parametrize("name", ["record.json", "series.parquet", "raw/simulated.json"])
def test_a_file_of_which_one_byte_changed_is_found(results, name):
    path = first_folder(results) / name
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    assert any(str(path) in d and "checksum mismatch" in d for d in verify(results).differences)


@pytest.mark.parametrize("name", ["series.parquet", "raw/simulated.json"])
def test_a_file_that_is_gone_is_found(results, name):
    (first_folder(results) / name).unlink()
    assert any("no such file" in d for d in verify(results).differences)


def test_a_raw_output_that_was_put_there_later_is_found(results):
    (first_folder(results) / "raw" / "better.json").write_text("{}")
    (difference,) = verify(results).differences
    assert "was not there" in difference


def test_a_record_that_does_not_follow_from_the_raw_outputs_is_found_even_when_the_journal_vouches_for_it(
    results,
):
    record = results.records()[0]
    faster = replace(
        record.outcome,
        results=tuple(replace(r, moved_bytes=r.moved_bytes + 1) for r in record.outcome.results),
    )
    (first_folder(results) / "record.json").write_text(record_text(replace(record, outcome=faster)))
    vouch_again(results)
    differences = verify(results).differences
    assert any("does not give the stored outcome" in d for d in differences)
    assert any("throughput_bytes_per_s" in d for d in differences)  # of the table


def test_a_goodput_that_does_not_follow_from_the_raw_outputs_is_found(results):
    first, second = (results.folder_of(r) for r in results.records() if r.trial.clients_count == 1)
    shutil.copy(second / "series.parquet", first / "series.parquet")
    vouch_again(results)
    assert any("goodput differs from the raw outputs" in d for d in verify(results).differences)


def test_raw_outputs_are_read_again_although_the_series_are_damaged(results):
    record = results.records()[0]
    faster = replace(
        record.outcome,
        results=tuple(replace(r, moved_bytes=r.moved_bytes + 1) for r in record.outcome.results),
    )
    (first_folder(results) / "record.json").write_text(record_text(replace(record, outcome=faster)))
    (first_folder(results) / "series.parquet").write_text("not parquet")
    vouch_again(results)
    differences = verify(results).differences
    assert any("does not give the stored outcome" in d for d in differences)
    assert any("series.parquet" in d for d in differences)


def test_a_failed_trial_with_damaged_series_leaves_the_table_checked(results):
    record = results.records()[0]
    failed = replace(record, status="failed", reason="the client was lost", outcome=None)
    (first_folder(results) / "record.json").write_text(record_text(failed))
    (first_folder(results) / "series.parquet").write_text("not parquet")
    vouch_again(results)
    lines = results.journal.read_text().splitlines()
    lines[0] = lines[0].replace('"valid"', '"failed"')
    results.journal.write_text("\n".join(lines) + "\n")
    assert any(d.startswith("table: ") for d in verify(results).differences)


def test_a_number_in_the_table_that_was_changed_is_found(results):
    path = results.folder / "table.json"
    table = json.loads(path.read_text())
    table["cells"][0]["metrics"]["energy_j"]["mean"] *= 1.001
    path.write_text(json.dumps(table))
    (difference,) = verify(results).differences
    assert "energy_j.mean is" in difference
    assert "recomputed" in difference


def test_a_row_of_the_table_that_is_gone_is_found(results):
    results.keep_table(results.table()[1:])
    (difference,) = verify(results).differences
    assert "only among the records" in difference


def test_records_of_another_trial_are_found(results):
    first, second = results.records()[:2]
    shutil.copy(results.folder_of(second) / "record.json", results.folder_of(first) / "record.json")
    vouch_again(results)
    assert any("does not match the trial" in d for d in verify(results).differences)


def test_results_without_a_report_verify_as_far_as_they_go_and_say_so(results):
    (results.folder / "table.json").unlink()
    assert verify(results).differences == ()
    assert verify(results).notes == ("no report has been written yet, so there is no table to check",)


def test_a_table_that_is_gone_from_beside_its_report_is_found(results):
    (results.folder / "report.html").write_text("<html></html>")
    assert verify(results).differences == ()
    (results.folder / "table.json").unlink()
    (difference,) = verify(results).differences
    assert "table.json: missing" in difference


@pytest.mark.parametrize("names", [("record.json",), ("series.parquet",), ("raw/simulated.json",), None])
def test_a_journal_line_that_no_longer_names_its_files_is_found(results, names):
    lines = results.journal.read_text().splitlines()
    line = json.loads(lines[0])
    gone = names or tuple(line["files"])
    for name in gone:
        del line["files"][name]
    results.journal.write_text("\n".join([json.dumps(line), *lines[1:], ""]))
    differences = verify(results).differences
    assert len(differences) == len(gone)
    assert all("its checksum is not in the journal" in d for d in differences)


def test_an_attempt_that_is_gone_with_its_files_from_the_journal_is_found(results):
    line = json.loads(results.journal.read_text().splitlines()[0])
    shutil.rmtree(results.folder_of_attempt(line["trial"], line["attempt"]))
    lines = [json.dumps({**line, "files": {}}), *results.journal.read_text().splitlines()[1:]]
    results.journal.write_text("\n".join([*lines, ""]))
    assert any("record.json: its checksum is not in the journal" in d for d in verify(results).differences)


def test_an_attempt_on_disk_that_no_line_names_is_found(results):
    lines = results.journal.read_text().splitlines()
    results.journal.write_text("\n".join([*lines[1:], ""]))
    assert any("no line of the journal lists this attempt" in d for d in verify(results).differences)


def test_an_attempt_that_two_lines_name_is_found(results):
    text = results.journal.read_text()
    results.journal.write_text(text + text.splitlines()[0] + "\n")
    assert any("2 lines list attempt 1" in d for d in verify(results).differences)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("servers_count", 9),
        ("grade", "modelled"),
        ("failed_count", 3),
        ("doubts", ["none"]),
        ("widening", 1.5),
        ("ran", []),
    ],
)
def test_any_column_of_the_table_that_was_changed_is_found(results, column, value):
    path = results.folder / "table.json"
    table = json.loads(path.read_text())
    table["cells"][0][column] = value
    path.write_text(json.dumps(table))
    (difference,) = verify(results).differences
    assert f": {column}" in difference
    assert " and recomputed " in difference


def test_a_column_of_the_table_that_is_gone_is_found(results):
    path = results.folder / "table.json"
    table = json.loads(path.read_text())
    del table["cells"][0]["servers_count"]
    path.write_text(json.dumps(table))
    (difference,) = verify(results).differences
    assert "servers_count is 0 and recomputed" in difference


@pytest.mark.parametrize("version", ["x", None, [], 1.5, True, 0, FORMAT + 1])
def test_a_table_of_no_known_format_is_a_difference(results, version):
    path = results.folder / "table.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": version}))
    (difference,) = verify(results).differences
    assert f"{path}: the file is damaged: format version {version!r}" in difference


def test_a_row_that_is_in_the_table_twice_is_found(results):
    results.keep_table((*results.table(), results.table()[0]))
    (difference,) = verify(results).differences
    assert "2 times in the table" in difference


def test_a_read_of_format_1_whose_last_call_was_long_verifies_with_a_note_and_no_other_change():
    """Format 1 dated those bytes to the half second behind the log's last line, format 2 to their end."""
    channel = Channel("fio", "client-1", "all", "goodput", "B/s", "window mean", "counter")

    def log(*pieces):
        began_s, ended_s, moved_bytes = np.array(pieces, dtype=float).T
        return Series(channel, ended_s, ended_s - began_s, moved_bytes / (ended_s - began_s))

    again = log((10, 10.5, 16), (10.5, 13, 0), (13, 13.4, 16))
    stored = log((10, 10.5, 16), (10.5, 11, 16), (11, 13.4, 0))
    assert isinstance(_same_series(again, stored, 1, "here"), Note)
    assert "differs from the raw outputs" in _same_series(again, stored, 2, "here")
    for forged in (
        log((10, 10.5, 15), (10.5, 11, 17), (11, 13.4, 0)),
        log((10, 10.5, 16), (10.5, 11, 17), (11, 13.4, 0)),
        log((10, 10.5, 16), (10.5, 11, 16), (11, 13.5, 0)),
        log((10, 10.5, 16), (10.5, 13.4, 16)),
    ):
        assert "differs from the raw outputs" in _same_series(again, forged, 1, "here")


@pytest.mark.parametrize("version", [1, 2])
def test_a_dynamic_energy_by_the_baseline_alone_in_an_older_table_verifies_with_a_note(results, version):
    """Since format 3 it is omitted where idle power after the load is not known."""
    path = results.folder / "table.json"
    records = results.latest()
    results.keep_table(cells(records, [p for r in records for p in points(r, results.series(r))]))
    table = json.loads(path.read_text())
    metrics = table["cells"][0]["metrics"]
    metrics["dynamic_energy_j"] = metrics["energy_j"]
    path.write_text(json.dumps({**table, "version": version}))
    assert not [one for one in verify(results).differences if "dynamic" in one]
    assert [one for one in verify(results).notes if "dynamic_energy_j" in one and "other definitions" in one]
    path.write_text(json.dumps(table))
    assert [one for one in verify(results).differences if "dynamic_energy_j is only in the table" in one]
