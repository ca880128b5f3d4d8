"""The Dask job that analyses a data set: `python -m perjoule.workloads._muons.job JOB.json`, on the first
client.

It writes `tasks.jsonl` (a line for each task as it ends) and `histogram.json` next to the job's file. It is a
separate program, so the job runs in the client's network and Dask stays out of perjoule's process.
https://distributed.dask.org
"""

import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from perjoule.workloads._muons import analysis

ENGINE = ("distributed", "uproot", "awkward", "vector", "hist")


def main(path: str) -> None:
    """Run a job."""
    job: dict[str, Any] = json.loads(Path(path).read_text())
    folder, hosts, limit_s = Path(path).parent, job["addresses"], job["time_limit_s"]
    distributed: Any = importlib.import_module("distributed")
    counts = np.zeros(analysis.BINS_COUNT, dtype=np.int64)
    with (
        distributed.Client(job["scheduler"], timeout=limit_s) as client,
        (folder / "tasks.jsonl").open("w") as lines,
    ):
        client.wait_for_workers(len(hosts), timeout=limit_s)
        workers = chosen(client.run(own_name), hosts)
        places = {address: (host, job["directories"][host]) for host, address in workers.items()}
        client.run(analysis.warm, workers=list(places))
        # One message for each set of workers: of tasks sent one by one, a fast worker ends the first before
        # the second is placed.
        futures: list[Any] = []
        for hosts_of, tasks in together(job["tasks"]).items():
            futures += client.map(
                analysis.analyse,
                *zip(
                    *((places, task["file"], task["part"], job["tasks_per_file"]) for task in tasks),
                    strict=True,
                ),
                workers=[workers[host] for host in hosts_of],
                allow_other_workers=False,
                pure=False,
            )
        for _, result in distributed.as_completed(futures, with_results=True, timeout=limit_s):
            lines.write(json.dumps(result["task"]) + "\n")
            counts += np.asarray(result["counts"])
    edges = {"low_gev": analysis.LOW_GEV, "high_gev": analysis.HIGH_GEV, "bins_count": analysis.BINS_COUNT}
    engine = ", ".join(f"{name} {version(name)}" for name in ENGINE)
    (folder / "histogram.json").write_text(json.dumps({"engine": engine, **edges, "counts": counts.tolist()}))


def together(tasks: Sequence[Mapping[str, Any]]) -> dict[tuple[str, ...], list[Mapping[str, Any]]]:
    """Group tasks by the hosts that may do them, in order."""
    by_hosts: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for task in tasks:
        by_hosts.setdefault(tuple(task["workers"]), []).append(task)
    return by_hosts


def own_name(dask_worker: Any) -> str:
    """Return the name of the worker that runs this."""
    return str(dask_worker.name)


def chosen(names: Mapping[str, str], hosts: Mapping[str, str]) -> dict[str, str]:
    """Choose one worker for each host: the one of its name, or else the first at its address.

    Args:
        names: of workers by their addresses, such as "tcp://10.0.0.7:4321".
        hosts: addresses of hosts by their names.

    Returns:
        Addresses of workers by the names of hosts.

    Raises:
        SystemExit: a host has no worker.
    """
    workers: dict[str, str] = {}
    for host, address in hosts.items():
        candidates = [worker for worker, name in names.items() if name == host]
        candidates += sorted(worker for worker in names if urlsplit(worker).hostname == address)
        if not candidates:
            sys.exit(f"no worker of Dask on {host} ({address}); workers: {', '.join(sorted(names))}")
        workers[host] = candidates[0]
    return workers


if __name__ == "__main__":
    main(sys.argv[1])
