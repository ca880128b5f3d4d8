"""rados bench itself, on a small virtual cluster that is brought up once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from on_hosts import hosts_of
from perjoule import drivers
from perjoule.drivers.protocols import FileSystem, Hosts, Mounted, Workload
from perjoule.model import Json, Outcome
from perjoule.model.errors import TransientError
from perjoule.model.units import MIB

pytestmark = [pytest.mark.live, pytest.mark.alone]


def bench(**options: Json) -> Workload:
    made = drivers.build(
        "workloads", "rados", {"object": "256 KiB", "size": "8 MiB", "duration": "20 s", **options}
    )
    assert isinstance(made, Workload)
    return made


@pytest.fixture(scope="module")
def deployment() -> Iterator[tuple[Hosts, Mounted]]:
    store = drivers.build("filesystems", "rados", {"placement_groups": 8, "copies": 2})
    assert isinstance(store, FileSystem)
    with hosts_of(servers=3).hold(2) as hosts, store.mount(hosts) as mounted:
        yield hosts, mounted


def loaded(deployment: tuple[Hosts, Mounted], raw: Path, load: Workload) -> Outcome:
    hosts, mounted = deployment
    raw.mkdir()
    load.prepare(hosts.clients, mounted, raw)
    outcome = load.run(hosts.clients, mounted, raw)
    assert repr(load.outcome(raw)) == repr(outcome)
    assert not list(raw.glob("*.pipe"))
    return outcome


def test_clients_write_and_read_their_own_objects_from_the_same_instant(
    deployment: tuple[Hosts, Mounted], tmp_path: Path
) -> None:
    written = loaded(deployment, tmp_path / "write", bench())
    read = loaded(deployment, tmp_path / "seq", bench(operation="seq"))
    for outcome, direction in ((written, "write"), (read, "read")):
        assert outcome.engine.startswith("rados bench of ceph version")
        assert [(r.host, r.direction, r.moved_bytes, r.operations_count) for r in outcome.results] == [
            ("client-1", direction, 8 * MIB, 32),
            ("client-2", direction, 8 * MIB, 32),
        ]
        first, second = outcome.results
        assert abs(first.began_s - second.began_s) < 0.05
        for series in outcome.series:
            assert float((series.value * series.duration_s).sum()) == pytest.approx(8 * MIB)
    assert not list((tmp_path / "seq").glob("layout-*"))  # what the write left is read


@pytest.mark.slow  # by day: sequential reads, above
def test_random_reads_last_as_configured_on_objects_laid_out_before(
    deployment: tuple[Hosts, Mounted], tmp_path: Path
) -> None:
    outcome = loaded(
        deployment, tmp_path / "rand", bench(operation="rand", size="4 MiB", duration="1 s", in_flight=4)
    )
    assert list((tmp_path / "rand").glob("layout-client-?.json"))
    assert all(1 <= r.ended_s - r.began_s < 2 and r.moved_bytes > 4 * MIB for r in outcome.results)


def test_a_time_limit_ends_a_store_that_blocks(deployment: tuple[Hosts, Mounted], tmp_path: Path) -> None:
    hosts, mounted = deployment
    with pytest.raises(TransientError, match=r"not finished within 2\.? s on client-1, client-2: a full OSD"):
        bench(size="16 GiB", duration="1 s", time_limit="2 s").run(hosts.clients, mounted, tmp_path)
    assert not list(tmp_path.glob("*.pipe"))
