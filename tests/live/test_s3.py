"""Loads over S3 on real gateways: what servers moved is explained, and it is the same over SSH."""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from day import by_day
from lacking import lacking
from on_hosts import hosts_of
from perjoule import campaign, drivers
from perjoule.drivers.protocols import FileSystem, OffersBuckets, able
from perjoule.execution import runner
from perjoule.filesystems.garage import Garage, _Garage
from perjoule.machine import buckets
from perjoule.measures.amplification import (
    DEVIATIONS,
    MEASURED,
    OF_HOPS,
    OPPOSITE,
    SUBJECTS,
    TOLERANCE_RATIO,
    deviation_ratio,
)
from perjoule.measures.points import points
from perjoule.model.errors import StoreRefused
from perjoule.model.units import MIB
from perjoule.results.verification import verify
from perjoule.store import Results, create, open_results
from sshd import NEEDS_SSHD, Lab
from typed import as_written

CAMPAIGN = """
name = "s3"
clients = 2
repetitions = 1
settle = "0.1 s"
quiet = "1 s"
[testbed]
kind = "virtual"
disk = "directory"
cpu_cap = false
servers = {servers}
[[filesystem]]
{table}
[[workload]]
kind = "s3"
operation = ["put", "get"]
object = "256 KiB"
size = "64 MiB"
[[meter]]
kind = "system"
"""


STORES = {
    "seaweed_s3": (4, 'kind = "seaweed_s3"\nreplication = "001"'),
    "rgw": (2, 'kind = "rgw"\nplacement_groups = 16\ncopies = 2'),
    "garage": (2, 'kind = "garage"\nreplication_factor = 2'),
    "versitygw": (2, 'kind = "versitygw"'),
}
CASES = [
    *(f"{kind} {gateways}" for kind in ("seaweed_s3", "rgw") for gateways in ("metadata", "storage")),
    "garage metadata",
    "garage",  # each gateway keeps all blocks
    "versitygw",
]
# what nodes of Garage send each other beside blocks of 256 KiB: 5.3 % was measured
WITH_NAMES_RATIO = 0.06
BESIDE_DATA = ("seaweed_s3 storage", "rgw storage", "garage", "versitygw")
pytestmark = pytest.mark.live


def text(kind: str, gateways: str = "") -> str:
    """A campaign; skip, with what is missing, where programs of the store are not installed."""
    store = drivers.build("filesystems", kind, {"gateways": gateways} if gateways else {})
    assert isinstance(store, FileSystem)
    if missing := lacking(store.checks()):
        pytest.skip(missing)
    servers_count, table = STORES[kind]
    table += f'\ngateways = "{gateways}"' if gateways else ""
    return CAMPAIGN.format(servers=servers_count, table=table)


def moved(results: Results) -> dict[str, list[tuple[str, int, int]]]:
    trials: dict[str, list[tuple[str, int, int]]] = {}
    for record in results.latest():
        assert (record.status, record.reason) == ("valid", "")
        assert record.outcome is not None
        first = record.outcome.results[0].direction
        trials[first] = [(r.host, r.moved_bytes, r.operations_count) for r in record.outcome.results]
        if first == "write":
            assert "the store has all objects that it acknowledged" in record.outcome.note
    return trials


ALL = {
    direction: [("client-1", 64 * MIB, 256), ("client-2", 64 * MIB, 256)] for direction in ("write", "read")
}


@pytest.mark.slow  # by day: test_workload_contract.py; tests/unit/measures/test_amplification.py
@pytest.mark.parametrize("case", CASES)
def test_bytes_of_servers_are_explained_by_copies_and_by_the_hop_through_gateways(
    case: str, tmp_path: Path
) -> None:
    wanted = campaign.parse(text(*case.split()))
    runner.run(wanted, create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
    results = open_results(tmp_path / "results")
    assert moved(results) == ALL
    for record in results.latest():
        (point,) = points(record, results.series(record))
        assert point.metrics["objects_count"] == 512
        assert point.metrics["objects_per_s"] == pytest.approx(512 / point.metrics["duration_s"])
        derived = {name: point.metrics[f"derived_{MEASURED[name]}"] for name in OPPOSITE}
        measured = {name: point.metrics[MEASURED[name]] for name in OPPOSITE}
        chance_ratio = deviation_ratio(record)
        print(case, point.direction, chance_ratio, [(derived[n], measured[n]) for n in OPPOSITE])
        assert (chance_ratio > 0) == case.endswith(" storage")
        assert chance_ratio < TOLERANCE_RATIO
        tolerance_ratio = WITH_NAMES_RATIO if case.startswith("garage") else TOLERANCE_RATIO
        for name, ratio in derived.items():
            most = tolerance_ratio * max(1.0, ratio) + DEVIATIONS * chance_ratio * (name in OF_HOPS)
            assert abs(measured[name] - ratio) <= most, name
        assert not [doubt for doubt in point.doubts if any(s in doubt for s in SUBJECTS.values())]
    assert verify(results).differences == ()


TRAINING: dict[str, Any] = {
    "kind": "training",
    "access": "buckets",
    "files": 24,
    "sample": "256 KiB",
    "deviation": "64 KiB",
    "samples_per_file": 2,
    "batch": 4,
    "workers": 2,
    "compute": "20 ms",
    "epochs": 2,
}


@pytest.mark.parametrize("kind", by_day(STORES, "seaweed_s3"))
def test_clients_train_on_the_objects_of_one_bucket(kind: str, tmp_path: Path) -> None:
    document = tomlkit.parse(text(kind))
    document["workload"] = [TRAINING]
    wanted = campaign.parse(tomlkit.dumps(document))
    runner.run(wanted, create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
    results = open_results(tmp_path / "results")
    (record,) = results.latest()
    assert (record.status, record.reason) == ("valid", "")
    assert record.outcome is not None
    moved_bytes, samples_count = 0, 0
    for client in ("client-1", "client-2"):
        rows = (results.folder_of(record) / "raw" / f"{client}.0.csv").read_text().splitlines()[1:]
        samples_count += len(rows)
        moved_bytes += sum(int(row.rpartition(",")[2]) for row in rows)
    assert sum(result.moved_bytes for result in record.outcome.results) == moved_bytes
    assert samples_count == 2 * 24 * 2
    (point,) = points(record, results.series(record))
    assert point.metrics["samples_per_s"] == pytest.approx(samples_count / point.metrics["duration_s"])
    assert 0 < point.metrics["accelerator_ratio"] <= 1
    # no page cache lies between: what clients received is what they read, and headers
    assert 1 <= point.metrics[MEASURED["client_received_ratio"]] < 1.1
    assert verify(results).differences == ()


@pytest.mark.slow  # by day: test_filesystem_contract.py; of Ceph: test_rgw.py
@pytest.mark.parametrize("kind", ["seaweed_s3", "garage", "versitygw"])
def test_a_clients_keys_open_its_own_bucket_alone(kind: str) -> None:
    store = drivers.build("filesystems", kind, {})
    assert isinstance(store, FileSystem)
    if missing := lacking(store.checks()):
        pytest.skip(missing)
    with hosts_of(servers=2).hold(2) as hosts, store.mount(hosts) as mounted:
        client, neighbour = hosts.clients
        own, foreign = (able(mounted, OffersBuckets).bucket(host.name) for host in (client, neighbour))
        opened = replace(foreign, credentials=own.credentials)
        buckets.ask(client, own, "write", "x", timeout_s=60, text="ours")
        for operation, more in (("stored", {}), ("write", {"text": "theirs"}), ("texts", {"ending": "x"})):
            with pytest.raises(StoreRefused, match="403"):
                buckets.ask(client, opened, operation, "x", timeout_s=60, **more)


@pytest.mark.slow  # by day: test_filesystem_contract.py, whose nodes have one secret
def test_who_does_not_have_the_secret_is_not_answered_by_garage() -> None:
    store = as_written(Garage, replication_factor=2)
    if missing := lacking(store.checks()):
        pytest.skip(missing)
    with hosts_of(servers=2).hold(1) as hosts, store.mount(hosts) as mounted:
        assert isinstance(mounted, _Garage)
        node, (client,) = hosts.by_role("storage")[0], hosts.clients
        secret = node.read(mounted.folder(node) / "rpc-secret").decode()
        address = f"{mounted.ids[node.name]}@{node.address}:3901"
        for text, answered in ((secret, True), (secret[::-1], False)):
            client.put(text, client.directory / "secret", mode=0o600)
            argv = [*store.environment, "garage", "--rpc-host", address]
            argv += ["--rpc-secret-file", client.directory / "secret", "status"]
            done = client.run(argv, timeout_s=60, check=False)
            assert (done.returncode == 0) == answered, done.stderr


@pytest.mark.slow  # by day: on virtual hosts, and test_workload_contract.py
@NEEDS_SSHD
@pytest.mark.parametrize("case", BESIDE_DATA)
def test_over_ssh_clients_put_and_get_the_same(case: str, tmp_path: Path) -> None:
    document = tomlkit.parse(text(*case.split()))
    servers_count, _ = STORES[case.split()[0]]
    with (
        tempfile.TemporaryDirectory(prefix="pj-lab-") as folder,
        hosts_of(servers=servers_count).hold(2) as hosts,
    ):
        place = Path(folder)
        place.chmod(0o755)
        lab = Lab(place)
        table: dict[str, Any] = {"kind": "cluster", **lab.options(lab.serve(hosts.all), 22)}
        document["testbed"] = table
        (place / "s3.toml").write_text(tomlkit.dumps(document))
        argv = [Path(sys.executable).with_name("perjoule"), "run", place / "s3.toml"]
        argv += ["--into", place / "results"]
        done = hosts.management.run(argv, env={"XDG_STATE_HOME": folder}, timeout_s=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert moved(open_results(place / "results")) == ALL
