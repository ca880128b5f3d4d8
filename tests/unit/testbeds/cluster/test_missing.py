"""Hosts that are tried first, and hosts that may be missing: what an administrator of many hosts wants."""

from collections.abc import Iterator

import pytest

from perjoule.drivers.protocols import Check
from perjoule.model.errors import CampaignError, MachineError
from perjoule.testbeds import cluster
from perjoule.testbeds.cluster import Cluster, findings, pool
from typed import as_written


class Answered:
    """A connection that was made."""

    probe = None

    def close(self) -> None:
        """Nobody is there."""


@pytest.fixture
def contacted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of hosts in the order in which they were contacted; those with a 9 can't be reached."""
    names: list[str] = []

    def keeper(login: object, _work: str) -> Answered:
        names.append(name := login.name)  # type: ignore[attr-defined]
        if "9" in name:
            raise MachineError("it does not answer", where=name, next="check that it is on")
        return Answered()

    monkeypatch.setattr(cluster, "Keeper", keeper)
    monkeypatch.setattr(pool, "keep", lambda *_: None)
    monkeypatch.setattr(findings, "readiness", lambda name, _: Check(name, True, "root on Linux"))
    cluster._missing.clear()
    yield names
    cluster._missing.clear()


def bed(*names: str, role: str = "client", **options: object) -> Cluster:
    hosts = [{"name": name, "address": f"10.0.0.{n}", "role": role} for n, name in enumerate(names, 1)]
    return as_written(Cluster, hosts=hosts, **options)


def test_no_other_host_is_contacted_if_one_that_is_tried_first_fails(contacted: list[str]) -> None:
    found = bed("n9", "n1", "n2", first=1).reached()
    assert contacted == ["n9"]
    assert [(one.name, one.ok) for one in found] == [("host n9", False), ("hosts n[1-2]", False)]
    assert found[1].detail == "not contacted, because n9, which is tried first, can't be used"
    contacted.clear()
    assert [one.ok for one in bed("n1", "n9", "n2", first=1).reached()] == [True, False]
    assert contacted[0] == "n1"
    assert set(contacted) == {"n1", "n9", "n2"}


def test_hosts_that_may_be_missing_are_left_out_and_others_take_their_place(contacted: list[str]) -> None:
    there = bed("n1", "n9", "n2", "n3", missing=1)
    assert [host.name for host in there.planned(2).all] == ["n1", "n9"]
    found = there.reached()
    assert [(one.needed, one.detail) for one in found if not one.ok] == [(False, "left out: it does not answer")]
    assert [host.name for host in there.planned(3).all] == ["n1", "n2", "n3"]
    assert there._facts("run", [], [])["missing"] == {"n9": "it does not answer"}
    with pytest.raises(CampaignError, match="4 client hosts requested, 3 available"):
        there.planned(4)


def test_more_than_may_be_missing_is_refused_as_without_the_option(contacted: list[str]) -> None:
    found = bed("n1", "n9", "m9", "n2", missing=1).reached()
    assert [(one.name, one.needed) for one in found if not one.ok] == [("hosts n9, m9", True)]


def test_a_server_is_left_out_only_if_the_campaign_says_how_many_there_are(contacted: list[str]) -> None:
    assert [one.needed for one in bed("s9", "s1", role="storage", missing=1).reached() if not one.ok] == [True]
    chosen = bed("s9", "s1", "s2", role="storage", missing=1, servers=1)
    assert [one.needed for one in chosen.reached() if not one.ok] == [False]
    assert [host.name for host in chosen.planned(0).all] == ["s1"]
    assert [one.needed for one in bed("m9", "m1", role="management", missing=1).reached() if not one.ok] == [True]
