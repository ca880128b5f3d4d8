"""The first table of docs/how-to/s3.md runs on a store that exists."""

from pathlib import Path
from typing import Any

import pytest
import tomlkit

from documents import TABLES
from perjoule import campaign
from perjoule.execution import runner
from perjoule.measures.points import points
from perjoule.store import create, open_results
from places import ROOT
from s3_store import BUCKET, credentials, s3_store

FIRST, *_ = TABLES.findall((ROOT / "docs" / "how-to" / "s3.md").read_text())


@pytest.mark.slow  # by day: live/test_workload_contract.py
def test_the_first_table_measures_a_bucket_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    document: Any = tomlkit.parse(FIRST)
    document.update({"repetitions": 1, "settle": "0.1 s", "quiet": 0, "testbed": {"kind": "local"}})
    small = {"object": ["1 KiB", "16 KiB"], "size": "64 KiB"}
    document["workload"][0].update(small)
    with s3_store() as store:
        store.objects["theirs"] = b"x"
        table = {"endpoint": store.endpoint, "bucket": BUCKET, "credentials": str(credentials(tmp_path))}
        document["filesystem"][0].update(table)
        wanted = campaign.parse(tomlkit.dumps(document))
        runner.run(wanted, create(tmp_path / "results", wanted.text, wanted.name), lambda event: None)
        assert store.objects == {"theirs": b"x"}
    results = open_results(tmp_path / "results")
    moved: set[tuple[str, float, float]] = set()
    for record in results.latest():
        assert (record.status, record.reason) == ("valid", "")
        (point,) = points(record, results.series(record))
        duration_s, count = point.metrics["duration_s"], point.metrics["objects_count"]
        moved.add((point.direction, count, round(point.metrics["objects_per_s"] * duration_s, 6)))
    assert moved == {(way, count, count) for way in ("write", "read") for count in (64, 4)}
    kept = b"".join(path.read_bytes() for path in (tmp_path / "results").rglob("*") if path.is_file())
    assert b"a-secret+of/tests" not in kept, "a key is in the results"
