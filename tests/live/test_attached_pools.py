"""Pools, images and buckets of a Ceph that others run: measured by a user without root, and left as they were."""

import time
from typing import Any

import pytest

from attached import STORES, Store, asked, store
from day import by_day
from lacking import lacking
from perjoule import drivers
from perjoule.drivers.protocols import Completed, FileSystem, Killable, able
from perjoule.model.doubts import SHARED
from perjoule.model.units import MIB

pytestmark = pytest.mark.live
LOADS = {
    "pool": 'kind = "rados"\noperation = "write"\nduration = "20 s"\nsize = "8 MiB"\nobject = "1 MiB"',
    "image": 'kind = "device"\noperation = "write"\nsize = "8 MiB"\ntransfer = "1 MiB"\nverify = "crc32c"',
    "bucket": 'kind = "s3"\noperation = "put"\nsize = "8 MiB"\nobject = "1 MiB"',
}
LONG = 'kind = "device"\noperation = "write"\nsize = "64 MiB"\ntransfer = "64 KiB"\nrate = "1 MiB/s"'


@pytest.fixture(autouse=True)
def programs(kind: str) -> None:
    driver = drivers.build("filesystems", STORES[kind], {})
    assert isinstance(driver, FileSystem)
    if missing := lacking(driver.checks()):
        pytest.skip(missing)


def measured(
    there: Store, kind: str, name: str, code: int = 0, more: str = ""
) -> tuple[dict[str, Any], Completed]:
    """Run a campaign as the user, and return its one record."""
    campaign = there.campaign(name, LOADS[kind], there.filesystem.replace("}", f"{more}}}"))
    (record,), done = there.ran(name, campaign, code)
    return record, done


@pytest.mark.parametrize("kind", by_day(STORES, "pool"))
def test_a_store_is_measured_with_its_state_and_left_as_it_was(kind: str) -> None:
    with store(kind) as there:
        before = there.administered()
        record, _ = measured(there, kind, "whole")
        assert (record["status"], record["reason"]) == ("valid", "")
        assert not [doubt for doubt in record["doubts"] if doubt["id"].startswith(f"{SHARED.prefix}.")]
        began, ended = record["states"]
        for state in (began, ended):
            assert (state["health"], state["lacks"]) == ("HEALTH_OK", "")
            assert state["facts"]["pool"]["name"] == there.pool
        (result,) = record["outcome"]["results"]
        assert result["moved_bytes"] >= 8 * MIB
        written_bytes = ended["written_bytes"] - began["written_bytes"]
        assert written_bytes == pytest.approx(result["moved_bytes"], rel=0.02)
        assert record["redundancy"]["copies_count"] == 2
        assert there.administered() == before


@pytest.mark.slow  # by day: tests/unit/filesystems/test_image.py
@pytest.mark.parametrize("kind", ["image"])
def test_what_a_run_left_that_was_killed_as_it_wrote_the_next_one_removes(kind: str) -> None:
    with store(kind) as there:
        before = there.administered()
        process = there.started("killed", there.campaign("killed", LONG))
        until_s = time.monotonic() + 60
        while len(there.listed()) < len(before["data"]) + 5:
            assert process.returncode is None and time.monotonic() < until_s, process.output()
            time.sleep(0.1)
        there.kill("killed", process)
        assert there.listed() != before["data"]
        measured(there, kind, "next")
        assert there.administered() == before
        assert there.behind() == []


@pytest.mark.slow  # by day: a lost server of MooseFS, test_attached.py
@pytest.mark.parametrize("kind", STORES)
def test_a_store_without_an_osd_is_refused_and_left_as_it_was(kind: str) -> None:
    with store(kind) as there:
        before = there.listed()
        able(there.mounted, Killable).kill(there.hosts.by_role("storage")[0])
        until_s = time.monotonic() + 60
        while "OSD_DOWN" not in asked(there.hosts, "health")[0]:
            assert time.monotonic() < until_s
            time.sleep(0.5)
        record, _ = measured(there, kind, "refused", code=4)
        assert "the cluster is degraded: osd.0 of " in record["reason"]
        assert there.listed() == before
        record, _ = measured(there, kind, "allowed", more=", while_degraded = true")
        assert record["states"][0]["lacks"].startswith("osd.0 of ")
        assert there.listed() == before
