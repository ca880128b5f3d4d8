"""rados bench's JSON, from any run. https://docs.ceph.com/en/pacific/man/8/rados/

It reports no time at all: the file's modification time is taken as the end of the run.
"""

import json

from perjoule.model import Outcome
from perjoule.model.doubts import TIMES
from perjoule.workloads import rados
from perjoule.workloads.imported.embedded import documents
from perjoule.workloads.imported.run import ImportedRun, Told

SHORTEST_S = 0.1


def runs(text: str, hints: Told) -> tuple[ImportedRun, ...]:
    """Read the one run of a report. Raises ValueError, LookupError."""
    report, *further = documents(text, "datas")
    if further:
        raise ValueError("it has several runs and no times: give each a file of its own")
    operation = "write" if "total_writes_made" in report else "read"
    took_s = float(report["total_time_run"])
    # benchmark_data_<host>_<process>
    client = str(report.get("object_prefix", "")).removeprefix("benchmark_data_").rpartition("_")[0]
    (host,) = hints.hosts(client)
    result = rados.result(host, operation, json.dumps(report), hints.ended_s - took_s)
    short = (TIMES.short_run(length_s=took_s),) if took_s < SHORTEST_S else ()
    in_flight = (f"{report['concurrent_ios']} in flight",) if "concurrent_ios" in report else ()
    size_bytes = int(report.get("write_size") or report["read_size"])
    outcome = Outcome(
        "rados bench",
        (result,),
        (TIMES.rados_by_file(), *short),
        (rados.goodput(result, json.dumps(report)),) if took_s else (),
    )
    return (ImportedRun(operation, in_flight, size_bytes, "", outcome),)
