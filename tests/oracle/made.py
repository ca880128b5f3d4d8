"""Results folders made from nothing but a seed: every kind of meter, whatever real hosts happen to do.

Written by hand from the format in perjoule/store and perjoule/model, so that no code of perjoule has touched
what it is given.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .catalogue import cluster, si
from .folder import CHANNEL

HOSTS = [
    *({"name": f"storage-{n}", "role": "storage", "node": "A"} for n in range(1, 5)),
    {"name": "metadata-1", "role": "metadata", "node": "C"},
    {"name": "management-1", "role": "management", "node": "B"},
    *({"name": f"client-{n}", "role": "client", "node": "G"} for n in range(1, 4)),
]
BASELINE_S, WINDOW_S, TAIL_S = 4.0, 6.0, 5.0
BACK_S = 1.7  # of the tail, in which servers write back
REBUILT_S = 0.8  # after the tail of a trial in which a disk fails, in which servers write back
MIB = 2**20
LEAST_GAP_S = 0.4
CAPACITIES_BYTES = {"wd-black-1tb": 1e12, "samsung-860-pro-512gb": 512e9}
REDUNDANCY = {"copies_count": 1, "data_count": 4, "parity_count": 1, "acknowledged": "", "beneath_count": 1}
TURNS = (("write", 1), ("write", 2), ("read", 1), ("idle", 1))


@dataclass(frozen=True)
class Meter:
    """One channel of power or energy."""

    host: str
    component: str
    semantics: str
    grade: str = "wall"
    covers: Sequence[str] = ()
    specification: Mapping[str, float] = field(default_factory=dict[str, float])
    rate_hz: float = 10.0
    lost_ratio: float = 0.0
    low_w: float = 40.0
    high_w: float = 60.0
    load_w: float = 0.0  # more while clients load
    deaf_s: float = 0.0  # at the end of a trial, in which it is not read
    name: str = "made"

    @property
    def words(self) -> dict[str, str]:
        """What describes the channel, as the series have it."""
        quantity, unit = ("energy", "J") if self.semantics == "counter" else ("power", "W")
        more = {
            k: v for k, v in (("covers", list(self.covers)), ("specification", dict(self.specification))) if v
        }
        values = (
            self.name,
            self.host,
            self.component,
            quantity,
            unit,
            self.semantics,
            self.grade,
            json.dumps(more) if more else "",
        )
        return dict(zip(CHANNEL, values, strict=True))


def samples(meter: Meter, began_s: float, ended_s: float, draw: np.random.Generator) -> pd.DataFrame:
    """What the meter reads of a power that it alone knows, at moments that jitter."""
    count = int((ended_s - began_s) * meter.rate_hz)
    t_s = began_s + np.cumsum(draw.uniform(0.7, 1.3, count)) / meter.rate_hz
    loaded = (t_s > began_s + 0.3 + BASELINE_S) & (t_s < ended_s - 0.3 - TAIL_S)
    power_w = draw.uniform(meter.low_w, meter.high_w, count) + meter.load_w * loaded
    length_s = np.diff(t_s, prepend=began_s)
    value = (
        np.cumsum(power_w * length_s) % meter.specification.get("range_value", np.inf)
        if meter.semantics == "counter"
        else power_w
    )
    kept = draw.random(count) >= meter.lost_ratio
    kept &= t_s < ended_s - meter.deaf_s
    numbers = {
        "t_s": t_s,
        "duration_s": length_s if meter.semantics == "window mean" else 0.0,
        "value": value,
    }
    return pd.DataFrame({**numbers, **meter.words})[kept]


def counters(
    hosts: Sequence[Mapping[str, str]],
    began_s: float,
    ended_s: float,
    draw: np.random.Generator,
    *,
    rising_ratio: float = 1.0,
) -> pd.DataFrame:
    """What every host's kernel counts; its disks in this share of the steps."""
    tables: list[pd.DataFrame] = []
    for host in hosts:
        for quantity, unit, most in (
            ("cpu", "s", 0.02),
            ("network_received", "B", 20 * MIB),
            ("network_sent", "B", 20 * MIB),
            ("disk_read", "B", 15 * MIB),
            ("disk_written", "B", 15 * MIB),
            ("disk_busy", "s", 0.2),
            ("switches", "1", 500),
        ):
            t_s = began_s + np.cumsum(draw.uniform(0.1, 0.3, int((ended_s - began_s) * 6)))
            steps = draw.uniform(0, most, len(t_s))
            if quantity in ("disk_read", "disk_written") and rising_ratio < 1:
                steps[draw.random(len(t_s)) >= rising_ratio] = 0
            value = draw.uniform(0, 1e3) + np.cumsum(steps)
            words = dict(
                zip(
                    CHANNEL,
                    ("system", host["name"], "all", quantity, unit, "counter", "counter", ""),
                    strict=True,
                )
            )
            tables.append(pd.DataFrame({"t_s": t_s, "duration_s": 0.0, "value": value, **words}))
    return pd.concat(tables)


def result(
    host: str, direction: str, began_s: float, ended_s: float, draw: np.random.Generator
) -> dict[str, Any]:
    """What one client says of its load."""
    if direction == "idle":
        still = {"moved_bytes": 0, "operations_count": 0, "latency_s": {}}
        return {"host": host, "direction": direction, "began_s": began_s, "ended_s": ended_s, **still}
    count = 320
    latencies = dict(
        zip(("mean", "p50", "p95", "p99", "p99.9", "max"), np.sort(draw.random(6)).tolist(), strict=True)
    )
    return {
        "host": host,
        "direction": direction,
        "began_s": began_s,
        "ended_s": ended_s,
        "moved_bytes": count * MIB,
        "operations_count": count,
        "latency_s": latencies,
    }


def goodput(results: Sequence[Mapping[str, Any]], draw: np.random.Generator) -> pd.DataFrame:
    """Rates over time of each client, which add up to what it says that it moved."""
    tables: list[pd.DataFrame] = []
    for one in results:
        edges_s = np.concatenate(
            [[one["began_s"]], np.sort(draw.uniform(one["began_s"], one["ended_s"], 9)), [one["ended_s"]]]
        )
        share = draw.random(10)
        share[3:5] = 0  # nothing moved for two samples
        rate = one["moved_bytes"] * share / share.sum() / np.diff(edges_s)
        words = dict(
            zip(
                CHANNEL,
                ("fio", one["host"], "all", "goodput", "B", "window mean", "counter", ""),
                strict=True,
            )
        )
        tables.append(
            pd.DataFrame({"t_s": edges_s[1:], "duration_s": np.diff(edges_s), "value": rate, **words})
        )
    return pd.concat(tables)


def latencies(results: Sequence[Mapping[str, Any]], draw: np.random.Generator) -> pd.DataFrame:
    """How many calls of each client returned in windows, and after how long: few, so that percentiles lie
    apart.
    """
    tables: list[pd.DataFrame] = []
    for one in results:
        t_s = np.repeat(np.sort(draw.uniform(one["began_s"], one["ended_s"], 12)), 3)
        for quantity, unit, value in (
            ("latency", "s", draw.random(36)),
            ("calls", "1", draw.integers(1, 90, 36) * 1.0),
        ):
            words = ("fio", one["host"], one["direction"], quantity, unit, "window mean", "counter", "")
            tables.append(
                pd.DataFrame(
                    {"t_s": t_s, "duration_s": 0.5, "value": value, **dict(zip(CHANNEL, words, strict=True))}
                )
            )
    return pd.concat(tables)


def hit(began_s: float, draw: np.random.Generator, kind: str) -> dict[str, Any]:
    """What happened to a server, and what the file system said of it: it is well again before the load
    ends, or after.
    """
    moments = np.sort(began_s + draw.uniform(1.6, 3.4, 2))
    events: list[dict[str, Any]] = [
        {"event": {"at_s": float(at_s - began_s), "kind": kind, "host": "storage-2", "factor": 1.0}}
        | {
            "planned_s": float(at_s),
            "began_s": float(at_s + 0.001),
            "ended_s": float(at_s + draw.uniform(0.002, 0.2)),
        }
        for kind, at_s in zip((kind, "back"), moments, strict=True)
    ]
    events[0]["lost_bytes"] = int(draw.integers(1, 100 * MIB)) if kind == "fail" else None
    asked_s = moments[0] + np.arange(0.1, 6.0, 0.25)
    well_s = moments[1] + draw.uniform(0.3, 4.0)
    health = [
        {
            "asked_s": float(t),
            "answered_s": float(t + 0.1),
            "words": "" if t > well_s or n == 1 else "healing",
        }
        for n, t in enumerate(asked_s)
    ]
    return {"events": events, "health": health}


def hardware() -> dict[str, Any]:
    """The catalogue's cluster as a record has it."""

    def value(number: float) -> dict[str, Any]:
        return {"value": number, "source": "the catalogue", "status": "assumed"}

    read = cluster("odroid-hc4")
    rates = ("read", "write")
    disks = {
        name: {
            "name": name,
            "technology": disk["technology"],
            "capacity_bytes": value(CAPACITIES_BYTES[name]),
        }
        | {f"{way}_bytes_per_s": value(si(disk[way])) for way in rates}
        | {f"{state}_w": value(si(disk[state])) for state in ("idle", "active")}
        for name, disk in read["disk"].items()
    }
    boards = {
        name: {"name": name, "cores_count": board["cores"], "mips": value(si(board["mips"]))}
        | {
            "nic_bytes_per_s": value(si(board["nic"])),
            "idle_w": value(si(board["idle"])),
            "dynamic_w": value(si(board["dynamic"])),
        }
        for name, board in read["board"].items()
    }
    nodes = [
        {"name": n["name"], "role": n["role"], "count": n["count"], "board": boards[n["board"]]}
        | {"disks": [disks[name] for name in n.get("disks", [])]}
        for n in read["node"]
    ]
    about = {"name": "odroid-hc4", "title": read["title"], "source": read["source"], "nodes": nodes}
    return about | {
        "switch_w": value(si(read["switch"])),
        "supply_efficiency": value(si(read["supply_efficiency"])),
    }


def trial(label: str, direction: str, repetition: int, meters: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """A trial and the name that it has."""
    specs = {
        "testbed": {"kind": "virtual", "options": {"cluster": "odroid-hc4"}, "label": "virtual"},
        "filesystem": {"kind": "moosefs", "options": {"goal": 1}, "label": label},
        "workload": {"kind": "fio", "options": {"operation": direction}, "label": f"fio {direction}"},
    }
    specs |= {"workload": {"kind": "idle", "options": {}, "label": "idle"}} if direction == "idle" else {}
    made = [{"kind": kind, "options": {}, "label": kind} for kind in meters]
    identity = [{"kind": s["kind"], "options": s["options"]} for s in [*specs.values(), *made]]
    digest = hashlib.sha256(json.dumps([identity, 2, repetition], sort_keys=True).encode()).hexdigest()[:8]
    slug = "-".join(
        "".join(c if c.isalnum() else " " for c in f"{label} {specs['workload']['label']}".lower()).split()
    )
    return f"{slug}-2c-r{repetition}-{digest}", {
        **specs,
        "meters": made,
        "clients_count": 2,
        "repetition": repetition,
    }


def make(
    folder: Path,
    meters: Mapping[str, Sequence[Meter]],
    *,
    scales: Mapping[str, float] | None = None,
    mounted: Collection[str] = (),
    seed: int = 1,
    turns: Sequence[tuple[str, int]] = TURNS,
) -> None:
    """Make a results folder in which each file system has meters of its own, and each trial other numbers.

    `scales` are those of file systems that ran on an emulated cluster; `mounted` are those of which only
    clients were there; `turns` are the direction and the repetition of each trial.
    """
    draw = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "campaign.toml").write_text('name = "made"\n')
    (folder / "results.json").write_text(
        json.dumps({"format": "perjoule results", "version": 1, "name": "made", "overrides": []})
    )
    lines: list[dict[str, Any]] = []
    for label, channels in meters.items():
        for direction, repetition in turns:
            name, asked = trial(label, direction, repetition, ["system", label])
            path = folder / "trials" / name / "attempt-1"
            path.mkdir(parents=True)
            record, table = attempt(
                asked,
                direction,
                channels,
                draw,
                scale=(scales or {}).get(label, 1.0),
                mounted=label in mounted,
            )
            (path / "record.json").write_text(json.dumps(record))
            table.astype(dict.fromkeys(CHANNEL, "category")).to_parquet(path / "series.parquet", index=False)
            lines.append({"trial": name, "attempt": 1, "status": "valid", "files": {}})
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def attempt(
    asked: Mapping[str, Any],
    direction: str,
    meters: Sequence[Meter],
    draw: np.random.Generator,
    *,
    scale: float,
    mounted: bool,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """The record of an attempt and its samples: two of three clients load, not quite at the same time."""
    hosts = [host for host in HOSTS if host["role"] == "client" or not mounted]
    zero_s = float(draw.uniform(1e3, 1e4))
    began_s = zero_s + BASELINE_S
    starts_s, ends_s = began_s + draw.uniform(0.01, 0.5, 2), began_s + WINDOW_S - draw.uniform(0.01, 0.5, 2)
    results = [
        result(f"client-{n + 1}", direction, float(starts_s[n]), float(ends_s[n]), draw) for n in range(2)
    ]
    ended_s = began_s + WINDOW_S + TAIL_S
    bounds = {
        "prepare": (zero_s - 1, zero_s - 0.5),
        "baseline": (zero_s, began_s),
        "measure": (began_s, began_s + WINDOW_S),
    }
    quiet_s = began_s + WINDOW_S + (BACK_S if direction == "write" else 0)
    bounds |= {"write-back": (began_s + WINDOW_S, quiet_s), "tail": (quiet_s, ended_s)}
    record: dict[str, Any] = {
        "trial": asked,
        "status": "valid",
        "reason": "",
        "attempt": 1,
        "clock": {"monotonic_s": ended_s, "utc_s": 1.7e9},
        "scale": scale,
        "cluster": "odroid-hc4",
        "hosts": hosts,
        "phases": [
            {"name": name, "began_s": low_s, "ended_s": high_s} for name, (low_s, high_s) in bounds.items()
        ],
        "outcome": {"engine": "made", "results": results},
        "facts": {"testbed": {}, "filesystem": {}},
        "environment": {"cores_count": 2},
    }
    still = direction == "idle"
    if direction != "write" and not mounted:
        record |= hit(began_s, draw, "fail")
        tail = record["phases"][-1]
        record["phases"].append({"name": "rebuilt", "began_s": ended_s - REBUILT_S, "ended_s": ended_s})
        tail["ended_s"] = ended_s - REBUILT_S
    if still:
        record["outcome"] |= {"measured": {"least_gap_s": LEAST_GAP_S, "clients_mounted_count": 2.0}}
        record |= {} if mounted else {"hardware": hardware(), "redundancy": REDUNDANCY}
        record["traits"] = {"reality": "emulated", "directions": ["idle"]}
    counted = counters(hosts, zero_s - 0.3, ended_s + 0.3, draw, rising_ratio=0.1 if still else 1.0)
    tables = [samples(meter, zero_s - 0.3, ended_s + 0.3, draw) for meter in meters]
    return record, pd.concat(
        [counted, *([] if still else [goodput(results, draw), latencies(results, draw)]), *tables],
        ignore_index=True,
    )
