"""Metrics of a testbed's nodes by Kwollect, as Grid'5000 has them: https://www.grid5000.fr/w/Monitoring_Using_Kwollect

Kwollect stores what wattmeters (OmegaWatt), PDUs and BMCs show, dated by its own clock; its API has rows of
{timestamp, device_id, metric_id, value, labels}. How long a value averages depends on the device, and is not stated.
"""

import urllib.parse
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from time import time
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary, names
from perjoule.drivers.protocols import Check, Hosts, Outlet, Sink
from perjoule.machine.untrusted import json_from
from perjoule.meters._metered import Metered, MeterReading, Read
from perjoule.meters._plug import number, table
from perjoule.meters._secret import secret
from perjoule.meters._stored import LOOK_BACK_S, MOST_BEHIND_S, monotonic_s
from perjoule.meters._url import MOST_JSON_BYTES, Place, basic
from perjoule.model import OPTIONS, Grade, Json, PassedOnAs, Specification
from perjoule.model.doubts import Doubt
from perjoule.model.errors import CampaignError
from perjoule.model.units import Seconds, Watts

EXAMPLE = """
[[meter]]
kind = "kwollect"
address = "https://api.grid5000.fr/stable/sites/lyon/metrics"
node = "taurus-7"
covers = ["storage-1"]
"""

GRADES: Mapping[str, Grade] = {
    "wattmetre_power_watt": "wall",
    "pdu_outlet_power_watt": "PDU",
    "bmc_node_power_watt": "BMC",
}


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Kwollect(Metered):
    """The power of a node, or of each host that is one, as Kwollect has stored it."""

    address: str = ""
    """The URL of its API for a site; with `on`, that of testbed grid5000 by default."""

    node: Annotated[str, PassedOnAs(r"^[A-Za-z0-9_.-]*$")] = ""
    """The node, as Kwollect calls it, that feeds what `covers` has."""

    on: tuple[str, ...] = ()
    """Hosts that Kwollect knows by their names, each for itself: "servers", "clients", names."""

    metric: Literal["wattmetre_power_watt", "pdu_outlet_power_watt", "bmc_node_power_watt"] = (
        "wattmetre_power_watt"
    )
    """Which meter of the node."""

    resolution_w: Annotated[Watts | None, Field(gt=0)] = None
    """The smallest step of its watts, by the testbed's documentation."""

    clock_uncertainty_s: Seconds | None = None
    """Standard uncertainty of the offset between its clock and this machine's; unknown when absent."""

    user: str = ""
    """The user name, if it needs a login."""

    password_file: Path | None = None
    """A file that contains only the password."""

    timeout_s: Seconds = 5.0
    """Time limit of an answer."""

    @model_validator(mode="after")
    def _of_nodes(self) -> Self:
        if bool(self.node) == bool(self.on):
            raise ValueError("it has node and on, or neither (write one of them)")
        default = next(field.default for field in fields(self) if field.name == "covers")
        if self.on and self.covers != default:
            raise ValueError("on already names the hosts that are read (remove covers)")
        if self.node and not self.address:
            raise ValueError("node needs the address of its site's API (set address)")
        return self

    @property
    def counts(self) -> str:
        """Power alone."""
        return "power"

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """The hosts that are nodes, or what the node feeds."""
        return {"on": self.on} if self.on else super().named

    @classmethod
    def located(cls, place: str) -> Mapping[str, Json]:
        """Its URL, by https if it names no scheme."""
        return {"address": place if "://" in place or not place else f"https://{place}"}

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return that of each host that is a node, or of the node."""
        if not self.on:
            return super().outlets(hosts)
        host_names = names(self.label, self.on, hosts)
        return [self._place(name).outlet("on", quantity=self.counts) for name in host_names]

    def answers(self) -> tuple[Check, ...]:
        """Ask for the node; which nodes hosts are is known once they are held."""
        return () if self.on else super().answers()

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream its readings. Raises CampaignError: with `on`, nothing says where its API is."""
        meter = self._of_hosts(hosts) if self.on else self
        with super(Kwollect, meter).record(hosts, sink) as doubts:
            yield doubts

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Prepare the query. Raises MachineError if the password can't be read."""
        headers = basic(self.user, secret(self.password_file)) if self.user else {}
        place = Place(self.address.rstrip("/"), self.timeout_s, headers=headers)
        specification = Specification(resolution=self.resolution_w, clock_s=self.clock_uncertainty_s)
        extents = {self.node: extent} if self.node else {name: self._place(name) for name in self.covers}
        channels = {
            node: within.channel("power", "average", GRADES[self.metric], specification)
            for node, within in extents.items()
        }
        last_s = dict.fromkeys(channels, -1.0)

        def read() -> Iterable[MeterReading]:
            since_s = time() - LOOK_BACK_S
            if (read_s := min(last_s.values())) > 0:  # rows of a node without news are not asked for for ever
                since_s = max(read_s, since_s - MOST_BEHIND_S)
            query = {"nodes": ",".join(channels), "metrics": self.metric, "start_time": int(since_s)}
            body, _ = place.send(f"?{urllib.parse.urlencode(query, safe=',')}")
            answer = json_from(body, MOST_JSON_BYTES)
            for node, channel in channels.items():
                rows = stored(answer, node, self.metric)
                if not rows and last_s[node] < 0:
                    raise ValueError(f"it has no {self.metric} of {node} in the last {LOOK_BACK_S} s")
                # at first, earlier ones precede the recording
                for utc_s, power_w in rows[-1:] if last_s[node] < 0 else rows:
                    if utc_s > last_s[node]:
                        last_s[node] = utc_s
                        yield MeterReading(channel, power_w, monotonic_s(utc_s), dated=True)

        yield read

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements on this machine."""
        return ()

    def _of_hosts(self, hosts: Hosts) -> Self:
        """Return the meter of the nodes that hosts are. Raises CampaignError: its API is unknown."""
        facts = hosts.facts.get("grid5000")
        address = self.address or (str(facts.get("metrics", "")) if isinstance(facts, dict) else "")
        if not address:
            problem, advice = "these hosts are not of Grid'5000", "use testbed grid5000, or set address"
            raise CampaignError(problem, where=f"meter {self.label}", next=advice)
        meter = copy(self)  # `replace` can't: options have other names than fields
        object.__setattr__(meter, "address", address)
        object.__setattr__(meter, "covers", names(self.label, self.on, hosts))
        return meter

    def _place(self, name: str) -> Boundary:
        return Boundary(self.label, name, self.component or "all")


def stored(answer: Any, node: str, metric: str) -> list[tuple[float, float]]:
    """Return the UTC seconds and watts of a metric of a node, oldest first.

    Raises:
        ValueError: the answer has another form, or several devices feed the node, which would be one after the other.
    """
    if not isinstance(answer, list):
        raise ValueError(f"the answer is no list of rows: {str(answer)[:60]}")
    rows = [table(row) for row in cast("list[Any]", answer)]
    rows_of_node = [row for row in rows if row.get("device_id") == node and row.get("metric_id") == metric]
    devices = sorted({str(table(row.get("labels")).get("_device_orig", "")) for row in rows_of_node})
    if len(devices) > 1:
        raise ValueError(
            f"{len(devices)} devices feed {node} ({', '.join(devices)}): their rows are not added"
        )
    return sorted((_utc_s(row.get("timestamp")), number(row.get("value"))) for row in rows_of_node)


def _utc_s(stamp: Any) -> float:
    """Return a time in UTC seconds. Raises ValueError: it is none, or has no zone."""
    if isinstance(stamp, int | float) and not isinstance(stamp, bool):
        return float(stamp)
    moment = datetime.fromisoformat(str(stamp))
    if moment.tzinfo is None:
        raise ValueError(f"{str(stamp)[:40]!r} has no time zone")
    return moment.timestamp()
