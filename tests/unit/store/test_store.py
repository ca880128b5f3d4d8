import errno
import io
import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perjoule import store
from perjoule.machine import removal
from perjoule.model import Channel
from perjoule.model.errors import (
    DiskFull,
    FileDamaged,
    FolderInUse,
    FolderOfOthers,
    MachineError,
    UnexpectedOutput,
)
from perjoule.store.samples import ParquetSink, read_series
from typed import present

TEXT = 'name = "demo"\n'


@pytest.fixture
def results(tmp_path):
    return store.create(tmp_path / "demo", TEXT, "demo")


def keep(results, made, asked, **words):
    with results.attempt(asked) as attempt:
        attempt.sink.append(made.channel(), 1.0, 42.0)
        (attempt.raw / "fio.json").write_text("{}")
        (attempt.logs / "daemon.log").write_text("ready\n")
        attempt.keep(made.record(asked, attempt=attempt.number, **words))


def test_what_was_kept_is_there_for_whoever_opens_the_folder(results, made):
    first, second = made.trial(), made.trial(repetition=2)
    with results.hold():
        keep(results, made, first)
        keep(results, made, second, status="failed")
    again = store.open_results(results.folder)
    assert [r.trial for r in again.records()] == [first, second]
    assert again.records()[0] == made.record(first)
    assert again.done() == {first.id, second.id}
    assert again.campaign_text == TEXT
    folder = again.folder_of(again.records()[0])
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == [
        "logs/daemon.log",
        "raw/fio.json",
        "record.json",
        "series.parquet",
    ]
    (found,) = again.series(again.records()[0])
    assert (found.channel, found.t_s.tolist(), found.value.tolist()) == (made.channel(), [1.0], [42.0])


def test_an_attempt_that_is_not_kept_leaves_nothing(results, made):
    with results.hold():
        with results.attempt(made.trial()) as attempt:
            (attempt.raw / "half").write_text("x")
        with pytest.raises(RuntimeError, match="boom"), results.attempt(made.trial()):
            raise RuntimeError("boom")
    assert list((results.folder / "trials").iterdir()) == []
    assert results.records() == ()


@pytest.mark.parametrize("said", [10**30, "x" * 2**26, json.loads("[" * 98 + "]" * 98), "\ud800"])
def test_what_could_not_be_read_again_is_not_kept(results, made, said):
    """Whatever a host says: else all results of the folder would be lost with that trial."""
    with results.hold():
        keep(results, made, made.trial())
        asked = made.trial(repetition=2)
        with pytest.raises(UnexpectedOutput), results.attempt(asked) as attempt:
            attempt.keep(replace(made.record(asked), facts={"filesystem": {"said": said}}))
        keep(results, made, made.trial(repetition=2), status="failed")
    assert [record.status for record in store.open_results(results.folder).records()] == ["valid", "failed"]


def test_attempts_are_numbered_and_the_last_one_counts(results, made):
    asked = made.trial()
    with results.hold():
        keep(results, made, asked, status="failed")
        keep(results, made, made.trial(repetition=2))
        keep(results, made, asked)
    assert [(r.trial.repetition, r.attempt) for r in results.records()] == [(1, 1), (2, 1), (1, 2)]
    assert [(r.trial.repetition, r.attempt, r.status) for r in results.latest()] == [
        (2, 1, "valid"),
        (1, 2, "valid"),
    ]


def test_a_record_of_another_attempt_is_not_kept(results, made):
    with (
        results.hold(),
        results.attempt(made.trial()) as attempt,
        pytest.raises(ValueError, match="is not one of"),
    ):
        attempt.keep(made.record(made.trial(repetition=9)))
    assert results.records() == ()


def test_nothing_is_ever_overwritten(results, made):
    with results.hold(), results.attempt(made.trial()) as attempt:
        attempt.final.mkdir()
        (attempt.final / "record.json").write_text("precious")
        with pytest.raises(MachineError):
            attempt.keep(made.record())
        assert (attempt.final / "record.json").read_text() == "precious"
    assert results.records() == ()


def test_creating_again_opens_what_is_there_and_refuses_another_campaign(results, made):
    with results.hold():
        keep(results, made, made.trial())
    assert len(store.create(results.folder, TEXT, "demo").records()) == 1
    with pytest.raises(FolderOfOthers):
        store.create(results.folder, TEXT + "# changed", "demo")
    with pytest.raises(FolderOfOthers):
        store.create(results.folder, TEXT, "demo", ("seed=2",))


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(FolderOfOthers, match=r"thesis\.tex"):
        store.create(tmp_path, TEXT, "demo")
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_create_that_was_killed_is_done_again(tmp_path):
    (tmp_path / "campaign.toml").write_text("na")
    (tmp_path / "trials").mkdir()
    assert store.create(tmp_path, TEXT, "demo").campaign_text == TEXT


def test_a_place_where_no_folder_can_be_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError) as caught:
        store.create(tmp_path / "file" / "demo", TEXT, "demo")
    assert caught.value.next


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("results.json", '{"version": 4}', "format version 4"),
        ("results.json", "[]", "no version"),
        ("results.json", "{", "damaged"),
        ("journal.jsonl", '{"trial": 1}\n', "line 1 is damaged"),
        ("journal.jsonl", "null\n", "line 1 is damaged"),
    ],
)
def test_a_folder_that_is_damaged_or_newer_is_refused(results, name, content, words):
    (results.folder / name).write_text(content)
    with pytest.raises(MachineError, match=words):
        store.open_results(results.folder)


def test_a_folder_that_holds_no_results_is_refused(tmp_path):
    with pytest.raises(MachineError, match="not a results folder"):
        store.open_results(tmp_path)


def test_a_command_to_copy_has_a_strangers_name_as_one_word(tmp_path):
    (tmp_path / "a;id.toml").write_text("name = 'a'\n")
    with pytest.raises(MachineError) as refusal:
        store.open_results(tmp_path / "a;id.toml")
    assert refusal.value.next == f"run it with `perjoule run '{tmp_path}/a;id.toml'`"


def test_a_folder_of_results_folders_names_them(tmp_path):
    for name in ("monday", "tuesday"):
        store.create(tmp_path / name, "name = 'x'", "x")
    with pytest.raises(MachineError, match=f"name one below it: {tmp_path}/monday, {tmp_path}/tuesday"):
        store.open_results(tmp_path)


def test_a_folder_that_is_not_there_is_answered_with_the_one_meant(tmp_path):
    for name in ("monday", "tuesday"):
        store.create(tmp_path / name, "name = 'x'", "x")
    with pytest.raises(MachineError) as mistyped:
        store.open_results(tmp_path / "teusday")
    assert (mistyped.value.what, mistyped.value.next) == (
        "no such folder",
        f'did you mean "{tmp_path}/tuesday"?',
    )
    (tmp_path / "monday.zip").write_bytes(b"PK")
    with pytest.raises(MachineError, match=rf"no such file; did you mean \"{tmp_path}/monday\.zip\"\?"):
        store.open_results(tmp_path / "mnoday.zip")
    with pytest.raises(
        MachineError,
        match=rf"not a results folder; unpack a bundle with `unzip \S+/monday\.zip -d {tmp_path}/monday`",
    ):
        store.open_results(tmp_path / "monday.zip")


def test_a_record_that_is_gone_or_damaged_is_reported(results, made):
    with results.hold():
        keep(results, made, made.trial())
    path = results.folder_of(results.records()[0]) / "record.json"
    path.write_text("{")
    with pytest.raises(FileDamaged):
        results.records()
    path.unlink()
    with pytest.raises(MachineError, match="no such file"):
        results.records()


def test_a_damaged_series_file_is_reported(results, made):
    with results.hold():
        keep(results, made, made.trial())
    record = results.records()[0]
    (results.folder_of(record) / "series.parquet").write_bytes(b"PAR1")
    with pytest.raises(FileDamaged):
        results.series(record)


def test_a_torn_last_line_does_not_count_and_is_cut_off_by_the_next_holder(results, made):
    first, second = made.trial(), made.trial(repetition=2)
    with results.hold():
        keep(results, made, first)
        keep(results, made, second)
    whole = results.journal.read_bytes()
    for length in range(whole.index(b"\n") + 1, len(whole)):
        results.journal.write_bytes(whole[:length])
        assert store.open_results(results.folder).done() == {first.id}
    with results.hold():
        keep(results, made, second)
    assert [r.trial for r in results.records()] == [first, second]
    assert [json.loads(line)["attempt"] for line in results.journal.read_text().splitlines()] == [1, 1]


@pytest.mark.parametrize("zeros", [b"\0" * 300 + b"\n", b"\0" * 4096, b"\0\n\0\0\n", b"\n\0\n"])
def test_lines_of_zeros_as_a_power_loss_leaves_them_do_not_count_and_are_cut_off(results, made, zeros):
    first, second = made.trial(), made.trial(repetition=2)
    with results.hold():
        keep(results, made, first)
    whole = results.journal.read_bytes()
    results.journal.write_bytes(whole + zeros)
    assert store.open_results(results.folder).done() == {first.id}
    with results.hold():
        keep(results, made, second)
    assert results.done() == {first.id, second.id}
    assert b"\0" not in results.journal.read_bytes()


def test_an_attempt_that_the_journal_lists_again_is_no_repetition(results, made):
    first, second = made.trial(), made.trial(repetition=2)
    with results.hold():
        keep(results, made, first)
        keep(results, made, second)
        keep(results, made, first)
    lines = results.journal.read_text().splitlines(keepends=True)
    results.journal.write_text("".join([*lines[:2], *lines * 2]))
    assert [(record.trial, record.attempt) for record in results.latest()] == [(second, 1), (first, 2)]
    attempts = {(record.trial.repetition, record.attempt) for record in results.records()}
    assert (len(results.records()), attempts) == (3, {(1, 1), (2, 1), (1, 2)})


@pytest.mark.timeout(60)
def test_a_journal_of_a_strangers_with_many_lines_of_zeros_is_cut_off_at_once(results):
    results.journal.write_bytes(b"\0\n" * 2**20)
    with results.hold():
        assert results.journal.read_bytes() == b""


def test_the_next_holder_removes_folders_that_the_journal_does_not_name(results, made):
    with results.hold():
        keep(results, made, made.trial())
    kept = results.folder_of(results.records()[0])
    for unfinished in (
        kept.with_name("partial-2"),
        results.folder / "trials" / made.trial(repetition=2).id / "partial-1",
    ):
        (unfinished / "raw").mkdir(parents=True)
        removal.mark(unfinished)
    kept.with_name("partial-3").mkdir()  # killed before it was marked
    with results.hold() as said:
        assert [p.name for p in kept.parent.parent.iterdir()] == [kept.parent.name]
        assert list(kept.parent.iterdir()) == [kept]
    assert said == ()


@pytest.fixture
def precious(tmp_path):
    """Somebody's folder, called and laid out as if it were ours."""
    folder = tmp_path / "precious"
    (folder / "partial-1" / "raw").mkdir(parents=True)
    (folder / "partial-1" / "raw" / "thesis.tex").write_text("years")
    removal.mark(folder / "partial-1")
    return folder


def test_no_link_in_a_results_folder_is_followed(results, made, precious):
    trials, asked = results.folder / "trials", made.trial()
    links = [
        trials / "x",
        trials / made.trial(repetition=7).id,
        trials / asked.id / "partial-1",
        trials / asked.id / "attempt-4",
    ]
    (trials / asked.id).mkdir()
    for link in links:
        link.symlink_to(precious if link.parent == trials else precious / "partial-1")
    with results.hold() as said:
        keep(results, made, asked)
    assert all(link.is_symlink() for link in links)
    assert (precious / "partial-1" / "raw" / "thesis.tex").read_text() == "years"
    assert all(any(words.startswith(f"{link}: left alone") for words in said) for link in links)
    assert results.done() == {asked.id}


def test_a_link_in_an_unfinished_attempt_goes_and_what_it_leads_to_stays(results, made, precious):
    unfinished = results.folder / "trials" / made.trial().id / "partial-1"
    (unfinished / "raw").mkdir(parents=True)
    removal.mark(unfinished)
    (unfinished / "raw" / "x").symlink_to(precious)
    with results.hold() as said:
        pass
    assert said == ()
    assert list((results.folder / "trials").iterdir()) == []
    assert (precious / "partial-1" / "raw" / "thesis.tex").exists()


@pytest.mark.parametrize("name", ["trials", "lock", "journal.jsonl", "alignment"])
def test_nothing_is_written_through_a_link_in_the_place_of_a_file_or_folder_of_ours(results, precious, name):
    path = results.folder / name
    target = precious
    if name == "trials":
        path.rmdir()
    elif name != "alignment":
        path.unlink(missing_ok=True)
        target = precious / "partial-1" / "raw" / "thesis.tex"
    path.symlink_to(target)
    with pytest.raises(MachineError, match=f"{name}: this is a symbolic link"), results.hold():
        pass
    assert (precious / "partial-1" / "raw" / "thesis.tex").read_text() == "years"


def test_no_trial_is_measured_through_a_link(results, made, precious):
    (results.folder / "trials" / made.trial().id).symlink_to(precious)
    with results.hold(), pytest.raises(MachineError, match="symbolic link"), results.attempt(made.trial()):
        pass
    assert [p.name for p in precious.iterdir()] == ["partial-1"]


def test_a_table_is_not_written_through_a_link_that_a_killed_writer_could_have_left(results, precious):
    thesis = precious / "partial-1" / "raw" / "thesis.tex"
    (results.folder / "table.json.partial").symlink_to(thesis)
    results.keep_table(())
    assert results.table() == ()
    assert thesis.read_text() == "years"


def test_what_is_not_ours_in_trials_is_left_and_named_and_stops_nothing(results, made):
    asked = made.trial()
    home = results.folder / "trials" / asked.id
    own, unmarked = home / "notes", home / "partial-1"
    for folder in (own, unmarked, results.folder / "trials" / "drafts"):
        folder.mkdir(parents=True)
        (folder / "thesis.tex").write_text("years")
    stray = results.folder / "trials" / "notes.txt"
    stray.write_text("years")
    (results.folder / "trials" / "empty").mkdir()
    with results.hold() as said:
        keep(results, made, asked)
    assert results.done() == {asked.id}
    assert len(list(results.folder.rglob("thesis.tex"))) == 3
    assert stray.exists() and (results.folder / "trials" / "empty").exists()
    assert len(said) == 5
    assert f"{own}: left alone because perjoule did not make it; move it out of the results folder" in said
    assert [e.attempt for e in results.entries()] == [2]  # the first would have been in the way


def test_an_attempt_whose_journal_line_is_gone_is_set_aside_and_said(results, made):
    with results.hold():
        keep(results, made, made.trial())
    for count in (1, 2):  # no second one takes the place of the first
        kept = results.folder_of(results.records()[0])
        results.journal.write_text("")
        with results.hold() as (said,):
            assert not kept.exists()
            keep(results, made, made.trial())
        name = kept.parent.name + "-attempt-1" + ("-2" if count == 2 else "")
        assert said == f"{kept}: the journal does not list this attempt; set aside as set-aside/{name}"
        assert (results.folder / "set-aside" / name / "raw" / "fio.json").exists()
    assert len(results.set_aside()) == 2
    with results.hold() as said:
        assert said == ()


def test_an_attempt_that_was_killed_right_before_it_was_renamed_is_set_aside(results, made):
    with results.hold():
        keep(results, made, made.trial())
    kept = results.folder_of(results.records()[0])
    kept.rename(kept.with_name("partial-1"))
    results.journal.write_text("")
    with results.hold() as (said,):
        assert "partial-1: the journal does not list" in said


def test_nobody_else_may_look_into_an_attempt_under_way_and_then_as_the_umask_has_it(results, made):
    before = os.umask(0o027)
    try:
        with results.hold(), results.attempt(made.trial()) as attempt:
            assert attempt.partial.stat().st_mode & 0o777 == 0o700
            attempt.keep(made.record())
        assert attempt.final.stat().st_mode & 0o777 == 0o750
        assert (attempt.final / "raw").stat().st_mode & 0o777 == 0o750
        assert (attempt.final / "record.json").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_the_lock_of_a_results_folder_is_for_its_owner_alone(results):
    (results.folder / "lock").touch(0o644)
    with results.hold():
        assert (results.folder / "lock").stat().st_mode & 0o777 == 0o600


def test_only_one_perjoule_holds_a_folder(results):
    other = store.open_results(results.folder)
    with results.hold(), pytest.raises(FolderInUse, match=f"process {os.getpid()}"), other.hold():
        pass
    with other.hold():
        pass


def test_a_table_is_stored_whole_and_read_again(results):
    assert results.table() is None
    results.keep_table(())
    assert results.table() == ()
    for damage in ("[]", "{}", "{", '{"cells": [{"colour": 1}]}'):
        (results.folder / "table.json").write_text(damage)
        with pytest.raises(FileDamaged):
            results.table()


def test_a_journal_line_that_can_not_be_written_is_taken_back(results, made, monkeypatch):
    with results.hold():
        keep(results, made, made.trial())
        before = results.journal.read_bytes()
        write = os.write
        monkeypatch.setattr("perjoule.store.journal.os.write", lambda file, line: write(file, line[:20]))
        with pytest.raises(DiskFull):
            keep(results, made, made.trial(repetition=2))
    assert results.journal.read_bytes() == before
    assert len(list((results.folder / "trials").iterdir())) == 1


def test_samples_of_many_threads_all_arrive_in_row_groups(tmp_path, made):
    sink = ParquetSink(tmp_path / "s.parquet", flush_s=0.01)
    channels = [
        made.channel(name) for name in ("storage-0", "storage-1", "storage-\u00e4\u20ac", "\u8a18\u61b6")
    ]

    def sample(channel):
        for n in range(5000):
            sink.append(channel, float(n), n / 2, 0.5)

    threads = [threading.Thread(target=sample, args=[c]) for c in channels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sink.latest() == dict.fromkeys(channels, (4999.0, 2499.5, 0.5))
    sink.close()
    found = read_series(tmp_path / "s.parquet")
    assert [s.channel for s in found] == channels
    for s in found:
        assert np.array_equal(s.t_s, np.arange(5000.0))
        assert np.array_equal(s.value, np.arange(5000.0) / 2)
        assert np.array_equal(s.duration_s, np.full(5000, 0.5))


def test_when_a_sample_was_polled_and_came_is_kept_and_not_missed_in_older_files(tmp_path, made):
    sink = ParquetSink(tmp_path / "s.parquet")
    sink.append(made.channel(), 1.0, 40.0, 0.0, 0.9, 1.1)
    sink.append(made.channel(), 2.0, 41.0, arrived_s=2.3)  # dated by the meter
    sink.close()
    (found,) = read_series(tmp_path / "s.parquet")
    assert list(present(found.asked_s)) == pytest.approx([0.9, np.nan], nan_ok=True)
    assert list(present(found.arrived_s)) == [1.1, 2.3]
    pq.write_table(
        pq.read_table(tmp_path / "s.parquet").drop_columns(["asked_s", "arrived_s"]), tmp_path / "2.parquet"
    )
    (older,) = read_series(tmp_path / "2.parquet")
    assert (older.asked_s, older.arrived_s, list(older.value)) == (None, None, [40.0, 41.0])


def test_goodput_is_a_rate_also_in_older_files_whose_unit_is_bytes(tmp_path, made):
    """So that what a workload's raw outputs give is found again among the stored series."""
    older = replace(made.channel("client-1", quantity="goodput", semantics="window mean"), unit="B")
    sink = ParquetSink(tmp_path / "s.parquet")
    sink.append(older, 1.0, 4e7, 0.5)
    sink.close()
    (found,) = read_series(tmp_path / "s.parquet")
    assert found.channel == replace(older, unit="B/s")


def test_the_series_file_is_plain_parquet_in_long_format(tmp_path, made):
    sink = ParquetSink(tmp_path / "s.parquet")
    sink.append(made.channel(), 1.0, float("nan"))
    sink.close()
    table = pq.read_table(tmp_path / "s.parquet")
    assert table.column_names[:3] == ["meter", "host", "component"]
    assert table.column_names[-5:] == ["t_s", "duration_s", "value", "asked_s", "arrived_s"]


WORDS = st.text("abc:/é", max_size=3)
CHANNELS = st.builds(
    Channel,
    *(WORDS, WORDS, WORDS),
    st.sampled_from(["power", "cpu"]),
    st.sampled_from(["W", "s"]),
    st.sampled_from(["counter", "average"]),
    st.sampled_from(["wall", "PDU"]),
)


@settings(max_examples=30)
@given(st.lists(st.tuples(CHANNELS, st.floats(), st.floats())), st.floats(0, 1))
def test_whatever_samples_come_they_come_back_in_their_order(samples, cut_ratio):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s.parquet"
        sink = ParquetSink(path, flush_s=1000)
        for n, (channel, t_s, value) in enumerate(samples):
            if n == int(cut_ratio * len(samples)):
                sink._flush()  # a second row group, with other dictionaries
            sink.append(channel, t_s, value)
        sink.close()
        found = {s.channel: s for s in read_series(path)}
    assert found.keys() == {channel for channel, _, _ in samples}
    for channel, series in found.items():
        expected = [(t_s, value) for c, t_s, value in samples if c == channel]
        assert np.array_equal(np.column_stack([series.t_s, series.value]), expected, equal_nan=True)


def test_no_samples_make_an_empty_file(tmp_path):
    ParquetSink(tmp_path / "s.parquet").close()
    assert read_series(tmp_path / "s.parquet") == ()


def test_a_sample_that_comes_too_late_is_an_error_and_not_lost_in_silence(tmp_path, made):
    sink = ParquetSink(tmp_path / "s.parquet")
    sink.close()
    with pytest.raises(RuntimeError, match="after its attempt was closed"):
        sink.append(made.channel(), 1.0, 1.0)


class FillingUp(io.FileIO):
    """A file on a disk that has room for 2000 bytes."""

    def write(self, data):
        if self.tell() > 2000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def test_a_disk_that_fills_up_while_samples_come_is_reported_and_nothing_is_kept(results, made, monkeypatch):
    opened = Path.open
    monkeypatch.setattr(
        Path, "open", lambda p, mode="r", **w: FillingUp(p, "x") if mode == "xb" else opened(p, mode, **w)
    )
    monkeypatch.setattr("perjoule.store.samples.FLUSH_S", 0.01)
    with results.hold(), results.attempt(made.trial()) as attempt:
        for n in range(20_000):
            attempt.sink.append(made.channel(), n / 7, n / 3)
        with pytest.raises(DiskFull):
            attempt.keep(made.record())
    assert results.records() == ()
    assert list((results.folder / "trials").iterdir()) == []


def test_a_disk_that_is_full_from_the_start_is_reported_and_nothing_is_left(results, made, monkeypatch):
    opened = Path.open

    def full(path, mode="r", **words):
        return opened(Path("/dev/full"), "wb", buffering=0) if mode == "xb" else opened(path, mode, **words)

    monkeypatch.setattr(Path, "open", full)
    with results.hold(), pytest.raises(DiskFull), results.attempt(made.trial()):
        pass
    assert list((results.folder / "trials").iterdir()) == []
