"""Small outputs of other tools, as tests change them."""

import json
from typing import Any

# How a log of the columns t and w is declared.
POWER = ("time=t", "value=w", "unit=W", "semantics=window mean", "window=1 s", "grade=wall", "clock=unix")
EMPTY = {"min": 0, "max": 0, "mean": 0.0, "N": 0}
NOTHING: dict[str, Any] = {"io_bytes": 0, "runtime": 0, "total_ios": 0, "lat_ns": EMPTY, "clat_ns": EMPTY}


def moved(moved_bytes: int, took_ms: int, size_bytes: int = 65536) -> dict[str, Any]:
    count = moved_bytes // size_bytes
    latency = {"min": 1000, "max": 9000, "mean": 2000.0, "N": count}
    return {
        "io_bytes": moved_bytes,
        "runtime": took_ms,
        "total_ios": count,
        "lat_ns": latency,
        "clat_ns": latency,
    }


def job(
    name: str = "j", *, write: Any = None, read: Any = None, group: int = 0, **entry: Any
) -> dict[str, Any]:
    """A job of a fio report; `options` are its job options."""
    options = entry.pop("options", {"rw": "write", "bs": "64k"})
    took_ms: int = max((write or NOTHING)["runtime"], (read or NOTHING)["runtime"])
    return {
        "jobname": name,
        "groupid": group,
        "error": 0,
        "elapsed": took_ms // 1000 + 1,
        "job options": options,
        "read": read or NOTHING,
        "write": write or NOTHING,
        "job_runtime": took_ms,
        **entry,
    }


def fio(*jobs: dict[str, Any], ended_ms: int = 1_795_000_100_000, **whole: Any) -> str:
    """A report of fio on jobs."""
    entry = {
        "fio version": "fio-3.33",
        "timestamp": ended_ms // 1000,
        "timestamp_ms": ended_ms,
        "jobs": list(jobs),
    }
    return json.dumps({**entry, **whole}, indent=1)


def sadf(
    disks: dict[str, float],
    networks: dict[str, float],
    *,
    stamp: dict[str, Any] | None = None,
    zone: str = "UTC",
    count: int = 20,
) -> str:
    """Counters of a node every 10 s from 12:08:10 on, with kB/s written by each disk and sent by each
    interface.
    """
    intervals = [
        {
            "timestamp": {
                "date": "2024-01-15",
                "time": f"12:{8 + at // 6:02}:{at % 6 * 10:02}",
                **({"utc": 1} if stamp is None else stamp),
                "interval": 10,
            },
            "cpu-load": [{"cpu": "all", "user": 20.0, "idle": 80.0, "iowait": 0.0, "steal": 0.0}],
            "disk": [{"disk-device": name, "rkB": 0.0, "wkB": kib} for name, kib in disks.items()],
            "network": {
                "net-dev": [{"iface": name, "rxkB": 0.0, "txkB": kib} for name, kib in networks.items()]
            },
        }
        for at in range(1, count + 1)
    ]
    host = {"nodename": "client-1", "number-of-cpus": 4, "timezone": zone, "statistics": intervals}
    return json.dumps({"sysstat": {"hosts": [host]}})


IOR_HEAD = "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n"
IOR_COLUMNS = (
    "Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    "
    "Mean(s) Test# #Tasks "
    "tPN reps fPP reord reordoff reordrand seed segcnt   blksiz    xsize aggs(MiB)   API RefNum\n"
)


def ior(
    *tests: tuple[str, str, list[tuple[str, str, str]]],
    began: str = "Fri Nov 27 17:00:00 2026",
    reps: int = 1,
) -> str:
    """The text of an IOR with tests: start, lines between, rows of (operation, bandwidth, seconds), each
    of 1 GiB by 4 ranks.
    """
    text = f"IOR-3.3.0: MPI Coordinated Test of Parallel I/O\nBegan               : {began}\n"
    text += "Command line        : ior -f script\nMachine             : Linux node01\n"
    rows: list[str] = []
    for number, (start, between, found) in enumerate(tests):
        text += (
            f"TestID              : {number}\nStartTime           : {start}\n\nOptions: \ntest filename     "
            "  : /mnt/fs/file\n\n"
        )
        text += f"Results: \n\n{IOR_HEAD}{between}"
        for operation, rate, took in found:
            text += f"{operation:9} {rate:10} 262144 1024.00 0.001 {took} 0.001 {took} 0\n"
            number_text = f"{float(rate):.2f}"
            rows.append(
                f"{operation} {number_text} {number_text} {number_text} 0.00 1 1 1 0 {took} {number} 4 4 "
                f"{reps} 1 0 1 0 0 1 "
                f"268435456 {2 ** (20 - 8 * number)} 1024.0 POSIX 0\n"
            )
    return (
        text
        + "\nSummary of all tests:\n"
        + IOR_COLUMNS
        + "".join(rows)
        + "Finished            : Fri Nov 27 17:02:00 2026\n"
    )


def mdtest(
    version: str,
    table: str,
    *,
    ranks: int = 2,
    iterations: int = 1,
    verbose: str = "",
    options: str = "'-n' '500' '-F'",
) -> str:
    """The text of an mdtest: a table of rows "operation max min mean std"."""
    rows = "".join(f"   {row}\n" for row in table.strip().splitlines())
    return (
        f"-- started at 11/27/2026 08:17:03 --\n\nmdtest-{version} was launched with {ranks} total task(s) "
        "on 1 node(s)\n"
        f"Command line used: mdtest {options} '-d' '/mnt/fs/md'\nPath                : /mnt/fs/md\n\n"
        f"{ranks} tasks, 1000 files\n{verbose}\n"
        f"SUMMARY rate: (of {iterations} iterations)\n"
        "   Operation                      Max            Min           Mean        Std Dev\n"
        f"   ---------                      ---            ---           ----        -------\n{rows}"
        "-- finished at 11/27/2026 08:20:30 --\n"
    )
