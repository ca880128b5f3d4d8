"""Results with metered power that need no machine: runs of IO500 on several days, and a log of the
servers' power.
"""

from collections.abc import Sequence
from pathlib import Path

from perjoule import importing
from perjoule.importing.power import logs
from perjoule.importing.sources import sources
from perjoule.store import Results
from unit.importing.io500_folders import old

PHASES = ("ior-easy-write", "mdtest-hard-write", "find")


def laboratory(
    room: Path,
    folder: Path,
    *,
    watts: float = 400.0,
    grade: str = "wall",
    days: tuple[int, ...] = (7, 8, 9),
    filesystem: str = "lustre",
    accuracy: str = "1 %",
    rates: Sequence[float] = (2.07, 2.08, 2.09),
) -> Results:
    """Import runs of these days of November 2017, with their power, into a results folder; their files are
    made in `room`.

    Args:
        room: for the files.
        folder: of the results.
        watts: of all servers.
        grade: of the meter.
        days: of the runs.
        filesystem: that ran.
        accuracy: that the meter states; "" if it states none.
        rates: GiB/s of ior-easy-write, of each day.
    """
    words = [
        str(old(room / f"run-{day}", day=day, names=PHASES, rates={"ior-easy-write": rate}))
        for day, rate in zip(days, rates, strict=False)
    ]
    began_s = [1510048805 + (day - 7) * 86400 - 600 for day in days]
    lines = [f"{t},{watts + t % 7 / 10}" for begin_s in began_s for t in range(begin_s, begin_s + 3000, 10)]
    (room / "power.csv").write_text("\n".join(["t,w", *lines]) + "\n")
    declared = (
        "time=t",
        "value=w",
        "unit=W",
        "semantics=window mean",
        "window=10 s",
        f"grade={grade}",
        "clock=unix",
    )
    declared += (f"accuracy={accuracy}",) if accuracy else ()
    metered = logs(room / "power.csv", declared, ("servers",), "UTC")
    results = importing.create(folder)
    importing.bring(
        results, sources(words, "UTC")[0], metered, filesystem=filesystem, roles={"oss": "storage"}
    )
    return results
