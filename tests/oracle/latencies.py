"""How long calls took that returned in a part of a load: docs/explanations/how-numbers-are-made.md,
"Events".
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .folder import Attempt

FINEST = 29 * 64  # bins of fio's histograms


def returned(attempt: Attempt, results: list[dict[str, Any]]) -> pd.DataFrame:
    """The calls of all clients: when the window ended in which they returned, how long each took, how many.

    None without logs.
    """
    found = [_of_client(attempt, one["host"], one["direction"]) for one in results]
    return pd.concat([table if all(map(len, found)) else table.iloc[:0] for table in found])


def of_users(attempt: Attempt, results: list[dict[str, Any]]) -> pd.DataFrame:
    """The same of users, whose samples name them and no direction."""
    tables = []
    for host, user in {(r["host"], r["user"]) for r in results}:
        own = (attempt.samples["host"] == host) & (attempt.samples["component"] == f"user {user}")
        latency, calls = (
            attempt.samples[own & (attempt.samples["quantity"] == q)] for q in ("latency", "calls")
        )
        values = {"t_s": latency["t_s"].to_numpy(), "latency_s": latency["value"].to_numpy()}
        tables.append(pd.DataFrame({**values, "calls": calls["value"].to_numpy()}))
    return pd.concat(tables if all(map(len, tables)) else [table.iloc[:0] for table in tables])


def percentile_s(calls: pd.DataFrame, percent: int, low_s: float, high_s: float) -> float:
    """What this many percent of the calls took at most, of windows that ended in (low_s, high_s]; NaN if
    that is not known.
    """
    inside = calls[(calls["t_s"] > low_s) & (calls["t_s"] <= high_s)]
    each_s = np.sort(np.repeat(inside["latency_s"].to_numpy(np.float64), inside["calls"].to_numpy(np.int64)))
    found_s = each_s[-(-percent * len(each_s) // 100) - 1] if len(each_s) else np.nan
    return float(found_s) if np.isfinite(found_s) else np.nan


def _of_client(attempt: Attempt, host: str, direction: str) -> pd.DataFrame:
    """By fio's own logs where there are any, else by the samples."""
    paths = [
        path
        for path in attempt.folder.glob(f"raw/**/{host}_clat_hist.1.log")
        if not path.parent.name.startswith("full-")
    ]
    if paths:
        return pd.concat([logged(path, host, direction) for path in sorted(paths)])
    load = (attempt.samples["host"] == host) & (attempt.samples["component"] == direction)
    latency, calls = (
        attempt.samples[load & (attempt.samples["quantity"] == quantity)] for quantity in ("latency", "calls")
    )
    values = {"latency_s": latency["value"].to_numpy(), "calls": calls["value"].to_numpy()}
    return pd.DataFrame({"t_s": latency["t_s"].to_numpy(), **values})


def logged(path: Path, host: str, direction: str) -> pd.DataFrame:
    """The calls of one client in a log of fio's, on the clock of its record."""
    table = pd.read_csv(path, header=None).to_numpy()
    table = table[table[:, 1] == ("read", "write").index(direction)]
    ran = json.loads((path.parent / "run.json").read_text())
    ahead_s = ran["ahead_s"].get(host, [0.0])[0]
    t_s = table[:, 0] / 1000 + ran["clocks"][0]["monotonic_s"] - ran["clocks"][0]["utc_s"] - ahead_s
    took_s = _middles_s(table.shape[1] - 3)
    each = [
        {"t_s": t, "latency_s": one_s, "calls": count}
        for t, row in zip(t_s, table[:, 3:], strict=True)
        for one_s, count in zip(took_s, row, strict=True)
        if count
    ]
    return pd.DataFrame(each, columns=["t_s", "latency_s", "calls"])


def _middles_s(count: int) -> np.ndarray:
    """Bins begin at each ns up to 128, then at 64 places of each power of two; as many of them as there
    are too many are one.
    """
    begins_ns = np.concatenate([np.arange(128), *(np.arange(64, 128) * 2**power for power in range(1, 28))])[
        :: FINEST // count
    ]
    return np.append((begins_ns[:-1] + begins_ns[1:]) / 2, np.inf) / 1e9
