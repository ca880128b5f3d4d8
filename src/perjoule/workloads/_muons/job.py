"""The Dask job that analyses a data set: `python -m perjoule.workloads._muons.job JOB.json`, on the first client.

It writes `tasks.jsonl` (a line for each task as it ends) and `histogram.json` next to the job's file. It is a separate program,
so the job runs in the client's network and Dask stays out of perjoule's process. https://distributed.dask.org
"""

import importlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from perjoule.workloads._muons import analysis

ENGINE = ("distributed", "uproot", "awkward", "vector", "hist")


def main(path: str) -> None:
    """Run a job."""
    job: dict[str, Any] = json.loads(Path(path).read_text())
    folder, workers, limit_s = Path(path).parent, job["workers"], job["time_limit_s"]
    distributed: Any = importlib.import_module("distributed")
    counts = np.zeros(analysis.BINS_COUNT, dtype=np.int64)
    with (
        distributed.Client(job["scheduler"], timeout=limit_s) as client,
        (folder / "tasks.jsonl").open("w") as lines,
    ):
        client.wait_for_workers(len(workers), timeout=limit_s)
        client.run(analysis.warm)
        futures = [
            client.submit(
                analysis.analyse,
                job["directories"],
                task["file"],
                task["part"],
                job["tasks_per_file"],
                workers=task["workers"],
                allow_other_workers=False,
                pure=False,
            )
            for task in job["tasks"]
        ]
        for _, result in distributed.as_completed(futures, with_results=True, timeout=limit_s):
            lines.write(json.dumps(result["task"]) + "\n")
            counts += np.asarray(result["counts"])
    edges = {"low_gev": analysis.LOW_GEV, "high_gev": analysis.HIGH_GEV, "bins_count": analysis.BINS_COUNT}
    engine = ", ".join(f"{name} {version(name)}" for name in ENGINE)
    (folder / "histogram.json").write_text(json.dumps({"engine": engine, **edges, "counts": counts.tolist()}))


if __name__ == "__main__":
    main(sys.argv[1])
