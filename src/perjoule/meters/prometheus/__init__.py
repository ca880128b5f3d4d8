"""A metric of an exporter or a Prometheus server: https://prometheus.io/docs/prometheus/latest/querying/api/

Its meaning is declared. A server returns samples as they were scraped, with their own times: an instant query
would repeat an old sample for five minutes.
"""

import io
import urllib.parse
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._declared import Declared
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._secret import secret
from perjoule.meters._stored import LOOK_BACK_S, monotonic_s
from perjoule.meters._unit_names import other_unit
from perjoule.meters._url import Place, basic
from perjoule.meters.prometheus.exposition import ExposedNumber, exposed, queried, selector
from perjoule.model import OPTIONS, Json
from perjoule.model.errors import CampaignError, PerjouleError
from perjoule.model.units import Seconds

EXAMPLE = """
[[meter]]
kind = "prometheus"
covers = ["storage-1"]
address = "http://192.0.2.50:9100/metrics"
metric = 'node_hwmon_power_average_watt{chip="power_meter-acpi-0"}'
unit = "W"
semantics = "average"
grade = "BMC"
latency = "1 s"
"""

POWERS = ("watt", "power", "joule", "energy")  # in the name of what may be a meter


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Prometheus(Declared):
    """A gauge or a counter, from an exporter's page or a server's store."""

    address: str
    """An exporter's page ("http://host:9100/metrics"), or with `server` the server ("http://host:9090")."""

    metric: str
    """Its name, with enough labels to make it unique: name{label="value"}."""

    server: bool = False
    """Whether to query a Prometheus server instead of an exporter."""

    user: str = ""
    """The user name, if it needs a login."""

    password_file: Path | None = None
    """A file that contains only the password."""

    timeout_s: Seconds = 5.0
    """Time limit of an answer."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        name, _ = selector(self.metric)
        if named_unit := other_unit(name, self.unit):
            raise ValueError(f'the metric "{name}" is in {named_unit}, and unit is "{self.unit}"')
        return self

    @classmethod
    def located(cls, place: str) -> Mapping[str, Json]:
        """Its address, by http if it names no scheme."""
        return {"address": place if "://" in place or not place else f"http://{place}"}

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Prepare the query. Raises MachineError if the password can't be read."""
        headers = {"Accept": "text/plain;version=0.0.4"} | (
            basic(self.user, secret(self.password_file)) if self.user else {}
        )
        place = Place(self.address.rstrip("/"), self.timeout_s, headers=headers)
        channel, last_s = self.declared(extent), -1.0

        def read() -> Iterable[MeterReading]:
            nonlocal last_s
            samples = self._scraped(place) if self.server else [self._exposed(place)]
            if last_s < 0 and self.server:
                samples = samples[-1:]  # earlier samples precede the recording
            for sample in samples:
                if sample.utc_s is not None and sample.utc_s <= last_s:
                    continue  # as old as what was there last time
                t_s = None if sample.utc_s is None else monotonic_s(sample.utc_s)
                last_s = last_s if sample.utc_s is None else sample.utc_s
                yield MeterReading(
                    channel, sample.value * self.factor, t_s, self.window_s or 0.0, dated=t_s is not None
                )

        yield read

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements on this machine."""
        return ()

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find exporters at these addresses with a metric named like power; you declare unit, semantics
        and grade.
        """
        tables: list[Mapping[str, Json]] = []
        for address in addresses:
            url = address if "://" in address else f"http://{address}/metrics"
            with suppress(OSError, PerjouleError, ValueError):
                names = {
                    line.split()[2]
                    for line in io.StringIO(Place(url, 1.0).send("")[0].decode())
                    if line.startswith("# TYPE ")
                }
                likely = sorted(name for name in names if any(clue in name.lower() for clue in POWERS))
                tables.extend({"kind": "prometheus", "address": url, "metric": name} for name in likely)
        return tuple(tables)

    def _exposed(self, place: Place) -> ExposedNumber:
        sample, kind, unit = exposed(place.send("")[0].decode(), *selector(self.metric))
        if kind in ("gauge", "counter") and (kind == "counter") != (self.semantics == "counter"):
            raise CampaignError(
                f"{self.metric} is a {kind}", where=f"meter {self.label}", next="set unit and semantics so"
            )
        if described_unit := other_unit(f"[{unit}]", self.unit):
            raise CampaignError(
                f'{self.metric} is described as in {described_unit}, and unit is "{self.unit}"',
                where=f"meter {self.label}",
                next="set unit so",
            )
        return sample

    def _scraped(self, place: Place) -> list[ExposedNumber]:
        query = urllib.parse.urlencode({"query": f"{self.metric}[{LOOK_BACK_S}s]"})
        return queried(place.json(f"/api/v1/query?{query}"))
