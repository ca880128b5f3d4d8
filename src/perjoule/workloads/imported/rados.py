"""rados bench's JSON, from any run. https://docs.ceph.com/en/pacific/man/8/rados/

It reports no time at all: the file's modification time is taken as the end of the run, less the time that it took to
remove its objects, where its text says so.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from perjoule.model import Outcome
from perjoule.model.doubts import TIMES
from perjoule.model.units import MIB
from perjoule.workloads import rados
from perjoule.workloads._embedded import documents
from perjoule.workloads.imported.run import ImportedRun, Told

SHORTEST_S = 0.1
ROUNDED, SAME_RATIO = 0.01, 0.01  # MiB/s, and the share by which a bandwidth may differ from amount and time
_CLEANED = re.compile(r"^Clean up completed and total clean up time *: *([\d.]+)", re.MULTILINE)


def runs(text: str, hints: Told) -> tuple[ImportedRun, ...]:
    """Read the one run of a report. Raises ValueError, LookupError."""
    report, *further = map(_named, documents(text, "datas"))
    if further:
        raise ValueError("it has several runs and no times: give each a file of its own")
    operation = "write" if "total_writes_made" in report else "read"
    took_s = float(report["total_time_run"])
    # benchmark_data_<host>_<process>
    client = str(report.get("object_prefix", "")).removeprefix("benchmark_data_").rpartition("_")[0]
    (host,) = hints.hosts(client)
    cleaned_s = sum(map(float, _CLEANED.findall(text)))
    began_s = hints.ended_s - cleaned_s - took_s
    result = rados.result(host, operation, json.dumps(report), began_s)
    short = (TIMES.short_run(length_s=took_s),) if took_s < SHORTEST_S else ()
    in_flight = (f"{report['concurrent_ios']} in flight",) if "concurrent_ios" in report else ()
    if took_s:
        _check(result.moved_bytes / MIB / took_s, report)
    size_bytes = int(report.get("write_size") or report["read_size"])
    outcome = Outcome(
        "rados bench",
        (result,),
        (TIMES.rados_by_file(may_have_removed=operation == "write" and not cleaned_s), *short),
        (rados.goodput(result, json.dumps(report)),) if took_s else (),
    )
    return (ImportedRun(operation, in_flight, size_bytes, "", outcome),)


def _named(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report by the names of its numbers: Jewel's and Kraken's writes have a "max_latency:"."""
    return {name.rstrip(":"): value for name, value in report.items()}


def _check(rate_mib_per_s: float, report: Mapping[str, Any]) -> None:
    """Check that a report agrees with itself. Raises ValueError."""
    stated_mib_per_s = float(report.get("bandwidth", rate_mib_per_s))
    if abs(stated_mib_per_s - rate_mib_per_s) > ROUNDED + SAME_RATIO * rate_mib_per_s:
        raise ValueError(
            f"its operations, their size and its time make {rate_mib_per_s:.6g} MiB/s, and its bandwidth is "
            f"{stated_mib_per_s:.6g}: it was changed, or is damaged"
        )
