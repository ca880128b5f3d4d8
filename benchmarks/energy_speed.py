"""Time to compute the energy of many windows over a long series, compared with pandas in the same run.

    python benchmarks/energy_speed.py [--samples 1e8] [--windows 1e4] [--semantics instantaneous]

Needs 3 GB of memory for 1e8 samples, and with pandas 10 GB. pandas is not a dependency of perjoule: without
it the benchmark prints only our own figures. Both integrate by the trapezoid up to the windows' edges and
must agree.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import TypeVar

import numpy as np

from perjoule.energy.integral import integral
from perjoule.model import Channel, Semantics, Series

Floats = np.ndarray
T = TypeVar("T")


def made(count: int, semantics: Semantics) -> Series:
    """1 kHz with jitter, 40 to 60 W."""
    dice = np.random.default_rng(1)
    t_s = np.arange(count, dtype=np.float64)
    t_s += dice.uniform(-0.4, 0.4, count)
    t_s *= 1e-3
    value = dice.uniform(40, 60, count)
    if semantics == "counter":
        value *= 1e-3
        np.cumsum(value, out=value)
    duration_s = np.diff(t_s, prepend=t_s[0] - 1e-3) if semantics == "window mean" else np.zeros(count)
    kind = ("energy", "J") if semantics == "counter" else ("power", "W")
    return Series(Channel("made", "host", "all", *kind, semantics, "wall"), t_s, duration_s, value)


def with_pandas(pandas: ModuleType, series: Series, began_s: Floats, ended_s: Floats) -> Floats:
    """As one would write it: a cumulative integral in a Series, looked up and interpolated at the edges."""
    frame = pandas.DataFrame({"t_s": series.t_s, "w": series.value})
    upto = ((frame["w"] + frame["w"].shift()) / 2 * frame["t_s"].diff()).fillna(0).cumsum()
    t_s = frame["t_s"].to_numpy()

    def until(moments_s: Floats) -> Floats:
        last = frame["t_s"].searchsorted(moments_s, side="right") - 1
        into_s = moments_s - t_s[last]
        slope = (series.value[last + 1] - series.value[last]) / (t_s[last + 1] - t_s[last])
        return upto.iloc[last].to_numpy() + into_s * (series.value[last] + slope * into_s / 2)

    return until(ended_s) - until(began_s)


def timed(call: Callable[[], T]) -> tuple[float, T]:
    began_s = time.perf_counter()
    result = call()
    return time.perf_counter() - began_s, result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=float, default=1e8)
    parser.add_argument("--windows", type=float, default=1e4)
    parser.add_argument(
        "--semantics", default="instantaneous", choices=["instantaneous", "counter", "window mean"]
    )
    parser.add_argument("--repetitions", type=int, default=3)
    asked = parser.parse_args()
    count, windows_count = int(asked.samples), int(asked.windows)
    series = made(count, asked.semantics)
    dice = np.random.default_rng(2)
    began_s = dice.uniform(1, series.t_s[-1] * 0.9, windows_count)
    ended_s = began_s + dice.uniform(1, 60, windows_count).clip(max=series.t_s[-1] * 0.05)
    edges_s = np.concatenate((began_s, ended_s))
    load = os.getloadavg()[0]
    print(
        f"{windows_count:.0e} windows over {count:.0e} samples ({asked.semantics}), {os.cpu_count()} CPUs, "
        f"load before {load:.1f}"
    )
    own_j = np.empty(0)
    for _ in range(asked.repetitions):
        again = replace(series)  # what was computed from a series is kept with it
        prepared_s, _ = timed(lambda one=again: integral(one))
        asked_s, (upto_j, _) = timed(lambda one=again: integral(one).until(edges_s))
        own_j = upto_j[windows_count:] - upto_j[:windows_count]
        print(
            f"perjoule: {prepared_s + asked_s:6.3f} s ({prepared_s:.3f} s to prepare the series, "
            f"{asked_s:.3f} s for the windows)"
        )
    try:
        import pandas  # beside, for comparison only
    except ImportError:
        print(
            "pandas: not installed here (pip install pandas in an environment of its own, for this "
            "comparison)"
        )
        return
    if asked.semantics != "instantaneous":
        print("pandas: compared with --semantics instantaneous")
        return
    for _ in range(min(2, asked.repetitions)):
        pandas_s, pandas_j = timed(lambda: with_pandas(pandas, series, began_s, ended_s))
        worst = float(np.max(np.abs(np.asarray(pandas_j) / np.asarray(own_j) - 1)))
        print(
            f"pandas {pandas.__version__}: {pandas_s:6.3f} s; the largest difference is {worst:.1e} of the "
            "energy"
        )


if __name__ == "__main__":
    main()
