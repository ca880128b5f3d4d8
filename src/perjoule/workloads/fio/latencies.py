"""fio's histograms of latencies over time: the options that request them, and their parser (fio 3.33).

Each line counts, in bins, the completion latencies of the calls of one direction that returned since the line
before. When a line is due, the next call that returns is the last on it. So calls after the last line are on
none, and one that stalls is never among them. https://github.com/axboe/fio/blob/fio-3.33/stat.c:
`add_clat_sample`, and `plat_val_to_idx` for the bins.
"""

from collections.abc import Mapping, Sequence
from math import inf

from perjoule.model import Channel, ClientResult, Series
from perjoule.model.series import Floats
from perjoule.workloads.fio.report import AVERAGED_S

LINES_COUNT = 1000  # at most, of a load without stalls: fio holds 15 KB for each until it ends
COARSENESS = 1  # two bins of fio's in one: what it holds is within 1.6 % of its middle
# bins in a group, and groups: the second has bins of 1 ns, each later one of twice as much
GROUP_COUNT, GROUPS_COUNT = 64, 29
DIRECTIONS: Mapping[str, str] = {"0": "read", "1": "write"}


def asked(name: str, duration_s: float) -> tuple[str, ...]:
    """Return the fio options that write the histograms of a load of this length to
    `<name>_clat_hist.1.log`.
    """
    each_s = max(AVERAGED_S, duration_s / LINES_COUNT)
    log = (f"write_hist_log={name}", f"log_hist_msec={each_s * 1e3:.0f}", f"log_hist_coarseness={COARSENESS}")
    return (*log, "clat_percentiles=1")  # without which all counts are 0


def bins_s() -> Floats:
    """Return the middle of each bin, shape (928,); infinite for the last, which also has all that took
    longer (17 s).
    """
    import numpy as np  # `perjoule check` only builds the driver

    group, number = np.divmod(np.arange(0, GROUPS_COUNT * GROUP_COUNT + 1, 2**COARSENESS), GROUP_COUNT)
    edges_ns = np.where(group == 0, number, (GROUP_COUNT + number) * 2.0 ** (group - 1))
    return np.append((edges_ns[:-1] + edges_ns[1:])[:-1] / 2e9, inf)


def latencies(log: str, moved: Sequence[ClientResult], offset_s: float) -> tuple[Series, ...] | None:
    """Parse the histograms of one client (`asked`, `log_unix_epoch`): for each direction, `latency` and
    `calls`.

    Sample n of `calls` counts those that returned in the window of `duration_s` that ends at `t_s`, each
    after about as long as sample n of `latency` says. None if a line has other bins, if it counts what can't
    be counted or ends before the one before it, or if the log counts more calls than returned.

    Args:
        log: lines "UTC ms, direction, block size, a count for each bin".
        moved: the client's results, in the monotonic clock.
        offset_s: the monotonic clock minus UTC.
    """
    import numpy as np

    middle_s = bins_s()
    lines: dict[str, list[list[str]]] = {}
    for line in log.splitlines():
        ms, direction, _, *counts = line.split(",")
        if len(counts) != len(middle_s):
            return None
        lines.setdefault(DIRECTIONS.get(direction.strip(), ""), []).append([ms, *counts])
    all_series: list[Series] = []
    for result in (result for result in moved if result.direction in lines):
        numbers = np.array(lines[result.direction], dtype=np.float64)
        ends_s = numbers[:, 0] / 1e3 + offset_s
        counts, windows_s = numbers[:, 1:], np.diff(ends_s, prepend=result.began_s)
        # NaN is neither
        if not ((counts >= 0).all() and counts.sum() <= result.operations_count and (windows_s >= 0).all()):
            return None
        row, column = np.nonzero(counts)
        t_s, duration_s = ends_s[row], windows_s[row]
        latency = Channel("fio", result.host, result.direction, "latency", "s", "window mean", "counter")
        calls = Channel("fio", result.host, result.direction, "calls", "1", "window mean", "counter")
        all_series += [
            Series(latency, t_s, duration_s, middle_s[column]),
            Series(calls, t_s, duration_s, counts[row, column]),
        ]
    return tuple(all_series)
