"""Metrics of a testbed's nodes by Kwollect, as Grid'5000 has them: https://www.grid5000.fr/w/Monitoring_Using_Kwollect

Kwollect stores what wattmeters (OmegaWatt), PDUs and BMCs show, dated by its own clock; its API has rows of
{timestamp, device_id, metric_id, value, labels}. How long a value averages depends on the device, and is not stated.
"""

import urllib.parse
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from time import time
from typing import Annotated, Any, Literal, cast

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.machine.untrusted import json_from
from perjoule.meters._metered import Metered, MeterReading, Read
from perjoule.meters._plug import number, table
from perjoule.meters._secret import secret
from perjoule.meters._stored import LOOK_BACK_S, monotonic_s
from perjoule.meters._url import MOST_JSON_BYTES, Place, basic
from perjoule.model import OPTIONS, Grade, Json, PassedOnAs, Specification
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
    """The power of a node, as Kwollect has stored it."""

    address: str
    """The URL of its API for a site."""

    node: Annotated[str, PassedOnAs(r"^[A-Za-z0-9_.-]+$")]
    """The node, as Kwollect calls it."""

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

    @property
    def counts(self) -> str:
        """Power alone."""
        return "power"

    @classmethod
    def located(cls, place: str) -> Mapping[str, Json]:
        """Its URL, by https if it names no scheme."""
        return {"address": place if "://" in place or not place else f"https://{place}"}

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Prepare the query. Raises MachineError if the password can't be read."""
        headers = basic(self.user, secret(self.password_file)) if self.user else {}
        place = Place(self.address.rstrip("/"), self.timeout_s, headers=headers)
        specification = Specification(resolution=self.resolution_w, clock_s=self.clock_uncertainty_s)
        channel = extent.channel("power", "average", GRADES[self.metric], specification)
        last_s = -1.0

        def read() -> Iterable[MeterReading]:
            nonlocal last_s
            since_s = int(last_s if last_s > 0 else time() - LOOK_BACK_S)
            query = {"nodes": self.node, "metrics": self.metric, "start_time": since_s}
            body, _ = place.send(f"?{urllib.parse.urlencode(query)}")
            rows = stored(json_from(body, MOST_JSON_BYTES), self.node, self.metric)
            if not rows and last_s < 0:
                raise ValueError(f"it has no {self.metric} of {self.node} in the last {LOOK_BACK_S} s")
            for utc_s, power_w in rows[-1:] if last_s < 0 else rows:  # earlier ones precede the recording
                if utc_s > last_s:
                    last_s = utc_s
                    yield MeterReading(channel, power_w, monotonic_s(utc_s), dated=True)

        yield read

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements on this machine."""
        return ()


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
