"""Probes at drives: two that feed the same are added by meters that add, and refused by those that can't."""

from types import SimpleNamespace

import pytest

from perjoule.model import Json
from perjoule.model.errors import CampaignError

HOSTS = (SimpleNamespace(name="storage-1", role="storage"), SimpleNamespace(name="storage-2", role="storage"))
QUARCH: dict[str, Json] = {"kind": "quarch", "address": "127.0.0.1:1"}
SCOPE: dict[str, Json] = {"kind": "scope", "address": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("table", "drives", "component"),
    [
        (QUARCH, {"tcp::QTL1999-02-020": "storage-1", "tcp::QTL1999-02-021": "storage-1"}, ""),
        (QUARCH, {"tcp::QTL1999-02-020": "storage-1/sda", "tcp::QTL1999-02-021": "storage-1/sda"}, ""),
        (QUARCH, {"tcp::QTL1999-02-020": "storage-1/sda", "tcp::QTL1999-02-021": "storage-1/sdb"}, "disks"),
        (SCOPE, {"1x2": "storage-1/sda", "3x4": "storage-1/sdb"}, "disks"),
        (
            {"kind": "powersensor3", "address": "/dev/null"},
            {"0": "storage-1/sda", "1": "storage-1/sdb"},
            "disks",
        ),
    ],
)
def test_two_probes_that_would_be_one_channel_are_refused(listen, table, drives, component):
    with pytest.raises(
        CampaignError,
        match=r"feed the same \((drive-sda|disks) of storage-1\); say in drives what each feeds",
    ):
        listen(
            {**table, "drives": drives, **({"component": component} if component else {})}, any, hosts=HOSTS
        )


@pytest.mark.parametrize("table", [SCOPE, {"kind": "powersensor3", "address": "/dev/null"}])
def test_pairs_of_one_drive_are_added_and_get_as_far_as_the_device(listen, table):
    pairs = ("1x2", "3x4") if table is SCOPE else ("0", "1")
    with pytest.raises(Exception) as refusal:  # there is no device: that is all that is wrong
        listen({**table, "drives": dict.fromkeys(pairs, "storage-1/sda")}, any, hosts=HOSTS)
    assert "feed the same" not in str(refusal.value)
