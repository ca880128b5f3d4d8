"""The power of a server, from its controller's web service: https://www.dmtf.org/standards/redfish

Power.PowerControl[].PowerConsumedWatts in older schemas is EnvironmentMetrics.PowerWatts in newer ones; both
may be null. The vendor chooses the averaging window, so only steady windows are sure; energy counters have
coarse steps.
"""

import json
import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._metered import Metered, MeterReading, Read
from perjoule.meters._secret import secret
from perjoule.meters._url import Place, basic
from perjoule.meters.redfish.parse import (
    at,
    average_w,
    consumed_w,
    duration_s,
    energy_j,
    environment_w,
    interval_s,
    link,
    number,
)
from perjoule.model import OPTIONS, Json, PassedOnAs, Specification
from perjoule.model.errors import MachineError, PerjouleError
from perjoule.model.units import Seconds

EXAMPLE = """
[[meter]]
kind = "redfish"
covers = ["storage-1"]
address = "https://192.0.2.31"
user = "monitor"
password_file = "~/.bmc-password"
"""

ROOT = "/redfish/v1/"
Value = Callable[[Mapping[str, Any], int], float | None]
# Of a chassis, by quantity: where to look, and for what; the newer schema first.
SOURCES: Mapping[str, Mapping[str, tuple[Value, ...]]] = {
    "power": {"EnvironmentMetrics": (environment_w,), "Power": (consumed_w, average_w)},
    "energy": {"EnvironmentMetrics": (energy_j,)},
}
Source = tuple[str, Value, Specification]  # path, what it says there, how right it is


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Redfish(Metered):
    """A chassis as its management controller sees it."""

    # OpenBMC's own type, and that of other controllers: https://github.com/openbmc/docs
    announced: ClassVar[tuple[str, ...]] = ("_obmc_redfish._tcp", "_redfish._tcp")

    address: str
    """The service: "https://bmc-1"."""

    user: str = ""
    """The user name."""

    password_file: Path | None = None
    """A file that contains only the password."""

    login: Literal["basic", "session"] = "basic"
    """Log in with each request, or once, which some services require."""

    chassis: Annotated[str, PassedOnAs(r"^[^/?#\\]*$")] = ""
    """ID of the chassis; not needed if only one shows its power."""

    control: int = Field(default=0, ge=0)
    """Which PowerControl of the chassis, from 0; 0 is the whole chassis."""

    quantity: Literal["power", "energy"] = "power"
    """The power, or the energy counter of newer services."""

    authorities: Path | None = None
    """Certificates to trust, if the service's own is not from a known authority."""

    verify: bool = True
    """Whether to verify its certificate."""

    timeout_s: Seconds = 5.0
    """Time limit of an answer."""

    @property
    def counts(self) -> str:
        """The quantity that the campaign asks for."""
        return self.quantity

    @classmethod
    def located(cls, place: str) -> Mapping[str, Json]:
        """Its address, by https if it names no scheme."""
        return {"address": place if "://" in place or not place else f"https://{place}"}

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Log in, find the chassis and its readings. Raises MachineError unless exactly one matches."""
        place = Place(_url(self.address), self.timeout_s, self.authorities, self.verify)
        password, session = secret(self.password_file), ""
        if self.login == "session":
            place, session = _session(place, self.user, password)
        elif self.user:
            place = replace(place, headers=basic(self.user, password))
        try:
            path, value, specification = self._source(place)
            semantics = "counter" if self.quantity == "energy" else "average"
            channel = extent.channel(self.quantity, semantics, "BMC", specification)

            def read() -> Iterable[MeterReading]:
                measured = value(place.json(path), self.control)
                # a server that answers draws power
                if measured is None or (measured == 0 and self.quantity == "power"):
                    measured = math.nan
                yield MeterReading(channel, measured)

            yield read
        finally:
            if session:
                # a session that can't be ended ends by its own time limit
                with suppress(OSError, PerjouleError):
                    place.send(session, method="DELETE")

    def checks(self) -> tuple[Check, ...]:
        """Check for the password."""
        if self.password_file is None:
            return ()
        exists = self.password_file.expanduser().is_file()
        detail = str(self.password_file) if exists else f"{self.password_file} does not exist"
        return (
            Check(
                "password",
                ok=exists,
                detail=detail,
                fix="" if exists else "write the password into it, mode 600",
            ),
        )

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find Redfish services at these addresses; a service's root needs no login."""
        return tuple(
            {"kind": "redfish", "address": url} for address in addresses if (url := _service(address))
        )

    def _source(self, place: Place) -> Source:
        members: Any = at(place.json(link(place.json(ROOT), "Chassis") or f"{ROOT}Chassis"), "Members")
        listed = cast("list[Any]", members) if isinstance(members, list) else []
        paths = {_id(path): path for member in listed if (path := link(member))}
        matching = {name: path for name, path in paths.items() if self.chassis in ("", name)}
        sources = {
            name: source
            for name, path in matching.items()
            if (source := self._of_chassis(place, place.json(path)))
        }
        if len(sources) == 1:
            return next(iter(sources.values()))
        ids = ", ".join(sources or paths) or "none"
        fault = (
            f"several chassis report {self.quantity}"
            if sources
            else f"no chassis {self.chassis} reports {self.quantity}"
        )
        raise MachineError(" ".join(fault.split()), where=self.address, next=f"set chassis to one of {ids}")

    def _of_chassis(self, place: Place, chassis: Mapping[str, Any]) -> Source | None:
        """Return the best source of a chassis: one with a number now, else one that is null now."""
        null: Source | None = None
        for name, values in SOURCES[self.quantity].items():
            path = link(chassis, name)
            # which knows the whole chassis alone
            if not path or (self.control and name == "EnvironmentMetrics"):
                continue
            try:
                document = place.json(path)
            except OSError:  # linked, but not there: some services do so
                continue
            for value in values:
                if (current := value(document, self.control)) is not None:
                    source = (path, value, _specification(place, document, value, self.control))
                    if not math.isnan(current):
                        return source
                    null = null or source
        return null


def _specification(place: Place, document: Mapping[str, Any], value: Value, control: int) -> Specification:
    """Return the specification of a value: a sensor behind it has an interval, an average another."""
    if value is average_w:
        return Specification(latency_s=interval_s(document, control))
    sensor = at(document, "PowerWatts", "DataSourceUri") if value is environment_w else None
    if not isinstance(sensor, str):
        return Specification()
    try:
        facts = place.json(sensor)
        percent, interval = number(facts, "Accuracy"), duration_s(str(at(facts, "SensingInterval")))
    except (OSError, ValueError, PerjouleError):  # it is only linked
        return Specification()
    gain_ratio = percent / 100 if percent and percent > 0 else None
    return Specification(gain_ratio=gain_ratio, period_s=interval, latency_s=interval)


def _session(place: Place, user: str, password: str) -> tuple[Place, str]:
    body = json.dumps({"UserName": user, "Password": password}).encode()
    _, headers = place.send(f"{ROOT}SessionService/Sessions", method="POST", body=body)
    lower = {name.lower(): value for name, value in headers.items()}
    if "x-auth-token" not in lower:
        raise MachineError("it refuses to open a session", where=place.address, next='set login = "basic"')
    location = lower.get("location", "").removeprefix(place.address)
    return replace(place, headers={"X-Auth-Token": lower["x-auth-token"]}), location


def _id(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _url(address: str) -> str:
    return (address if "://" in address else f"https://{address}").rstrip("/")


def _service(address: str) -> str:
    for url in [address.rstrip("/")] if "://" in address else [f"https://{address}", f"http://{address}"]:
        with suppress(OSError, ValueError, PerjouleError):
            if "RedfishVersion" in Place(url, timeout_s=1.0, verify=False).json(ROOT):
                return url
    return ""
