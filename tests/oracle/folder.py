"""The files of a results folder: records as JSON, samples as a table, one row each."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

CHANNEL = ["meter", "host", "component", "quantity", "unit", "semantics", "grade", "more"]
AROUND_S = 5.0  # of a trial's phases: what is taken of a recording that was joined


@dataclass(frozen=True)
class Attempt:
    """One attempt at a trial: its record as a dictionary and its samples in the order in which they came."""

    name: str  # the trial's folder
    record: dict[str, Any]
    folder: Path  # its files
    samples: pd.DataFrame  # the columns of CHANNEL as text, and t_s, duration_s, value

    def phase(self, name: str) -> tuple[float, float] | None:
        """When a phase began and ended, in wall seconds."""
        return next(((p["began_s"], p["ended_s"]) for p in self.record["phases"] if p["name"] == name), None)

    def hosts(self, role: str) -> list[str]:
        """The hosts of a role; of "servers" all in the boundary, of "client" those that load (there may be
        more).
        """
        if role == "servers" and self.clients_store:
            return self.data_hosts
        named = [
            h["name"]
            for h in self.record["hosts"]
            if h["role"] == role or (role == "servers" and h["role"] != "client")
        ]
        return [host for host in named if host in self.loading] if role == "client" else named

    @property
    def roles(self) -> dict[str, str]:
        """The role of each host."""
        return {h["name"]: h["role"] for h in self.record["hosts"]}

    @cached_property
    def counters(self) -> dict[tuple[str, str], pd.DataFrame]:
        """What the kernels of hosts count, by quantity and host."""
        kernel = self.samples[self.samples["grade"] == "counter"]
        counting = kernel[kernel["semantics"] == "counter"].groupby(["quantity", "host"])
        return {(str(quantity), str(host)): table for (quantity, host), table in counting}

    @property
    def idle(self) -> list[tuple[float, float]]:
        """Idle time: the baseline, and as much of the end of the tail, at most half of it."""
        baseline, tail = self.phase("baseline"), self.phase("tail")
        if not baseline:
            return []
        if not tail or tail[1] <= tail[0]:
            return [baseline]
        late_s = min(baseline[1] - baseline[0], (tail[1] - tail[0]) / 2)
        return [baseline, (tail[1] - late_s, tail[1])]

    def part(self, role: str) -> list[str]:
        """The hosts of a role that have a part in the trial: servers have none beside clients that hold
        their own data.
        """
        return [] if self.clients_store and role != "client" else self.hosts(role)

    def machine(self, part: str) -> pd.DataFrame:
        """CPU seconds of no host: "machine", "perjoule" or "kernel"."""
        of = (
            (self.samples["quantity"] == "cpu")
            & (self.samples["host"] == "")
            & (self.samples["component"] == part)
        )
        return self.samples[of]

    @cached_property
    def powers(self) -> list[pd.DataFrame]:
        """The samples of each channel of power or energy."""
        power = self.samples[self.samples["quantity"].isin(["power", "energy"])]
        return [group for _, group in power.groupby(CHANNEL, sort=False)]

    @property
    def data_hosts(self) -> list[str]:
        """The hosts that hold users' data: as the record has it, else those of role storage.

        Without either, the clients that load of an imported trial; of another, none: its data lay elsewhere.
        """
        imported = "imported by" in self.record["environment"]
        stated = self.record.get("data_hosts") or self.hosts("storage") or (self.loading if imported else [])
        clients = {h["name"] for h in self.record["hosts"] if h["role"] == "client"}
        return [host for host in stated if host not in clients or host in self.loading]

    @property
    def clients_store(self) -> bool:
        """Whether only clients hold data, each its own."""
        return bool(self.data_hosts) and {self.roles[host] for host in self.data_hosts} == {"client"}

    @property
    def loading(self) -> list[str]:
        """The clients that load; a trial may have fewer than there are."""
        return list(dict.fromkeys(r["host"] for r in self.record["outcome"]["results"]))


def attempts(folder: Path) -> list[Attempt]:
    """Read the last attempt of each trial, if it is valid."""
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    last = {line["trial"]: line for line in lines}
    valid = [line for line in last.values() if line["status"] == "valid"]
    return [
        _attempt(folder, line["trial"], folder / "trials" / line["trial"] / f"attempt-{line['attempt']}")
        for line in valid
    ]


def _attempt(folder: Path, name: str, path: Path) -> Attempt:
    record = json.loads((path / "record.json").read_text())
    table = pd.read_parquet(path / "series.parquet")
    if "more" not in table:
        table["more"] = ""
    samples = pd.concat(
        [table, *(_joined(csv, record) for csv in sorted((folder / "joined").glob("*.csv")))],
        ignore_index=True,
    )
    return Attempt(name, record, path, samples.astype(dict.fromkeys(CHANNEL, str)))


def _joined(path: Path, record: dict[str, Any]) -> pd.DataFrame:
    """What a recorder elsewhere saw around the trial, on the trial's clock."""
    clock = json.loads(path.with_suffix(".clock.json").read_text())
    table = pd.read_csv(path, keep_default_na=False, float_precision="round_trip")
    ahead_s = clock["offset_s"] + clock["drift_ratio"] * (table["utc_s"] - clock["reference_utc_s"])
    table["t_s"] = table["utc_s"] - ahead_s - record["clock"]["utc_s"] + record["clock"]["monotonic_s"]
    low_s, high_s = record["phases"][0]["began_s"] - AROUND_S, record["phases"][-1]["ended_s"] + AROUND_S
    return table[(table["t_s"] >= low_s) & (table["t_s"] <= high_s)].drop(columns="utc_s")
