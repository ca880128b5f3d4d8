"""A results folder on a disk that really is full."""

import subprocess

import pytest

from perjoule import store
from perjoule.model import Channel, Clock, Record, Spec, Trial
from perjoule.model.errors import MachineError

pytestmark = pytest.mark.live


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "perjoule-test", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_stops_with_one_sentence_and_what_was_kept_before_stays(small_disk):
    results = store.create(small_disk / "results", "name = 'x'", "x")
    spec = Spec("x", {}, "x")
    channel = Channel("m", "h", "all", "power", "W", "instantaneous", "simulated")
    kept_count = 0

    def keep(n):
        trial = Trial(spec, spec, spec, (), 1, n)
        with results.attempt(trial) as attempt:
            attempt.sink.append(channel, 1.0, 2.0)
            (attempt.raw / "output").write_bytes(b"x" * 60_000)
            attempt.keep(
                Record(trial, "valid", "", attempt.number, Clock(0, 0), 1.0, "", (), (), None, {}, {})
            )

    with results.hold():
        with pytest.raises(MachineError, match="the disk is full"):
            for n in range(1, 100):
                keep(n)
                kept_count += 1
        assert kept_count > 3
        assert len(store.open_results(results.folder).records()) == kept_count
        for file in (small_disk / "results").rglob("output"):
            file.unlink()  # room again
        keep(99)
    assert len(results.records()) == kept_count + 1


def test_a_disk_without_inodes_is_named_as_such_and_by_its_path(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,nr_inodes=24", "perjoule-test", disk], check=True)
    try:
        results = store.create(disk / "results", "name = 'x'", "x")
        spec = Spec("x", {}, "x")
        with (
            results.hold(),
            pytest.raises(MachineError, match="the disk has no inodes left, although it has space") as caught,
        ):
            for n in range(20):
                with results.attempt(Trial(spec, spec, spec, (), 1, n)) as attempt:
                    attempt.keep(
                        Record(
                            attempt.trial,
                            "valid",
                            "",
                            attempt.number,
                            Clock(0, 0),
                            1.0,
                            "",
                            (),
                            (),
                            None,
                            {},
                            {},
                        )
                    )
        assert str(caught.value).startswith(str(disk / "results"))
        assert "remove files, then run `perjoule resume`" in caught.value.next
    finally:
        subprocess.run(["umount", disk], check=True)
