"""What a system's description of MLPerf Storage v3.0 states of electrical power: ratings of power supplies, which
nobody measured.

Provisioned power, as its results table has it: watts on nameplates x supplies x devices, of product nodes and
switches; supplies that others replace count, clients do not. Design power: of each device the least number of
supplies that must be active. https://github.com/mlcommons/storage, Submission_guidelines.md
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perjoule.workloads.imported.mlperf.values import count, number, table, tables, yaml_from

SYSTEM = "system_under_test"  # the only table of such a file


@dataclass(frozen=True)
class Component:
    """Devices of one kind, and the power supplies of each."""

    name: str
    role: str  # "product node", "product switch", "client"
    quantity: int
    rack_units: float | None
    supplies: tuple[
        tuple[int, float], ...
    ]  # how many, and the watts on each one's nameplate; () if not stated
    least_active: int | None  # supplies of a device that must be active

    @property
    def supplies_count(self) -> int:
        """Power supplies of one device."""
        return sum(number_of for number_of, _ in self.supplies)

    @property
    def nameplate_w(self) -> float:
        """Watts on all nameplates."""
        return self.quantity * sum(number_of * watts for number_of, watts in self.supplies)

    def design_w(self) -> tuple[float, float]:
        """Return the watts of the supplies that must be active: least and most, where they differ in watts.

        Raises ValueError: more must be active than there are, or it does not say how many.
        """
        if self.least_active is None:
            raise ValueError(f"{self.name}: min_psus_active is not stated")
        if self.least_active > self.supplies_count:
            raise ValueError(
                f"{self.name}: {self.least_active} of {self.supplies_count} power supplies are to be active"
            )
        weakest_first = sorted(self.supplies, key=lambda supply: supply[1])
        least_w, most_w = (self._active_w(supplies) for supplies in (weakest_first, weakest_first[::-1]))
        return self.quantity * least_w, self.quantity * most_w

    def _active_w(self, supplies: Sequence[tuple[int, float]]) -> float:
        """Add up the watts of as many supplies as must be active, the first ones."""
        left_count, total_w = self.least_active or 0, 0.0
        for number_of, watts in supplies:
            total_w += min(number_of, left_count) * watts
            left_count -= min(number_of, left_count)
        return total_w


@dataclass(frozen=True)
class SystemPower:
    """All components of a system."""

    name: str
    on_premises: bool
    storage_location: str  # "remote", "local", "remote_and_local"
    rack_units: float | None  # as the description sums them up
    components: tuple[Component, ...]

    @property
    def product(self) -> tuple[Component, ...]:
        """What provisioned power covers."""
        return tuple(component for component in self.components if component.role != "client")

    @property
    def clients(self) -> tuple[Component, ...]:
        """What it leaves out."""
        return tuple(component for component in self.components if component.role == "client")

    @property
    def nameplate_w(self) -> float | None:
        """Provisioned power; None where a device does not state its supplies, or nothing is a product."""
        if not self.product or not all(component.supplies for component in self.product):
            return None
        return sum(component.nameplate_w for component in self.product)

    def design_w(self) -> tuple[float, float]:
        """Return the watts that the product's supplies must give at once: least and most. Raises ValueError."""
        spans = [component.design_w() for component in self.product]
        return sum(least_w for least_w, _ in spans), sum(most_w for _, most_w in spans)


def is_system(text: str) -> bool:
    """Return whether a text is such a description."""
    return SYSTEM in text


def system_power(text: str) -> SystemPower:
    """Read a description. Raises ValueError, LookupError: it is damaged, or no description."""
    system = table(table(yaml_from(text), SYSTEM).get(SYSTEM), SYSTEM)
    solution = table(system.get("solution"), "solution")
    return SystemPower(
        str(solution.get("submission_name", "")),
        system.get("deployment") == "onprem",
        str(table(solution.get("architecture") or {}, "architecture").get("storage_location", "")),
        number(system, "total_rack_units") if "total_rack_units" in system else None,
        tuple(_components(system)),
    )


def _components(system: Mapping[str, Any]) -> Iterator[Component]:
    for key, role in (
        ("product_nodes", "product node"),
        ("product_switches", "product switch"),
        ("clients", "client"),
    ):
        for number_of, device in enumerate(tables(system, key), 1):
            place = f"{key}[{number_of}]."
            body = table(device.get("chassis") or device, f"{place}chassis")
            power = table(body.get("power") or device.get("power") or {}, f"{place}power")
            text = str(body.get("model_name") or device.get("friendly_description") or key)
            units = body if "rack_units" in body else device
            counted = "quantity" if "quantity" in device else "unit_count"
            yield Component(
                " ".join(text.split()),
                role,
                count(device, counted, place),
                number(units, "rack_units", place) if "rack_units" in units else None,
                tuple(
                    (count(supply, "unit_count", place), number(supply, "nameplate_power_watts", place))
                    for supply in tables(power, "psus_configured", place)
                ),
                count(power, "min_psus_active", place) if "min_psus_active" in power else None,
            )
