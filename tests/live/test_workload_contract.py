"""What holds for every workload driver found on disk, on virtual hosts: a new one needs no entry here.

Each runs as its EXAMPLE says, with the first value of each list, in a small size.
"""

import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lacking import lacking
from perjoule import campaign, drivers
from perjoule.campaign.tables import fields_of, takes_list
from perjoule.drivers.protocols import Workload
from perjoule.execution import runner
from perjoule.model.errors import WorkloadError
from perjoule.store import create, open_results
from s3_store import BUCKET, S3Store, credentials, s3_store

pytestmark = pytest.mark.live

SMALL: dict[str, Any] = {"size": "16 MiB", "duration": "1 s", "files": 100}
STORES = {
    "folders": {"kind": "directory"},
    "pools": {"kind": "rados", "placement_groups": 8},
    "devices": {"kind": "device"},
    "buckets": {"kind": "bucket", "bucket": BUCKET},
}
MOUNTED_ON_SERVERS = {"kind": "moosefs"}  # for those that work where the data lie
NOT_RUN = {"imported": "it reads what other tools measured"}
ON_FAKES = "simulated"
CAMPAIGN = """
name = "contract"
repetitions = 1
settle = "0.1 s"
quiet = 0
"""


def workload_table(kind: str) -> dict[str, Any]:
    (table, *_) = tomllib.loads(importlib.import_module(f"perjoule.workloads.{kind}").EXAMPLE)["workload"]
    fields = fields_of("workload", kind)
    for option, value in table.items():
        if isinstance(value, list) and not takes_list(fields[option][1].annotation):
            table[option] = value[0]
    return table | {option: value for option, value in SMALL.items() if option in table}


def written(name: str, table: dict[str, Any]) -> str:
    def value(of: Any) -> str:
        if isinstance(of, dict):
            return "{" + ", ".join(f"{key} = {value(one)}" for key, one in of.items()) + "}"
        if isinstance(of, list):
            return "[" + ", ".join(map(value, of)) + "]"
        return str(of).lower() if isinstance(of, bool) else repr(of).replace("'", '"')

    return "\n".join([f"{name}", *(f"{option} = {value(one)}" for option, one in table.items())]) + "\n"


@pytest.fixture
def serving_s3() -> Iterator[S3Store]:
    with s3_store() as store:
        yield store


@pytest.mark.parametrize("kind", drivers.kinds("workloads"))
def test_it_runs_valid_and_its_raw_outputs_say_the_same_again(
    kind: str, tmp_path: Path, serving_s3: S3Store
) -> None:
    if kind in NOT_RUN:
        pytest.skip(f"{kind}: {NOT_RUN[kind]}")
    table = workload_table(kind)
    driver = drivers.build(
        "workloads", kind, {option: value for option, value in table.items() if option != "kind"}
    )
    assert isinstance(driver, Workload), "inherit Workload"
    if missing := lacking(driver.checks()):
        pytest.skip(missing)
    testbed: dict[str, Any] = {"kind": "virtual", "disk": "directory", "servers": 2, "cpu_cap": False}
    store: dict[str, Any] = dict(
        MOUNTED_ON_SERVERS if driver.using else STORES.get(driver.needs, STORES["folders"])
    )
    if kind == ON_FAKES:
        testbed, store = {"kind": ON_FAKES}, {"kind": ON_FAKES}
    if store["kind"] == "bucket":  # which speaks on this machine's loopback
        testbed = {"kind": "local"}
        store |= {"endpoint": serving_s3.endpoint, "credentials": str(credentials(tmp_path))}
    if store["kind"] == "directory":
        (tmp_path / "data").mkdir()
        store["path"] = str(tmp_path / "data")
    text = "".join(
        [
            CAMPAIGN,
            written("[testbed]", testbed),
            written("[[filesystem]]", store),
            written("[[workload]]", table),
            written("[[meter]]", {"kind": "simulated" if kind == ON_FAKES else "system"}),
        ]
    )
    wanted = campaign.parse(text)
    runner.run(wanted, create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
    results = open_results(tmp_path / "results")
    for record in results.records():
        assert record.status == "valid", f"the EXAMPLE of {kind} fails: {record.reason}"
        assert record.outcome is not None, "have `run` return an Outcome"
        assert record.outcome.results, "have `run` return a result for each client"
        for one in record.outcome.results:
            assert one.ended_s > one.began_s, (
                f"{one.host}: say when the load began and ended, by its own tool"
            )
            moved = one.moved_bytes or one.operations_count
            assert moved or driver.directions == ("idle",), (
                f"{one.host}: count the bytes or operations that were moved"
            )
        (raw,) = (tmp_path / "results").rglob("raw")
        again = driver.outcome(raw)
        assert again.results == record.outcome.results, (
            "have `outcome` read from the raw outputs what `run` returned"
        )
        for path in [path for path in raw.rglob("*") if path.is_file()]:
            path.write_bytes(b"")
        with pytest.raises(WorkloadError) as damage:
            driver.outcome(raw)
        assert damage.value.what, "say what is wrong with the raw output"
